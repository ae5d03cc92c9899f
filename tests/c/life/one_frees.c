/* Sixteen threads allocate and one frees, through bounded queues that stay at least half full: the resident memory stays
 * within one and a half times the live bytes, which go up and down in fractions of a second and are taken at their
 * highest so far, and a fixed amount for the threads, for as long as it goes on. */
#include "life.h"
#include <sched.h>

enum { PRODUCERS = 16, ROOM = 16384, FREES = 4000000, FIXED = 16 << 20, SAMPLE = 50000 };

struct queue {
    _Alignas(64) _Atomic size_t put;
    _Alignas(64) _Atomic size_t taken;
    /* Bytes of all blocks put and taken. */
    _Atomic size_t bytes_put, bytes_taken;
    void *blocks[ROOM];
};

static struct queue *queues;
static _Atomic int enough;

/* A block's first word is its size. */
static void *produce(void *argument)
{
    struct queue *queue = argument;
    uint64_t state = 0x9E3779B97F4A7C15 * (uint64_t)(queue - queues + 1);
    for (size_t count = 0; !enough; count++) {
        size_t size = 16 + random_below(&state, 1009);
        size_t *block = malloc(size);
        CHECK(block != NULL);
        memset(block, 1, size);
        *block = size;
        while (count - queue->taken == ROOM) {
            if (enough)
                return NULL;
            sched_yield();
        }
        queue->blocks[count % ROOM] = block;
        queue->bytes_put += size;
        queue->put = count + 1;
    }
    return NULL;
}

static long long live(void)
{
    long long bytes = 0;
    for (int index = 0; index < PRODUCERS; index++)
        bytes += (long long)queues[index].bytes_put - (long long)queues[index].bytes_taken;
    return bytes;
}

int main(void)
{
    pthread_t ids[PRODUCERS];
    pthread_attr_t small;
    queues = table(PRODUCERS * sizeof *queues);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 * KIB) == 0);
    long long before = resident(), worst = 0, live_then = 0, bytes = 0;
    for (int index = 0; index < PRODUCERS; index++)
        CHECK(pthread_create(&ids[index], &small, produce, &queues[index]) == 0);
    size_t freed = 0;
    while (freed < FREES) {
        size_t idle = freed;
        for (int index = 0; index < PRODUCERS; index++) {
            struct queue *queue = &queues[index];
            size_t taken = queue->taken, put = queue->put;
            for (; taken + ROOM / 2 < put; freed++) {
                size_t *block = queue->blocks[taken % ROOM];
                queue->bytes_taken += *block;
                free(block);
                queue->taken = ++taken;
                if (freed % SAMPLE == 0) {
                    /* The producers go on meanwhile. */
                    long long earlier = live(), used = resident(), later = live();
                    bytes = earlier > bytes ? earlier : bytes;
                    bytes = later > bytes ? later : bytes;
                    long long over = used - before - bytes * 3 / 2;
                    if (over > worst) {
                        worst = over;
                        live_then = bytes;
                    }
                }
            }
        }
        if (freed == idle)
            sched_yield();
    }
    enough = 1;
    for (int index = 0; index < PRODUCERS; index++)
        CHECK(pthread_join(ids[index], NULL) == 0);
    CHECK(worst <= FIXED, "%lld bytes over one and a half times the %lld live ones", worst, live_then);
    return 0;
}
