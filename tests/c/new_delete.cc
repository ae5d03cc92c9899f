// operator new and delete in all their forms, and new's two ways to say that there is no memory.
#include "check.h"
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Plain {
    Plain() { made++; }
    ~Plain() { made--; }
    char bytes[100];
    static int made;
};
int Plain::made = 0;

struct alignas(64) Wide {
    Wide() { made++; }
    ~Wide() { made--; }
    char bytes[200];
    static int made;
};
int Wide::made = 0;

// The virtual destructor makes `delete` pass the size of the dynamic type.
struct Base {
    virtual ~Base() {}
    char bytes[24];
};
struct Derived : Base {
    char more[3000];
};

std::size_t in_use()
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

template <class T> T *checked(T *block, std::size_t align)
{
    block = static_cast<T *>(opaque(block));
    CHECK(block != nullptr && aligned_to(block, align));
    CHECK(malloc_usable_size(static_cast<void *>(block)) >= sizeof(T));
    return block;
}

void expressions()
{
    for (int round = 0; round < 3000; round++) {
        Plain *plain = checked(new Plain, 16);
        Wide *wide = checked(new Wide, 64);
        Plain *quiet = checked(new (std::nothrow) Plain, 16);
        Wide *quiet_wide = checked(new (std::nothrow) Wide, 64);
        // Arrays of types with a destructor carry their count in front.
        Plain *plains = new Plain[round % 50 + 1];
        Wide *wides = new Wide[round % 50 + 1];
        Base *base = new Derived;
        char *bytes = checked(new char[10], 16);
        CHECK(aligned_to(wides, 64));
        fill(bytes, 10, 1);
        CHECK(Plain::made == round % 50 + 3 && Wide::made == round % 50 + 3);
        CHECK(filled(bytes, 10, 1));
        delete plain;
        delete wide;
        delete quiet;
        delete quiet_wide;
        delete[] plains;
        delete[] wides;
        delete base;
        delete[] bytes;
        CHECK(Plain::made == 0 && Wide::made == 0);
    }
}

// The functions themselves, with every form of delete.
void functions()
{
    static const std::size_t sizes[] = {0, 1, 16, 100, 1024, 5000, 32768, 70000, 1000000, 3 * MIB};
    for (int round = 0; round < 60; round++)
        for (std::size_t size : sizes) {
            auto align = static_cast<std::align_val_t>(std::size_t{16} << round % 10);
            std::size_t bytes = static_cast<std::size_t>(align);
            void *blocks[12];
            for (int index = 0; index < 12; index++) {
                switch (index % 6) {
                case 0: blocks[index] = ::operator new(size); break;
                case 1: blocks[index] = ::operator new[](size); break;
                case 2: blocks[index] = ::operator new(size, std::nothrow); break;
                case 3: blocks[index] = ::operator new(size, align); break;
                case 4: blocks[index] = ::operator new[](size, align); break;
                default: blocks[index] = ::operator new(size, align, std::nothrow); break;
                }
                CHECK(blocks[index] != nullptr && aligned_to(blocks[index], index % 6 < 3 ? 16 : bytes), "size %zu", size);
                fill(blocks[index], size, static_cast<uint64_t>(index));
            }
            for (int index = 0; index < 12; index++)
                CHECK(filled(blocks[index], size, static_cast<uint64_t>(index)), "size %zu", size);
            errno = 0x1234;
            ::operator delete(blocks[0]);
            ::operator delete[](blocks[1]);
            ::operator delete(blocks[2], std::nothrow);
            ::operator delete(blocks[3], align);
            ::operator delete[](blocks[4], align);
            ::operator delete(blocks[5], align, std::nothrow);
            ::operator delete(blocks[6], size);
            ::operator delete[](blocks[7], size);
            ::operator delete[](blocks[8], std::nothrow);
            ::operator delete(blocks[9], size, align);
            ::operator delete[](blocks[10], size, align);
            ::operator delete[](blocks[11], align, std::nothrow);
            ::operator delete(nullptr);
            ::operator delete(nullptr, size);
            ::operator delete[](nullptr, size, align);
            CHECK(errno == 0x1234, "size %zu errno %d", size, errno);
        }
}

int handled = 0;

void handler()
{
    if (++handled == 3)
        std::set_new_handler(nullptr);
}

void impossible()
{
    for (std::size_t below = 0; below <= 64; below++) {
        std::size_t size = opaque_size(SIZE_MAX - below);
        // A multiple of the alignment: some versions of libstdc++ round others up, past the end of the numbers.
        std::size_t whole = size & ~std::size_t{63};
        int caught = 0;
        try {
            opaque(::operator new(size));
        } catch (const std::bad_alloc &) {
            caught++;
        }
        try {
            opaque(::operator new[](size));
        } catch (const std::bad_alloc &) {
            caught++;
        }
        try {
            opaque(::operator new(whole, std::align_val_t{64}));
        } catch (const std::bad_alloc &) {
            caught++;
        }
        CHECK(caught == 3, "SIZE_MAX - %zu", below);
        CHECK(opaque(::operator new(size, std::nothrow)) == nullptr);
        CHECK(opaque(::operator new[](size, std::nothrow)) == nullptr);
        CHECK(opaque(::operator new(whole, std::align_val_t{64}, std::nothrow)) == nullptr);
    }
    std::set_new_handler(handler);
    CHECK(opaque(::operator new(opaque_size(PTRDIFF_MAX), std::nothrow)) == nullptr);
    CHECK(handled == 3);
}

// Lives until after main, and is freed there.
std::vector<std::string> late(1000, std::string(100, 'x'));

void thread_locals()
{
    thread_local std::vector<std::string> own;
    for (int round = 0; round < 100; round++)
        own.push_back(std::string(static_cast<std::size_t>(round * 10), 'y'));
    CHECK(own[50].size() == 500);
}

} // namespace

int main()
{
    std::size_t before = in_use();
    expressions();
    CHECK(in_use() == before, "%zu, %zu before", in_use(), before);
    functions();
    CHECK(in_use() == before, "%zu, %zu before", in_use(), before);
    impossible();
    for (int round = 0; round < 10; round++)
        std::thread(thread_locals).join();
    CHECK(late.size() == 1000 && late[999].size() == 100);
    return 0;
}
