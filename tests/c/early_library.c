/* A shared library whose DT_INIT, constructor and destructor allocate: preloaded beside hakmem, before and after it, or
 * linked. One of the two is initialised first, and that one is finished last. */
#include "early_work.h"

static struct early at_init, at_construction;

/* Named by the linker's -init. */
void early_library_init(void) { early_work(&at_init); }

__attribute__((constructor(101))) static void construct(void) { early_work(&at_construction); }

__attribute__((destructor)) static void destruct(void)
{
    static struct early at_destruction;
    early_work(&at_destruction);
    early_check(&at_destruction);
}

/* For the program, which finds it by name. */
void early_library_check(void)
{
    early_check(&at_init);
    early_check(&at_construction);
}
