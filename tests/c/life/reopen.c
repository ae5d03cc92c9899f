/* The library is not preloaded but opened with dlopen, used through dlsym, and closed by twenty threads, over and over:
 * it stays in the process, so blocks and functions outlive every dlclose. */
#define WITHOUT_HAKMEM
#include "life.h"

enum { THREADS = 20, ROUNDS = 100, KEPT = 32 };

static _Atomic(unsigned char *) passed[THREADS];

struct functions {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    size_t (*usable)(void *);
};

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    Dl_info info;
    CHECK(found != NULL && dladdr(found, &info) != 0, "%s", name);
    CHECK(strstr(info.dli_fname, "libhakmem") != NULL, "%s is in %s", name, info.dli_fname);
    return found;
}

static void *open_library(struct functions *functions)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL, "%s", dlerror());
    functions->malloc = (void *(*)(size_t))function(library, "malloc");
    functions->calloc = (void *(*)(size_t, size_t))function(library, "calloc");
    functions->realloc = (void *(*)(void *, size_t))function(library, "realloc");
    functions->free = (void (*)(void *))function(library, "free");
    functions->usable = (size_t (*)(void *))function(library, "malloc_usable_size");
    return library;
}

/* Blocks of one round are freed in the next one, after the library was closed and opened again. */
static void use(const struct functions *functions, unsigned char **kept, uint64_t round)
{
    for (size_t index = 0; index < KEPT; index++) {
        size_t size = (index + 1) * (index + 1) * (index + 1) * (1 + index / 20 * 5);
        if (kept[index] != NULL) {
            CHECK(functions->usable(kept[index]) >= size && filled(kept[index], size, round - 1));
            kept[index] = functions->realloc(kept[index], size * 2);
            CHECK(kept[index] != NULL && filled(kept[index], size & ~(size_t)7, round - 1));
            functions->free(kept[index]);
        }
        kept[index] = index % 2 == 0 ? functions->malloc(size) : functions->calloc(1, size);
        CHECK(kept[index] != NULL);
        fill(kept[index], size, round);
    }
}

static void *thread(void *argument)
{
    size_t number = (size_t)argument;
    unsigned char *kept[KEPT] = {0};
    struct functions functions;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        void *library = open_library(&functions);
        use(&functions, kept, round);
        /* The next thread's block, or none yet, in exchange for one of ours. */
        unsigned char *block = functions.malloc(300);
        CHECK(block != NULL);
        fill(block, 300, 300);
        block = atomic_exchange(&passed[(number + 1) % THREADS], block);
        CHECK(dlclose(library) == 0);
        if (block != NULL) {
            CHECK(filled(block, 300, 300));
            functions.free(block);
        }
    }
    for (size_t index = 0; index < KEPT; index++)
        functions.free(kept[index]);
    return NULL;
}

int main(void)
{
    pthread_t ids[THREADS];
    for (size_t index = 0; index < THREADS; index++)
        CHECK(pthread_create(&ids[index], NULL, thread, (void *)index) == 0);
    for (size_t index = 0; index < THREADS; index++)
        CHECK(pthread_join(ids[index], NULL) == 0);

    struct functions functions;
    unsigned char *kept[KEPT] = {0};
    CHECK(dlclose(open_library(&functions)) == 0);
    for (uint64_t round = 0; round < 10; round++)
        use(&functions, kept, round);
    for (size_t index = 0; index < KEPT; index++)
        functions.free(kept[index]);
    for (size_t index = 0; index < THREADS; index++)
        functions.free(passed[index]);
    /* The program's own blocks are libc's all the while, and welcome too. */
    void *own = malloc(1000);
    functions.free(own);
    return 0;
}
