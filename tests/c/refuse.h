/* A filter under which the kernel refuses chosen system calls with EPERM, as a sandbox may. */
#ifndef REFUSE_H
#define REFUSE_H

#include "check.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From here on `number` fails with EPERM, for good. Several calls add up. */
static void refuse_call(int number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        cannot_run("no seccomp filters");
}

/* Refuses to purge, and with -DREFUSE_MUNMAP to unmap; proves that it does. */
static void refuse_to_take_memory_back(void)
{
    void *page = mmap(NULL, OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    refuse_call(SYS_madvise);
    errno = 0;
    CHECK(madvise(page, OS_PAGE, MADV_DONTNEED) == -1 && errno == EPERM);
#ifdef REFUSE_MUNMAP
    refuse_call(SYS_munmap);
    errno = 0;
    CHECK(munmap(page, OS_PAGE) == -1 && errno == EPERM);
#endif
}

#endif
