/* malloc_usable_size: all of it may be written, it does not change, and realloc within it stays where it is. */
#include "check.h"

enum { LIVE = 3000, BIN_MAX = 32768 };

struct live {
    void *block;
    size_t size;
    size_t usable;
};

static void verify(const struct live *mine)
{
    CHECK(malloc_usable_size(mine->block) == mine->usable, "size %zu", mine->size);
    CHECK(filled(mine->block, mine->usable, mine->size), "size %zu", mine->size);
}

/* Neighbours, each written to its last usable byte. */
static void wholly_writable(size_t from, size_t to, size_t step)
{
    static struct live live[LIVE];
    size_t slot = 0, count = to - from <= 40000 ? LIVE : 60;
    memset(live, 0, sizeof live);
    for (size_t size = from; size < to; size += step) {
        struct live *mine = &live[slot++ % count];
        if (mine->block != NULL) {
            verify(mine);
            free(mine->block);
        }
        mine->size = size;
        mine->block = malloc(size);
        CHECK(mine->block != NULL, "size %zu", size);
        mine->usable = malloc_usable_size(mine->block);
        CHECK(mine->usable >= size, "size %zu usable %zu", size, mine->usable);
        fill(mine->block, mine->usable, size);
    }
    for (size_t index = 0; index < count; index++)
        if (live[index].block != NULL) {
            verify(&live[index]);
            free(live[index].block);
        }
}

/* For every bin, every size that fits it; the contents are kept as far as the smallest of them goes. */
static void realloc_within_a_bin_stays(void)
{
    size_t size = 1;
    while (size <= BIN_MAX) {
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        size_t usable = malloc_usable_size(block);
        fill(block, usable, size);
        for (size_t wanted = usable; wanted >= 1; wanted--)
            CHECK(realloc(block, wanted) == block, "%zu of %zu", wanted, usable);
        for (size_t wanted = 1; wanted <= usable; wanted++)
            CHECK(realloc(block, wanted) == block, "%zu of %zu", wanted, usable);
        CHECK(malloc_usable_size(block) == usable && block[0] == (unsigned char)pattern(size, 0));
        fill(block, usable, size);
        for (size_t wanted = usable; wanted >= usable / 4 + 8; wanted -= 8)
            CHECK(realloc(block, wanted) == block && filled(block, wanted & ~(size_t)7, size), "%zu", wanted);
        CHECK(realloc(block, usable) == block);
        fill(block, usable, size);
        CHECK(filled(block, usable, size), "usable %zu", usable);
        free(block);
        size = usable + 1;
    }
}

static void growing_to_usable_stays(void)
{
    for (size_t size = 1; size < 300 * MIB; size += size / 7 + 1) {
        void *block = malloc(size);
        CHECK(block != NULL);
        size_t usable = malloc_usable_size(block);
        CHECK(realloc(block, usable) == block, "size %zu", size);
        CHECK(malloc_usable_size(block) == usable, "size %zu", size);
        free(block);
    }
    for (size_t align = 32; align <= 4 * MIB; align *= 2) {
        void *block = memalign(align, align + 1);
        CHECK(block != NULL);
        size_t usable = malloc_usable_size(block);
        CHECK(usable >= align + 1 && realloc(block, usable) == block, "align %zu", align);
        fill(block, usable, align);
        CHECK(filled(block, usable, align) && malloc_usable_size(block) == usable, "align %zu", align);
        free(block);
    }
}

int main(void)
{
    CHECK(malloc_usable_size(NULL) == 0);
    wholly_writable(0, 40000, 1);
    wholly_writable(30000, 1100000, 4999);
    wholly_writable(900000, 8 * MIB, 99991);
    realloc_within_a_bin_stays();
    growing_to_usable_stays();
    return 0;
}
