// The delete relaxation: propositions, and unary operators that make them true.
//
// A proposition is a literal that some condition or the goal mentions, a fact and its negation alike. A unary
// operator is an operator with one of its effects (all unconditional ones together), or an axiom, which costs
// nothing.
//
// The negation of a derived fact holds if every rule for the fact is broken, that is, has a false literal in its
// body. This is relaxed as it stands, with one helper proposition a rule: "the rule is broken". A rule that
// may depend on its own head, as it reads a fact of its own layer, is taken to be broken already; otherwise two facts
// that support each other could never be seen to vanish, and infinity would be wrong.
#pragma once

#include "limits.hpp"
#include "task.hpp"

namespace pds {

// Costs in the relaxation are integers: the task's, times a scale.
using Cost = std::int64_t;

inline constexpr Cost kUnreached = Cost{1} << 40;
inline constexpr Cost kCap = Cost{1} << 38;  // costs stop growing there
inline constexpr int kCountBits = 20;
inline constexpr std::size_t kMostConditions = (1 << kCountBits) - 1;

// A head that one condition alone makes true.
struct Edge {
    Id head;
    Id unary;
    Id cost;
};

// Costs as integers, and the factor they were multiplied with. Decimal costs become integers exactly; others are
// rounded down, so that an admissible heuristic stays one.
struct ScaledCosts {
    explicit ScaledCosts(std::span<const double> costs);

    std::vector<Id> costs;
    double scale;
};

struct Relaxation {
    // `costs` stand in for the task's. With `per_effect`, hFF counts each conditional effect as an operator of
    // its own.
    Relaxation(const Task& task, std::span<const double> costs, bool per_effect, Limits& limits);

    const Task& task;
    double scale = 1;
    double cheapest = 1;  // of the operators' costs
    int n_propositions = 0;
    int n_several = 0;         // unary operators with several conditions, which come first
    std::vector<Id> positive;  // by fact: its proposition, or -1
    std::vector<Id> negative;  // by fact: that of its negation, or -1
    std::vector<Id> negated;   // facts whose negation has one
    Rows conditions;           // by unary operator
    Rows heads;                // by unary operator
    std::vector<Id> owner;     // by unary operator: the operator, -1 for axioms
    std::vector<Id> part;      // by unary operator: what hFF counts once, -1 for axioms
    std::vector<Id> base;      // by unary operator: its cost
    std::vector<Id> free;      // unary operators without conditions
    Rows uses;                 // by proposition: unary operators with several conditions
    std::vector<Id> edge_starts;
    std::vector<Edge> edges;        // by proposition: what it leads to alone
    std::vector<Id> goal_literals;  // sorted, none twice
    std::vector<Id> goal;           // their propositions
    std::vector<std::uint8_t> is_goal;

    int n_unary() const { return conditions.size(); }
    int n_parts() const;
    std::span<const Edge> edges_of(Id proposition) const {
        return {edges.data() + edge_starts[proposition], edges.data() + edge_starts[proposition + 1]};
    }
    // Calls `see` with each proposition that holds in a state of all facts.
    template <typename See>
    void for_each_true(std::span<const Word> state, See see) const {
        for_each_fact(state, [&](Id fact) {
            if (positive[fact] >= 0) see(positive[fact]);
        });
        for (const Id fact : negated)
            if (holds(2 * fact + 1, state.data())) see(negative[fact]);
    }
};

}  // namespace pds
