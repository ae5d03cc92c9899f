/* Size 0: every function gives a block of its own, and realloc(p, 0) frees. */
#include "check.h"

enum { ROUNDS = 200, KINDS = 12 };

static void unique_blocks(void)
{
    static void *blocks[ROUNDS * KINDS];
    size_t count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t zero = opaque_size(0);
        blocks[count++] = malloc(zero);
        blocks[count++] = calloc(zero, 7);
        blocks[count++] = calloc(opaque_size(SIZE_MAX), zero);
        blocks[count++] = calloc(zero, zero);
        blocks[count++] = realloc(NULL, zero);
        blocks[count++] = reallocarray(NULL, zero, 8);
        blocks[count++] = reallocarray(NULL, opaque_size(SIZE_MAX), zero);
        blocks[count++] = aligned_alloc(16, zero);
        blocks[count++] = memalign(64, zero);
        blocks[count++] = valloc(zero);
        blocks[count++] = pvalloc(zero);
        blocks[count] = NULL;
        CHECK(posix_memalign(&blocks[count++], 32, zero) == 0);
    }
    CHECK(count == ROUNDS * KINDS);
    for (size_t index = 0; index < count; index++) {
        CHECK(blocks[index] != NULL, "kind %zu", index % KINDS);
        CHECK(aligned_to(blocks[index], 16), "kind %zu", index % KINDS);
        /* Written to whatever extent it is usable: two that are one block would show. */
        fill(blocks[index], malloc_usable_size(blocks[index]), index);
    }
    for (size_t index = 0; index < count; index++)
        for (size_t other = index + 1; other < count; other++)
            CHECK(blocks[index] != blocks[other], "kinds %zu and %zu", index % KINDS, other % KINDS);
    for (size_t index = 0; index < count; index++) {
        CHECK(filled(blocks[index], malloc_usable_size(blocks[index]), index), "kind %zu", index % KINDS);
        free(blocks[index]);
    }
}

/* Frees by reallocation to nothing, often enough that blocks which stayed would show in the address space. */
static void realloc_to_zero_frees(size_t size, int by_array)
{
    long long before = address_space();
    for (size_t done = 0; done < GIB; done += size) {
        void *block = malloc(size);
        CHECK(block != NULL, "size %zu", size);
        errno = 0x1234;
        void *rest = by_array ? reallocarray(block, opaque_size(0), 8) : realloc(block, opaque_size(0));
        CHECK(rest == NULL, "size %zu", size);
        CHECK(errno == 0x1234, "size %zu errno %d", size, errno);
    }
    long long grown = address_space() - before;
    CHECK(grown < (long long)(64 * MIB), "size %zu: %lld bytes", size, grown);
}

int main(void)
{
    static const size_t sizes[] = {4000, 30000, 100000, 900000, 3 * MIB};
    unique_blocks();
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        for (int by_array = 0; by_array <= 1; by_array++)
            realloc_to_zero_frees(sizes[index], by_array);
    return 0;
}
