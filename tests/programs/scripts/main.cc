#include "table.h"
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <thread>

int main() {
    std::ifstream maps("/proc/self/maps");
    std::stringstream text;
    text << maps.rdbuf();
    std::ofstream("inside") << (text.str().find("libhakmem") == std::string::npos ? "false\n" : "true\n");

    std::vector<std::thread> threads;
    std::vector<double> sums(4);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&sums, i] { sums[i] = Nested<8, long>(i).sum() + Nested<6, double>(i).sum(); });
    for (auto &thread : threads) thread.join();
    for (double sum : sums) std::cout << sum << '\n';

    auto found = words(200000);
    std::size_t length = 0;
    for (auto &[word, places] : found) length += word.size() * places.size();
    std::cout << found.size() << ' ' << length << '\n';
    std::cout << joined(std::make_tuple(1, 2L, 3.5, 4u, 'a'), std::make_index_sequence<5>()) << '\n';

    std::regex pattern("word([0-9]+)7");
    std::cout << std::count_if(found.begin(), found.end(), [&](auto &e) { return std::regex_match(e.first, pattern); })
              << '\n';
    try {
        throw std::runtime_error(std::string(100, 'e'));
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
    }
}
