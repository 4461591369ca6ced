// A drafted task: all that grounding found, before it is narrowed to an initial state and a goal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limits.hpp"
#include "task.hpp"

namespace pds {

using Marks = std::vector<std::uint8_t>;

// The arrays of a draft. Whoever made them keeps them for as long as they are read here.
struct DraftArrays {
    RowsView preconditions;           // by operator
    std::span<const double> costs;    // by operator
    std::span<const Id> owners;       // by effect; effect i is the unconditional one of operator i
    RowsView conditions;              // by effect
    RowsView heads;                   // by effect
    std::span<const Id> axiom_heads;  // facts
    RowsView axiom_bodies;
    std::span<const std::uint8_t> derived;  // by fact
    std::span<const Id> layers;             // by fact
    RowsView groups;                        // operators that are one ground action, split where it has several ways
};

// A draft, ready to be narrowed: which rows wait for which literals. Rows that wait are operators, then
// effects, then axioms.
class Draft {
public:
    Draft(const DraftArrays& arrays, Limits& limits);

    const DraftArrays arrays;
    Rows own;                   // effects, by operator
    Rows waiting;               // rows, by literal
    std::vector<Id> sizes;      // for how many literals each row waits; effects wait for their operator, too
    std::vector<Id> unwaiting;  // rows that wait for nothing

    int n_facts() const { return static_cast<int>(arrays.derived.size()); }
    int n_operators() const { return arrays.preconditions.size(); }
    int n_effects() const { return static_cast<int>(arrays.owners.size()); }
    int n_axioms() const { return static_cast<int>(arrays.axiom_heads.size()); }
    int first_axiom() const { return n_operators() + n_effects(); }
    int n_rows() const { return first_axiom() + n_axioms(); }
};

// A goal for a draft, with derived facts of its own behind those of the draft. Bodies of their axioms are over
// facts before the head, so that each stands in a layer of its own, from `layer` on.
struct Goal {
    std::span<const Id> literals;
    bool possible;
    int n_facts;
    Id layer;
    std::span<const Id> axiom_heads;
    RowsView axiom_bodies;
};

// The initial truth of the draft's first facts; all others are false. Those that are free may be false, too.
struct Start {
    std::span<const std::uint8_t> init;
    std::span<const std::uint8_t> free;

    bool holds(int fact) const { return fact < static_cast<int>(init.size()) && init[fact] != 0; }
    bool is_free(int fact) const { return fact < static_cast<int>(free.size()) && free[fact] != 0; }
};

}  // namespace pds
