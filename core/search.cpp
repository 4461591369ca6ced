#include "search.hpp"

#include <algorithm>
#include <functional>

namespace pds {
namespace {

// Turns of the preferred operators for each new lowest h, as in LAMA (Richter & Westphal 2010).
constexpr int kBoost = 1000;

}  // namespace

Search::Search(const Task& task, const Settings& settings, std::span<const double> heuristic_costs, Limits& limits)
    : task_(task),
      settings_(settings),
      is_uniform_(std::adjacent_find(task.costs.begin(), task.costs.end(), std::not_equal_to<>()) == task.costs.end()),
      relaxation_(task, heuristic_costs, settings.per_effect, limits),
      generator_(task, limits),
      axioms_(task, limits),
      heuristic_(make_heuristic(relaxation_, settings.estimate, true, limits)),
      nodes_(words_for(task.n_basic)),
      state_(words_for(task.n_facts), 0),
      after_(words_for(task.n_facts), 0),
      packed_(words_for(task.n_basic), 0),
      mark_(settings.lazy ? task.n_operators() : 0, -1) {}

Answer Search::run(Limits& limits) {
    Answer answer = nodes_.size() == 0 ? start(limits) : Answer::paused;
    // The process may grow by less, if it has memory to spare.
    const double most_bytes = static_cast<double>(bytes()) + limits.room();
    while (answer == Answer::paused) {
        if (static_cast<double>(bytes()) > most_bytes) throw Stop{PDS_OUT_OF_MEMORY};
        if (settings_.lazy && counters_.expanded >= settings_.most_expansions) return Answer::enough;
        answer = settings_.lazy ? step_lazily(limits) : step_eagerly(limits);
        limits.tick(packed_.size());
        if (limits.slice_is_over()) break;
    }
    return answer;
}

// The state in full: basic facts as given, derived ones from the axioms.
void Search::unpack(const Word* basic, std::vector<Word>& state, Limits& limits) {
    std::copy_n(basic, packed_.size(), state.begin());
    std::fill(state.begin() + static_cast<std::ptrdiff_t>(packed_.size()), state.end(), 0);
    if (task_.n_facts > task_.n_basic) axioms_.evaluate(state.data(), limits);
}

Answer Search::start(Limits& limits) {
    for (Id fact = 0; fact < task_.n_basic; ++fact)
        if (task_.init[fact]) set_true(fact, packed_.data());
    return meet(nodes_.insert(packed_.data(), limits).first, limits);
}

// A new node, whose state is in packed_: evaluates it and puts it, or its operators, into the open lists.
Answer Search::meet(Id node, Limits& limits) {
    unpack(packed_.data(), after_, limits);
    // Greedy searches stop at any goal.
    if ((settings_.g_weight == 0 && is_goal(after_)) || (is_uniform_ && is_next(node))) {
        goal_ = node;
        return Answer::solved;
    }
    const double h = heuristic_->evaluate(after_, limits);
    ++counters_.evaluated;
    nodes_[node].h = h;
    if (h == kDeadEnd) {
        nodes_[node].status = Nodes::dead;
    } else if (settings_.lazy) {
        if (h < best_h_) preferred_turn_ -= kBoost;
        expand_lazily(node, limits);
    } else {
        enqueue(node, limits);
    }
    if (h < best_h_) {
        best_h_ = h;
        improved_ = counters_.evaluated;
    } else if (counters_.evaluated - improved_ >= settings_.patience) {
        return Answer::stuck;
    }
    return counters_.evaluated >= settings_.most_evaluations ? Answer::enough : Answer::paused;
}

// Whether the newest node, whose state is in after_, is a goal that comes before all that may be open, where all
// operators cost the same.
bool Search::is_next(Id node) const {
    if (counters_.expanded >= settings_.most_expansions || !is_goal(after_)) return false;
    return queue_.empty() || std::pair(settings_.g_weight * nodes_[node].g, 0.0) < queue_.least();
}

void Search::enqueue(Id node, Limits& limits) {
    const Nodes::Node& own = nodes_[node];
    const double f = settings_.g_weight * own.g + settings_.h_weight * own.h;
    queue_.push({f, settings_.g_weight > 0 ? own.h : 0}, node, limits);
}

// Puts all operators of the state in after_ into the open lists, with its h.
void Search::expand_lazily(Id node, Limits& limits) {
    const double h = nodes_[node].h;
    nodes_[node].status = Nodes::closed;
    const std::int64_t mark = ++counters_.expanded;
    for (const Id op : heuristic_->preferred()) mark_[op] = mark;
    found_.clear();
    generator_.applicable(after_, found_);
    for (const Id op : found_) {
        all_.push(h, {node, op}, limits);
        if (mark_[op] == mark) preferred_.push(h, {node, op}, limits);
    }
}

// Takes an operator from one of the open lists and makes its state.
Answer Search::step_lazily(Limits& limits) {
    Edge edge;
    if (!preferred_.empty() && (all_.empty() || preferred_turn_ <= turn_)) {
        ++preferred_turn_;
        edge = preferred_.pop();
    } else if (!all_.empty()) {
        ++turn_;
        edge = all_.pop();
    } else {
        return Answer::exhausted;
    }
    ++counters_.generated;
    const Word* const parent = nodes_.state(edge.parent);
    unpack(parent, state_, limits);
    std::copy_n(parent, packed_.size(), packed_.begin());
    generator_.apply(state_.data(), edge.op, packed_.data());
    const auto [node, is_new] = nodes_.insert(packed_.data(), limits);
    if (!is_new) return Answer::paused;
    nodes_[node].parent = edge.parent;
    nodes_[node].op = edge.op;
    nodes_[node].g = nodes_[edge.parent].g + task_.costs[edge.op];
    return meet(node, limits);
}

// Expands the best open node.
Answer Search::step_eagerly(Limits& limits) {
    Id current;
    do {
        if (queue_.empty()) return Answer::exhausted;
        if (counters_.expanded >= settings_.most_expansions) return Answer::enough;
        current = queue_.pop();
    } while (nodes_[current].status != Nodes::open);
    nodes_[current].status = Nodes::closed;
    ++counters_.expanded;
    unpack(nodes_.state(current), state_, limits);
    if (settings_.g_weight > 0 && is_goal(state_)) {
        goal_ = current;
        return Answer::solved;
    }
    found_.clear();
    generator_.applicable(state_, found_);
    for (const Id op : found_) {
        ++counters_.generated;
        limits.tick();
        std::copy_n(nodes_.state(current), packed_.size(), packed_.begin());
        generator_.apply(state_.data(), op, packed_.data());
        const auto [node, is_new] = nodes_.insert(packed_.data(), limits);
        Nodes::Node& own = nodes_[node];
        const double g = nodes_[current].g + task_.costs[op];
        // Where costs count, a cheaper way opens a state again.
        if (!is_new && (settings_.g_weight == 0 || g >= own.g || own.status == Nodes::dead)) continue;
        own.g = g;
        own.parent = current;
        own.op = op;
        if (is_new) {
            if (const Answer answer = meet(node, limits); answer != Answer::paused) return answer;
        } else {
            own.status = Nodes::open;
            enqueue(node, limits);
        }
    }
    return Answer::paused;
}

std::size_t Search::bytes() const { return nodes_.bytes() + queue_.bytes() + all_.bytes() + preferred_.bytes(); }

std::vector<Id> Search::plan() const {
    std::vector<Id> steps;
    if (goal_ < 0) return steps;
    for (Id node = goal_; nodes_[node].parent >= 0; node = nodes_[node].parent) steps.push_back(nodes_[node].op);
    std::reverse(steps.begin(), steps.end());
    return steps;
}

}  // namespace pds
