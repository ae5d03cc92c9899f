/* misuse CASE [SIZE [DETAIL]]: each case is a program of a few lines that misuses the heap. The pointer in question
 * goes to stdout first. Whoever gets past the end of a case was not stopped and says so. */
#include "life.h"
#include <signal.h>
#include <sys/resource.h>

enum { SPAN_FROM = 32 * 1024 + 1, HELD = 4096 };

static size_t size;
static const char *detail = "";
static pthread_barrier_t both;

/* What is misused from here on. */
static void *named(void *pointer)
{
    char line[32];
    int length = snprintf(line, sizeof line, "0x%lx\n", (unsigned long)pointer);
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
    return opaque(pointer);
}

static void got_past(const char *what) { CHECK(0, "size %zu %s: got past %s", size, detail, what); }

/* Sizes without a bin are looked at when they are freed, so nobody gets here. */
static void looked_at_later(void)
{
    if (size >= SPAN_FROM)
        got_past("the free of a span or huge block");
}

/* Blocks of more bytes than any cache of a thread holds. */
static size_t enough(void) { return 8 * MIB / size + HELD; }

/* Brings every magazine of this thread home to the bitmaps; with "frees" and "allocs" by use alone. */
static void flush(void **others)
{
    looked_at_later();
    if (strcmp(detail, "trim") == 0)
        malloc_trim(0);
    for (size_t index = 0; others != NULL && index < enough(); index++)
        free(others[index]);
    /* Not stopped: then at least no block may have two owners now. */
    static void *held[HELD];
    for (size_t index = 0; index < HELD; index++) {
        held[index] = malloc(size);
        *(size_t *)held[index] = index;
    }
    for (size_t index = 0; index < HELD; index++)
        CHECK(*(size_t *)held[index] == index, "%zu %s: a block has two owners", size, detail);
    got_past("the flush");
}

/* Blocks to be freed by `flush`, unless it trims. */
static void **others(void)
{
    if (strcmp(detail, "frees") != 0 && strcmp(detail, "allocs") != 0)
        return NULL;
    void **blocks = table(enough() * sizeof *blocks);
    for (size_t index = 0; index < enough(); index++)
        blocks[index] = malloc(size);
    return blocks;
}

static void *in_thread(void *(*run)(void *), void *argument)
{
    pthread_t id;
    void *result;
    CHECK(pthread_create(&id, NULL, run, argument) == 0 && pthread_join(id, &result) == 0);
    return result;
}

/* A buffer that no allocator made. What lies before it, where libc keeps a block's size, is up to DETAIL. */
static char *no_block(char *buffer, size_t bytes)
{
    memset(buffer, detail[0] == 't' ? 'e' : 0, bytes);
    if (detail[0] == 'c')
        for (size_t at = 8; at < bytes; at += 16)
            *(size_t *)(buffer + at) = 0x31;
    return buffer + 64;
}

static char in_data[1024] __attribute__((aligned(64))) = {1};

static void free_static(void) { free(named(no_block(in_data, sizeof in_data))); }
static void realloc_static(void) { opaque(realloc(named(no_block(in_data, sizeof in_data)), 200)); }

static void free_stack(void)
{
    char buffer[1024] __attribute__((aligned(64)));
    free(named(no_block(buffer, sizeof buffer)));
}

static void realloc_stack(void)
{
    char buffer[1024] __attribute__((aligned(64)));
    opaque(realloc(named(no_block(buffer, sizeof buffer)), 200));
}

/* Nothing is mapped there or nearby. */
static void free_unmapped(void) { free(named((void *)(UINT64_C(0x400000000000) + size))); }

static void *stack_of_thread(void *unused)
{
    free(malloc(10));
    free_stack();
    return unused;
}

static void free_stack_in_thread(void) { in_thread(stack_of_thread, NULL); }

/* DETAIL is the distance from the block's start. */
static void free_interior(void)
{
    char *block = malloc(size);
    free(named(block + atol(detail)));
    looked_at_later();
    malloc_trim(0);
    got_past("malloc_trim");
}

