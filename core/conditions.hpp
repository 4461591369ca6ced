// What joins leave over of conditions, ground for the objects at hand.
//
// A condition amounts to a conjunction of literals. What stays a disjunction becomes a derived fact of its own, with
// an axiom for each way to make it true. See pdsketch.core.task for the code.
#pragma once

#include <cmath>
#include <unordered_map>

#include "join.hpp"

namespace pds {

class Conditions {
public:
    // `constants` are the numbers in the code, `values` those of the first facts, where they are functions.
    Conditions(Join& join, std::span<const double> constants, std::span<const double> values, Limits& limits)
        : join_(join), code_(join.code()), constants_(constants), values_(values), limits_(limits) {}

    // Appends the literals that a condition amounts to for the objects in the join's frame. False where it cannot
    // hold: then what was appended means nothing.
    bool ground(Id at, std::vector<Id>& literals);
    // Not a number where a value is missing.
    double number(Id at) const;

    // The facts that were invented, each the address of its disjunction and the objects that this is about, and
    // their axioms.
    Rows facts;
    std::vector<Id> axiom_heads;
    Rows axiom_bodies;

private:
    // What came of a condition for some objects: whether it can hold, and literals among those that are remembered.
    struct Found {
        bool can = false;
        std::size_t begin = 0, end = 0;
    };
    struct Hash {
        std::size_t operator()(const std::vector<Id>& key) const {
            std::size_t hash = 0;
            for (const Id each : key) hash = (hash ^ static_cast<std::size_t>(each)) * 0x9E3779B97F4A7C15u;
            return hash ^ (hash >> 32);
        }
    };

    bool ground_atom(Id at, std::vector<Id>& literals) const;
    bool compare(Id at) const;
    bool remembered(Id at, std::vector<Id>& literals);
    bool every(Id at, std::vector<Id>& literals);
    bool either(Id at, const std::vector<Id>& key, std::vector<Id>& literals);
    Id invent(const std::vector<Id>& key, const Rows& ways);

    Join& join_;
    const std::span<const Id> code_;
    const std::span<const double> constants_, values_;
    Limits& limits_;
    // By the address of a condition and the objects that it depends on.
    std::unordered_map<std::vector<Id>, Found, Hash> memory_;
    std::vector<Id> remembered_;
};

}  // namespace pds
