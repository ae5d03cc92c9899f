/* Little address space, limited before the program starts: it works, fills up what there is, gets NULL with ENOMEM at
 * the limit, and after everything is freed gets (nearly) as much again, in every size. */
#include "life.h"
#include <sys/resource.h>
#include <sys/wait.h>

static const size_t sizes[] = {100, 5000, 40000, MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Allocates until there is nothing left, the blocks linked through their first words; returns how many. */
static size_t fill_up(size_t size, void ***list)
{
    size_t count = 0;
    for (;; count++) {
        errno = 0;
        void **block = malloc(size);
        if (block == NULL)
            break;
        CHECK(errno == 0);
        block[0] = *list;
        block[1] = (void *)count;
        *list = block;
    }
    CHECK(errno == ENOMEM, "errno %d", errno);
    errno = 0;
    CHECK(calloc(1, 64 * MIB) == NULL && errno == ENOMEM);
    return count;
}

static void free_all(void **list, size_t count)
{
    while (list != NULL) {
        void **next = list[0];
        CHECK(list[1] == (void *)--count);
        free(list);
        list = next;
    }
    CHECK(count == 0);
}

/* How many blocks there are in a process that did nothing else before. */
static size_t fresh(size_t size)
{
    int ends[2];
    size_t count = 0;
    CHECK(pipe(ends) == 0);
    pid_t id = fork();
    CHECK(id >= 0);
    if (id == 0) {
        void **list = NULL;
        count = fill_up(size, &list);
        CHECK(write(ends[1], &count, sizeof count) == sizeof count);
        free_all(list, count);
        _exit(0);
    }
    close(ends[1]);
    CHECK(read(ends[0], &count, sizeof count) == sizeof count, "the child ended early");
    close(ends[0]);
    int status;
    CHECK(waitpid(id, &status, 0) == id && status == 0);
    return count;
}

static void *thread(void *unused)
{
    for (size_t size = 1; size < 100000; size *= 3) {
        void *block = malloc(size);
        CHECK(block != NULL, "size %zu", size);
        fill(block, size, size);
        CHECK(filled(block, size, size));
        free(block);
    }
    return unused;
}

static void works(void)
{
    pthread_t id;
    pthread_attr_t small;
    char *text = strdup("text");
    CHECK(text != NULL);
    text = realloc(text, 200000);
    CHECK(text != NULL && strcmp(text, "text") == 0);
    free(text);
    void *huge = malloc(3 * MIB);
    CHECK(huge != NULL);
    huge = realloc(huge, 4 * MIB);
    CHECK(huge != NULL);
    free(huge);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 * KIB) == 0);
    CHECK(pthread_create(&id, &small, thread, NULL) == 0 && pthread_join(id, NULL) == 0);
}

int main(int count, char **arguments)
{
    if (count < 2) {
        const struct rlimit limit = {LIMIT_MIB * MIB, LIMIT_MIB * MIB};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        execl("/proc/self/exe", arguments[0], "limited", (char *)NULL);
        CHECK(0, "cannot execute itself");
    }
    works();
    size_t possible[SIZES];
    for (size_t index = 0; index < SIZES; index++) {
        possible[index] = fresh(sizes[index]);
        /* Half of the space is what the rest of the process needs at most. */
        CHECK(possible[index] * sizes[index] >= LIMIT_MIB * MIB / 4, "%zu blocks of %zu bytes", possible[index],
              sizes[index]);
    }
    for (size_t first = 0; first < SIZES; first++)
        for (size_t second = 0; second < SIZES; second++) {
            void **list = NULL;
            size_t got = fill_up(sizes[first], &list);
            free_all(list, got);
            list = NULL;
            got = fill_up(sizes[second], &list);
            free_all(list, got);
            CHECK(got * 5 >= possible[second] * 4, "of %zu bytes, after %zu: %zu instead of %zu blocks", sizes[second],
                  sizes[first], got, possible[second]);
        }
    works();
    return 0;
}
