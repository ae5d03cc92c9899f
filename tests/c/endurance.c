/* Runs for the given number of seconds: threads come and go, sizes drift, blocks change hands, the process forks, and a
 * profiling signal allocates and frees 1,000 times a CPU second. Every block carries its size and a checksum.
 * Resident memory and the number of mappings must not grow: their highest values in the second half of the run are
 * compared with those in the first.
 *
 *   endurance SECONDS */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define TABLE 8192
#define WORKERS 4
#define STEPS 20000

struct block {
    size_t size;
    uint64_t seed;
};

static _Atomic(struct block *) table[TABLE];
static _Atomic uint64_t seeds;
static _Atomic unsigned long signals, threads, forks, steps;
static _Atomic unsigned drift;

/* Small sizes mostly; which ones changes from phase to phase. */
static size_t draw(uint64_t *state)
{
    size_t kind = random_below(state, 1000);
    size_t phase = drift % 7;
    if (kind < 850)
        return sizeof(struct block) + 8 + random_below(state, 64 << (phase % 5));
    if (kind < 970)
        return 512 + random_below(state, 6000 * (phase + 1));
    if (kind < 998)
        return 30000 + random_below(state, 400000);
    return MIB + random_below(state, 3 * MIB);
}

/* The first and last eight bytes behind the header tell whether the block is whole; small ones are checked throughout. */
static void seal(struct block *block, size_t size)
{
    block->size = size;
    block->seed = atomic_fetch_add(&seeds, 1);
    uint64_t *words = (uint64_t *)(block + 1);
    words[0] = pattern(block->seed, 0);
    uint64_t last = pattern(block->seed, size);
    memcpy((char *)block + size - 8, &last, 8);
    if (size <= 512)
        fill(words, size - sizeof *block, block->seed);
}

static void verify(const struct block *block)
{
    uint64_t last;
    if (block->size <= 512) {
        CHECK(filled(block + 1, block->size - sizeof *block, block->seed));
        return;
    }
    memcpy(&last, (const char *)block + block->size - 8, 8);
    CHECK(*(const uint64_t *)(block + 1) == pattern(block->seed, 0) && last == pattern(block->seed, block->size));
}

static struct block *make(uint64_t *state)
{
    size_t size = draw(state);
    struct block *block;
    switch (random_below(state, 10)) {
    case 0:
        block = calloc(1, size);
        CHECK(block != NULL && block->size == 0 && block->seed == 0);
        break;
    case 1: {
        size_t align = (size_t)16 << random_below(state, 9);
        block = memalign(align, size);
        CHECK(block != NULL && aligned_to(block, align));
        break;
    }
    default:
        block = malloc(size);
        CHECK(block != NULL && aligned_to(block, 16));
    }
    seal(block, size);
    return block;
}

static void take_back(struct block *block, uint64_t *state)
{
    verify(block);
    if (random_below(state, 16) == 0) {
        uint64_t seed = block->seed;
        size_t size = draw(state);
        block = realloc(block, size);
        CHECK(block != NULL && block->seed == seed);
        seal(block, size);
        verify(block);
    }
    free(block);
}

static void work(uint64_t seed, int rounds)
{
    uint64_t state = pattern(seed, 1) | 1;
    for (int i = 0; i < rounds; i++) {
        size_t slot = random_below(&state, TABLE);
        /* Four in five steps put a block in; the rest take one out, so that the table stays filled in part. */
        struct block *block = random_below(&state, 5) ? make(&state) : NULL;
        block = atomic_exchange(&table[slot], block);
        if (block != NULL)
            take_back(block, &state);
        if ((i & 1023) == 0)
            for (int j = 0; j < 600; j++) {
                block = atomic_exchange(&table[random_below(&state, TABLE)], NULL);
                if (block != NULL)
                    take_back(block, &state);
            }
    }
    atomic_fetch_add(&steps, (unsigned long)rounds);
}

static void *thread(void *seed)
{
    work((uint64_t)(uintptr_t)seed, STEPS);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    unsigned long count = atomic_fetch_add(&signals, 1);
    uint64_t state = pattern(count, 3) | 1;
    size_t size = 32 + random_below(&state, 2000);
    struct block *block = malloc(size);
    CHECK(block != NULL && aligned_to(block, 16));
    seal(block, size);
    verify(block);
    free(block);
}

static void fork_and_check(uint64_t seed)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        work(seed, 2000);
        pthread_t other;
        CHECK(pthread_create(&other, NULL, thread, (void *)(uintptr_t)seed) == 0);
        CHECK(pthread_join(other, NULL) == 0);
        _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    CHECK(status == 0, "status of the child: %#x", status);
    atomic_fetch_add(&forks, 1);
}

static int mappings(void)
{
    static char text[65536];
    int lines = 0;
    int from = open("/proc/self/maps", O_RDONLY);
    CHECK(from >= 0);
    for (ssize_t got; (got = read(from, text, sizeof text)) > 0;)
        for (ssize_t at = 0; at < got; at++)
            lines += text[at] == '\n';
    close(from);
    return lines;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    long seconds = atol(arguments[1]);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);

    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    long long highest[2] = {0, 0};
    int most[2] = {0, 0};
    long passed = 0;
    uint64_t generation = 0;
    do {
        pthread_t workers[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            void *seed = (void *)(uintptr_t)(generation * WORKERS + (uint64_t)i + 1);
            CHECK(pthread_create(&workers[i], NULL, thread, seed) == 0);
            atomic_fetch_add(&threads, 1);
        }
        fork_and_check(generation + 1000000);
        for (int i = 0; i < WORKERS; i++)
            CHECK(pthread_join(workers[i], NULL) == 0);
        generation++;
        atomic_fetch_add(&drift, 1);
        long long bytes = resident();
        int maps = mappings();
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed = now.tv_sec - start.tv_sec;
        /* Each half has a full turn of the drift at least. */
        int half = passed * 2 >= seconds && generation > 14;
        highest[half] = bytes > highest[half] ? bytes : highest[half];
        most[half] = maps > most[half] ? maps : most[half];
    } while (passed < seconds || generation < 28);
    CHECK(highest[1] < highest[0] + highest[0] / 4 + 32 * (long long)MIB, "RSS at most %lld, before %lld", highest[1],
          highest[0]);
    CHECK(most[1] < most[0] + most[0] / 4 + 50, "mappings at most %d, before %d", most[1], most[0]);

    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
    uint64_t state = 1;
    for (int i = 0; i < TABLE; i++)
        if (table[i] != NULL)
            take_back(table[i], &state);
    malloc_trim(0);
    CHECK(resident() < highest[1] / 8 + 8 * (long long)MIB, "RSS %lld of %lld after all was freed", resident(), highest[1]);
    printf("%lu steps, %lu threads, %lu forks, %lu signals, RSS at most %lld MiB, mappings at most %d\n", steps, threads,
           forks, signals, highest[1] / (long long)MIB, most[1]);
    return 0;
}
