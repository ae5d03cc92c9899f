/* Every block of every size starts at a multiple of 16 and overlaps no other live block. */
#include "check.h"

enum { SIZES = 70001, LIVE = 2048, EACH = 8, SMALL = 4096, POWERS = 27 };

struct live {
    void *block;
    size_t size;
};

static void *by_calloc(size_t size) { return calloc(1, size); }
static void *by_realloc(size_t size) { return realloc(NULL, size); }
static void *by_growth(size_t size) { return realloc(malloc(size / 2), size == 0 ? 1 : size); }

/* A window of live blocks slides over all sizes, so neighbours in memory are live together. */
static void all_sizes(void *(*allocate)(size_t), size_t step)
{
    static struct live live[LIVE];
    size_t slot = 0;
    for (size_t size = 0; size < SIZES + LIVE * step; size += step) {
        struct live *mine = &live[slot++ % LIVE];
        if (mine->block != NULL) {
            CHECK(filled(mine->block, mine->size, mine->size), "size %zu", mine->size);
            free(mine->block);
            mine->block = NULL;
        }
        if (size >= SIZES)
            continue;
        mine->size = size;
        mine->block = allocate(size);
        CHECK(mine->block != NULL, "size %zu", size);
        CHECK(aligned_to(mine->block, 16), "size %zu at %p", size, mine->block);
        fill(mine->block, size, size);
    }
}

/* Several blocks of each small size, all of them live at once. */
static void many_at_once(void)
{
    static void *blocks[SMALL + 1][EACH];
    for (size_t each = 0; each < EACH; each++)
        for (size_t size = 0; size <= SMALL; size++) {
            void *block = blocks[size][each] = malloc(size);
            CHECK(block != NULL && aligned_to(block, 16), "size %zu at %p", size, block);
            fill(block, size, size * EACH + each);
        }
    for (size_t size = 0; size <= SMALL; size++)
        for (size_t each = 0; each < EACH; each++) {
            CHECK(filled(blocks[size][each], size, size * EACH + each), "size %zu", size);
            free(blocks[size][each]);
        }
}

static int by_address(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)((const struct live *)left)->block, b = (uintptr_t)((const struct live *)right)->block;
    return a < b ? -1 : a > b;
}

/* Powers of two and their neighbours, all live at once, each as long as malloc_usable_size says. */
static void powers_of_two(void)
{
    static struct live live[POWERS * 3];
    size_t count = 0;
    for (size_t power = 0; power < POWERS; power++)
        for (int more = -1; more <= 1; more++) {
            size_t size = ((size_t)1 << power) + (size_t)more;
            void *block = malloc(size);
            CHECK(block != NULL && aligned_to(block, 16), "size %zu at %p", size, block);
            live[count].block = block;
            live[count].size = size;
            mark(block, 0, size, size);
            ((char *)block)[size == 0 ? 0 : size - 1] = 'z';
            count++;
        }
    qsort(live, count, sizeof *live, by_address);
    for (size_t index = 0; index < count; index++) {
        struct live *mine = &live[index];
        size_t usable = malloc_usable_size(mine->block);
        CHECK(usable >= mine->size, "size %zu usable %zu", mine->size, usable);
        if (index + 1 < count)
            CHECK((char *)mine->block + usable <= (char *)live[index + 1].block, "size %zu", mine->size);
        /* The last byte of a short block may lie in its first word. */
        if (mine->size >= 16)
            CHECK(marked(mine->block, mine->size - 8, mine->size), "size %zu", mine->size);
        CHECK(((char *)mine->block)[mine->size == 0 ? 0 : mine->size - 1] == 'z', "size %zu", mine->size);
    }
    for (size_t index = 0; index < count; index++)
        free(live[index].block);
}

int main(void)
{
    all_sizes(malloc, 1);
    all_sizes(by_calloc, 7);
    all_sizes(by_realloc, 7);
    all_sizes(by_growth, 7);
    all_sizes(valloc, 101);
    many_at_once();
    powers_of_two();
    return 0;
}
