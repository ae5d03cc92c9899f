// An executable whose malloc wraps the next one, hakmem's, with a header in front of every block: what is deleted must
// come back to its free, for only that knows where the block behind it starts.
#define CHECK_OWNER "_ZdlPv"
#include "check.h"
#include <cstddef>
#include <new>

namespace {

constexpr uint64_t MAGIC = 0x577261707065644D;
constexpr std::size_t HEADER = 16;

long allocated, freed;

template <class F> F next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    CHECK(found != nullptr, "%s", name);
    return reinterpret_cast<F>(found);
}

} // namespace

extern "C" {

void *malloc(std::size_t size)
{
    static auto inner = next<void *(*)(std::size_t)>("malloc");
    char *block = static_cast<char *>(inner(size + HEADER));
    CHECK(block != nullptr);
    *reinterpret_cast<uint64_t *>(block) = MAGIC;
    allocated++;
    return block + HEADER;
}

void free(void *block)
{
    static auto inner = next<void (*)(void *)>("free");
    if (block == nullptr)
        return;
    char *start = static_cast<char *>(block) - HEADER;
    CHECK(*reinterpret_cast<uint64_t *>(start) == MAGIC);
    *reinterpret_cast<uint64_t *>(start) = 0;
    freed++;
    inner(start);
}

} // extern "C"

int main()
{
    static const std::size_t sizes[] = {1, 16, 100, 1000, 5000, 30000, 100000, 2 << 20};
    for (int round = 0; round < 500; round++)
        for (std::size_t size : sizes) {
            long before = allocated;
            void *block = opaque(::operator new(size));
            CHECK(allocated == before + 1, "operator new does not call the executable's malloc");
            fill(block, size, size);
            CHECK(filled(block, size, size));
            before = freed;
            switch (round % 4) {
            case 0: ::operator delete(block); break;
            case 1: ::operator delete[](block); break;
            case 2: ::operator delete(block, size); break;
            default: ::operator delete(block, std::nothrow); break;
            }
            CHECK(freed == before + 1, "size %zu", size);
        }
    return 0;
}
