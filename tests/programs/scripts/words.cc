#include "table.h"

std::map<std::string, std::vector<int>> words(int count) {
    std::unordered_map<std::string, std::vector<int>> found;
    unsigned state = 1;
    for (int i = 0; i < count; i++) {
        state = state * 1103515245u + 12345u;
        found["word" + std::to_string(state % 5003)].push_back(i);
    }
    return {found.begin(), found.end()};
}
