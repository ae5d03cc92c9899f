/* Blocks freed and allocated by thread-specific destructors, of keys made before the first malloc of the process and
 * after it: they run before and after the thread's heap is given up. Another thread's blocks are among them. */
#include "life.h"

enum { KEYS = 2, THREADS = 400, TOGETHER = 4, BLOCKS = 12 };

static const size_t sizes[] = {1, 16, 40, 100, 500, 1000, 5000, 20000, 40000, 100000, 900000, 2000000};
_Static_assert(sizeof sizes / sizeof *sizes == BLOCKS, "one block of each size");

static pthread_key_t keys[KEYS];
static _Atomic long calls;

/* What a key holds: blocks to be freed in the next round. */
struct bundle {
    int round;
    int key;
    uint64_t seed;
    void *blocks[BLOCKS];
};

static struct bundle *make(int key, int round, uint64_t seed)
{
    struct bundle *bundle = malloc(sizeof *bundle);
    CHECK(bundle != NULL);
    bundle->key = key;
    bundle->round = round;
    bundle->seed = seed;
    for (int index = 0; index < BLOCKS; index++) {
        bundle->blocks[index] = malloc(sizes[index]);
        CHECK(bundle->blocks[index] != NULL);
        fill(bundle->blocks[index], sizes[index] % 20001, seed + (uint64_t)index);
    }
    return bundle;
}

static void drop(struct bundle *bundle)
{
    for (int index = 0; index < BLOCKS; index++) {
        CHECK(filled(bundle->blocks[index], sizes[index] % 20001, bundle->seed + (uint64_t)index));
        errno = 0x1234;
        free(bundle->blocks[index]);
        CHECK(errno == 0x1234);
    }
    free(bundle);
}

/* Frees the bundle that the key held and holds a new one, as often as there are rounds of destructors. */
static void destructor(void *value)
{
    struct bundle *bundle = value;
    int key = bundle->key, round = bundle->round;
    uint64_t seed = bundle->seed;
    drop(bundle);
    calls++;
    bundle = make(key, round + 1, seed + 100);
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS)
        CHECK(pthread_setspecific(keys[key], bundle) == 0);
    else
        drop(bundle);
}

/* Before anything of the program allocated: an earlier key runs earlier. */
__attribute__((constructor(101))) static void first_key(void)
{
    CHECK(pthread_key_create(&keys[0], destructor) == 0);
}

/* The bundles come from the main thread. */
static void *thread(void *argument)
{
    void **bundles = argument;
    for (int key = 0; key < KEYS; key++)
        CHECK(pthread_setspecific(keys[key], bundles[key]) == 0);
    drop(bundles[KEYS]);
    return NULL;
}

int main(void)
{
    free(malloc(1));
    CHECK(pthread_key_create(&keys[1], destructor) == 0);
    for (uint64_t count = 0; count < THREADS; count += TOGETHER) {
        pthread_t ids[TOGETHER];
        void *bundles[TOGETHER][KEYS + 1];
        for (uint64_t index = 0; index < TOGETHER; index++) {
            for (int key = 0; key <= KEYS; key++)
                bundles[index][key] = make(key, 0, (count + index) * 1000 + (uint64_t)key * 300);
            CHECK(pthread_create(&ids[index], NULL, thread, bundles[index]) == 0);
        }
        for (int index = 0; index < TOGETHER; index++)
            CHECK(pthread_join(ids[index], NULL) == 0);
    }
    CHECK(calls == (long)THREADS * KEYS * PTHREAD_DESTRUCTOR_ITERATIONS, "%ld calls", calls);
    return 0;
}
