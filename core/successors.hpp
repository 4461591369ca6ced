// Which operators can be applied in a state, and what they make of it.
#pragma once

#include "limits.hpp"
#include "task.hpp"

namespace pds {

// The preconditions as a decision tree in preorder, as in Fast Downward (Helmert 2006). A node tests a literal:
// if it holds, the walk goes on with the next node, else behind the node's subtree. A leaf is an operator. The
// literals of a precondition are tested in the order of how few operators ask for them, facts before negations;
// so the walk starts only in the subtrees of facts that hold, and most of these are short.
class SuccessorGenerator {
public:
    SuccessorGenerator(const Task& task, Limits& limits);

    // Appends the operators that can be applied in a state of all facts.
    void applicable(std::span<const Word> state, std::vector<Id>& found) const;
    // Changes `after`, the basic facts of `state`. Adds win over deletes.
    void apply(const Word* state, Id op, Word* after) const;

private:
    struct Node {
        Id literal;  // or -1 - operator
        Id skip;     // where to go on if it does not hold
    };
    struct Range {
        Id begin = 0;
        Id end = 0;
    };

    void walk(const Word* state, Id at, Id end, std::vector<Id>& found) const;

    const Task& task_;
    std::vector<Node> nodes_;
    std::vector<Range> roots_;  // by fact: the subtree of operators that ask for it first
    Id free_ = 0;               // before it: operators without preconditions
    Id negative_ = 0;           // from it on: operators whose preconditions are all negations
};

}  // namespace pds
