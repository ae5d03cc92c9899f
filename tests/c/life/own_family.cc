// An executable that defines and exports a malloc family of its own: everything in the process that allocates uses it,
// under hakmem as without, and every block comes back to it.
#define CHECK_OWNER "_ZdlPv"
#include "life.h"
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct alignas(16) Header {
    uint64_t magic;
    std::size_t size;
};

constexpr uint64_t LIVE = 0x4F776E46616D696C;
constexpr uint64_t DEAD = 0x4F776E4465616421;

// Memory is not used again, so that every misplaced free shows.
alignas(16) char arena[64 << 20];
std::atomic<std::size_t> used;
std::atomic<long> allocated, freed;

Header *header(void *block)
{
    CHECK(block > arena && block < arena + sizeof arena, "%p is not from here", block);
    Header *found = static_cast<Header *>(block) - 1;
    CHECK(found->magic == LIVE, "%p is no live block", block);
    return found;
}

void *take(std::size_t size, std::size_t align)
{
    std::size_t room = size + sizeof(Header) + align;
    std::size_t start = used.fetch_add((room + 15) & ~std::size_t{15});
    CHECK(start + room <= sizeof arena);
    auto place = reinterpret_cast<uintptr_t>(arena + start + sizeof(Header));
    void *block = reinterpret_cast<void *>((place + align - 1) & ~(align - 1));
    Header *made = static_cast<Header *>(block) - 1;
    made->magic = LIVE;
    made->size = size;
    allocated++;
    return block;
}

bool ours(const void *block) { return block > arena && block < arena + sizeof arena; }

int by_number(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    return a < b ? -1 : a > b;
}

} // namespace

extern "C" {

void *malloc(std::size_t size) { return take(size, 16); }

void free(void *block)
{
    if (block == nullptr)
        return;
    header(block)->magic = DEAD;
    freed++;
}

void *calloc(std::size_t count, std::size_t size) { return take(count * size, 16); }

void *realloc(void *block, std::size_t size)
{
    void *moved = take(size, 16);
    if (block != nullptr) {
        memcpy(moved, block, std::min(header(block)->size, size));
        free(block);
    }
    return moved;
}

void *aligned_alloc(std::size_t align, std::size_t size) { return take(size, std::max<std::size_t>(align, 16)); }
void *memalign(std::size_t align, std::size_t size) { return aligned_alloc(align, size); }
std::size_t malloc_usable_size(void *block) { return block == nullptr ? 0 : header(block)->size; }

int posix_memalign(void **place, std::size_t align, std::size_t size)
{
    *place = aligned_alloc(align, size);
    return 0;
}

} // extern "C"

static void use_libc()
{
    char *copy = strdup("copied");
    CHECK(ours(copy) && strcmp(copy, "copied") == 0);
    free(copy);

    FILE *file = tmpfile();
    CHECK(file != nullptr);
    for (int line = 0; line < 1000; line++)
        CHECK(fprintf(file, "line %d %0*d\n", line, line % 300, line) > 0);
    rewind(file);
    char *line = nullptr;
    size_t room = 0;
    int lines = 0;
    while (getline(&line, &room, file) > 0)
        lines++;
    CHECK(lines == 1000 && ours(line), "%d lines", lines);
    free(line);
    CHECK(fclose(file) == 0);
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != nullptr && fclose(maps) == 0);

    // Too many for qsort's own buffer on the stack.
    static int numbers[100000];
    uint64_t state = 1;
    for (int &number : numbers)
        number = static_cast<int>(random_below(&state, 1000000));
    qsort(numbers, 100000, sizeof *numbers, by_number);
    CHECK(std::is_sorted(numbers, numbers + 100000));

    char *text = nullptr;
    CHECK(asprintf(&text, "%01000d", 5) == 1000 && ours(text));
    free(text);
}

static void use_cxx()
{
    std::vector<std::string> words;
    for (int index = 0; index < 500; index++)
        words.push_back(std::string(static_cast<std::size_t>(index), 'x'));
    CHECK(ours(words.data()) && ours(words.back().data()));
    auto number = std::make_unique<long[]>(1000);
    CHECK(ours(number.get()));
    struct alignas(256) Wide {
        char bytes[256];
    };
    Wide *wide = new Wide;
    CHECK(ours(wide) && aligned_to(wide, 256));
    delete wide;
    Wide *several = new Wide[3];
    CHECK(ours(several));
    delete[] several;
}

int main()
{
    CHECK(symbol("malloc") == reinterpret_cast<void *>(&malloc), "the executable's malloc is not the process's");
    long outstanding = allocated - freed;
    for (int round = 0; round < 3; round++) {
        use_libc();
        use_cxx();
        std::thread other([] { use_cxx(); });
        other.join();
        // What libc and libstdc++ keep, they keep once.
        if (round == 0)
            outstanding = allocated - freed;
        CHECK(allocated - freed == outstanding, "%ld blocks too many", allocated - freed - outstanding);
    }
    return 0;
}
