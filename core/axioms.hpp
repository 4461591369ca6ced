// Derived facts: the axioms, evaluated layer by layer to a least fixpoint.
#pragma once

#include "limits.hpp"
#include "task.hpp"

namespace pds {

// For one thread: it holds room to work in.
class Axioms {
public:
    Axioms(const Task& task, Limits& limits);

    // Computes all derived facts of a state, of all facts, from the basic ones.
    void evaluate(Word* state, Limits& limits);

private:
    void fire(Id rule, Word* state);
    void propagate(Word* state, std::size_t first);

    const Task& task_;
    Rows watchers_;              // by literal: the rules in whose bodies it stands
    std::vector<Id> sizes_;      // by rule: the length of its body
    std::vector<Id> empty_;      // rules without a body
    std::vector<Id> mentioned_;  // basic literals that stand in some body
    Rows closed_;                // by layer: its facts whose negation stands in some body
    std::vector<Id> left_;       // by rule: literals of its body that are not known to hold
    std::vector<Id> queue_;      // literals that came to be known
};

}  // namespace pds
