// A wrong size (or alignment) handed to a sized free is harmless: it decides nothing.
#include "check.h"
#include <cstddef>
#include <new>

namespace {

constexpr std::size_t sizes[] = {1, 16, 24, 100, 1000, 1024, 1025, 5000, 32768, 40000, 70000, 900000, 3 << 20};
constexpr int MOST = 300;

using FreeSized = void (*)(void *, std::size_t);
using FreeAlignedSized = void (*)(void *, std::size_t, std::size_t);
FreeSized free_sized_function;
FreeAlignedSized free_aligned_sized_function;

int count_of(std::size_t size) { return size <= 5000 ? MOST : size <= 70000 ? 40 : 5; }

void release(int way, void *block, std::size_t wrong)
{
    switch (way) {
    case 0: ::operator delete(block, wrong); break;
    case 1: ::operator delete[](block, wrong); break;
    case 2: ::operator delete(block, wrong, std::align_val_t{64}); break;
    case 3: ::operator delete[](block, wrong, std::align_val_t{4096}); break;
    case 4: free_sized_function(block, wrong); break;
    default: free_aligned_sized_function(block, 128, wrong); break;
    }
}

// Blocks of both sizes, all live at once, each with contents of its own.
void both_sizes_work(std::size_t one, std::size_t other)
{
    static void *blocks[2][MOST];
    const std::size_t of[2] = {one, other};
    for (int which = 0; which < 2; which++)
        for (int index = 0; index < count_of(of[which]); index++) {
            void *block = blocks[which][index] = malloc(of[which]);
            CHECK(block != nullptr && aligned_to(block, 16));
            CHECK(malloc_usable_size(block) >= of[which], "%zu", of[which]);
            fill(block, of[which], static_cast<uint64_t>(which * MOST + index));
        }
    for (int which = 0; which < 2; which++)
        for (int index = 0; index < count_of(of[which]); index++) {
            CHECK(filled(blocks[which][index], of[which], static_cast<uint64_t>(which * MOST + index)),
                  "%zu and %zu", one, other);
            free(blocks[which][index]);
        }
}

} // namespace

int main()
{
    *reinterpret_cast<void **>(&free_sized_function) = symbol("free_sized");
    *reinterpret_cast<void **>(&free_aligned_sized_function) = symbol("free_aligned_sized");
    struct mallinfo2 before = mallinfo2();
    for (std::size_t right : sizes)
        for (std::size_t wrong : sizes)
            for (int way = 0; way < 6; way++) {
                static void *blocks[MOST];
                int count = count_of(right);
                for (int index = 0; index < count; index++) {
                    blocks[index] = way < 4 ? ::operator new(right) : malloc(right);
                    fill(blocks[index], right, static_cast<uint64_t>(index));
                }
                for (int index = 0; index < count; index++) {
                    CHECK(filled(blocks[index], right, static_cast<uint64_t>(index)), "%zu", right);
                    release(way, blocks[index], wrong);
                }
                if (way % 3 == 0)
                    release(way, nullptr, wrong);
                if (way == 5 || right <= 1024)
                    both_sizes_work(right, wrong);
            }
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks == before.uordblks && after.hblkhd == before.hblkhd, "%zu, %zu before", after.uordblks,
          before.uordblks);
    return 0;
}
