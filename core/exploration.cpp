// hmax, hadd and hFF by relaxed exploration: anew for each state, or by repairing the costs of the state before.
//
// Propositions are settled in the order of their cost, as in Dijkstra's algorithm. A unary operator is triggered
// when its last condition is settled.
#include <algorithm>
#include <optional>

#include "cost_queue.hpp"
#include "heuristic.hpp"

namespace pds {
namespace {

// The state of a unary operator: the sum of its settled conditions' costs and its own, above the number of
// conditions that are not settled. It stops growing at kFull, whose cost is more than kCap; one more cost fits.
using Progress = std::int64_t;
constexpr Progress kCountMask = (Progress{1} << kCountBits) - 1;
constexpr Progress kFull = Progress{1} << 61;
static_assert((kFull >> kCountBits) > kCap && (kCap << kCountBits) < kFull);

Progress progress_of(Cost base, std::size_t left) { return (base << kCountBits) | static_cast<Progress>(left); }
bool is_triggered(Progress progress) { return (progress & kCountMask) == 0; }
Cost charge_of(Progress progress) { return std::min(progress >> kCountBits, kCap); }

// What both ways share: the costs of propositions, their supporters, and the relaxed plan.
class Relaxed : public Heuristic {
public:
    Relaxed(const Relaxation& relaxation, Estimate estimate)
        : relaxation_(relaxation),
          estimate_(estimate),
          cost_(relaxation.n_propositions, kUnreached),
          supporter_(relaxation.n_propositions),
          proposition_mark_(relaxation.n_propositions, 0),
          operator_mark_(relaxation.task.n_operators(), 0),
          part_mark_(relaxation.n_parts(), 0) {}

    double evaluate(std::span<const Word> state, Limits& limits) final {
        preferred_.clear();
        if (!explore(state, limits)) return kDeadEnd;
        Cost total = 0;
        if (estimate_ == Estimate::ff) {
            total = relaxed_plan(state.data());
        } else {
            for (const Id goal : relaxation_.goal)
                total = estimate_ == Estimate::max ? std::max(total, cost_[goal]) : total + cost_[goal];
            if (estimate_ == Estimate::add) relaxed_plan(state.data());
        }
        return static_cast<double>(total) / relaxation_.scale;
    }

    std::vector<Id> unreached() const final {
        std::vector<Id> missed;
        for (std::size_t i = 0; i < relaxation_.goal.size(); ++i)
            if (cost_[relaxation_.goal[i]] >= kUnreached) missed.push_back(relaxation_.goal_literals[i]);
        return missed;
    }

protected:
    // Computes costs until all goals have theirs; false if some goal has none.
    virtual bool explore(std::span<const Word> state, Limits& limits) = 0;

    void begin(std::span<const Word> state) {
        std::fill(cost_.begin(), cost_.end(), kUnreached);
        relaxation_.for_each_true(state, [&](Id proposition) {
            cost_[proposition] = 0;
            supporter_[proposition] = -1;
            queue_.push(0, proposition);
        });
        for (const Id unary : relaxation_.free)
            for (const Id head : relaxation_.heads[unary]) reach(head, relaxation_.base[unary], unary);
    }

    // Most heads are reached at no lower cost.
    [[gnu::always_inline]] void reach(Id head, Cost charge, Id unary) {
        if (charge < cost_[head]) [[unlikely]]
            improve(head, charge, unary);
    }

    // Lets unary operators see that one of their conditions costs `price`, by a `step` of their progress; with
    // `may_overflow`, sums of such costs may not fit. The innermost loop: arrays are looked up before it.
    template <bool maximum, bool may_overflow>
    [[gnu::always_inline]] void see(std::span<const Id> uses, Progress step, Cost price, std::vector<Progress>& of) {
        const Id* const starts = relaxation_.heads.starts.data();
        const Id* const heads = relaxation_.heads.items.data();
        const Cost* const cost = cost_.data();
        Progress* const all = of.data();
        for (const Id unary : uses) {
            Progress progress = all[unary] + step;
            if (may_overflow && progress > kFull) progress = kFull | (progress & kCountMask);
            all[unary] = progress;
            if (!is_triggered(progress)) continue;
            const Cost charge = maximum ? std::min(charge_of(progress) + price, kCap) : charge_of(progress);
            for (const Id *head = heads + starts[unary], *end = heads + starts[unary + 1]; head < end; ++head)
                if (charge < cost[*head]) [[unlikely]]
                    improve(*head, charge, unary);
        }
    }

