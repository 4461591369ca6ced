// Pairs of literals that no state holds both of: h2 (Haslum and Geffner, 2000), as sets of bits.
//
// hFF forgets what operators make false. Where a goal can be reached in several ways, it may count on one that is
// none: to hold a thing and to face it at once. Axioms that need such a pair can be left out.
#pragma once

#include "limits.hpp"
#include "task.hpp"

namespace pds {

// For each literal a set of literals.
class Pairs {
public:
    explicit Pairs(int n_literals)
        : n_words_((n_literals + 63) / 64), words_(static_cast<std::size_t>(n_literals) * n_words_, 0) {}

    int n_words() const { return n_words_; }
    std::span<Word> operator[](Id literal) { return {row(literal), static_cast<std::size_t>(n_words_)}; }
    std::span<const Word> operator[](Id literal) const {
        return {words_.data() + static_cast<std::size_t>(literal) * n_words_, static_cast<std::size_t>(n_words_)};
    }
    bool has(Id literal, Id other) const { return ((*this)[literal][other >> 6] >> (other & 63)) & 1; }
    const std::vector<Word>& words() const { return words_; }

    // Whether all of some literals may hold at once, as far as pairs can tell.
    bool may_hold(std::span<const Id> literals) const;

private:
    Word* row(Id literal) { return words_.data() + static_cast<std::size_t>(literal) * n_words_; }

    int n_words_;
    std::vector<Word> words_;
};

// For each literal, those that may hold with it in a state that can be reached, itself among them. At most one fact
// of each group, a number for each fact, holds in any state; -1 is for none.
Pairs possible_pairs(const Task& task, std::span<const Id> groups, Limits& limits);

// Leaves axioms out of a task whose bodies never hold; where there are too many pairs to tell, none.
void leave_out_inconsistent(Task& task, std::span<const Id> groups, Limits& limits);

}  // namespace pds
