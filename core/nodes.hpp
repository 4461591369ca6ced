// The states that a search has met, and the hash table that finds them again.
#pragma once

#include <cstring>
#include <utility>

#include "pieces.hpp"

namespace pds {

class Nodes {
public:
    // Expanded or not yet, or a state without a plan.
    enum Status : std::uint8_t { open, closed, dead };

    // `parent` and `op` lead back to the initial state, whose parent is -1.
    struct Node {
        Id parent;
        Id op;
        double g;
        double h;
        Status status;
    };

    explicit Nodes(int n_words) : n_words_(n_words), states_(n_words), table_(1 << 8, -1) {}

    int size() const { return nodes_.size(); }
    Node& operator[](Id node) { return *nodes_[node]; }
    const Node& operator[](Id node) const { return *nodes_[node]; }
    const Word* state(Id node) const { return states_[node]; }

    // The node of a state, and whether it is new.
    std::pair<Id, bool> insert(const Word* state, Limits& limits) {
        if (2 * size() >= static_cast<int>(table_.size())) grow(limits);
        const std::size_t mask = table_.size() - 1;
        std::size_t slot = hash(state) & mask;
        for (; table_[slot] >= 0; slot = (slot + 1) & mask)
            if (std::memcmp(states_[table_[slot]], state, n_words_ * sizeof(Word)) == 0) return {table_[slot], false};
        if (size() == kMostNodes) throw Stop{PDS_OUT_OF_MEMORY};
        std::memcpy(states_.add(limits), state, n_words_ * sizeof(Word));
        *nodes_.add(limits) = {-1, -1, 0, 0, open};
        return {table_[slot] = size() - 1, true};
    }

    std::size_t bytes() const { return states_.bytes() + nodes_.bytes() + table_.size() * sizeof(Id); }

private:
    static constexpr int kMostNodes = 1 << 30;

    // Multiplicative hashing (Knuth): the multiplier is 2^64 divided by the golden ratio.
    std::size_t hash(const Word* state) const {
        constexpr Word kMultiplier = 0x9E3779B97F4A7C15;
        Word value = kMultiplier;
        for (int i = 0; i < n_words_; ++i) {
            value = (value ^ state[i]) * kMultiplier;
            value ^= value >> 32;
        }
        return value;
    }

    void grow(Limits& limits) {
        limits.reserve(2 * table_.size() * sizeof(Id));
        std::vector<Id>(2 * table_.size(), -1).swap(table_);
        const std::size_t mask = table_.size() - 1;
        for (Id node = 0; node < size(); ++node) {
            limits.tick();
            std::size_t slot = hash(state(node)) & mask;
            while (table_[slot] >= 0) slot = (slot + 1) & mask;
            table_[slot] = node;
        }
    }

    const int n_words_;
    Pieces<Word> states_;
    Pieces<Node> nodes_;
    std::vector<Id> table_;  // open addressing: a node, or -1; half of it is free at least
};

}  // namespace pds