    [[gnu::noinline]] void improve(Id head, Cost charge, Id unary) {
        cost_[head] = charge;
        supporter_[head] = unary;
        queue_.push(charge, head);
    }

    const Relaxation& relaxation_;
    const Estimate estimate_;
    std::vector<Cost> cost_;     // by proposition
    std::vector<Id> supporter_;  // by proposition: the unary operator that made it cheapest, -1 if it held
    CostQueue queue_;

private:
    // The cost of the relaxed plan that the supporters make up; its operators that can be applied are preferred.
    Cost relaxed_plan(const Word* state) {
        ++mark_;
        Cost total = 0;
        stack_.assign(relaxation_.goal.begin(), relaxation_.goal.end());
        for (const Id goal : stack_) proposition_mark_[goal] = mark_;
        while (!stack_.empty()) {
            const Id unary = supporter_[stack_.back()];
            stack_.pop_back();
            if (unary < 0) continue;
            const Id part = relaxation_.part[unary];
            if (part >= 0 && part_mark_[part] != mark_) {
                part_mark_[part] = mark_;
                total += relaxation_.base[unary];
            }
            bool ready = true;
            for (const Id condition : relaxation_.conditions[unary]) {
                if (cost_[condition] != 0) ready = false;
                if (proposition_mark_[condition] != mark_) {
                    proposition_mark_[condition] = mark_;
                    stack_.push_back(condition);
                }
            }
            // A condition that costs nothing may still not hold: something free makes it true.
            const Id op = relaxation_.owner[unary];
            if (ready && op >= 0 && operator_mark_[op] != mark_ &&
                all_hold(relaxation_.task.preconditions[op], state)) {
                operator_mark_[op] = mark_;
                preferred_.push_back(op);
            }
        }
        return total;
    }

    std::vector<std::uint32_t> proposition_mark_;
    std::vector<std::uint32_t> operator_mark_;
    std::vector<std::uint32_t> part_mark_;
    std::uint32_t mark_ = 0;
    std::vector<Id> stack_;
};

// Each state anew, until all goals are settled.
class Anew final : public Relaxed {
public:
    Anew(const Relaxation& relaxation, Estimate estimate) : Relaxed(relaxation, estimate) {
        std::size_t most = 0;
        for (int unary = 0; unary < relaxation.n_several; ++unary) {
            initial_.push_back(progress_of(relaxation.base[unary], relaxation.conditions[unary].size()));
            most = std::max(most, relaxation.conditions[unary].size());
        }
        progress_ = initial_;
        harmless_ = (kFull >> kCountBits) / static_cast<Cost>(most + 1);
    }

private:
    bool explore(std::span<const Word> state, Limits& limits) override {
        return estimate_ == Estimate::max ? explore_as<true>(state, limits) : explore_as<false>(state, limits);
    }

    template <bool maximum>
    bool explore_as(std::span<const Word> state, Limits& limits) {
        std::copy(initial_.begin(), initial_.end(), progress_.begin());
        limits.tick(initial_.size() / 16);
        queue_.clear();
        begin(state);
        std::size_t left = relaxation_.goal.size();
        Cost price;
        Id proposition;
        while (left > 0) {
            if (!queue_.pop(price, proposition)) return false;
            if (cost_[proposition] < price) continue;
            if (relaxation_.is_goal[proposition] && --left == 0) break;
            for (const Edge& edge : relaxation_.edges_of(proposition))
                reach(edge.head, std::min(price + edge.cost, kCap), edge.unary);
            limits.tick(1 + relaxation_.uses[proposition].size());
            const auto uses = relaxation_.uses[proposition];
            const Progress step = maximum ? -1 : (price << kCountBits) - 1;
            if (price <= harmless_) [[likely]]
                see<maximum, false>(uses, step, price, progress_);
            else
                see<maximum, true>(uses, step, price, progress_);
        }
        return true;
    }

