/* Calls after main: exit handlers, destructors, and thread-specific destructors that run after a thread's own code.
 * Each allocates, and frees what was allocated before. The last one makes the exit code: main's is a failure. */
#include "early_work.h"
#include <pthread.h>

enum { MAIN_RETURNED = 3, EXPECTED = 3, ROUNDS = 3 };

static struct early before_main, in_main, in_handler;
static int done;

static void work(void)
{
    static struct early early;
    early_work(&early);
    early_check(&early);
    done++;
}

/* Destructors run in reverse order of priority: this one after all others of the program. */
__attribute__((destructor(101))) static void last(void)
{
    work();
    early_check(&in_handler);
    CHECK(done == EXPECTED, "%d", done);
    _exit(0);
}

__attribute__((destructor)) static void destructor(void)
{
    work();
    early_check(&in_main);
    early_work(&in_handler);
}

__attribute__((constructor(101))) static void constructor(void) { early_work(&before_main); }

static void handler(void)
{
    work();
    early_check(&before_main);
}

static pthread_key_t key;
static int rounds;

/* Sets the key again, so that it runs again, after the exit hooks of everybody else. */
static void at_thread_exit(void *block)
{
    static struct early early;
    CHECK(filled(block, 500, 9));
    errno = 0x1234;
    free(block);
    CHECK(errno == 0x1234);
    early_work(&early);
    early_check(&early);
    if (++rounds < ROUNDS) {
        void *next = malloc(500);
        CHECK(next != NULL);
        fill(next, 500, 9);
        CHECK(pthread_setspecific(key, next) == 0);
    }
}

static void *thread(void *unused)
{
    void *block = malloc(500);
    CHECK(block != NULL);
    fill(block, 500, 9);
    CHECK(pthread_setspecific(key, block) == 0);
    return unused;
}

int main(void)
{
    CHECK(pthread_key_create(&key, at_thread_exit) == 0);
    for (int count = 0; count < 6; count++) {
        pthread_t id;
        rounds = 0;
        CHECK(pthread_create(&id, NULL, thread, NULL) == 0);
        CHECK(pthread_join(id, NULL) == 0);
        CHECK(rounds == ROUNDS, "%d", rounds);
    }
    early_work(&in_main);
    CHECK(atexit(handler) == 0);
    return MAIN_RETURNED;
}
