/* Blocks that realloc made much smaller, and left where they were, give back the OS pages that they have no need of. */
#include "check.h"

enum { BLOCKS = 2000 };

static unsigned char *blocks[BLOCKS];

int main(void)
{
    static const size_t sizes[] = {30000, 100000, 2 * MIB};
    for (size_t which = 0; which < sizeof sizes / sizeof *sizes; which++) {
        size_t size = sizes[which], count = size > MIB ? BLOCKS / 20 : BLOCKS;
        long long before = resident();
        for (size_t index = 0; index < count; index++) {
            blocks[index] = malloc(size);
            CHECK(blocks[index] != NULL);
            fill(blocks[index], size, index);
            errno = 0x1234;
            unsigned char *smaller = realloc(blocks[index], 104);
            CHECK(smaller == blocks[index] && errno == 0x1234);
            CHECK(filled(smaller, 104, index), "size %zu", size);
        }
        long long now = resident() - before;
        CHECK(now < (long long)(count * 3 * OS_PAGE + 4 * MIB), "%lld bytes for %zu blocks of %zu", now, count, size);
        for (size_t index = 0; index < count; index++) {
            size_t usable = malloc_usable_size(blocks[index]);
            CHECK(filled(blocks[index], 104, index) && usable >= 104);
            fill(blocks[index], usable, index);
            CHECK(filled(blocks[index], usable, index));
            free(blocks[index]);
        }
    }
    return 0;
}
