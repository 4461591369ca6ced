// Instances of rules become operators, effects and axioms over numbered facts, before anything is pruned.
#pragma once

#include "conditions.hpp"
#include "draft.hpp"

namespace pds {

// What is drafted for: addresses of rules, of the goal, and the numbers that are read.
struct Plan {
    std::span<const Id> rules;
    Id goal;
    std::span<const double> constants;
    std::span<const double> values;  // of the first facts, where they are functions
    double largest_cost;
};

// Facts are numbered as the join numbers them; those that stand for disjunctions follow.
struct Drafted {
    // An operator is an instance of a rule.
    struct Origin {
        Id rule;
        Id instance;
    };

    std::vector<Origin> origins;
    std::vector<double> costs;
    Rows preconditions;
    std::vector<Id> owners;
    Rows conditions, heads;
    std::vector<Id> axiom_heads;
    Rows axiom_bodies;
    std::vector<std::uint8_t> derived;
    std::vector<Id> layers;
    Rows groups;
    std::vector<Id> goal;  // literals in order, none twice
    bool possible = false;
    Rows invented;  // facts, each the address of a disjunction and the objects that this is about
    // Where a cost is negative or too large, that operator, and nothing is drafted.
    Origin wrong{-1, -1};
    double wrong_cost = 0;

    DraftArrays arrays() const {
        return {preconditions, costs, owners, conditions, heads, axiom_heads, axiom_bodies, derived, layers, groups};
    }
};

// The order is actions, effects, axioms.
Drafted draft(Join& join, const Plan& plan, Limits& limits);

}  // namespace pds
