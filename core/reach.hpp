// What can hold from an initial state, and what holds in all states after it.
#pragma once

#include "draft.hpp"

namespace pds {

// By literal, whether it can hold, and whether it always does; by row of the draft, and then by axiom of the
// goal, for how much it waits in vain.
struct Reached {
    Marks possible;
    Marks certain;
    std::vector<Id> left;

    bool happens(int row) const { return left[row] == 0; }
};

Reached reach(const Draft& draft, const Goal& goal, const Start& start, Limits& limits);

}  // namespace pds
