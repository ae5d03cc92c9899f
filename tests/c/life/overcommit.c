/* A program under vm.overcommit_memory=2, where address space that may be written counts at once: it starts, works,
 * gets ENOMEM for more than there is, and does not count for much itself. */
#include "life.h"

/* Bytes of private mappings that may be written: what counts against the limit. */
static size_t charged(void)
{
    static char text[1 << 18];
    size_t length = 0, bytes = 0;
    ssize_t got;
    int from = open("/proc/self/maps", O_RDONLY);
    CHECK(from >= 0);
    while ((got = read(from, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    close(from);
    text[length] = 0;
    for (char *line = text; line != NULL && *line != 0; line = strchr(line, '\n'), line += line != NULL) {
        unsigned long start, end;
        char rights[5];
        CHECK(sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3);
        if (rights[1] == 'w' && rights[3] == 'p')
            bytes += end - start;
    }
    return bytes;
}

static void *thread(void *unused)
{
    for (size_t size = 1; size < 10 * MIB; size = size * 5 / 2 + 1) {
        void *block = malloc(size);
        CHECK(block != NULL, "size %zu", size);
        mark(block, 0, size, size);
        block = realloc(block, size * 2);
        CHECK(block != NULL && marked(block, size, size), "size %zu", size);
        free(block);
    }
    return unused;
}

int main(void)
{
    pthread_t ids[4];
    long long commit = proc_bytes("/proc/meminfo", "\nCommitLimit:");
    CHECK(commit > 0);
    thread(NULL);
    for (int index = 0; index < 4; index++)
        CHECK(pthread_create(&ids[index], NULL, thread, NULL) == 0);
    for (int index = 0; index < 4; index++)
        CHECK(pthread_join(ids[index], NULL) == 0);
    errno = 0;
    CHECK(malloc((size_t)commit + GIB) == NULL && errno == ENOMEM, "errno %d", errno);
    errno = 0;
    CHECK(calloc(1, (size_t)commit + GIB) == NULL && errno == ENOMEM, "errno %d", errno);
    thread(NULL);
    /* The stacks of the four threads among it, which libc keeps. */
    CHECK(charged() < 128 * MIB, "%zu bytes", charged());
    return 0;
}
