// Tasks from drafts: one pipeline for problems, and for abstractions that are narrowed to many states and goals.
#pragma once

#include "draft.hpp"

namespace pds {

// A task without names. Where the goal is out of reach it has no operators, and its goal are the literals that
// can never hold.
struct Narrowed {
    bool solvable = false;
    Task task;
    std::vector<Id> kept;    // facts of the draft and the goal, by fact
    std::vector<Id> chosen;  // operators of the draft, by operator
    Marks possible;          // by literal of the draft and the goal: whether it can hold
};

// What can never happen, what is always so and what does not help is left out; the rest is numbered anew.
Narrowed narrow(const Draft& draft, const Goal& goal, const Start& start, Limits& limits);

}  // namespace pds
