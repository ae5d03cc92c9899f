/* 400,000 blocks of 16 to 1024 bytes are freed in the order ORDER: less than a tenth of the memory stays. With -DTRIM
 * after malloc_trim, else without any call: the program sleeps up to a second and looks. With -DLITTLE 40,000 blocks, of
 * which less than half stays: what a thread may cache weighs more there. */
#include "life.h"

#ifdef LITTLE
enum { BLOCKS = 40000, SHARE = 2 };
#else
enum { BLOCKS = 400000, SHARE = 10 };
#endif
enum { ALLOCATION_ORDER = 0, REVERSE = 1, RANDOM = 2, LOOKS = 100 };

int main(void)
{
    uint64_t state = 17;
    void **blocks = table(BLOCKS * sizeof *blocks);
    long long own = (long long)(BLOCKS * sizeof *blocks);
    for (size_t index = 0; index < BLOCKS; index++) {
        size_t size = 16 + random_below(&state, 1009);
        blocks[index] = malloc(size);
        CHECK(blocks[index] != NULL);
        memset(blocks[index], 1, size);
    }
    long long peak = resident() - own;
    CHECK(peak > BLOCKS * 500LL, "%lld", peak);
    if (ORDER == RANDOM)
        for (size_t index = BLOCKS - 1; index > 0; index--) {
            size_t other = random_below(&state, index + 1);
            void *block = blocks[index];
            blocks[index] = blocks[other];
            blocks[other] = block;
        }
    for (size_t index = 0; index < BLOCKS; index++)
        free(blocks[ORDER == REVERSE ? BLOCKS - 1 - index : index]);
#ifdef TRIM
    malloc_trim(0);
#endif
    long long left = resident() - own;
#ifndef TRIM
    for (int look = 0; look < LOOKS && left >= peak / SHARE; look++) {
        usleep(1000000 / LOOKS);
        left = resident() - own;
    }
#endif
    CHECK(left < peak / SHARE, "%lld of %lld bytes are left", left, peak);
    return 0;
}
