/* mallinfo2 and mallinfo tell the truth: known amounts appear in them, and disappear. */
#include "check.h"
#include <pthread.h>

/* mallinfo is, because its numbers are ints. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { SMALL = 1000, SPANS = 10, HUGE_BLOCKS = 3 };
enum { SMALL_SIZE = 1000, SPAN_SIZE = 100000, HUGE_SIZE = 5 << 20 };
static const size_t SLACK = 64 << 10;

static void *blocks[SMALL];

static size_t in_use(struct mallinfo2 info) { return info.uordblks + info.hblkhd; }

static void consistent(struct mallinfo2 info)
{
    CHECK(info.uordblks <= info.arena, "%zu of %zu", info.uordblks, info.arena);
    CHECK(info.uordblks + info.fordblks == info.arena, "%zu and %zu of %zu", info.uordblks, info.fordblks, info.arena);
    CHECK(info.fsmblks <= info.fordblks, "%zu of %zu", info.fsmblks, info.fordblks);
}

static void allocate(size_t count, size_t size)
{
    for (size_t index = 0; index < count; index++) {
        blocks[index] = malloc(size);
        CHECK(blocks[index] != NULL);
    }
}

static void release(size_t count)
{
    for (size_t index = 0; index < count; index++)
        free(blocks[index]);
}

/* `count` blocks of `size` bytes, gone again afterwards. */
static void known_amount(size_t count, size_t size, int huge)
{
    struct mallinfo2 before = mallinfo2();
    consistent(before);
    allocate(count, size);
    struct mallinfo2 during = mallinfo2();
    consistent(during);
    size_t grown = in_use(during) - in_use(before);
    CHECK(grown >= count * size, "%zu for %zu of %zu", grown, count, size);
    CHECK(grown <= count * size / 10 * 13 + SLACK, "%zu for %zu of %zu", grown, count, size);
    CHECK((during.hblkhd - before.hblkhd >= count * size) == huge);
    CHECK(during.hblks - before.hblks == (huge ? count : 0), "%zu", during.hblks - before.hblks);
    CHECK((during.uordblks - before.uordblks >= count * size) == !huge);

    struct mallinfo old = mallinfo();
    CHECK((size_t)old.arena == during.arena && (size_t)old.uordblks == during.uordblks);
    CHECK((size_t)old.fordblks == during.fordblks && (size_t)old.hblkhd == during.hblkhd);
    CHECK((size_t)old.hblks == during.hblks && (size_t)old.fsmblks == during.fsmblks);
    CHECK((size_t)old.keepcost == during.keepcost);

    release(count);
    struct mallinfo2 after = mallinfo2();
    consistent(after);
    CHECK(in_use(after) == in_use(before), "%zu, %zu before", in_use(after), in_use(before));
    CHECK(after.hblks == before.hblks && after.hblkhd == before.hblkhd);
}

/* Freed small blocks are in use no more; those at hand count as free. */
static void freed_small_blocks(void)
{
    malloc_trim(0);
    allocate(SMALL, 48);
    size_t size = malloc_usable_size(blocks[0]);
    struct mallinfo2 before = mallinfo2();
    for (size_t index = 0; index < 200; index++)
        free(blocks[index]);
    struct mallinfo2 after = mallinfo2();
    consistent(after);
    CHECK(after.fsmblks > before.fsmblks, "%zu, %zu before", after.fsmblks, before.fsmblks);
    CHECK(after.fsmblks - before.fsmblks <= 200 * size, "%zu, %zu before", after.fsmblks, before.fsmblks);
    CHECK(after.smblks > before.smblks);
    CHECK(before.uordblks - after.uordblks == 200 * size, "%zu", before.uordblks - after.uordblks);
    for (size_t index = 200; index < SMALL; index++)
        free(blocks[index]);
}

/* Numbers beyond an int are capped in the old form, not wrapped. */
static void beyond_an_int(void)
{
    void *large = malloc(3 * GIB);
    if (large == NULL)
        /* More than this machine will promise. */
        return;
    CHECK(mallinfo2().hblkhd >= 3 * GIB);
    CHECK(mallinfo().hblkhd == INT32_MAX, "%d", mallinfo().hblkhd);
    free(large);
}

static void *thread(void *unused)
{
    allocate(SMALL, SMALL_SIZE);
    return unused;
}

/* What a thread allocated is in use after its end, until somebody frees it. */
static void of_a_thread_that_ended(void)
{
    pthread_t id;
    struct mallinfo2 before = mallinfo2();
    CHECK(pthread_create(&id, NULL, thread, NULL) == 0);
    CHECK(pthread_join(id, NULL) == 0);
    size_t grown = in_use(mallinfo2()) - in_use(before);
    CHECK(grown >= SMALL * SMALL_SIZE && grown <= SMALL * SMALL_SIZE / 10 * 13 + SLACK, "%zu", grown);
    release(SMALL);
    size_t left = in_use(mallinfo2()) - in_use(before);
    /* libc keeps the thread's stack and its table of thread-local storage. */
    CHECK(left < SLACK, "%zu", left);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        known_amount(SMALL, SMALL_SIZE, 0);
        known_amount(SPANS, SPAN_SIZE, 0);
        known_amount(HUGE_BLOCKS, HUGE_SIZE, 1);
        freed_small_blocks();
        of_a_thread_that_ended();
    }
    beyond_an_int();
    return 0;
}
