// What a search asks: an estimate for a state, and the operators that it suggests there.
#pragma once

#include <limits>
#include <memory>

#include "relaxation.hpp"

namespace pds {

inline constexpr double kDeadEnd = std::numeric_limits<double>::infinity();

// For one thread: it holds room to work in.
class Heuristic {
public:
    virtual ~Heuristic() = default;
    // kDeadEnd where there is no plan. The state is one of all facts.
    virtual double evaluate(std::span<const Word> state, Limits& limits) = 0;
    // Operators of the last state that are worth trying first.
    const std::vector<Id>& preferred() const { return preferred_; }
    // The goal literals that even the relaxed task does not reach from the last state.
    virtual std::vector<Id> unreached() const { return {}; }

protected:
    std::vector<Id> preferred_;
};

// - blind: the cost of the cheapest operator, 0 in goal states.
// - goal_count: the number of goal literals that do not hold.
// - max: hmax, the costliest goal literal in the delete relaxation (Bonet & Geffner 2001); admissible.
// - add: hadd, the sum of the goal literals' costs there (Bonet & Geffner 2001).
// - ff: hFF (Hoffmann & Nebel 2001), the cost of a relaxed plan made of hadd's best supporters.
// - lmcut: the landmark-cut heuristic (Helmert & Domshlak 2009); admissible.
enum class Estimate { blind, goal_count, max, add, ff, lmcut };

// With `in_order`, states come one after the other as a search meets them: hadd's costs may be kept from one to the
// next. hadd does not change by that, hFF depends on the states before then.
std::unique_ptr<Heuristic> make_heuristic(const Relaxation& relaxation, Estimate estimate, bool in_order,
                                          Limits& limits);

std::unique_ptr<Heuristic> make_lmcut(const Relaxation& relaxation, Limits& limits);

}  // namespace pds
