/* calloc: fresh memory stays untouched, used memory is cleared. With -DREFUSE_MADVISE the kernel refuses to purge, so
 * freed pages keep their bytes. */
#ifdef REFUSE_MADVISE
#include "refuse.h"
#else
#include "check.h"
#endif

static const size_t sizes[] = {1,     8,     16,    24,     100,    512,    1000,   1024,    1025,     2000,
                               5000,  10000, 20000, 32768,  32769,  65536,  70000,  200000,  500000,   983040,
                               983041, 3 * MIB, 17 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 4096, BYTES = 6 << 20 };

static void *blocks[MOST];

static void fresh_memory_is_not_touched(void)
{
    free(malloc(MIB));
    long long before = resident();
    char *block = calloc(GIB, 1);
    CHECK(block != NULL);
    long long grown = resident() - before;
    CHECK(grown < (long long)(2 * MIB), "%lld bytes", grown);
    for (size_t at = 0; at < GIB; at += GIB / 64)
        CHECK(block[at] == 0);
    CHECK(block[GIB - 1] == 0);
    free(block);
}

static void dirty_and_free(void *block)
{
    memset(block, 0xAA, malloc_usable_size(block));
    free(block);
}

static size_t count_of(size_t size)
{
    size_t count = BYTES / size;
    return count > MOST ? MOST : count < 3 ? 3 : count;
}

/* Blocks of one size, written, freed in one of two orders, and wanted again as zeroes in blocks of another size. */
static void dirty_blocks_come_back_zeroed(size_t old, size_t new, int backwards)
{
    size_t count = count_of(old);
    for (size_t index = 0; index < count; index++) {
        blocks[index] = malloc(old);
        CHECK(blocks[index] != NULL);
    }
    for (size_t index = 0; index < count; index++)
        dirty_and_free(blocks[backwards ? count - 1 - index : index]);
    count = count_of(new);
    for (size_t index = 0; index < count; index++) {
        blocks[index] = index % 2 == 0 ? calloc(new, 1) : calloc(1, new);
        CHECK(blocks[index] != NULL && aligned_to(blocks[index], 16));
        CHECK(all_bytes_are(blocks[index], new, 0), "size %zu after %zu", new, old);
        memset(blocks[index], 0xBB, malloc_usable_size(blocks[index]));
    }
    for (size_t index = 0; index < count; index++) {
        CHECK(all_bytes_are(blocks[index], new, 0xBB), "size %zu", new);
        free(blocks[index]);
    }
}

/* Pages change between bins and spans of all lengths, and are purged in between. */
static void random_walk(void)
{
    enum { LIVE = 200, STEPS = 30000 };
    uint64_t state = 99;
    memset(blocks, 0, sizeof blocks);
    for (size_t step = 0; step < STEPS; step++) {
        size_t slot = random_below(&state, LIVE);
        if (blocks[slot] != NULL)
            dirty_and_free(blocks[slot]);
        size_t most = step % 3 == 0 ? 1200 * KIB : step % 3 == 1 ? 100 * KIB : 2 * KIB;
        size_t size = 1 + random_below(&state, most);
        blocks[slot] = calloc(1, size);
        CHECK(blocks[slot] != NULL);
        CHECK(all_bytes_are(blocks[slot], size, 0), "step %zu size %zu", step, size);
        if (step % 11 == 0) {
            blocks[slot] = realloc(blocks[slot], 1 + random_below(&state, 2 * size));
            CHECK(blocks[slot] != NULL);
        }
        if (step % 1000 == 999) {
            /* Nearly everything goes, which empties pages and has them purged. */
            for (slot = 0; slot < LIVE - 3; slot++)
                if (blocks[slot] != NULL) {
                    dirty_and_free(blocks[slot]);
                    blocks[slot] = NULL;
                }
            if (step % 2000 == 999)
                malloc_trim(0);
        }
    }
}

int main(void)
{
#ifdef REFUSE_MADVISE
    refuse_to_take_memory_back();
#endif
    fresh_memory_is_not_touched();
    for (size_t old = 0; old < SIZES; old++) {
        dirty_blocks_come_back_zeroed(sizes[old], sizes[old], 0);
        dirty_blocks_come_back_zeroed(sizes[old], sizes[old], 1);
        dirty_blocks_come_back_zeroed(sizes[old], sizes[(old * 7 + 3) % SIZES], 0);
    }
    random_walk();
    return 0;
}
