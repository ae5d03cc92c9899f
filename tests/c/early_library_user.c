/* Checks what early_library.c did before main. */
#include "check.h"

int main(void)
{
    void (*check)(void);
    *(void **)&check = symbol("early_library_check");
    check();
    return 0;
}