static void realloc_interior(void)
{
    char *block = malloc(size);
    opaque(realloc(named(block + atol(detail)), 2 * size));
}

static void realloc_interior_in_place(void)
{
    char *block = malloc(size);
    opaque(realloc(named(block + atol(detail)), size - size / 4));
}

static void free_twice(void)
{
    void **before = others(), *block = malloc(size);
    free(named(block));
    free(block);
    if (strcmp(detail, "allocs") == 0) {
        looked_at_later();
        for (size_t index = 0; index < enough(); index++)
            free(before[index]);
        for (size_t index = 0; index < enough(); index++)
            before[index] = malloc(size);
    }
    flush(before);
}

static void *twice_in_thread(void *unused)
{
    void *block = malloc(size);
    free(named(block));
    free(block);
    looked_at_later();
    return unused;
}

static void free_twice_before_exit(void) { in_thread(twice_in_thread, NULL); }

/* The block leaves every cache of freed ones before it is freed again; DETAIL "trim" sees to it, else many others do.
 * */
static void free_twice_far_apart(void)
{
    void *block = malloc(size), *many[100];
    for (size_t index = 0; index < 100; index++)
        many[index] = malloc(size);
    free(named(block));
    for (size_t index = 0; index < 100; index++)
        free(many[index]);
    if (strcmp(detail, "trim") == 0)
        malloc_trim(0);
    free(block);
    looked_at_later();
    malloc_trim(0);
}

/* Where the block was is unmapped, right below it something else is mapped. */
static void free_twice_above_a_mapping(void)
{
    char *block = malloc(size);
    free(named(block));
    malloc_trim(0);
    mmap(block - OS_PAGE, OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    free(block);
}

static void realloc_freed(void)
{
    void *block = malloc(size);
    free(named(block));
    opaque(realloc(block, 2 * size));
    looked_at_later();
    malloc_trim(0);
}

static void *frees(void *block)
{
    free(block);
    return NULL;
}

static void free_in_two_threads(void)
{
    void *block = named(malloc(size));
    in_thread(frees, block);
    in_thread(frees, block);
    looked_at_later();
}

static void *frees_at_once(void *block)
{
    free(malloc(size));
    pthread_barrier_wait(&both);
    free(block);
    return NULL;
}

static void free_in_two_threads_at_once(void)
{
    void *block = named(malloc(size));
    pthread_t first, second;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&first, NULL, frees_at_once, block);
    pthread_create(&second, NULL, frees_at_once, block);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void *allocates_and_frees(void *unused)
{
    (void)unused;
    void *block = malloc(size);
    free(block);
    return block;
}

static void free_again_after_the_owner_ended(void)
{
    free(named(in_thread(allocates_and_frees, NULL)));
    looked_at_later();
    malloc_trim(0);
}

static void free_again_after_the_other_ended(void)
{
    void *block = named(malloc(size));
    in_thread(frees, block);
    free(block);
    looked_at_later();
    malloc_trim(0);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(free_static),
    CASE(realloc_static),
    CASE(free_stack),
    CASE(realloc_stack),
    CASE(free_stack_in_thread),
    CASE(free_unmapped),
    CASE(free_interior),
    CASE(realloc_interior),
    CASE(realloc_interior_in_place),
    CASE(free_twice),
    CASE(free_twice_before_exit),
    CASE(free_twice_far_apart),
    CASE(free_twice_above_a_mapping),
    CASE(realloc_freed),
    CASE(free_in_two_threads),
    CASE(free_in_two_threads_at_once),
    CASE(free_again_after_the_owner_ended),
    CASE(free_again_after_the_other_ended),
};

int main(int count, char **arguments)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(60);
    CHECK(count >= 2);
    if (count > 2)
        size = (size_t)atol(arguments[2]);
    if (count > 3)
        detail = arguments[3];
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
        if (strcmp(cases[index].name, arguments[1]) == 0) {
            cases[index].run();
            got_past("the end");
        }
    CHECK(0, "no case %s", arguments[1]);
    return 2;
}
