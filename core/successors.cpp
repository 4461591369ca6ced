#include "successors.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace pds {
namespace {

// Preconditions by the ranks of their literals, each sorted, and the literal of every rank.
struct Ranked {
    Rows tests;
    std::vector<Id> literal_of;
};

Ranked ranked(const Task& task, Limits& limits) {
    const int n_literals = 2 * task.n_facts;
    Ranked found{task.preconditions, {}};
    std::vector<Id> count(n_literals, 0), rank(n_literals);
    for (const Id literal : task.preconditions.items) ++count[literal];
    for (Id literal = 0; literal < n_literals; ++literal)
        if (count[literal] > 0) found.literal_of.push_back(literal);
    std::sort(found.literal_of.begin(), found.literal_of.end(),
              [&](Id a, Id b) { return std::tuple(a & 1, count[a], a) < std::tuple(b & 1, count[b], b); });
    for (std::size_t i = 0; i < found.literal_of.size(); ++i) rank[found.literal_of[i]] = static_cast<Id>(i);
    for (Id& item : found.tests.items) item = rank[item];
    for (int op = 0; op < task.n_operators(); ++op) {
        limits.tick(1 + 8 * task.preconditions[op].size());
        std::sort(found.tests.items.begin() + found.tests.starts[op],
                  found.tests.items.begin() + found.tests.starts[op + 1]);
    }
    return found;
}

}  // namespace

SuccessorGenerator::SuccessorGenerator(const Task& task, Limits& limits) : task_(task), roots_(task.n_facts) {
    const auto [tests, literal_of] = ranked(task, limits);
    std::vector<Id> order(task.n_operators());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Id a, Id b) {
        const auto left = tests[a], right = tests[b];
        limits.tick(1 + left.size() / 8);
        const auto ways = std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end());
        return ways == 0 ? a < b : ways < 0;
    });
    std::vector<Id> open;  // the nodes above the place where we are
    const auto size = [&] { return static_cast<Id>(nodes_.size()); };
    const auto close_to = [&](std::size_t depth) {
        for (; open.size() > depth; open.pop_back()) nodes_[open.back()].skip = size();
    };
    std::span<const Id> before;
    bool saw_negation = false;
    for (const Id op : order) {
        limits.tick();
        const auto own = tests[op];
        const auto shared = std::mismatch(own.begin(), own.end(), before.begin(), before.end()).first - own.begin();
        close_to(shared);
        const Id begin = size();
        for (std::size_t i = shared; i < own.size(); ++i) {
            open.push_back(size());
            nodes_.push_back({literal_of[own[i]], 0});
        }
        nodes_.push_back({-op - 1, size() + 1});
        if (own.empty()) {
            free_ = size();
        } else if (const Id first = literal_of[own[0]]; !(first & 1)) {
            Range& root = roots_[first >> 1];
            if (root.end == 0) root.begin = begin;
            root.end = size();
        } else if (!saw_negation) {
            saw_negation = true;
            negative_ = begin;
        }
        before = own;
    }
    close_to(0);
    if (!saw_negation) negative_ = size();
}

void SuccessorGenerator::walk(const Word* state, Id at, Id end, std::vector<Id>& found) const {
    while (at < end) {
        const Node node = nodes_[at];
        if (node.literal < 0) {
            found.push_back(-node.literal - 1);
            ++at;
        } else {
            at = holds(node.literal, state) ? at + 1 : node.skip;
        }
    }
}

void SuccessorGenerator::applicable(std::span<const Word> state, std::vector<Id>& found) const {
    walk(state.data(), 0, free_, found);
    for_each_fact(state, [&](Id fact) { walk(state.data(), roots_[fact].begin, roots_[fact].end, found); });
    walk(state.data(), negative_, static_cast<Id>(nodes_.size()), found);
}

void SuccessorGenerator::apply(const Word* state, Id op, Word* after) const {
    for (const bool adding : {false, true})
        for (const Id effect : task_.effects[op]) {
            if (!all_hold(task_.conditions[effect], state)) continue;
            for (const Id head : task_.heads[effect]) {
                if (adding && !(head & 1)) set_true(head >> 1, after);
                if (!adding && (head & 1)) set_false(head >> 1, after);
            }
        }
}

}  // namespace pds
