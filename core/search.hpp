// Best-first search over a task: A*, weighted A*, greedy, and lazy greedy with preferred operators.
#pragma once

#include "axioms.hpp"
#include "heuristic.hpp"
#include "nodes.hpp"
#include "open_list.hpp"
#include "successors.hpp"

namespace pds {

enum class Answer { paused, solved, exhausted, enough, stuck };

inline constexpr std::int64_t kForever = std::int64_t{1} << 62;

struct Settings {
    Estimate estimate = Estimate::ff;
    bool lazy = false;
    bool per_effect = false;  // hFF counts each conditional effect as an operator of its own
    double g_weight = 1;      // f = g_weight * g + h_weight * h
    double h_weight = 1;
    std::int64_t most_expansions = kForever;
    std::int64_t most_evaluations = kForever;
    std::int64_t patience = kForever;  // evaluations without a lower h after which the search is stuck
};

struct Counters {
    std::int64_t expanded = 0;
    std::int64_t evaluated = 0;
    std::int64_t generated = 0;
};

// Eager searches take a node from the open list and evaluate each of its successors. Lazy search takes an operator
// with the state that it is to be applied in, and evaluates the new state only then; two open lists take turns, one
// with all operators, one with the preferred ones, and progress gives the second one more turns (Richter &
// Helmert 2009).
//
// Ties: A* and weighted A* order by f, then h; greedy searches by h; then first in, first out, successors in the
// order of the tree of preconditions.
class Search {
public:
    // `heuristic_costs` stand in for the task's in the heuristic.
    Search(const Task& task, const Settings& settings, std::span<const double> heuristic_costs, Limits& limits);

    // Goes on until there is an answer, or a slice of the limits is over.
    Answer run(Limits& limits);

    const Counters& counters() const { return counters_; }
    const Nodes& nodes() const { return nodes_; }
    double best_h() const { return best_h_; }
    Id goal() const { return goal_; }
    std::size_t bytes() const;
    std::vector<Id> plan() const;
    // After the initial state alone was evaluated: the goal literals that even the relaxed task does not reach.
    std::vector<Id> unreached() const { return heuristic_->unreached(); }

private:
    struct Edge {
        Id parent;
        Id op;
    };

    Answer start(Limits& limits);
    Answer step_lazily(Limits& limits);
    Answer step_eagerly(Limits& limits);
    Answer meet(Id node, Limits& limits);
    void expand_lazily(Id node, Limits& limits);
    void enqueue(Id node, Limits& limits);
    void unpack(const Word* basic, std::vector<Word>& state, Limits& limits);
    bool is_goal(const std::vector<Word>& state) const { return all_hold(relaxation_.goal_literals, state.data()); }
    bool is_next(Id node) const;

    const Task& task_;
    const Settings settings_;
    const bool is_uniform_;  // all operators cost the same
    const Relaxation relaxation_;
    const SuccessorGenerator generator_;
    Axioms axioms_;
    const std::unique_ptr<Heuristic> heuristic_;
    Nodes nodes_;
    OpenList<std::pair<double, double>, Id> queue_;  // eager: by f and h
    OpenList<double, Edge> all_, preferred_;         // lazy: by h
    std::int64_t turn_ = 0, preferred_turn_ = 0;
    double best_h_ = kDeadEnd;
    std::int64_t improved_ = 0;  // evaluations when h was lower than ever
    Id goal_ = -1;
    Counters counters_;
    std::vector<Word> state_, after_;  // states of all facts: the one that is expanded, and a successor
    std::vector<Word> packed_;         // the basic facts of the successor
    std::vector<Id> found_;
    std::vector<std::int64_t> mark_;  // by operator: the expansion for which it was preferred
};

}  // namespace pds
