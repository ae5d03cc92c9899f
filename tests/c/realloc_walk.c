/* realloc between all regions of sizes, up and down, keeps the contents up to the smaller size. */
#include "check.h"

enum { BLOCKS = 6, STEPS = 4000 };
static const size_t regions[] = {16, KIB, 40 * KIB, 900 * KIB, 3 * MIB, 100 * MIB};
enum { REGIONS = sizeof regions / sizeof *regions };
/* Above this size a block carries one word per OS page. */
static const size_t WHOLE = MIB;

static void write_all(char *block, size_t size, uint64_t seed)
{
    if (size <= WHOLE)
        fill(block, size, seed);
    else
        mark(block, 0, size, seed);
}

int main(void)
{
    static struct {
        char *block;
        size_t size;
    } live[BLOCKS];
    uint64_t state = 4711;
    size_t large = 0;
    for (size_t step = 0; step < STEPS; step++) {
        size_t which = random_below(&state, BLOCKS), old = live[which].size;
        size_t region = random_below(&state, REGIONS);
        /* At most two of the largest at a time, and those rarely: they are for the kernel to move. */
        if (region == REGIONS - 1 && (large >= 2 || step % 16 != 0))
            region = 0;
        size_t size = regions[region] / 2 + random_below(&state, regions[region]) + 1;
        if (step % 5 == 0 && old > 1)
            size = old + (step % 2 == 0 ? 1 : (size_t)-1);
        char *block = live[which].block;
        char *moved = step % 3 == 0 ? reallocarray(block, size, 1) : realloc(block, size);
        CHECK(moved != NULL && aligned_to(moved, 16), "step %zu: %zu to %zu", step, old, size);
        CHECK(malloc_usable_size(moved) >= size, "step %zu: %zu to %zu", step, old, size);
        if (block != NULL) {
            size_t kept = old < size ? old : size;
            if (old <= WHOLE)
                /* A word that the smaller size cuts off is written in pieces. */
                CHECK(filled(moved, kept == old ? kept : kept & ~(size_t)7, which + 1), "step %zu: %zu to %zu", step,
                      old, size);
            else
                CHECK(marked(moved, kept, which + 1), "step %zu: %zu to %zu", step, old, size);
        }
        large += (size > 40 * MIB) - (size_t)(old > 40 * MIB);
        write_all(moved, size, which + 1);
        live[which].block = moved;
        live[which].size = size;
        /* No other block has changed. */
        if (step % 16 == 0)
            for (size_t other = 0; other < BLOCKS; other++)
                if (live[other].block != NULL)
                    CHECK(marked(live[other].block, live[other].size, other + 1), "step %zu", step);
    }
    for (size_t which = 0; which < BLOCKS; which++)
        free(live[which].block);
    return 0;
}
