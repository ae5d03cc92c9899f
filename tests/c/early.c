/* Calls before any constructor: from .preinit_array, which runs before every library's initialisers, or
 * (-DFROM_CONSTRUCTOR) from the first of the constructors. With -DONLY_FREE, free(NULL) is all that happens early. */
#include "early_work.h"

static struct early early;

static void first(void)
{
#ifdef ONLY_FREE
    errno = 0x1234;
    free(NULL);
    CHECK(errno == 0x1234);
    early.done = 1;
#else
    early_work(&early);
#endif
}

#ifdef FROM_CONSTRUCTOR
__attribute__((constructor(101))) static void constructor(void) { first(); }
#else
__attribute__((section(".preinit_array"), used)) static void (*const entry)(void) = first;
#endif

int main(void)
{
    CHECK(early.done == 1);
#ifdef ONLY_FREE
    early.done = 0;
    early_work(&early);
#endif
    early_check(&early);
    return 0;
}
