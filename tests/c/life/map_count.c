/* The process has all the mappings it may have: requests get NULL with ENOMEM or succeed, frees work, and once there is
 * room again everything does. */
#include "life.h"

enum { MOST = 1024 };

struct block {
    unsigned char *bytes;
    size_t size;
};

static struct block early[MOST], late[MOST];

static size_t next_size(size_t size) { return (size + size / 6 + 16) & ~(size_t)15; }

/* How much of a block the program writes. */
static size_t written(size_t size) { return size < 64 * KIB ? size : 64 * KIB; }

/* Four blocks of every size, huge ones among them, which are neighbours that one by one can only be unmapped by
 * splitting a mapping. What cannot be had is left out; says how many were refused. */
static size_t make(struct block *blocks)
{
    size_t count = 0, refused = 0;
    for (size_t size = 16; size <= 8 * MIB; size = next_size(size))
        for (int copy = 0; copy < 4; copy++) {
            CHECK(count < MOST);
            errno = 0x1234;
            unsigned char *bytes = copy == 3 ? calloc(1, size) : malloc(size);
            CHECK(errno == (bytes == NULL ? ENOMEM : 0x1234), "size %zu: %p, errno %d", size, (void *)bytes, errno);
            if (bytes == NULL) {
                refused++;
            } else {
                if (copy == 3)
                    CHECK(all_bytes_are(bytes, size, 0), "size %zu", size);
                fill(bytes, written(size), count);
            }
            blocks[count].bytes = bytes;
            blocks[count++].size = size;
        }
    return refused;
}

/* Resizes some and frees every `step`th from `first` on. */
static void resize_and_free(struct block *blocks, size_t first, size_t step)
{
    for (size_t index = first; index < MOST; index += step) {
        unsigned char *bytes = blocks[index].bytes;
        if (bytes == NULL)
            continue;
        CHECK(filled(bytes, written(blocks[index].size), index), "size %zu", blocks[index].size);
        errno = 0x1234;
        if (index % 3 == 0) {
            unsigned char *moved = realloc(bytes, blocks[index].size * 2);
            CHECK(errno == (moved == NULL ? ENOMEM : 0x1234));
            bytes = moved == NULL ? bytes : moved;
            CHECK(filled(bytes, written(blocks[index].size) & ~(size_t)7, index), "size %zu", blocks[index].size);
            errno = 0x1234;
        }
        free(bytes);
        CHECK(errno == 0x1234);
        blocks[index].bytes = NULL;
    }
}

int main(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    size_t limit = 0;
    if (file == NULL || fscanf(file, "%zu", &limit) != 1 || fclose(file) != 0 || limit > 2000000)
        cannot_run("no usable limit on mappings");
    CHECK(make(early) == 0);

    /* Neighbours with different rights are different mappings. */
    size_t length = (limit + 2) * 2 * OS_PAGE;
    char *region = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(region != MAP_FAILED);
    size_t at = 0;
    while (at < length && mprotect(region + at, OS_PAGE, PROT_READ) == 0)
        at += 2 * OS_PAGE;
    CHECK(at < length && errno == ENOMEM, "errno %d", errno);
    for (int rights = PROT_READ; mmap(NULL, OS_PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;)
        rights ^= PROT_WRITE;

    resize_and_free(early, 0, 2);
    malloc_trim(0);
    for (int round = 0; round < 5; round++) {
        make(late);
        resize_and_free(late, 1, 2);
        resize_and_free(late, 0, 2);
    }
    resize_and_free(early, 1, 2);
    malloc_trim(0);

    CHECK(munmap(region, length) == 0);
    for (int round = 0; round < 3; round++) {
        CHECK(make(late) == 0);
        resize_and_free(late, 0, 1);
    }
    return 0;
}
