/* Prints how many bytes become resident per thread while two hundred threads live, which with -DALLOCATE allocate five
 * small blocks each. */
#ifndef ALLOCATE
#define WITHOUT_HAKMEM
#endif
#include "life.h"

enum { THREADS = 200 };

static pthread_barrier_t ready, done;
static const size_t sizes[] = {24, 50, 100, 150, 190};

static void *thread(void *unused)
{
#ifdef ALLOCATE
    enum { BLOCKS = sizeof sizes / sizeof *sizes };
    void *blocks[BLOCKS];
    for (size_t index = 0; index < BLOCKS; index++) {
        blocks[index] = malloc(sizes[index]);
        CHECK(blocks[index] != NULL);
        fill(blocks[index], sizes[index], index);
    }
#else
    (void)sizes;
#endif
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
#ifdef ALLOCATE
    for (size_t index = 0; index < BLOCKS; index++)
        free(blocks[index]);
#endif
    return unused;
}

int main(void)
{
    pthread_t ids[THREADS];
    pthread_attr_t small;
    free(malloc(100));
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 * KIB) == 0);
    CHECK(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0 && pthread_barrier_init(&done, NULL, THREADS + 1) == 0);
    long long before = resident();
    for (int index = 0; index < THREADS; index++)
        CHECK(pthread_create(&ids[index], &small, thread, NULL) == 0);
    pthread_barrier_wait(&ready);
    long long now = resident();
    pthread_barrier_wait(&done);
    for (int index = 0; index < THREADS; index++)
        CHECK(pthread_join(ids[index], NULL) == 0);
    print_figure((now - before) / THREADS);
    return 0;
}
