/* A library opened with RTLD_DEEPBIND would have its own view of malloc, libc's, and give our blocks to libc's free.
 * Under hakmem it binds as every other library: the program frees, resizes and measures what it returns, and it
 * frees what the program allocated. */
#include "life.h"

typedef void *make(size_t size);
typedef char *make_text(const char *text);

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL, "%s", name);
    return found;
}

int main(void)
{
    static const size_t sizes[] = {1, 16, 100, 1000, 5000, 40000, 129 * KIB, MIB};
    static const char *const makers[] = {"library_make", "library_make_zeroed", "library_make_aligned",
                                         "library_make_resized"};
    static const char *const texts[] = {"library_strdup", "library_printed", "library_line"};
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(library != NULL, "%s", dlerror());
    Dl_info info;
    CHECK(dladdr(((make *)function("library_malloc"))(0), &info) != 0);
    CHECK(strstr(info.dli_fname, "libhakmem") != NULL, "the library's malloc is in %s", info.dli_fname);

    for (int round = 0; round < 200; round++) {
        for (size_t maker = 0; maker < sizeof makers / sizeof *makers; maker++) {
            make *from = (make *)function(makers[maker]);
            for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
                size_t size = sizes[index];
                char *block = from(size);
                CHECK(block != NULL && malloc_usable_size(block) >= size);
                fill(block, size, size);
                if (round % 2 == 0) {
                    block = realloc(block, 2 * size);
                    CHECK(block != NULL && malloc_usable_size(block) >= 2 * size);
                    CHECK(filled(block, size & ~(size_t)7, size), "size %zu", size);
                }
                free(block);
            }
        }
        for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
            ((void (*)(size_t))function("library_make_and_free"))(sizes[index]);
        for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
            ((void (*)(void *))function("library_free"))(malloc(sizes[index]));
        for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) {
            char *text = ((make_text *)function(texts[index]))("some text");
            CHECK(text != NULL && strncmp(text, "some text", 9) == 0, "%s", texts[index]);
            text = realloc(text, 100000);
            CHECK(text != NULL && strncmp(text, "some text", 9) == 0, "%s", texts[index]);
            free(text);
        }
    }
    return dlclose(library);
}
