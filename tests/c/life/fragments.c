/* 60,000 blocks of 16 KiB, every second one freed: most of the freed memory comes back, more with malloc_trim, without
 * the process being cut into many mappings; the other blocks keep their contents, and the room is used again. */
#include "life.h"

enum { BLOCKS = 60000, SIZE = 16 * 1024, MAPPINGS = 300 };

int main(void)
{
    unsigned char **blocks = table(BLOCKS * sizeof *blocks);
    for (size_t index = 0; index < BLOCKS; index++) {
        blocks[index] = malloc(SIZE);
        CHECK(blocks[index] != NULL);
        fill(blocks[index], SIZE, index);
    }
    long long peak = resident();
    for (size_t index = 0; index < BLOCKS; index += 2)
        free(blocks[index]);
    long long freed = (long long)SIZE * BLOCKS / 2, back = peak - resident();
    CHECK(mappings() < MAPPINGS, "%d mappings", mappings());
#ifdef TRIM
    malloc_trim(0);
    back = peak - resident();
    CHECK(mappings() < MAPPINGS, "%d mappings after malloc_trim", mappings());
    CHECK(back >= freed / 100 * 80, "%lld of %lld freed bytes came back", back, freed);
#else
    CHECK(back >= freed / 100 * 60, "%lld of %lld freed bytes came back", back, freed);
#endif
    for (size_t index = 1; index < BLOCKS; index += 2)
        CHECK(filled(blocks[index], SIZE, index), "%zu", index);
    for (size_t index = 0; index < BLOCKS; index += 2) {
        blocks[index] = malloc(SIZE);
        CHECK(blocks[index] != NULL);
        fill(blocks[index], SIZE, index + BLOCKS);
    }
    long long again = resident();
    CHECK(again <= peak + peak / 20, "%lld bytes, before %lld: the room is not used again", again, peak);
    for (size_t index = 0; index < BLOCKS; index++)
        CHECK(filled(blocks[index], SIZE, index % 2 == 0 ? index + BLOCKS : index), "%zu", index);
    for (size_t index = 0; index < BLOCKS; index++)
        free(blocks[index]);
    return 0;
}
