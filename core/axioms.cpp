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

// Tarjan's algorithm (1972), with a stack of its own, as chains of derived facts may be long.
std::vector<Id> components(const Task& task) {
    std::vector<Id> number(task.n_facts);
    for (Id fact = 0; fact < task.n_facts; ++fact) number[fact] = fact;
    Rows below;  // by fact: the derived facts that bodies of its rules ask for
    {
        std::vector<std::pair<Id, Id>> pairs;
        for (int rule = 0; rule < task.n_axioms(); ++rule)
            for (const Id literal : task.axiom_bodies[rule])
                if (!(literal & 1) && literal >> 1 >= task.n_basic)
                    pairs.emplace_back(task.axiom_heads[rule], literal >> 1);
        if (pairs.empty()) return number;
        std::sort(pairs.begin(), pairs.end());
        std::size_t at = 0;
        for (Id fact = 0; fact < task.n_facts; ++fact) {
            for (; at < pairs.size() && pairs[at].first == fact; ++at) below.items.push_back(pairs[at].second);
            below.close();
        }
    }
    struct Visit {
        Id fact;
        Id next;  // which of those below comes next
    };
    std::vector<Id> index(task.n_facts, -1), low(task.n_facts, 0), path;
    std::vector<std::uint8_t> on_path(task.n_facts, 0);
    std::vector<Visit> visits;
    Id count = 0;
    const auto enter = [&](Id fact) {
        index[fact] = low[fact] = count++;
        path.push_back(fact);
        on_path[fact] = 1;
        visits.push_back({fact, 0});
    };
    for (Id root = task.n_basic; root < task.n_facts; ++root) {
        if (index[root] >= 0) continue;
        enter(root);
        while (!visits.empty()) {
            const Id fact = visits.back().fact;
            const auto own = below[fact];
            if (visits.back().next < static_cast<Id>(own.size())) {
                const Id other = own[visits.back().next++];
                if (index[other] < 0) {
                    enter(other);
                } else if (on_path[other]) {
                    low[fact] = std::min(low[fact], index[other]);
                }
                continue;
            }
            visits.pop_back();
            if (!visits.empty()) low[visits.back().fact] = std::min(low[visits.back().fact], low[fact]);
            if (low[fact] != index[fact]) continue;
            for (Id member = -1; member != fact;) {
                member = path.back();
                path.pop_back();
                on_path[member] = 0;
                number[member] = fact;
            }
        }
    }
    return number;
}

}  // namespace pds
