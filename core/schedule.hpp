// Searches of one task, one after the other, until one of them has an answer.
#pragma once

#include <optional>

#include "search.hpp"

namespace pds {

// A search of a schedule. It ends without an answer where its settings say so, after its share of the expansions that
// are left to the schedule, or when it has looked at about `work` conditions of unary operators.
struct Phase {
    Settings settings;
    double share = 1;
    double work = kDeadEnd;
    // Another order of the operators, and so of what is equally good, for each number; 0 is the task's own.
    std::uint64_t order = 0;
};

class Schedule {
public:
    // `heuristic_costs` stand in for the task's in the heuristics. The phases live as long as this does.
    Schedule(Task task, std::span<const Phase> phases, std::int64_t most_expansions,
             std::vector<double> heuristic_costs);
    Schedule(const Schedule&) = delete;  // searches refer to the tasks that lie here
    Schedule& operator=(const Schedule&) = delete;

    // Goes on until there is an answer, or a slice of the limits is over.
    Answer run(Limits& limits);
    std::size_t phase() const { return phase_; }
    // The search of the present phase; none before it was made.
    const Search* search() const { return search_ ? &*search_ : nullptr; }
    Counters counters() const;
    double best_h() const;
    std::size_t bytes() const;
    std::vector<Id> plan() const;
    // The goal literals that even the relaxed task does not reach from the initial state, if that is why there is no
    // plan: the heuristic remembers its last state alone, which is the initial one if none has a finite h.
    std::vector<Id> unreached() const;
    // The operator of the task that has this number in the present phase.
    Id own(Id op) const { return order_.empty() || op < 0 ? op : order_[op]; }

private:
    void begin(Limits& limits);
    Settings settings() const;

    const Task task_;
    const std::span<const Phase> phases_;
    const std::int64_t most_expansions_;
    const std::vector<double> heuristic_costs_;
    std::size_t phase_ = 0;
    Task shuffled_;
    std::vector<Id> order_;  // of the operators in the present phase; empty if it is the task's
    std::optional<Search> search_;
    Counters spent_;  // by the phases before
    double spent_best_h_ = kDeadEnd;
    std::size_t spent_bytes_ = 0;
};

}  // namespace pds
