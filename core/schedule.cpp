#include "schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pds {
namespace {

// How many conditions an evaluation looks at: those of effects, and three times those of axioms. An axiom is a unary
// operator, and another for the negation of its head, which has its literals, too.
double work_for(const Task& task) {
    return 1.0 + static_cast<double>(task.conditions.items.size()) +
           3.0 * static_cast<double>(task.axiom_bodies.items.size());
}

std::int64_t least(std::int64_t most, double other) {
    return other < static_cast<double>(most) ? static_cast<std::int64_t>(other) : most;
}

// Another order for each seed, the same on every machine: Fisher and Yates with splitmix64 (Steele et al. 2014).
std::vector<Id> shuffled(int n, std::uint64_t seed) {
    std::vector<Id> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; --i) {
        std::uint64_t bits = seed += 0x9E3779B97F4A7C15;
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
        std::swap(order[i], order[(bits ^ (bits >> 31)) % static_cast<std::uint64_t>(i + 1)]);
    }
    return order;
}

Rows rows_in(const Rows& rows, const std::vector<Id>& order) {
    Rows found;
    found.starts.reserve(rows.starts.size());
    found.items.reserve(rows.items.size());
    for (const Id row : order) found.append(rows[row]);
    return found;
}

template <typename T>
std::vector<T> in(const std::vector<T>& values, const std::vector<Id>& order) {
    std::vector<T> found;
    found.reserve(order.size());
    for (const Id i : order) found.push_back(values[i]);
    return found;
}

}  // namespace

Schedule::Schedule(Task task, std::span<const Phase> phases, std::int64_t most_expansions,
                   std::vector<double> heuristic_costs)
    : task_(std::move(task)),
      phases_(phases),
      most_expansions_(most_expansions),
      heuristic_costs_(std::move(heuristic_costs)) {}

// Those of the present phase, with what it may take.
Settings Schedule::settings() const {
    const Phase& phase = phases_[phase_];
    Settings settings = phase.settings;
    const std::int64_t left = most_expansions_ - spent_.expanded;
    settings.most_expansions = least(left, std::ceil(phase.share * static_cast<double>(left)));
    settings.most_evaluations = least(settings.most_evaluations, std::ceil(phase.work / work_for(task_)));
    return settings;
}

void Schedule::begin(Limits& limits) {
    search_.reset();
    const Phase& phase = phases_[phase_];
    order_.clear();
    shuffled_ = Task();
    if (phase.order == 0) {
        search_.emplace(task_, settings(), heuristic_costs_, limits);
        return;
    }
    order_ = shuffled(task_.n_operators(), phase.order);
    limits.reserve(sizeof(Id) * (task_.preconditions.items.size() + task_.conditions.items.size() +
                                 task_.heads.items.size() + task_.effects.items.size()));
    shuffled_ = task_;
    shuffled_.costs = in(task_.costs, order_);
    shuffled_.preconditions = rows_in(task_.preconditions, order_);
    shuffled_.effects = rows_in(task_.effects, order_);
    search_.emplace(shuffled_, settings(), in(heuristic_costs_, order_), limits);
}

Answer Schedule::run(Limits& limits) {
    while (true) {
        if (!search_) begin(limits);
        const Answer answer = search_->run(limits);
        if (answer != Answer::stuck && answer != Answer::enough) return answer;
        if (phase_ + 1 == phases_.size() || counters().expanded >= most_expansions_) return Answer::enough;
        spent_ = counters();
        spent_best_h_ = best_h();
        spent_bytes_ = bytes();
        ++phase_;
        search_.reset();
        if (limits.slice_is_over()) return Answer::paused;
    }
}

Counters Schedule::counters() const {
    if (!search_) return spent_;
    const Counters& own = search_->counters();
    return {spent_.expanded + own.expanded, spent_.evaluated + own.evaluated, spent_.generated + own.generated};
}

double Schedule::best_h() const { return search_ ? std::min(spent_best_h_, search_->best_h()) : spent_best_h_; }

std::size_t Schedule::bytes() const { return search_ ? std::max(spent_bytes_, search_->bytes()) : spent_bytes_; }

std::vector<Id> Schedule::unreached() const {
    return search_ && best_h() == kDeadEnd ? search_->unreached() : std::vector<Id>();
}

std::vector<Id> Schedule::plan() const {
    std::vector<Id> steps;
    if (search_) steps = search_->plan();
    for (Id& step : steps) step = own(step);
    return steps;
}

}  // namespace pds
