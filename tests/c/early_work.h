/* What an initialiser does that runs before the others: every function once, and blocks that outlive it. */
#ifndef EARLY_WORK_H
#define EARLY_WORK_H

#include "check.h"

enum { EARLY_BLOCKS = 40 };

struct early {
    void *blocks[EARLY_BLOCKS];
    int done;
};

static size_t early_size(size_t index) { return index * index * index * 64 + index; }

/* free(NULL) is its first call; if that has to be the process's first, call this first. */
__attribute__((unused)) static void early_work(struct early *early)
{
    errno = 0x1234;
    free(NULL);
    free(malloc(1));
    free(calloc(3, 1000));
    free(realloc(NULL, 100000));
    for (size_t index = 0; index < EARLY_BLOCKS; index++) {
        size_t size = early_size(index);
        void *block = index % 3 == 0   ? malloc(size)
                      : index % 3 == 1 ? calloc(size, 1)
                                       : realloc(malloc(size / 2), size);
        CHECK(block != NULL && aligned_to(block, 16), "size %zu", size);
        if (index % 3 == 1)
            CHECK(all_bytes_are(block, size, 0), "size %zu", size);
        fill(block, size, index);
        early->blocks[index] = block;
    }
    void *aligned = memalign(4096, 100);
    CHECK(aligned != NULL && aligned_to(aligned, 4096));
    free(aligned);
    CHECK(errno == 0x1234);
    early->done++;
}

/* Later: the work was done, and its blocks are as they were and ordinary ones. */
__attribute__((unused)) static void early_check(struct early *early)
{
    CHECK(early->done == 1);
    for (size_t index = 0; index < EARLY_BLOCKS; index++)
        CHECK(filled(early->blocks[index], early_size(index), index), "size %zu", early_size(index));
    for (size_t index = 0; index < EARLY_BLOCKS; index++) {
        if (index % 2 == 0) {
            early->blocks[index] = realloc(early->blocks[index], early_size(index) + 100);
            CHECK(early->blocks[index] != NULL);
            CHECK(filled(early->blocks[index], early_size(index) & ~(size_t)7, index), "size %zu", early_size(index));
        }
        free(early->blocks[index]);
    }
    early->done = 0;
}

#endif
