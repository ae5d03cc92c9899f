/* Blocks of libc's own allocator go back to libc, whoever's arena they are from; they can be resized and measured. */
#include "life.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

enum { BEFORE = 0x1234, BLOCKS = 64 };

static size_t (*libc_usable)(void *);
static struct mallinfo2 (*libc_info)(void);

/* From MAPPED on, libc gives a block a mapping of its own, unless it has the room at hand. */
enum { MAPPED = 128 * 1024 };
static const size_t sizes[] = {1, 24, 100, 1000, 5000, 40000, 127 * KIB, 129 * KIB, 200000, MIB, 5 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

static size_t in_use_at_libc(void)
{
    struct mallinfo2 info = libc_info();
    return info.uordblks + info.hblkhd;
}

static void measure_resize_free(void *(*make)(size_t), size_t size, size_t resized)
{
    errno = BEFORE;
    char *block = make(size);
    CHECK(block != NULL && malloc_usable_size(block) == libc_usable(block), "size %zu", size);
    CHECK(malloc_usable_size(block) >= size);
    fill(block, size, size);
    if (resized != 0) {
        block = realloc(block, resized);
        size_t kept = (size < resized ? size : resized) & ~(size_t)7;
        CHECK(block != NULL && malloc_usable_size(block) >= resized, "%zu to %zu", size, resized);
        CHECK(filled(block, kept, size), "%zu to %zu", size, resized);
    }
    free(block);
    CHECK(errno == BEFORE, "size %zu errno %d", size, errno);
}

static void *zeroed(size_t size) { return __libc_calloc(1, size); }
static void *aligned(size_t size) { return __libc_memalign(256, size); }

/* Threads beyond the first have arenas of their own at libc too. */
static void *make_blocks(void *place)
{
    void **blocks = place;
    for (int index = 0; index < BLOCKS; index++) {
        blocks[index] = __libc_malloc(sizes[index % SIZES]);
        fill(blocks[index], sizes[index % SIZES], (uint64_t)index);
    }
    return NULL;
}

static void *free_blocks(void *place)
{
    void **blocks = place;
    for (int index = 0; index < BLOCKS; index++) {
        CHECK(filled(blocks[index], sizes[index % SIZES], (uint64_t)index));
        free(blocks[index]);
    }
    return NULL;
}

static void run(void *(*work)(void *), void *argument)
{
    pthread_t id;
    CHECK(pthread_create(&id, NULL, work, argument) == 0 && pthread_join(id, NULL) == 0);
}

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    CHECK(libc != NULL);
    libc_usable = (size_t (*)(void *))dlsym(libc, "malloc_usable_size");
    libc_info = (struct mallinfo2(*)(void))dlsym(libc, "mallinfo2");
    CHECK(libc_usable != NULL && libc_info != NULL);
    CHECK((void *)libc_usable != dlsym(RTLD_DEFAULT, "malloc_usable_size"), "hakmem's, not libc's");

    /* A set threshold stays; the default one grows with every mapped block that is freed. */
    CHECK(((int (*)(int, int))dlsym(libc, "mallopt"))(M_MMAP_THRESHOLD, MAPPED) == 1);
    void *mapped = __libc_malloc(4 * MAPPED);
    CHECK(libc_info().hblks == 1);
    free(mapped);
    CHECK(libc_info().hblks == 0);

    void *blocks[BLOCKS];
    size_t before = 0;
    for (int round = 0; round < 15; round++) {
        for (int from = 0; from < SIZES; from++) {
            measure_resize_free(__libc_malloc, sizes[from], 0);
            measure_resize_free(zeroed, sizes[from], 0);
            measure_resize_free(aligned, sizes[from], 0);
            for (int to = 0; to < SIZES; to++)
                measure_resize_free(__libc_malloc, sizes[from], sizes[to]);
        }
        run(make_blocks, blocks);
        run(free_blocks, blocks);
        run(make_blocks, blocks);
        free_blocks(blocks);
        make_blocks(blocks);
        run(free_blocks, blocks);
        CHECK(realloc(__libc_malloc(100), 0) == NULL);
        /* The first rounds fill libc's own caches. */
        if (round == 5)
            before = in_use_at_libc();
    }
    size_t after = in_use_at_libc();
    CHECK(after <= before + 64 * KIB, "libc has %zu bytes in use, early on %zu", after, before);
    return 0;
}