    std::vector<Progress> initial_;
    std::vector<Progress> progress_;
    Cost harmless_ = 0;  // no sum of costs up to this one overflows
};

// hadd's costs of one state from those of the state before: what lost its support is forgotten, then found again
// from what is left, in the order of cost (as in Liu, Koenig & Furcy 2002). Which of several equally good
// supporters is kept depends on the states before.
class Repaired final : public Relaxed {
public:
    Repaired(const Relaxation& relaxation, Estimate estimate, Limits& limits)
        : Relaxed(relaxation, estimate),
          uses_(inverse({relaxation.conditions}, relaxation.n_propositions, limits)),
          makers_(inverse({relaxation.heads}, relaxation.n_propositions, limits)),
          counted_(relaxation.n_propositions, kUnreached) {
        std::size_t most = 0;
        for (int unary = 0; unary < relaxation.n_unary(); ++unary) {
            initial_.push_back(progress_of(relaxation.base[unary], relaxation.conditions[unary].size()));
            most = std::max(most, relaxation.conditions[unary].size());
        }
        progress_ = initial_;
        dearest_ = std::min(kCap, (kFull >> kCountBits) / static_cast<Cost>(most + 1));
    }

    // Sums of costs would not fit: the last value is of no use, and this heuristic is of none for the task.
    bool is_too_dear() const { return is_too_dear_; }

    // How many operators were looked at, as a part of all conditions of all operators.
    double part_looked_at() const {
        return static_cast<double>(looked_at_) / static_cast<double>(uses_.items.size() + 1);
    }

private:
    bool explore(std::span<const Word> state, Limits& limits) override {
        looked_at_ = 0;
        if (previous_.empty() || !update(state, limits)) start_anew(state, limits);
        previous_.assign(state.begin(), state.end());
        return std::all_of(relaxation_.goal.begin(), relaxation_.goal.end(),
                           [&](Id goal) { return cost_[goal] < kUnreached; });
    }

    void start_anew(std::span<const Word> state, Limits& limits) {
        std::copy(initial_.begin(), initial_.end(), progress_.begin());
        std::fill(counted_.begin(), counted_.end(), kUnreached);
        queue_.clear();
        begin(state);
        settle(limits);
    }

    // False if so much is lost that it is better to start anew.
    bool update(std::span<const Word> state, Limits& limits) {
        lost_.clear();
        gained_.clear();
        for (std::size_t word = 0; word < state.size(); ++word)
            for (Word bits = state[word] ^ previous_[word]; bits != 0; bits &= bits - 1) {
                const Id fact = static_cast<Id>(word * 64 + std::countr_zero(bits));
                const bool now = holds(2 * fact, state.data());
                const Id lost = now ? relaxation_.negative[fact] : relaxation_.positive[fact];
                const Id gained = now ? relaxation_.positive[fact] : relaxation_.negative[fact];
                if (lost >= 0) lose(lost);
                if (gained >= 0) gained_.push_back(gained);
            }
        for (std::size_t i = 0; i < lost_.size(); ++i) {
            if (4 * lost_.size() > cost_.size()) return false;
            const Id proposition = lost_[i];
            const Progress step = 1 - (counted_[proposition] << kCountBits);
            counted_[proposition] = kUnreached;
            look_at(uses_[proposition].size(), limits);
            for (const Id unary : uses_[proposition]) {
                progress_[unary] += step;
                for (const Id head : relaxation_.heads[unary])
                    if (supporter_[head] == unary) lose(head);
            }
        }
        queue_.clear();
        for (const Id proposition : lost_) {
            look_at(makers_[proposition].size(), limits);
            for (const Id unary : makers_[proposition])
                if (is_triggered(progress_[unary])) reach(proposition, charge_of(progress_[unary]), unary);
        }
        for (const Id proposition : gained_) reach(proposition, 0, -1);
        settle(limits);
        return true;
    }

    void lose(Id proposition) {
        if (cost_[proposition] == kUnreached) return;
        cost_[proposition] = kUnreached;
        lost_.push_back(proposition);
    }

    void look_at(std::size_t operators, Limits& limits) {
        looked_at_ += operators;
        limits.tick(1 + operators);
    }

    // Lets operators see what became cheaper, cheapest first.
    void settle(Limits& limits) {
        Cost price;
        Id proposition;
        while (queue_.pop(price, proposition)) {
            const Cost before = counted_[proposition];
            if (cost_[proposition] != price || before == price) continue;
            if (price > dearest_) {
                is_too_dear_ = true;
                return;
            }
            counted_[proposition] = price;
            const Progress step =
                before == kUnreached ? (price << kCountBits) - 1 : (price - before) * (Progress{1} << kCountBits);
            look_at(uses_[proposition].size(), limits);
            see<false, false>(uses_[proposition], step, price, progress_);
        }
    }

