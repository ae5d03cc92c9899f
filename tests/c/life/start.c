/* What a program does in the beginning, in every region of sizes, in two threads, with a look at the accounts: for
 * whoever watches its system calls. */
#include "life.h"

static void *work(void *unused)
{
    for (size_t size = 1; size < 20 * MIB; size = size * 3 / 2 + 1) {
        char *block = malloc(size);
        CHECK(block != NULL);
        block = realloc(block, size * 2);
        CHECK(block != NULL);
        block[0] = block[size] = 1;
        free(block);
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    work(NULL);
    CHECK(pthread_create(&id, NULL, work, NULL) == 0 && pthread_join(id, NULL) == 0);
    malloc_trim(0);
    CHECK(mallinfo2().uordblks < 100 * MIB);
    work(NULL);
    return 0;
}
