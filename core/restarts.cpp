#include <algorithm>
#include <numeric>

#include "search.hpp"

namespace pds {
namespace {

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

std::vector<double> in(const std::vector<double>& values, const std::vector<Id>& order) {
    std::vector<double> found;
    found.reserve(values.size());
    for (const Id i : order) found.push_back(values[i]);
    return found;
}

}  // namespace

Restarts::Restarts(Task task, const Settings& settings, std::vector<double> heuristic_costs, Limits& limits)
    : task_(std::move(task)), settings_(settings), heuristic_costs_(std::move(heuristic_costs)) {
    begin(limits);
}

void Restarts::begin(Limits& limits) {
    search_.reset();
    Settings own = settings_;
    own.most_expansions = settings_.most_expansions - spent_.expanded;
    if (round_ == settings_.rounds) own.patience = kForever;
    if (round_ == 0 || round_ == settings_.rounds) {
        order_.clear();
        shuffled_ = Task();
        search_.emplace(task_, own, heuristic_costs_, limits);
        return;
    }
    order_ = shuffled(task_.n_operators(), round_);
    limits.reserve(sizeof(Id) * (task_.preconditions.items.size() + task_.conditions.items.size() +
                                 task_.heads.items.size() + task_.effects.items.size()));
    shuffled_ = task_;
    shuffled_.costs = in(task_.costs, order_);
    shuffled_.preconditions = rows_in(task_.preconditions, order_);
    shuffled_.effects = rows_in(task_.effects, order_);
    search_.emplace(shuffled_, own, in(heuristic_costs_, order_), limits);
}

Answer Restarts::run(Limits& limits) {
    while (true) {
        if (!search_) begin(limits);
        const Answer answer = search_->run(limits);
        if (answer != Answer::stuck) return answer;
        spent_ = counters();
        spent_best_h_ = best_h();
        spent_bytes_ = bytes();
        ++round_;
        search_.reset();
        if (limits.slice_is_over()) return Answer::paused;
    }
}

Counters Restarts::counters() const {
    if (!search_) return spent_;
    const Counters& own = search_->counters();
    return {spent_.expanded + own.expanded, spent_.evaluated + own.evaluated, spent_.generated + own.generated};
}

double Restarts::best_h() const { return search_ ? std::min(spent_best_h_, search_->best_h()) : spent_best_h_; }

std::size_t Restarts::bytes() const { return search_ ? std::max(spent_bytes_, search_->bytes()) : spent_bytes_; }

std::vector<Id> Restarts::unreached() const {
    return search_ && best_h() == kDeadEnd ? search_->unreached() : std::vector<Id>();
}

std::vector<Id> Restarts::plan() const {
    std::vector<Id> steps;
    if (search_) steps = search_->plan();
    for (Id& step : steps) step = own(step);
    return steps;
}

}  // namespace pds
