/* Opened with RTLD_DEEPBIND, which would make its own calls of malloc and free libc's. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *library_malloc(void) { return (void *)malloc; }
void *library_make(size_t size) { return malloc(size); }
void *library_make_zeroed(size_t size) { return calloc(1, size); }
void *library_make_aligned(size_t size) { return aligned_alloc(64, (size + 63) & ~(size_t)63); }

void *library_make_resized(size_t size)
{
    void *block = malloc(size / 2 + 1);
    return block == NULL ? NULL : realloc(block, size);
}

void library_free(void *block) { free(block); }

/* The library's own blocks, freed by itself. */
void library_make_and_free(size_t size)
{
    void *block = malloc(size);
    if (block != NULL)
        memset(block, 1, size);
    free(block);
}

char *library_strdup(const char *text) { return strdup(text); }

char *library_printed(const char *text)
{
    char *result;
    return asprintf(&result, "%s-%s", text, text) < 0 ? NULL : result;
}

char *library_line(const char *text)
{
    char *line = NULL;
    size_t room = 0;
    FILE *from = fmemopen((void *)text, strlen(text), "r");
    if (from == NULL || getline(&line, &room, from) < 0)
        return NULL;
    fclose(from);
    return line;
}
