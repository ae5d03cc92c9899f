/* The OS refuses to take memory back (with -DREFUSE_MUNMAP: addresses too). Nobody notices: errno stays, blocks keep
 * their contents, and calloc gives zeroes though freed memory kept its bytes. */
#include "refuse.h"

enum { BEFORE = 0x1234, MOST = 1 << 18 };

struct live {
    unsigned char *block;
    size_t size;
};

static struct live live[MOST];

/* Every so many-th block stays until the end: its segment cannot be unmapped, so its pages are to be purged. */
enum { STAYS = 61, STAYING = MOST / 8 };
static struct live staying[STAYING];
static size_t staying_count;

/* Allocates about `bytes` in blocks of `low` to `high` bytes, from calloc in every other round; checks, dirties and frees
 * them. */
static void fill_and_free(int round, size_t bytes, size_t low, size_t high)
{
    static uint64_t state = 42;
    int zeroed = round % 2;
    size_t count = 0, total = 0;
    while (total < bytes && count < MOST) {
        size_t size = low + random_below(&state, high - low + 1);
        errno = BEFORE;
        unsigned char *block = zeroed ? calloc(size, 1) : malloc(size);
        CHECK(errno == BEFORE, "size %zu errno %d", size, errno);
        CHECK(block != NULL && aligned_to(block, 16), "size %zu", size);
        if (zeroed)
            CHECK(all_bytes_are(block, size, 0), "size %zu", size);
        fill(block, size, count);
        live[count].block = block;
        live[count++].size = size;
        total += size;
    }
    for (size_t index = 0; index < count; index++) {
        CHECK(filled(live[index].block, live[index].size, index), "size %zu", live[index].size);
        if (index % STAYS == 0 && staying_count < STAYING) {
            fill(live[index].block, live[index].size, staying_count);
            staying[staying_count++] = live[index];
            continue;
        }
        memset(live[index].block, 0xAA, malloc_usable_size(live[index].block));
        errno = BEFORE;
        free(live[index].block);
        CHECK(errno == BEFORE, "size %zu errno %d", live[index].size, errno);
    }
}

/* Shrinks and grows huge blocks: their tails cannot be given back. */
static void resize_huge(void)
{
    for (int round = 0; round < 3; round++) {
        size_t size = 40 * MIB;
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        fill(block, size, 7);
        while (size > 1 * MIB) {
            size /= 3;
            errno = BEFORE;
            block = realloc(block, size);
            CHECK(block != NULL && errno == BEFORE, "size %zu errno %d", size, errno);
            CHECK(malloc_usable_size(block) >= size);
            CHECK(filled(block, size & ~(size_t)7, 7), "size %zu", size);
        }
        size_t kept = size & ~(size_t)7;
        while (size < 60 * MIB) {
            size *= 2;
            errno = BEFORE;
            block = realloc(block, size);
            CHECK(block != NULL && errno == BEFORE, "size %zu errno %d", size, errno);
            CHECK(filled(block, kept, 7), "size %zu", size);
        }
        memset(block, 0xAA, malloc_usable_size(block));
        errno = BEFORE;
        free(block);
        CHECK(errno == BEFORE, "errno %d", errno);
    }
}

static void aligned(void)
{
    for (size_t align = 64 * KIB; align <= GIB; align *= 4) {
        errno = BEFORE;
        unsigned char *block = memalign(align, 3 * MIB);
        CHECK(block != NULL && aligned_to(block, align) && errno == BEFORE, "align %zu", align);
        fill(block, 3 * MIB, align);
        CHECK(filled(block, 3 * MIB, align));
        free(block);
        CHECK(errno == BEFORE, "align %zu errno %d", align, errno);
    }
}

int main(void)
{
    refuse_to_take_memory_back();
    for (int round = 0; round < 4; round++) {
        fill_and_free(round, 40 * MIB, 16, 1024);
        fill_and_free(round, 40 * MIB, 1025, 32768);
        fill_and_free(round, 40 * MIB, 32769, 983040);
        fill_and_free(round, 60 * MIB, 2 * MIB, 20 * MIB);
    }
    resize_huge();
    aligned();
    errno = BEFORE;
    malloc_trim(0);
    CHECK(errno == BEFORE, "errno %d", errno);
    fill_and_free(1, 40 * MIB, 16, 100000);
    for (size_t index = 0; index < staying_count; index++) {
        CHECK(filled(staying[index].block, staying[index].size, index), "size %zu", staying[index].size);
        free(staying[index].block);
    }
    return 0;
}
