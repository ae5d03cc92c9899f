/* A thousand forks while four other threads allocate without pause: each child allocates and frees blocks of every size
 * class at once, and starts a thread that does the same. */
#include "life.h"
#include <sys/wait.h>

enum { WORKERS = 4, FORKS = 1000, MOST = 512 };

static _Atomic int stop;

static void *work(void *argument)
{
    uint64_t state = (uint64_t)(size_t)argument + 99;
    enum { KEPT = 200 };
    void *blocks[KEPT] = {0};
    while (!stop) {
        size_t index = random_below(&state, KEPT);
        free(blocks[index]);
        size_t below = random_below(&state, 100) == 0 ? 2 * MIB : random_below(&state, 10) == 0 ? 60 * KIB : KIB;
        blocks[index] = malloc(random_below(&state, below));
        CHECK(blocks[index] != NULL);
        if (random_below(&state, 1000) == 0)
            malloc_trim(0);
    }
    for (size_t index = 0; index < KEPT; index++)
        free(blocks[index]);
    return NULL;
}

static size_t next_size(size_t size)
{
    return size < KIB ? size + 16 : size < 64 * KIB ? size + size / 4 : size + size / 2;
}

/* Blocks of all size classes, spans and huge ones, all live at once. */
static void *all_classes(void *unused)
{
    (void)unused;
    char *blocks[MOST];
    size_t count = 0;
    for (size_t size = 0; size < 10 * MIB; size = next_size(size)) {
        CHECK(count < MOST);
        blocks[count] = malloc(size);
        CHECK(blocks[count] != NULL);
        if (size > 0)
            blocks[count][0] = blocks[count][size - 1] = (char)count;
        count++;
    }
    size_t index = 0;
    for (size_t size = 0; size < 10 * MIB; size = next_size(size), index++) {
        if (size > 0)
            CHECK(blocks[index][0] == (char)index && blocks[index][size - 1] == (char)index, "size %zu", size);
        free(blocks[index]);
    }
    return NULL;
}

static void child(void *inherited)
{
    pthread_t id;
    alarm(60);
    CHECK(filled(inherited, 1000, 3));
    free(inherited);
    all_classes(NULL);
    CHECK(pthread_create(&id, NULL, all_classes, NULL) == 0);
    CHECK(pthread_join(id, NULL) == 0);
    malloc_trim(0);
    _exit(0);
}

int main(void)
{
    pthread_t ids[WORKERS];
    for (size_t index = 0; index < WORKERS; index++)
        CHECK(pthread_create(&ids[index], NULL, work, (void *)index) == 0);
    for (int count = 0; count < FORKS; count++) {
        void *inherited = malloc(1000);
        CHECK(inherited != NULL);
        fill(inherited, 1000, 3);
        pid_t id = fork();
        CHECK(id >= 0, "errno %d", errno);
        if (id == 0)
            child(inherited);
        int status = -1;
        CHECK(waitpid(id, &status, 0) == id);
        CHECK(status == 0, "child %d: status %#x (0xe is the alarm: it hung)", count, (unsigned)status);
        free(inherited);
    }
    stop = 1;
    for (size_t index = 0; index < WORKERS; index++)
        CHECK(pthread_join(ids[index], NULL) == 0);
    return 0;
}
