// The grounded task, as pdsketch.core.task.Task: a literal is 2 * fact, or 2 * fact + 1 for its negation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace pds {

using Id = std::int32_t;
using Word = std::uint64_t;

// Lists of ints in two arrays: row i is items[starts[i]] up to items[starts[i + 1]].
struct Rows {
    std::vector<Id> starts{0};
    std::vector<Id> items;

    int size() const { return static_cast<int>(starts.size()) - 1; }
    std::span<const Id> operator[](int row) const {
        return {items.data() + starts[row], items.data() + starts[row + 1]};
    }
    // Ends the row whose items were appended last.
    void close() { starts.push_back(static_cast<Id>(items.size())); }
    void append(std::span<const Id> row) {
        items.insert(items.end(), row.begin(), row.end());
        close();
    }
};

// Rows whose arrays lie elsewhere.
struct RowsView {
    std::span<const Id> starts;
    std::span<const Id> items;

    RowsView(std::span<const Id> starts, std::span<const Id> items) : starts(starts), items(items) {}
    RowsView(const Rows& rows) : starts(rows.starts), items(rows.items) {}
    int size() const { return static_cast<int>(starts.size()) - 1; }
    std::span<const Id> operator[](int row) const { return items.subspan(starts[row], starts[row + 1] - starts[row]); }
};

class Limits;

// For each of `n` items: the rows in which it stands, those of all tables numbered one after the other.
Rows inverse(std::initializer_list<RowsView> tables, int n, Limits& limits);
// For each of `n` owners: the places where it stands.
Rows owned(std::span<const Id> owners, int n, Limits& limits);

// Basic facts come first and are changed by operators; derived facts follow and are made true by axioms, layer
// by layer. Axioms are sorted by layers.
struct Task {
    int n_facts = 0;
    int n_basic = 0;
    std::vector<std::uint8_t> init;  // by basic fact
    std::vector<Id> goal;
    std::vector<double> costs;
    Rows preconditions;  // by operator
    Rows effects;        // by operator
    Rows conditions;     // by effect
    Rows heads;          // by effect
    std::vector<Id> axiom_heads;
    Rows axiom_bodies;
    std::vector<Id> axiom_layers;

    int n_operators() const { return preconditions.size(); }
    int n_axioms() const { return static_cast<int>(axiom_heads.size()); }
};

// States are bit sets: basic facts alone where they are kept, all facts where they are worked on.
inline int words_for(int n_facts) { return n_facts == 0 ? 1 : (n_facts + 63) / 64; }

inline bool holds(Id literal, const Word* state) {
    const Word bit = (state[literal >> 7] >> ((literal >> 1) & 63)) & 1;
    return bit != static_cast<Word>(literal & 1);
}

inline void set_true(Id fact, Word* state) { state[fact >> 6] |= Word{1} << (fact & 63); }
inline void set_false(Id fact, Word* state) { state[fact >> 6] &= ~(Word{1} << (fact & 63)); }

template <typename Literals>
bool all_hold(const Literals& literals, const Word* state) {
    for (const Id literal : literals)
        if (!holds(literal, state)) return false;
    return true;
}

// Calls `see` with each fact that holds.
template <typename See>
void for_each_fact(std::span<const Word> state, See see) {
    for (std::size_t word = 0; word < state.size(); ++word)
        for (Word bits = state[word]; bits != 0; bits &= bits - 1)
            see(static_cast<Id>(word * 64 + std::countr_zero(bits)));
}

}  // namespace pds
