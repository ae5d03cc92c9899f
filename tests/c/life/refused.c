/* From a point after the start on the kernel refuses the system call REFUSED with EPERM: the program goes on in every
 * size, contents and errno intact. */
#include "../refuse.h"
#include "life.h"

enum { MOST = 4096, BEFORE = 0x1234 };

struct block {
    unsigned char *bytes;
    size_t size, written;
};

static struct block blocks[MOST];

static size_t mixed_size(uint64_t *state)
{
    size_t kind = random_below(state, 100);
    return 1 + random_below(state, kind < 70 ? KIB : kind < 90 ? 40 * KIB : kind < 98 ? 900 * KIB : 5 * MIB);
}

static void make(struct block *block, uint64_t seed, size_t size)
{
    int zeroed = seed % 3 == 0;
    /* Somebody else's mapping, an odd number of pages too long for any gap: the next range that the kernel hands out
     * has no more than a page's alignment. */
    if (seed % 5 == 0)
        CHECK(mmap(NULL, 3 * MIB + OS_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    errno = BEFORE;
    block->bytes = zeroed ? calloc(1, size) : malloc(size);
    CHECK(block->bytes != NULL && errno == BEFORE, "size %zu errno %d", size, errno);
    block->size = size;
    block->written = size < 9000 ? size : 9000;
    if (zeroed)
        CHECK(all_bytes_are(block->bytes, size, 0), "size %zu", size);
    fill(block->bytes, block->written, seed);
}

static void drop(struct block *block, uint64_t seed)
{
    CHECK(filled(block->bytes, block->written, seed), "size %zu", block->size);
    errno = BEFORE;
    free(block->bytes);
    CHECK(errno == BEFORE, "size %zu errno %d", block->size, errno);
    block->bytes = NULL;
}

static void resize(struct block *block, uint64_t seed, size_t size)
{
    size_t same = (block->written < size ? block->written : size) & ~(size_t)7;
    errno = BEFORE;
    block->bytes = realloc(block->bytes, size);
    CHECK(block->bytes != NULL && errno == BEFORE, "from %zu to %zu errno %d", block->size, size, errno);
    CHECK(filled(block->bytes, same, seed), "from %zu to %zu", block->size, size);
    block->size = size;
    block->written = size < 9000 ? size : 9000;
    fill(block->bytes, block->written, seed);
}

int main(void)
{
    uint64_t state = 11;
    for (size_t index = 0; index < 50; index++)
        make(&blocks[index], index, mixed_size(&state));
    refuse_call(REFUSED);
    errno = 0;
    CHECK(syscall(REFUSED, 0, 0, 0, 0, 0, 0) == -1 && errno == EPERM);
    for (int round = 0; round < 3; round++) {
        for (size_t index = 0; index < 1500; index++)
            if (blocks[index].bytes == NULL)
                make(&blocks[index], index, mixed_size(&state));
        for (size_t index = 0; index < 1500; index += 3)
            resize(&blocks[index], index, mixed_size(&state));
        for (size_t index = 0; index < 1500; index += 7)
            resize(&blocks[index], index, blocks[index].size * 3 + 1);
        for (size_t index = round % 2; index < 1500; index += 1 + round % 2)
            drop(&blocks[index], index);
        malloc_trim(0);
        void *aligned = memalign(MIB, 3 * MIB);
        CHECK(aligned != NULL);
        free(aligned);
    }
    return 0;
}
