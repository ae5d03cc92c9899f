/* Twenty thousand threads, four at a time: after the first thousand neither the resident memory nor the number of
 * mappings grows. Their destructors free, allocate and set their keys again; with -DONLY_FREE a thread's only call is
 * one free. */
#include "life.h"

enum { THREADS = 20000, WARM_UP = 1000, TOGETHER = 4, SAMPLE = 1000 };

static pthread_key_t early, late;
static _Atomic long calls;

/* The value's first word counts the rounds. */
static void again(pthread_key_t key, int *value)
{
    int round = *value + 1;
    free(value);
    free(malloc((size_t)round * 1000));
    calls++;
    value = malloc(24 + (size_t)round * 100);
    CHECK(value != NULL);
    *value = round;
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
        CHECK(pthread_setspecific(key, value) == 0);
    else
        free(value);
}

static void early_again(void *value) { again(early, value); }
static void late_again(void *value) { again(late, value); }

__attribute__((constructor(101))) static void first_key(void) { CHECK(pthread_key_create(&early, early_again) == 0); }

#ifdef ONLY_FREE
static void *thread(void *block)
{
    free(block);
    return NULL;
}
#else
static void *thread(void *block)
{
    pthread_key_t keys[2] = {early, late};
    for (int index = 0; index < 2; index++) {
        int *value = malloc(sizeof *value);
        CHECK(value != NULL);
        *value = 0;
        CHECK(pthread_setspecific(keys[index], value) == 0);
    }
    for (size_t size = 16; size < 200000; size *= 3)
        free(malloc(size));
    free(block);
    return NULL;
}
#endif

int main(void)
{
    long long warm = 0, most = 0;
    int warm_mappings = 0, most_mappings = 0;
    free(malloc(1));
    CHECK(pthread_key_create(&late, late_again) == 0);
    for (int count = 0; count < THREADS; count += TOGETHER) {
        pthread_t ids[TOGETHER];
        for (int index = 0; index < TOGETHER; index++)
            CHECK(pthread_create(&ids[index], NULL, thread, malloc(16 + (size_t)(count + index) % 2000)) == 0);
        for (int index = 0; index < TOGETHER; index++)
            CHECK(pthread_join(ids[index], NULL) == 0);
        if (count == WARM_UP) {
            warm = resident();
            warm_mappings = mappings();
        } else if (count > WARM_UP && count % SAMPLE == 0) {
            long long now = resident();
            int now_mappings = mappings();
            most = now > most ? now : most;
            most_mappings = now_mappings > most_mappings ? now_mappings : most_mappings;
        }
    }
#ifndef ONLY_FREE
    CHECK(calls == 2L * THREADS * PTHREAD_DESTRUCTOR_ITERATIONS, "%ld calls", calls);
#endif
    /* Twenty-one bytes a thread would show. */
    CHECK(most <= warm + (long long)(384 * KIB), "resident: %lld after the warm-up, later %lld", warm, most);
    CHECK(most_mappings <= warm_mappings + 8, "mappings: %d after the warm-up, later %d", warm_mappings, most_mappings);
    return 0;
}
