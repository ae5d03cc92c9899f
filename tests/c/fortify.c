/* Compiled with -D_FORTIFY_SOURCE=3, where memset knows how long a block is and ends the program if it writes more.
 * Programs that use all of malloc_usable_size must go on working in the ways that are open to them. */
#include "check.h"

/* A block from elsewhere, of which the compiler cannot know the size. */
__attribute__((noinline)) static void from_elsewhere(size_t size)
{
    char *block = opaque(malloc(size));
    CHECK(block != NULL);
    memset(block, 0x55, malloc_usable_size(block));
    CHECK(all_bytes_are(block, malloc_usable_size(block), 0x55), "size %zu", size);
    free(block);
}

/* The documented way: realloc to the usable size, which makes it the size that the compiler knows. */
__attribute__((noinline)) static void by_realloc(size_t size)
{
    char *block = malloc(size);
    CHECK(block != NULL);
    void *before = opaque(block);
    char *whole = realloc(block, malloc_usable_size(block));
    CHECK(whole == before, "size %zu", size);
    memset(whole, 0x66, malloc_usable_size(whole));
    CHECK(all_bytes_are(whole, malloc_usable_size(whole), 0x66), "size %zu", size);
    free(whole);
}

/* A usable size is a size that fits exactly: the compiler's length and ours are one. */
__attribute__((noinline)) static void exact(size_t size)
{
    void *probe = opaque(malloc(size));
    CHECK(probe != NULL);
    size_t usable = malloc_usable_size(probe);
    free(probe);
    char *block = malloc(usable);
    CHECK(block != NULL);
    memset(block, 0x77, malloc_usable_size(block));
    CHECK(all_bytes_are(block, usable, 0x77), "size %zu", size);
    free(block);
    char *zeroed = calloc(usable, 1);
    CHECK(zeroed != NULL);
    memset(zeroed, 0x77, malloc_usable_size(zeroed));
    free(zeroed);
}

int main(void)
{
    for (size_t size = 0; size < 20 * MIB; size += size / 9 + 1) {
        from_elsewhere(size);
        by_realloc(size);
        exact(size);
    }
    return 0;
}
