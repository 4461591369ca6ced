#include "axioms.hpp"

#include <algorithm>

namespace pds {

Axioms::Axioms(const Task& task, Limits& limits) : task_(task) {
    const int n_literals = 2 * task.n_facts, n_rules = task.n_axioms();
    if (n_rules == 0) return;
    watchers_ = inverse({task.axiom_bodies}, n_literals, limits);
    for (int rule = 0; rule < n_rules; ++rule) {
        sizes_.push_back(static_cast<Id>(task.axiom_bodies[rule].size()));
        if (sizes_.back() == 0) empty_.push_back(rule);
    }
    // Facts that no rule makes true are false before the first layer.
    std::vector<Id> layer_of(task.n_facts, -1);
    for (int rule = 0; rule < n_rules; ++rule) layer_of[task.axiom_heads[rule]] = task.axiom_layers[rule];
    std::vector<Id> closed;
    for (Id literal = 0; literal < n_literals; ++literal) {
        if (watchers_[literal].empty()) continue;
        if (literal >> 1 < task.n_basic) {
            mentioned_.push_back(literal);
        } else if (literal & 1) {
            closed.push_back(literal >> 1);
        }
    }
    std::stable_sort(closed.begin(), closed.end(), [&](Id a, Id b) { return layer_of[a] < layer_of[b]; });
    for (std::size_t i = 0; i < closed.size(); ++i) {
        if (i > 0 && layer_of[closed[i]] != layer_of[closed[i - 1]]) closed_.close();
        closed_.items.push_back(closed[i]);
    }
    if (!closed.empty()) closed_.close();
    left_.resize(n_rules);
}

void Axioms::fire(Id rule, Word* state) {
    const Id head = task_.axiom_heads[rule];
    if (holds(2 * head, state)) return;
    set_true(head, state);
    queue_.push_back(2 * head);
}

// Lets rules see the literals in the queue from `first` on, and all that follows.
void Axioms::propagate(Word* state, std::size_t first) {
    for (; first < queue_.size(); ++first)
        for (const Id rule : watchers_[queue_[first]])
            if (--left_[rule] == 0) fire(rule, state);
}

// A rule fires as soon as its whole body is known to hold. Whether a derived fact is false is known when all
// lower layers are complete; then its negation is announced. What it starts lies in higher layers, so that one
// walk upward is enough.
void Axioms::evaluate(Word* state, Limits& limits) {
    for (Id fact = task_.n_basic; fact < task_.n_facts; ++fact) set_false(fact, state);
    if (sizes_.empty()) return;
    std::copy(sizes_.begin(), sizes_.end(), left_.begin());
    queue_.clear();
    for (const Id rule : empty_) fire(rule, state);
    for (const Id literal : mentioned_)
        if (holds(literal, state)) queue_.push_back(literal);
    propagate(state, 0);
    for (int layer = 0; layer < closed_.size(); ++layer) {
        const std::size_t first = queue_.size();
        for (const Id fact : closed_[layer])
            if (!holds(2 * fact, state)) queue_.push_back(2 * fact + 1);
        propagate(state, first);
    }
    limits.tick(queue_.size());
}

}  // namespace pds
