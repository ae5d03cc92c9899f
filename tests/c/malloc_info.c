/* Prints malloc_info's XML on stdout, for the caller to read. */
#include "check.h"

int main(void)
{
    void *small = malloc(1000), *span = malloc(100000), *huge = malloc(5 * MIB);
    CHECK(small != NULL && span != NULL && huge != NULL);
    errno = 0x1234;
    CHECK(malloc_info(1, stdout) == EINVAL);
    CHECK(malloc_info(-1, stdout) == EINVAL);
    CHECK(errno == 0x1234);
    CHECK(malloc_info(0, stdout) == 0);
    CHECK(fflush(stdout) == 0);
    free(small);
    free(span);
    free(huge);
    return 0;
}
