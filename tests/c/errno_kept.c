/* A call that succeeds leaves errno alone, and so does every free: in all sizes, and as a thread's first call. */
#include "check.h"
#include <pthread.h>

enum { BEFORE = 0x1234, COUNT = 300 };

static const size_t sizes[] = {0,     1,      16,     100,    1024,      1025,      5000,
                               32768, 32769,  100000, 983040, 983041,    3 * MIB,   100 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

#define KEPT(action)                                                    \
    do {                                                                \
        errno = BEFORE;                                                 \
        action;                                                         \
        CHECK(errno == BEFORE, #action " size %zu: errno %d", size, errno); \
    } while (0)

static void (*cfree_function)(void *);
static void (*free_sized_function)(void *, size_t);
static void (*free_aligned_sized_function)(void *, size_t, size_t);

static void allocate_and_free(size_t size)
{
    void *block = NULL, *other;
    KEPT(block = malloc(size));
    CHECK(block != NULL);
    KEPT(malloc_usable_size(block));
    KEPT(block = realloc(block, size + 1));
    CHECK(block != NULL);
    KEPT(block = realloc(block, size * 2 + 1));
    CHECK(block != NULL);
    KEPT(block = realloc(block, size / 2 + 1));
    CHECK(block != NULL);
    KEPT(block = reallocarray(block, 3, size / 3 + 1));
    CHECK(block != NULL);
    KEPT(other = realloc(block, opaque_size(0)));
    CHECK(other == NULL);

    KEPT(block = calloc(1, size));
    CHECK(block != NULL);
    KEPT(free(block));
    KEPT(block = realloc(NULL, size));
    CHECK(block != NULL);
    KEPT(cfree_function(block));
    KEPT(block = valloc(size));
    CHECK(block != NULL);
    KEPT(free_sized_function(block, size));
    KEPT(block = pvalloc(size));
    CHECK(block != NULL);
    KEPT(free(block));
    for (size_t align = 16; align <= GIB; align *= 4) {
        KEPT(block = memalign(align, size));
        CHECK(block != NULL);
        KEPT(free(block));
        KEPT(block = aligned_alloc(align, size));
        CHECK(block != NULL);
        KEPT(free_aligned_sized_function(block, align, size));
        int result;
        KEPT(result = posix_memalign(&block, align, size));
        CHECK(result == 0);
        KEPT(free(block));
    }
}

/* Enough blocks at once to pass through every path behind the hot ones. */
static void many(size_t size)
{
    static void *blocks[COUNT * 10];
    size_t count = size <= 32768 ? COUNT * 10 : size <= 3 * MIB ? COUNT / 10 : 3;
    for (size_t index = 0; index < count; index++)
        KEPT(blocks[index] = malloc(size));
    for (size_t index = 0; index < count; index++) {
        CHECK(blocks[index] != NULL);
        KEPT(free(blocks[index]));
    }
}

static void reports(void)
{
    static char text[65536];
    size_t size = 0;
    int result = 1;
    KEPT(free(NULL));
    KEPT(malloc_usable_size(NULL));
    KEPT(result = mallopt(M_MMAP_THRESHOLD, 1 << 20));
    KEPT(malloc_trim(0));
    KEPT(malloc_trim(0));
    struct mallinfo2 wide;
    KEPT(wide = mallinfo2());
    (void)wide;
    FILE *stream = fmemopen(text, sizeof text, "w");
    CHECK(stream != NULL);
    KEPT(result = malloc_info(0, stream));
    CHECK(result == 0);
    fclose(stream);
}

/* A refusal's errno outlives the frees after it. */
static void free_after_a_refusal(void)
{
    void *block = malloc(100), *large = malloc(10 * MIB);
    CHECK(block != NULL && large != NULL);
    errno = 0;
    CHECK(malloc(opaque_size(SIZE_MAX)) == NULL && errno == ENOMEM);
    free(block);
    CHECK(errno == ENOMEM);
    free(large);
    free(NULL);
    CHECK(errno == ENOMEM);
}

static void *first_call_allocates(void *argument)
{
    size_t size = *(const size_t *)argument;
    void *block;
    KEPT(block = malloc(size));
    CHECK(block != NULL);
    KEPT(free(block));
    return NULL;
}

static void *first_call_frees(void *argument)
{
    size_t size = 0;
    KEPT(free(argument));
    return NULL;
}

static void threads(size_t size)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, first_call_allocates, &size) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, first_call_frees, malloc(size)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    *(void **)&cfree_function = symbol("cfree");
    *(void **)&free_sized_function = symbol("free_sized");
    *(void **)&free_aligned_sized_function = symbol("free_aligned_sized");
    for (int round = 0; round < 3; round++)
        for (size_t index = 0; index < SIZES; index++) {
            allocate_and_free(sizes[index]);
            many(sizes[index]);
            threads(sizes[index]);
        }
    reports();
    free_after_a_refusal();
    return 0;
}
