/* A block that grows to 1 GiB is moved without a copy: it never needs its memory twice. One that shrinks gives memory back. */
#include "check.h"
#include <sys/resource.h>

int main(void)
{
    size_t size = MIB;
    char *block = malloc(size);
    CHECK(block != NULL);
    mark(block, 0, size, 1);
    while (size < GIB) {
        size_t more = (size + size / 8 + OS_PAGE - 1) & ~(size_t)(OS_PAGE - 1);
        if (more > GIB)
            more = GIB;
        block = realloc(block, more);
        CHECK(block != NULL && aligned_to(block, 16), "size %zu", more);
        CHECK(malloc_usable_size(block) >= more, "size %zu", more);
        CHECK(marked(block, size, 1), "size %zu from %zu", more, size);
        mark(block, size, more, 1);
        size = more;
    }
    CHECK(marked(block, size, 1));
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    CHECK((size_t)usage.ru_maxrss * 1024 < size / 5 * 6, "peak of %ld KiB", usage.ru_maxrss);
    CHECK(resident() > (long long)GIB);

    block = realloc(block, 2 * MIB);
    CHECK(block != NULL && marked(block, 2 * MIB, 1));
    CHECK(malloc_usable_size(block) >= 2 * MIB);
    CHECK(resident() < (long long)(32 * MIB), "%lld bytes", resident());
    mark(block, 0, malloc_usable_size(block), 2);
    free(block);
    return 0;
}
