// Many drafts narrowed and searched, dealt out to threads.
#pragma once

#include "narrow.hpp"
#include "search.hpp"

namespace pds {

// A draft with a goal, from an initial state. The draft and the goal may be shared.
struct Posed {
    const Draft* draft;
    const Goal* goal;
    std::span<const std::uint8_t> init;
    std::int64_t most_expansions;
};

struct Solved {
    bool is_solved = false;
    Counters counters;
    std::vector<Id> plan;  // operators of the draft
};

// Each search is eager and ends after its expansions, or when it has looked at about `work` conditions of unary
// operators, taken together. What is found does not depend on the number of threads, which is at least one: the
// thread that calls is among them.
std::vector<Solved> search_many(std::span<const Posed> posed, const Settings& settings, double work, int n_threads,
                                const pds_limits& limits);

}  // namespace pds
