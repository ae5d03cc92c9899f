/* Alignments from 16 bytes to 4 GiB: blocks are aligned, whole, and hold no address space beyond themselves. */
#include "check.h"

enum { FIRST = 4, LAST = 32, FUNCTIONS = 3 };
static const size_t sizes[] = {1, 100, 5000, 70000, 3 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void *allocate(int function, size_t align, size_t size)
{
    void *block = NULL;
    switch (function) {
    case 0:
        return memalign(align, size);
    case 1:
        return aligned_alloc(align, size);
    default:
        CHECK(posix_memalign(&block, align, size) == 0, "align %zu size %zu", align, size);
        return block;
    }
}

/* One block of each kind, all live at once, then all freed, twice: the second time from caches. */
static void every_kind(void)
{
    static void *blocks[LAST + 1][SIZES][FUNCTIONS];
    for (int round = 0; round < 2; round++) {
        for (int power = FIRST; power <= LAST; power++)
            for (size_t size = 0; size < SIZES; size++)
                for (int function = 0; function < FUNCTIONS; function++) {
                    size_t align = (size_t)1 << power;
                    void *block = allocate(function, align, sizes[size]);
                    CHECK(block != NULL, "align %zu size %zu", align, sizes[size]);
                    CHECK(aligned_to(block, align), "align %zu size %zu at %p", align, sizes[size], block);
                    CHECK(malloc_usable_size(block) >= sizes[size], "align %zu size %zu", align, sizes[size]);
                    fill(block, sizes[size], (uint64_t)power * 64 + size * 4 + (uint64_t)function);
                    blocks[power][size][function] = block;
                }
        for (int power = LAST; power >= FIRST; power--)
            for (size_t size = 0; size < SIZES; size++)
                for (int function = 0; function < FUNCTIONS; function++) {
                    void *block = blocks[power][size][function];
                    uint64_t seed = (uint64_t)power * 64 + size * 4 + (uint64_t)function;
                    CHECK(filled(block, sizes[size], seed), "2^%d size %zu", power, sizes[size]);
                    if (function == 1) {
                        /* An aligned block may be resized, though the alignment is lost. */
                        block = realloc(block, sizes[size] * 2);
                        CHECK(block != NULL && filled(block, sizes[size] & ~(size_t)7, seed), "2^%d size %zu", power,
                              sizes[size]);
                    }
                    free(block);
                }
    }
}

/* Many blocks of one alignment, so that pages of aligned bins fill up. */
static void many_of_each(void)
{
    static void *blocks[2000];
    enum { COUNT = sizeof blocks / sizeof *blocks };
    for (size_t align = 32; align <= 4096; align *= 2)
        for (size_t size = align - 1; size <= align + 1; size++) {
            for (size_t index = 0; index < COUNT; index++) {
                blocks[index] = memalign(align, size);
                CHECK(blocks[index] != NULL && aligned_to(blocks[index], align), "align %zu size %zu", align, size);
                fill(blocks[index], size, index);
            }
            for (size_t index = 0; index < COUNT; index++) {
                CHECK(filled(blocks[index], size, index), "align %zu size %zu", align, size);
                free(blocks[index]);
            }
        }
}

static void address_space_is_given_back(size_t align, size_t size)
{
    enum { COUNT = 8 };
    void *blocks[COUNT];
    long long before = address_space();
    for (int index = 0; index < COUNT; index++) {
        blocks[index] = memalign(align, size);
        CHECK(blocks[index] != NULL && aligned_to(blocks[index], align), "align %zu size %zu", align, size);
        fill(blocks[index], size, (uint64_t)index);
    }
    long long held = address_space() - before;
    CHECK(held < (long long)(64 * MIB), "align %zu size %zu: %lld bytes", align, size, held);
    for (int index = 0; index < COUNT; index++) {
        CHECK(filled(blocks[index], size, (uint64_t)index));
        free(blocks[index]);
    }
    long long left = address_space() - before;
    CHECK(left < (long long)(8 * MIB), "align %zu size %zu: %lld bytes", align, size, left);
}

int main(void)
{
    /* The first block of a process maps what the allocator needs for itself. */
    free(malloc(1));
    address_space_is_given_back(GIB, 1);
    address_space_is_given_back(GIB, 3 * MIB);
    address_space_is_given_back(4 * GIB, 1);
    address_space_is_given_back(2 * MIB, 70000);
    every_kind();
    many_of_each();
    return 0;
}
