/* Does nothing, and prints the most memory that was ever resident, and whether that was under hakmem. */
#define WITHOUT_HAKMEM
#include "life.h"

int main(void)
{
    Dl_info info;
    print_figure(proc_bytes("/proc/self/status", "\nVmHWM:"));
    print_figure(dladdr(symbol("malloc"), &info) != 0 && strstr(info.dli_fname, "libhakmem") != NULL);
    return 0;
}
