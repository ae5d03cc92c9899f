/* What the programs of this directory share beyond check.h. */
#ifndef LIFE_H
#define LIFE_H

#include "../check.h"
#include <limits.h>
#include <pthread.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

/* Number of the process's mappings, counted without allocating. */
__attribute__((unused)) static int mappings(void)
{
    static char text[65536];
    int lines = 0;
    int from = open("/proc/self/maps", O_RDONLY);
    CHECK(from >= 0);
    for (;;) {
        ssize_t got = read(from, text, sizeof text);
        CHECK(got >= 0);
        if (got == 0)
            break;
        for (ssize_t at = 0; at < got; at++)
            lines += text[at] == '\n';
    }
    close(from);
    CHECK(lines > 0);
    return lines;
}

/* Memory for the program's own tables, so that it is no block of the allocator under test; resident from the start. */
__attribute__((unused)) static void *table(size_t bytes)
{
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CHECK(place != MAP_FAILED);
    return place;
}

/* Prints a figure for whoever compares several runs. */
__attribute__((unused)) static void print_figure(long long figure)
{
    char line[32];
    int length = snprintf(line, sizeof line, "%lld\n", figure);
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
}

#endif
