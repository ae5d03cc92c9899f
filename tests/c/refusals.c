/* Requests that nobody can meet are refused with ENOMEM, wrong alignments with EINVAL, and nothing else changes. */
#include "check.h"

/* A value that no refusal sets. */
enum { BEFORE = 0x1234 };

static size_t impossible[80];
static size_t impossible_count;

#define REFUSED(code, call)                                                      \
    do {                                                                         \
        errno = BEFORE;                                                          \
        void *got = (call);                                                      \
        CHECK(got == NULL && errno == (code), #call " is %p, errno %d", got, errno); \
    } while (0)

static void collect(void)
{
    size_t count = 0;
    for (size_t below = 0; below <= 64; below++)
        impossible[count++] = SIZE_MAX - below;
    impossible[count++] = SIZE_MAX - 4095;
    impossible[count++] = SIZE_MAX - 4096;
    impossible[count++] = SIZE_MAX - 65535;
    impossible[count++] = SIZE_MAX - 65536;
    impossible[count++] = SIZE_MAX / 4 * 3;
    impossible[count++] = (size_t)PTRDIFF_MAX + 4096;
    impossible[count++] = (size_t)PTRDIFF_MAX + 2;
    impossible[count++] = (size_t)PTRDIFF_MAX + 1;
    /* Legal, but beyond every address space. */
    impossible[count++] = PTRDIFF_MAX;
    impossible[count++] = PTRDIFF_MAX - 4096;
    impossible[count++] = (size_t)1 << 62;
    impossible[count++] = (size_t)1 << 48;
    impossible_count = count;
}

static void impossible_sizes(void)
{
    for (size_t index = 0; index < impossible_count; index++) {
        size_t size = opaque_size(impossible[index]);
        REFUSED(ENOMEM, malloc(size));
        REFUSED(ENOMEM, calloc(1, size));
        REFUSED(ENOMEM, calloc(size, 1));
        REFUSED(ENOMEM, realloc(NULL, size));
        REFUSED(ENOMEM, reallocarray(NULL, size, 1));
        REFUSED(ENOMEM, reallocarray(NULL, 1, size));
        REFUSED(ENOMEM, valloc(size));
        REFUSED(ENOMEM, pvalloc(size));
        for (size_t align = 8; align <= 4 * GIB; align *= 2) {
            REFUSED(ENOMEM, memalign(align, size));
            REFUSED(ENOMEM, aligned_alloc(align, size));
            void *place = &place;
            errno = BEFORE;
            CHECK(posix_memalign(&place, align, size) == ENOMEM, "align %zu size %zx", align, size);
            CHECK(place == &place && errno == BEFORE, "align %zu size %zx", align, size);
        }
    }
}

static void overflowing_products(void)
{
    static const size_t factors[][2] = {
        {SIZE_MAX, 2},
        {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},
        {SIZE_MAX / 3 + 1, 3},
        {(size_t)1 << 32, (size_t)1 << 32},
        {((size_t)1 << 32) + 1, (size_t)1 << 32},
        {(size_t)1 << 33, ((size_t)1 << 31) + 1},
        {SIZE_MAX / 16 + 1, 17},
        {SIZE_MAX / 4096 + 2, 4096},
    };
    void *block = malloc(100);
    CHECK(block != NULL);
    fill(block, 100, 1);
    for (size_t index = 0; index < sizeof factors / sizeof *factors; index++)
        for (int swap = 0; swap <= 1; swap++) {
            size_t count = opaque_size(factors[index][swap]), size = opaque_size(factors[index][!swap]);
            REFUSED(ENOMEM, calloc(count, size));
            REFUSED(ENOMEM, reallocarray(NULL, count, size));
            REFUSED(ENOMEM, reallocarray(block, count, size));
            CHECK(filled(block, 100, 1));
        }
    free(block);
}

static void the_old_block_stays(void)
{
    static const size_t olds[] = {1, 16, 1000, 5000, 32768, 40000, 900000, 3 * MIB, 20 * MIB};
    for (size_t old = 0; old < sizeof olds / sizeof *olds; old++) {
        size_t size = olds[old];
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        size_t usable = malloc_usable_size(block);
        fill(block, usable, size);
        for (size_t index = 0; index < impossible_count; index++) {
            REFUSED(ENOMEM, realloc(block, impossible[index]));
            REFUSED(ENOMEM, reallocarray(block, impossible[index], 1));
        }
        CHECK(malloc_usable_size(block) == usable, "size %zu", size);
        CHECK(filled(block, usable, size), "size %zu", size);
        /* It can still be resized and freed like any other. */
        unsigned char *moved = realloc(block, size * 2);
        CHECK(moved != NULL && filled(moved, size & ~(size_t)7, size), "size %zu", size);
        free(moved);
    }
}

static void wrong_alignments(void)
{
    static const size_t for_posix[] = {0, 1, 2, 3, 4, 6, 24, 48, 4097, SIZE_MAX};
    static const size_t for_memalign[] = {0, 3, 24, 48, 100, 4097, SIZE_MAX, SIZE_MAX / 2};
    static const size_t sizes[] = {0, 1, 100, 5000, 70000, 3 * MIB};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        for (size_t index = 0; index < sizeof for_posix / sizeof *for_posix; index++) {
            void *place = &place;
            errno = BEFORE;
            CHECK(posix_memalign(&place, for_posix[index], sizes[size]) == EINVAL, "align %zu", for_posix[index]);
            CHECK(place == &place && errno == BEFORE, "align %zu errno %d", for_posix[index], errno);
        }
        for (size_t index = 0; index < sizeof for_memalign / sizeof *for_memalign; index++) {
            size_t align = opaque_size(for_memalign[index]);
            REFUSED(EINVAL, memalign(align, sizes[size]));
            REFUSED(EINVAL, aligned_alloc(align, sizes[size]));
        }
        /* Powers of two below a pointer's size are good enough for these two. */
        for (size_t align = 1; align <= 8; align *= 2) {
            void *blocks[2] = {memalign(align, sizes[size]), aligned_alloc(align, sizes[size])};
            for (int index = 0; index < 2; index++) {
                CHECK(blocks[index] != NULL && aligned_to(blocks[index], 16), "align %zu", align);
                free(blocks[index]);
            }
        }
    }
}

/* Powers of two all, but hardly any address is a multiple: what is given is aligned, all else is refused. */
static void vast_alignments(void)
{
    for (int power = 33; power < 64; power++) {
        size_t align = (size_t)1 << power;
        errno = BEFORE;
        void *block = memalign(align, 100);
        if (block == NULL)
            CHECK(errno == ENOMEM || errno == EINVAL, "2^%d errno %d", power, errno);
        else
            CHECK(aligned_to(block, align) && errno == BEFORE, "2^%d at %p errno %d", power, block, errno);
        free(block);
    }
}

int main(void)
{
    collect();
    impossible_sizes();
    overflowing_products();
    the_old_block_stays();
    wrong_alignments();
    vast_alignments();
    return 0;
}
