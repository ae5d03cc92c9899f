/* 100 MiB in COUNT blocks of SIZE bytes, allocated, touched and freed fifty times: from the tenth time on most of the
 * memory is there already, and need not be faulted in again. */
#include "life.h"
#include <sys/resource.h>

enum { ROUNDS = 50, WARM_UP = 10 };

static long faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

int main(void)
{
    unsigned char **blocks = table(COUNT * sizeof *blocks);
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM_UP)
            before = faults();
        for (size_t index = 0; index < COUNT; index++) {
            blocks[index] = malloc(SIZE);
            CHECK(blocks[index] != NULL);
            for (size_t at = 0; at < SIZE; at += OS_PAGE)
                blocks[index][at] = (unsigned char)round;
            blocks[index][SIZE - 1] = (unsigned char)round;
        }
        for (size_t index = 0; index < COUNT; index++)
            free(blocks[index]);
    }
    long got = faults() - before;
    long all = (long)((size_t)COUNT * SIZE / OS_PAGE) * (ROUNDS - WARM_UP);
    CHECK(got < all / 4, "%ld faults, %ld if all memory were new each time", got, all);
    return 0;
}
