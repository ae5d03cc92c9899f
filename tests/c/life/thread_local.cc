// Destructors of thread_local objects free, at a thread's end, what their own and other threads allocated, and
// allocate.
#include "life.h"
#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> made, destroyed;

struct Holder {
    std::vector<std::unique_ptr<char[]>> blocks;
    std::map<int, std::string> names;

    Holder() { made++; }

    ~Holder()
    {
        for (auto &entry : names)
            CHECK(entry.second == std::string(static_cast<std::size_t>(entry.first), 'n'));
        blocks.clear();
        std::list<std::string> late;
        for (std::size_t size = 1; size < 200000; size = size * 2 + 1)
            late.push_back(std::string(size, 'l'));
        for (const std::string &text : late)
            CHECK(all_bytes_are(text.data(), text.size(), 'l'));
        destroyed++;
    }
};

thread_local Holder first;
thread_local std::unique_ptr<std::string> second;

// Destroyed before `first` and `second`, which it fills again.
struct Refills {
    char *text = strdup("text");

    ~Refills()
    {
        CHECK(strcmp(text, "text") == 0);
        free(text);
        first.names[7] = std::string(7, 'n');
        second = std::make_unique<std::string>(3000, 's');
    }
};

thread_local Refills last;

void work(std::vector<std::unique_ptr<char[]>> foreign)
{
    first.blocks = std::move(foreign);
    second = std::make_unique<std::string>(100, 's');
    for (int number = 1; number < 200; number++)
        first.names[number] = std::string(static_cast<std::size_t>(number), 'n');
    CHECK(last.text != nullptr);
}

} // namespace

int main()
{
    constexpr int threads = 400;
    for (int count = 0; count < threads; count += 4) {
        std::vector<std::thread> together;
        for (int index = 0; index < 4; index++) {
            std::vector<std::unique_ptr<char[]>> blocks;
            for (std::size_t size = 1; size < 3000000; size = size * 3 + 1)
                blocks.push_back(std::make_unique<char[]>(size));
            together.emplace_back(work, std::move(blocks));
        }
        for (std::thread &thread : together)
            thread.join();
    }
    CHECK(made == threads && destroyed == threads, "%ld made, %ld destroyed", made.load(), destroyed.load());
    return 0;
}
