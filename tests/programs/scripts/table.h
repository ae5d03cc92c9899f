// A hash table and a tree of templates within templates, for the compiler to instantiate.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

template <int Depth, class T>
struct Nested {
    std::vector<Nested<Depth - 1, T>> parts;
    explicit Nested(T seed) {
        for (int i = 0; i < 3; i++) parts.emplace_back(seed + static_cast<T>(i));
    }
    T sum() const {
        return std::accumulate(parts.begin(), parts.end(), T{}, [](T s, const auto &p) { return s + p.sum(); });
    }
};

template <class T>
struct Nested<0, T> {
    std::unique_ptr<T> value;
    explicit Nested(T seed) : value(std::make_unique<T>(seed)) {}
    T sum() const { return *value; }
};

template <class... Types, std::size_t... Index>
std::string joined(const std::tuple<Types...> &values, std::index_sequence<Index...>) {
    std::string out;
    ((out += std::to_string(std::get<Index>(values)) + ","), ...);
    return out;
}

std::map<std::string, std::vector<int>> words(int count);
