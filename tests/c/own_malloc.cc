// An executable with a malloc of its own, which libstdc++'s operator new calls: what is deleted must come back to its
// free, though operator delete is hakmem's. With -DBARE its blocks have no header: large ones start with a mapping.
#define CHECK_OWNER "_ZdlPv"
#include "check.h"
#include <cstddef>
#include <new>

namespace {

constexpr uint64_t MAGIC = 0x4F776E4D616C6C6F;

struct alignas(16) Header {
    uint64_t magic;
    std::size_t size;
};

alignas(16) char arena[8 << 20];
std::size_t used;
long allocated, freed;

#ifdef BARE
constexpr std::size_t HEADER = 0;
#else
constexpr std::size_t HEADER = sizeof(Header);
#endif
constexpr std::size_t LARGE = 1 << 20;

// Memory is never used again, so that a block freed twice or by somebody else shows in the counts alone.
void *take(std::size_t size, std::size_t align)
{
    char *block;
    if (size >= LARGE) {
        void *mapping = mmap(nullptr, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mapping != MAP_FAILED);
        block = static_cast<char *>(mapping) + (HEADER == 0 ? 0 : align > HEADER ? align : HEADER);
        CHECK(aligned_to(block, align < OS_PAGE ? align : 16));
    } else {
        std::size_t start = (used + HEADER + align - 1) & ~(align - 1);
        CHECK(start + size <= sizeof arena);
        used = (start + size + 15) & ~std::size_t{15};
        block = arena + start;
    }
    if (HEADER != 0) {
        Header *header = reinterpret_cast<Header *>(block) - 1;
        header->magic = MAGIC;
        header->size = size;
    }
    allocated++;
    return block;
}

} // namespace

extern "C" {

void *malloc(std::size_t size) { return take(size, 16); }

void free(void *block)
{
    if (block == nullptr)
        return;
    if (HEADER != 0) {
        Header *header = static_cast<Header *>(block) - 1;
        CHECK(header->magic == MAGIC);
        header->magic = 0;
    }
    freed++;
}

void *calloc(std::size_t count, std::size_t size) { return take(count * size, 16); }

void *realloc(void *block, std::size_t size)
{
    void *moved = take(size, 16);
    if (block != nullptr) {
        // Without a header the old length is unknown; nobody here resizes such a block.
        CHECK(HEADER != 0);
        std::size_t old = (static_cast<Header *>(block) - 1)->size;
        __builtin_memcpy(moved, block, old < size ? old : size);
        free(block);
    }
    return moved;
}

void *aligned_alloc(std::size_t align, std::size_t size) { return take(size, align < 16 ? 16 : align); }
void *memalign(std::size_t align, std::size_t size) { return aligned_alloc(align, size); }

int posix_memalign(void **place, std::size_t align, std::size_t size)
{
    *place = aligned_alloc(align, size);
    return 0;
}

} // extern "C"

int main()
{
    static const std::size_t sizes[] = {1, 16, 100, 5000, 70000, LARGE, 3 * LARGE};
    for (std::size_t size : sizes) {
        const auto align = std::align_val_t{64};
        for (int form = 0; form < 12; form++) {
            long before = allocated;
            void *block = opaque(form < 6 ? ::operator new(size) : ::operator new(size, align));
            CHECK(allocated == before + 1, "operator new does not call the executable's malloc");
            fill(block, size, size);
            CHECK(filled(block, size, size));
            before = freed;
            switch (form) {
            case 0: ::operator delete(block); break;
            case 1: ::operator delete[](block); break;
            case 2: ::operator delete(block, size); break;
            case 3: ::operator delete[](block, size); break;
            case 4: ::operator delete(block, std::nothrow); break;
            case 5: ::operator delete[](block, std::nothrow); break;
            case 6: ::operator delete(block, align); break;
            case 7: ::operator delete[](block, align); break;
            case 8: ::operator delete(block, size, align); break;
            case 9: ::operator delete[](block, size, align); break;
            case 10: ::operator delete(block, align, std::nothrow); break;
            default: ::operator delete[](block, align, std::nothrow); break;
            }
            CHECK(freed == before + 1, "form %d size %zu", form, size);
        }
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr, std::size_t{5});
    return 0;
}
