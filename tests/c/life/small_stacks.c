/* Threads with the smallest stack there is start and allocate, free, resize and trim: every slow path fits. */
#include "life.h"

enum { THREADS = 64, BLOCKS = 40 };

static void *thread(void *argument)
{
    size_t number = (size_t)argument;
    void *blocks[BLOCKS];
    size_t size = 1 + number;
    for (int round = 0; round < 3; round++) {
        for (int index = 0; index < BLOCKS; index++) {
            blocks[index] = index % 2 == 0 ? malloc(size) : calloc(1, size);
            CHECK(blocks[index] != NULL);
            *(char *)blocks[index] = (char)index;
            size = size * 3 / 2 + 1;
            if (size > 3 * MIB)
                size = 1 + number;
        }
        for (int index = 0; index < BLOCKS; index++) {
            blocks[index] = realloc(blocks[index], 100 + (size_t)index * 5000);
            CHECK(blocks[index] != NULL && *(char *)blocks[index] == (char)index);
        }
        for (int index = 0; index < BLOCKS; index++)
            free(blocks[index]);
        void *aligned = memalign(256 * KIB, 100000);
        CHECK(aligned != NULL);
        free(aligned);
        if (number % 4 == 0)
            malloc_trim(0);
    }
    return NULL;
}

int main(void)
{
    pthread_t ids[THREADS];
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0);
    int error = pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
    CHECK(error == 0, "%d", error);
    for (int round = 0; round < 5; round++) {
        for (size_t index = 0; index < THREADS; index++) {
            error = pthread_create(&ids[index], &small, thread, (void *)index);
            CHECK(error == 0, "%d", error);
        }
        for (size_t index = 0; index < THREADS; index++)
            CHECK(pthread_join(ids[index], NULL) == 0);
    }
    return 0;
}
