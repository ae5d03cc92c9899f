/* SIGPROF a thousand times a second from a timer, and more often from a thread that sends it: the handler allocates,
 * checks and frees up to twenty blocks of mixed sizes wherever the program is in an allocator call of its own. With
 * -DNESTED handlers interrupt handlers. All handlers of a thread together hold at most one block of any bin, and free
 * what they allocate: that is what hakmem promises of malloc in handlers. */
#include "life.h"
#include <sched.h>
#include <signal.h>
#include <time.h>

enum { WORKERS = 2, KEPT = 60, AT_ONCE = 20, OPERATIONS = 100000, HANDLERS = 5000, DEEPEST = 3 };

struct block {
    unsigned char *bytes;
    size_t size;
    uint64_t seed;
};

/* One of the program's threads, and what the handler keeps on it. */
struct worker {
    pthread_t id;
    _Atomic size_t done;
    _Atomic long handled;
    _Atomic int depth;
    struct block kept[DEEPEST][AT_ONCE];
    uint64_t handler_state;
};

static struct worker workers[WORKERS];
static __thread struct worker *self;
static _Atomic int finished;

static size_t mixed_size(uint64_t *state)
{
    size_t kind = random_below(state, 1000);
    return random_below(state, kind < 900 ? KIB : kind < 990 ? 40 * KIB : kind < 998 ? 900 * KIB : 3 * MIB);
}

static void make(struct block *block, size_t size, uint64_t *state)
{
    block->size = size;
    block->seed = *state;
    int zeroed = block->seed % 4 == 0;
    block->bytes = zeroed ? calloc(1, block->size) : malloc(block->size);
    CHECK(block->bytes != NULL && aligned_to(block->bytes, 16));
    if (zeroed)
        CHECK(all_bytes_are(block->bytes, block->size < 4096 ? block->size : 4096, 0));
    fill(block->bytes, block->size < 4096 ? block->size : 4096, block->seed);
}

static void drop(struct block *block)
{
    if (block->bytes == NULL)
        return;
    CHECK(filled(block->bytes, block->size < 4096 ? block->size : 4096, block->seed), "size %zu", block->size);
    free(block->bytes);
    block->bytes = NULL;
}

/* A size for the block at `place` of the handler at `depth`: a bin of its own, or now and then none at all. */
static size_t own_size(size_t place, int depth, uint64_t *state)
{
    size_t kind = random_below(state, 200);
    if (kind == 0)
        return MIB + random_below(state, 2 * MIB);
    if (kind < 4)
        return 40 * KIB + random_below(state, 800 * KIB);
    return 16 * (DEEPEST * place + (size_t)depth) + 1 + random_below(state, 16);
}

static void handler(int number)
{
    (void)number;
    struct worker *worker = self;
    int depth, before = errno;
    if (worker == NULL || (depth = worker->depth) >= DEEPEST)
        return;
    worker->depth = depth + 1;
    struct block *kept = worker->kept[depth];
    uint64_t state = worker->handler_state + (uint64_t)depth + 1;
    size_t count = random_below(&state, AT_ONCE + 1);
    errno = 0x1234;
    for (size_t index = 0; index < count; index++) {
        size_t place = random_below(&state, AT_ONCE);
        drop(&kept[place]);
        make(&kept[place], own_size(place, depth, &state), &state);
    }
    for (size_t index = 0, first = random_below(&state, AT_ONCE); index < AT_ONCE; index++)
        drop(&kept[(first + index) % AT_ONCE]);
    CHECK(errno == 0x1234);
    errno = before;
    worker->handler_state = state;
    worker->handled++;
    worker->depth = depth;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t state = (uint64_t)(worker - workers) + 7;
    static __thread struct block kept[KEPT];
    worker->handler_state = state + 1000;
    self = worker;
    while (worker->done < OPERATIONS || (worker->handled < HANDLERS && !finished)) {
        size_t place = random_below(&state, KEPT);
        if (kept[place].bytes != NULL && state % 5 == 0) {
            struct block *block = &kept[place];
            size_t size = mixed_size(&state), same = block->size < size ? block->size : size;
            same = same < 4096 ? same & ~(size_t)7 : 4096;
            block->bytes = realloc(block->bytes, size + 1);
            CHECK(block->bytes != NULL && filled(block->bytes, same, block->seed));
            block->size = size + 1;
            fill(block->bytes, block->size < 4096 ? block->size : 4096, block->seed);
        } else {
            drop(&kept[place]);
            make(&kept[place], mixed_size(&state), &state);
        }
        if (state % 20011 == 0)
            malloc_trim(0);
        worker->done++;
    }
    self = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    for (size_t place = 0; place < KEPT; place++)
        drop(&kept[place]);
    for (int depth = 0; depth < DEEPEST; depth++)
        for (size_t place = 0; place < AT_ONCE; place++)
            drop(&worker->kept[depth][place]);
    finished++;
    return NULL;
}

/* Each signal waits until the thread got on, or none would. */
static void *send(void *unused)
{
    size_t seen[WORKERS] = {0};
    uint64_t state = 3;
    while (finished < WORKERS) {
        int sent = 0;
        for (int index = 0; index < WORKERS; index++) {
            size_t done = workers[index].done;
            if (finished == 0 && done != seen[index]) {
                seen[index] = done;
                sent += pthread_kill(workers[index].id, SIGPROF) == 0;
            }
        }
        if (sent == 0)
            sched_yield();
        for (volatile size_t spin = random_below(&state, 300); spin > 0; spin--)
            ;
    }
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    alarm(100);
#ifdef NESTED
    action.sa_flags |= SA_NODEFER;
#endif
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    CHECK(timer_settime(timer, 0, &often, NULL) == 0);
    pthread_t sender;
    /* The second worker is a thread; the main thread is the first, which a signal to the process prefers. */
    workers[0].id = pthread_self();
    CHECK(pthread_create(&workers[1].id, NULL, work, &workers[1]) == 0);
    CHECK(pthread_create(&sender, NULL, send, NULL) == 0);
    work(&workers[0]);
    CHECK(pthread_join(workers[1].id, NULL) == 0 && pthread_join(sender, NULL) == 0);
    for (int index = 0; index < WORKERS; index++)
        CHECK(workers[index].handled > 0, "no handler ran on worker %d", index);
    return 0;
}
