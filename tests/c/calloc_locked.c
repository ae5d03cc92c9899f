/* Locked memory cannot be purged: calloc clears it. */
#include "check.h"

/* 6 MiB of spans: more than is kept without an attempt to purge, less than the customary limit on locked memory. */
enum { SPANS = 96, SPAN = 65536, PINS = 16 };

static void dirty_and_free(char *block)
{
    memset(block, 0xAA, SPAN);
    free(block);
}

int main(void)
{
    static char *spans[SPANS], *others[SPANS];
    /* Some spans stay live, so that no segment becomes idle and is unmapped, which locks do not prevent. */
    for (size_t index = 0; index < SPANS; index++) {
        spans[index] = malloc(SPAN);
        CHECK(spans[index] != NULL);
    }
    for (size_t index = 0; index < SPANS; index++)
        if (mlock(spans[index], SPAN) != 0)
            cannot_run("mlock: the limit on locked memory is too low");
    for (int round = 0; round < 4; round++) {
        for (size_t index = 0; index < SPANS; index++)
            if (index % PINS != 0)
                dirty_and_free(spans[index]);
        /* The attempt to purge is the kernel's to refuse, and trimming may not go on for ever. */
        errno = 0x1234;
        malloc_trim(0);
        CHECK(errno == 0x1234);
        for (size_t index = 0; index < SPANS; index++) {
            if (index % PINS == 0)
                continue;
            spans[index] = calloc(1, SPAN);
            CHECK(spans[index] != NULL && all_bytes_are(spans[index], SPAN, 0), "round %d span %zu", round, index);
        }
        for (size_t index = 0; index < SPANS; index++)
            if (index % PINS != 0)
                dirty_and_free(spans[index]);
        for (size_t index = 0; index < SPANS; index++) {
            others[index] = calloc(SPAN / 2, 1);
            CHECK(others[index] != NULL && all_bytes_are(others[index], SPAN / 2, 0), "round %d", round);
        }
        for (size_t index = 0; index < SPANS; index++) {
            memset(others[index], 0xCC, SPAN / 2);
            free(others[index]);
        }
        for (size_t index = 0; index < SPANS; index++)
            if (index % PINS != 0) {
                spans[index] = malloc(SPAN);
                CHECK(spans[index] != NULL);
            }
    }
    for (size_t index = 0; index < SPANS; index++)
        dirty_and_free(spans[index]);

    /* A huge block: its tail is unmapped where it shrinks, the rest waits in the cache. */
    char *huge = malloc(2 * MIB);
    CHECK(huge != NULL);
    if (mlock(huge, 2 * MIB) == 0) {
        memset(huge, 0xAA, 2 * MIB);
        free(huge);
        huge = calloc(2 * MIB, 1);
        CHECK(huge != NULL && all_bytes_are(huge, 2 * MIB, 0));
    }
    free(huge);
    return 0;
}