    const Rows uses_;    // by proposition: all unary operators that it is a condition of
    const Rows makers_;  // by proposition: those that it is a head of
    std::vector<Progress> initial_, progress_;
    std::vector<Cost> counted_;  // by proposition: the cost that is in the progress of operators
    std::vector<Word> previous_;
    std::vector<Id> lost_, gained_;
    std::size_t looked_at_ = 0;
    Cost dearest_ = 0;
    bool is_too_dear_ = false;
};

// Repaired where neighbouring states have most costs in common, else anew. The choice depends on counts alone, never
// on the clock.
class Adaptive final : public Heuristic {
public:
    Adaptive(const Relaxation& relaxation, Estimate estimate)
        : relaxation_(relaxation), estimate_(estimate), anew_(relaxation, estimate) {}

    double evaluate(std::span<const Word> state, Limits& limits) override {
        if (++turn_ == kFirst) begin_trial(limits);
        last_ = &anew_;
        double h = kDeadEnd;
        if (turn_ >= kFirst && pays_) {
            h = repaired_->evaluate(state, limits);
            looked_at_ += repaired_->part_looked_at();
            if (!repaired_->is_too_dear()) last_ = &*repaired_;
        }
        if (last_ == &anew_) h = anew_.evaluate(state, limits);
        preferred_ = last_->preferred();
        if (turn_ == kFirst + kTrial || turn_ == kRound) pays_ = looked_at_ < kLittle * (turn_ - kFirst);
        if (turn_ == kRound) turn_ = kFirst - 1;
        return h;
    }

    std::vector<Id> unreached() const override { return last_->unreached(); }

private:
    // Many searches end before repairing could pay. After that, each round begins with a trial. Set by hand.
    static constexpr int kFirst = 64, kTrial = 16, kRound = 1024;
    static constexpr double kLittle = 0.5;

    void begin_trial(Limits& limits) {
        if (!repaired_) repaired_.emplace(relaxation_, estimate_, limits);
        pays_ = !repaired_->is_too_dear();
        looked_at_ = 0;
    }

    const Relaxation& relaxation_;
    const Estimate estimate_;
    Anew anew_;
    std::optional<Repaired> repaired_;
    const Heuristic* last_ = &anew_;
    int turn_ = 0;
    bool pays_ = false;
    double looked_at_ = 0;
};

class Blind final : public Heuristic {
public:
    explicit Blind(const Relaxation& relaxation) : relaxation_(relaxation) {}
    double evaluate(std::span<const Word> state, Limits&) override {
        return all_hold(relaxation_.goal_literals, state.data()) ? 0 : relaxation_.cheapest;
    }

private:
    const Relaxation& relaxation_;
};

class GoalCount final : public Heuristic {
public:
    explicit GoalCount(const Relaxation& relaxation) : relaxation_(relaxation) {}
    double evaluate(std::span<const Word> state, Limits&) override {
        const auto& goal = relaxation_.goal_literals;
        return static_cast<double>(
            std::count_if(goal.begin(), goal.end(), [&](Id literal) { return !holds(literal, state.data()); }));
    }

private:
    const Relaxation& relaxation_;
};

}  // namespace

std::unique_ptr<Heuristic> make_heuristic(const Relaxation& relaxation, Estimate estimate, bool in_order,
                                          Limits& limits) {
    // What all of them keep by unary operator and by proposition.
    limits.reserve(16 * static_cast<std::size_t>(relaxation.n_unary()) +
                   32 * static_cast<std::size_t>(relaxation.n_propositions));
    switch (estimate) {
        case Estimate::blind:
            return std::make_unique<Blind>(relaxation);
        case Estimate::goal_count:
            return std::make_unique<GoalCount>(relaxation);
        case Estimate::lmcut:
            return make_lmcut(relaxation, limits);
        case Estimate::max:
            return std::make_unique<Anew>(relaxation, estimate);
        case Estimate::add:
        case Estimate::ff:
            break;
    }
    if (in_order) return std::make_unique<Adaptive>(relaxation, estimate);
    return std::make_unique<Anew>(relaxation, estimate);
}

}  // namespace pds
