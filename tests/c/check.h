/* What the test programs share: CHECK, patterns, figures of the process, and the proof that hakmem serves them.
 *
 * A program prints the first check that fails on stderr and exits with 1; exit code 77, with a reason on stdout, means
 * that this system cannot run it. Include this file first. Messages are built on the stack: the heap may be broken. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define OS_PAGE 4096

/* Fails unless `condition` holds. A format and its values may follow, to tell which round of a loop it was. */
#define CHECK(condition, ...) \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition, " " __VA_ARGS__))

__attribute__((noreturn, unused)) static void check_failed(const char *file, int line, const char *what,
                                                            const char *format, ...)
{
    char text[1024];
    va_list values;
    int length = snprintf(text, sizeof text / 2, "%s:%d: %s", file, line, what);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof text / 2)
        length = sizeof text / 2 - 1;
    va_start(values, format);
    int more = vsnprintf(text + length, sizeof text / 2 - 1, format, values);
    va_end(values);
    if (more > 0)
        length += (size_t)more < sizeof text / 2 - 1 ? more : (int)sizeof text / 2 - 2;
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

/* Ends the program as one that cannot run here. */
__attribute__((noreturn, unused)) static void cannot_run(const char *reason)
{
    if (write(STDOUT_FILENO, reason, strlen(reason)) < 0)
        _exit(2);
    _exit(77);
}

/* The compiler knows nothing about the result: it can neither fold calls away nor tell the size of the block. */
__attribute__((unused)) static inline void *opaque(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

__attribute__((unused)) static inline size_t opaque_size(size_t size)
{
    __asm__ volatile("" : "+r"(size));
    return size;
}

/* The function that the process calls under `name`, for those without a declaration in the headers. */
__attribute__((unused)) static void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    CHECK(found != NULL, "%s", name);
    return found;
}

/* Which symbol has to come from hakmem; programs with a malloc of their own name another one. */
#ifndef CHECK_OWNER
#define CHECK_OWNER "malloc"
#endif

/* A program that ran without the library would test libc. -DWITHOUT_HAKMEM lets one be tried on another malloc by hand.
 * Of all constructors the last, so that what a program does early does not come after the calls made here. */
#ifndef WITHOUT_HAKMEM
__attribute__((constructor)) static void check_owner(void)
{
    Dl_info info;
    CHECK(dladdr(symbol(CHECK_OWNER), &info) != 0);
    CHECK(strstr(info.dli_fname, "libhakmem") != NULL, "%s is in %s", CHECK_OWNER, info.dli_fname);
}
#endif

static inline int aligned_to(const void *block, size_t align)
{
    return ((uintptr_t)block & (align - 1)) == 0;
}

/* The eight bytes that belong at offset `at` of a block filled with `seed`. */
static inline uint64_t pattern(uint64_t seed, size_t at)
{
    return (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ at;
}

/* Writes all `size` bytes. */
__attribute__((unused)) static void fill(void *block, size_t size, uint64_t seed)
{
    unsigned char *bytes = (unsigned char *)block;
    size_t at;
    for (at = 0; at + 8 <= size; at += 8) {
        uint64_t word = pattern(seed, at);
        __builtin_memcpy(bytes + at, &word, 8);
    }
    for (; at < size; at++)
        bytes[at] = (unsigned char)pattern(seed, at);
}

/* Whether `fill` wrote these bytes and nobody else did since. */
__attribute__((unused)) static int filled(const void *block, size_t size, uint64_t seed)
{
    const unsigned char *bytes = (const unsigned char *)block;
    size_t at;
    for (at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes + at, 8);
        if (word != pattern(seed, at))
            return 0;
    }
    for (; at < size; at++)
        if (bytes[at] != (unsigned char)pattern(seed, at))
            return 0;
    return 1;
}

/* `fill` for large blocks: one word per OS page from `from` on, a multiple of the OS page. */
__attribute__((unused)) static void mark(void *block, size_t from, size_t size, uint64_t seed)
{
    for (size_t at = from; at + 8 <= size; at += OS_PAGE)
        *(uint64_t *)((char *)block + at) = pattern(seed, at);
}

/* `filled` for blocks written by `mark` or `fill`. */
__attribute__((unused)) static int marked(const void *block, size_t size, uint64_t seed)
{
    for (size_t at = 0; at + 8 <= size; at += OS_PAGE)
        if (*(const uint64_t *)((const char *)block + at) != pattern(seed, at))
            return 0;
    return 1;
}

__attribute__((unused)) static int all_bytes_are(const void *block, size_t size, unsigned char value)
{
    const unsigned char *bytes = (const unsigned char *)block;
    uint64_t wanted = UINT64_C(0x0101010101010101) * value;
    size_t at;
    for (at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes + at, 8);
        if (word != wanted)
            return 0;
    }
    for (; at < size; at++)
        if (bytes[at] != value)
            return 0;
    return 1;
}

/* A number below `below`, the same ones in every run. */
__attribute__((unused)) static size_t random_below(uint64_t *state, size_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)(*state % below);
}

/* A line "field   number kB" of a file in /proc/self, in bytes, read without allocating; -1 if there is none. */
__attribute__((unused)) static long long proc_bytes(const char *file, const char *field)
{
    static char text[16384];
    size_t length = 0;
    int from = open(file, O_RDONLY);
    if (from < 0)
        return -1;
    for (;;) {
        ssize_t got = read(from, text + length, sizeof text - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(from);
    text[length] = 0;
    const char *line = strstr(text, field);
    return line == NULL ? -1 : atoll(line + strlen(field)) * 1024;
}

/* Address space of the process, in bytes. */
__attribute__((unused)) static long long address_space(void)
{
    long long bytes = proc_bytes("/proc/self/status", "\nVmSize:");
    CHECK(bytes > 0);
    return bytes;
}

/* Resident memory of the process, in bytes: from smaps_rollup, which counts exactly, where the kernel has it. */
__attribute__((unused)) static long long resident(void)
{
    long long bytes = proc_bytes("/proc/self/smaps_rollup", "\nRss:");
    if (bytes < 0)
        bytes = proc_bytes("/proc/self/status", "\nVmRSS:");
    CHECK(bytes > 0);
    return bytes;
}

#endif
