// What can happen in a draft, without literals and effects that say nothing; and what of it helps.
#pragma once

#include "reach.hpp"

namespace pds {

// Operators by places of their own; effects and axioms, too. Literals are those of the draft.
struct Tidied {
    std::vector<Id> operators;  // their numbers in the draft
    Rows preconditions;         // by operator
    Rows own;                   // effects, by operator
    std::vector<Id> owners;     // operators, by effect
    Rows conditions;            // by effect
    Rows heads;                 // by effect
    std::vector<Id> axiom_heads;
    Rows axiom_bodies;

    int n_operators() const { return preconditions.size(); }
    int n_effects() const { return conditions.size(); }
};

// Leaves out certain literals, what repeats or contradicts itself, heads that change nothing, and operators
// whose precondition another one's is a part of, of the same ground action. Conditional effects that have become
// unconditional are joined to the operator's unconditional one.
Tidied tidy(const Draft& draft, const Goal& goal, const Reached& reached, Limits& limits);

// What may help to make the goal true.
struct Relevant {
    Marks literals;
    Marks operators;

    bool matters(Id literal) const { return literals[literal] || literals[literal ^ 1]; }
};

// An operator that helps may also harm, under a condition: then it helps to make that condition false first.
Relevant find_relevant(const Tidied& tidied, std::size_t n_literals, const std::vector<Id>& goal, Limits& limits);

}  // namespace pds
