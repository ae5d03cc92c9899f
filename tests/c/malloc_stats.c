/* Has malloc_stats print on stderr, for the caller to read. */
#include "check.h"

int main(void)
{
    void *huge = malloc(5 * MIB);
    CHECK(huge != NULL);
    malloc_stats();
    free(huge);
    return 0;
}
