// Many drafts narrowed and searched, dealt out to threads.
#pragma once

#include "narrow.hpp"
#include "schedule.hpp"

namespace pds {

// A draft with a goal, from an initial state. The draft may be shared.
struct Posed {
    const Draft* draft;
    Goal goal;
    std::span<const std::uint8_t> init;
    std::int64_t most_expansions;
};

struct Solved {
    pds_answer ended = PDS_DONE;  // or the limit that ended the search
    Answer answer = Answer::exhausted;
    Counters counters;
    std::vector<Id> plan;  // operators of the draft
};

// Each is searched by the same schedule. What is found does not depend on the number of threads, which is at least
// one: the thread that calls is among them.
std::vector<Solved> search_many(std::span<const Posed> posed, std::span<const Phase> phases, int n_threads,
                                const pds_limits& limits);

}  // namespace pds
