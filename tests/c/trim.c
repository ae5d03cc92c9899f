/* malloc_trim gives back what is free, says whether it did, and leaves what is live alone. */
#include "check.h"

enum { BYTES = 100 << 20, MOST = BYTES / 256 };

static void *blocks[MOST];
static void *kept[64];

int main(void)
{
    /* Parameters of the kind that glibc has are all refused. */
    for (int parameter = -20; parameter <= 20; parameter++)
        for (int value = -1; value <= 1; value++)
            CHECK(mallopt(parameter, value) == 0, "%d", parameter);
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 0 && mallopt(M_ARENA_MAX, 1) == 0 && mallopt(M_PERTURB, 7) == 0);

    for (int round = 0; round < 3; round++) {
        uint64_t state = 5;
        size_t count = 0, bytes = 0;
        while (bytes < BYTES) {
            size_t size = 16 + random_below(&state, 1008);
            CHECK(count < MOST);
            blocks[count] = malloc(size);
            CHECK(blocks[count] != NULL);
            memset(blocks[count++], 1, size);
            bytes += size;
        }
        for (size_t index = 0; index < 64; index++) {
            kept[index] = malloc(index * 10 + 1);
            fill(kept[index], index * 10 + 1, index);
        }
        long long peak = resident();
        CHECK(peak > BYTES, "%lld bytes", peak);
        for (size_t index = 0; index < count; index++)
            free(blocks[index]);
        CHECK(malloc_trim(0) == 1);
        long long left = resident();
        CHECK(left < peak / 10, "%lld of %lld bytes", left, peak);
        CHECK(mallinfo2().keepcost == 0, "%zu", mallinfo2().keepcost);
        CHECK(malloc_trim(0) == 0);
        for (size_t index = 0; index < 64; index++) {
            CHECK(filled(kept[index], index * 10 + 1, index));
            free(kept[index]);
        }
    }

    /* Huge blocks in the cache too. */
    void *huge = malloc(2 * MIB);
    CHECK(huge != NULL);
    memset(huge, 1, 2 * MIB);
    free(huge);
    malloc_trim(0);
    CHECK(mallinfo2().keepcost == 0, "%zu", mallinfo2().keepcost);
    return 0;
}
