// The landmark-cut heuristic (Helmert & Domshlak 2009), computed as in Fast Downward: hmax is repaired after each
// cut. Among equally costly conditions of an operator the one that is settled last supports it; but one that is
// free is supported by what keeps the goal zone small, and cuts with it.
//
// Costs are kept by operator of the task, not by unary operator: a cut is paid by all that its operators do. So the
// estimate stays admissible with conditional effects, too. Axioms cost nothing and are never part of a cut.
#include <algorithm>

#include "cost_queue.hpp"
#include "heuristic.hpp"

namespace pds {
namespace {

class LmCut final : public Heuristic {
public:
    LmCut(const Relaxation& relaxation, Limits& limits)
        : relaxation_(relaxation),
          start_(relaxation.n_propositions),
          goal_(start_ + 1),
          cost_(goal_ + 1, kUnreached),
          zone_(goal_ + 1, Zone::nowhere),
          initial_prices_(relaxation.task.n_operators() + 1, 0) {
        // One operator more, which is free, for axioms and for reaching the goal.
        const Id nobody = relaxation.task.n_operators();
        limits.reserve(2 * sizeof(Unary) * relaxation.n_unary() +
                       sizeof(Id) * (relaxation.conditions.items.size() + relaxation.heads.items.size()));
        for (int unary = 0; unary < relaxation.n_unary(); ++unary) {
            limits.tick(1 + relaxation.conditions[unary].size());
            const Id owner = relaxation.owner[unary] < 0 ? nobody : relaxation.owner[unary];
            add(relaxation.conditions[unary], relaxation.heads[unary], owner);
            initial_prices_[owner] = relaxation.base[unary];
        }
        add(relaxation.goal, std::span(&goal_, 1), nobody);
        used_by_ = inverse({conditions_}, goal_ + 1, limits);
        made_by_ = inverse({heads_}, goal_ + 1, limits);
        std::vector<Id> owners;
        for (const Unary& unary : initial_) owners.push_back(unary.owner);
        owned_by_ = owned(owners, nobody + 1, limits);
        is_cut_.assign(nobody + 1, 0);
        initial_free_makers_.assign(goal_ + 1, 0);
        for (std::size_t id = 0; id < initial_.size(); ++id)
            if (initial_prices_[initial_[id].owner] == 0)
                for (const Id head : heads_[static_cast<int>(id)]) ++initial_free_makers_[head];
    }

    double evaluate(std::span<const Word> state, Limits& limits) override {
        unaries_ = initial_;
        prices_ = initial_prices_;
        free_makers_ = initial_free_makers_;
        limits.tick(unaries_.size() / 16);
        explore(state, limits);
        if (cost_[goal_] >= kUnreached) return kDeadEnd;
        // Costs are shared among what an operator does under different conditions, and hmax charges each anew.
        const Cost at_least = cost_[goal_];
        Cost total = 0;
        while (cost_[goal_] > 0) {
            find_goal_zone(limits);
            find_cut(state, limits);
            Cost least = kUnreached;
            for (const Id op : cut_) least = std::min(least, prices_[op]);
            for (const Id op : cut_) pay(op, least);
            total += least;
            repair(limits);
        }
        return static_cast<double>(std::clamp(total, at_least, kCap)) / relaxation_.scale;
    }

    std::vector<Id> unreached() const override {
        std::vector<Id> missed;
        for (std::size_t i = 0; i < relaxation_.goal.size(); ++i)
            if (cost_[relaxation_.goal[i]] >= kUnreached) missed.push_back(relaxation_.goal_literals[i]);
        return missed;
    }

private:
    enum class Zone : std::uint8_t { nowhere, of_goal, before_goal };

    struct Unary {
        Id owner;
        Id left;
        Id supporter;  // a costliest condition
        Cost supporter_cost;
    };

    void add(std::span<const Id> conditions, std::span<const Id> heads, Id owner) {
        if (conditions.empty()) conditions = std::span(&start_, 1);
        conditions_.append(conditions);
        heads_.append(heads);
        initial_.push_back({owner, static_cast<Id>(conditions.size()), -1, kUnreached});
    }

    [[gnu::always_inline]] void reach(Id proposition, Cost cost) {
        if (cost < cost_[proposition]) [[unlikely]]
            improve(proposition, cost);
    }

    [[gnu::noinline]] void improve(Id proposition, Cost cost) {
        cost_[proposition] = cost;
        queue_.push(cost, proposition);
    }

    void reach_heads(Id id) {
        const Unary& unary = unaries_[id];
        const Cost cost = std::min(unary.supporter_cost + prices_[unary.owner], kCap);
        for (const Id head : heads_[id]) reach(head, cost);
    }

    // hmax.
    void explore(std::span<const Word> state, Limits& limits) {
        std::fill(cost_.begin(), cost_.end(), kUnreached);
        queue_.clear();
        relaxation_.for_each_true(state, [&](Id proposition) { reach(proposition, 0); });
        reach(start_, 0);
        Cost price;
        Id proposition;
        while (queue_.pop(price, proposition)) {
            if (cost_[proposition] < price) continue;
            limits.tick(1 + used_by_[proposition].size());
            for (const Id id : used_by_[proposition]) {
                Unary& unary = unaries_[id];
                if (--unary.left > 0) continue;
                unary.supporter = proposition;
                unary.supporter_cost = price;
                reach_heads(id);
            }
        }
        queue_.clear();
    }

    void pay(Id op, Cost part) {
        prices_[op] -= part;
        if (prices_[op] > 0) return;
        for (const Id id : owned_by_[op])
            for (const Id head : heads_[id]) ++free_makers_[head];
    }

    // After the prices of the cut's operators fell: costs of propositions fall where they follow.
    void repair(Limits& limits) {
        queue_.clear();
        for (const Id op : cut_)
            for (const Id id : owned_by_[op])
                if (unaries_[id].supporter >= 0) reach_heads(id);
        Cost price;
        Id proposition;
        while (queue_.pop(price, proposition)) {
            if (cost_[proposition] < price) continue;
            limits.tick(1 + used_by_[proposition].size());
            for (const Id id : used_by_[proposition]) {
                Unary& unary = unaries_[id];
                if (unary.supporter != proposition || unary.supporter_cost <= price) continue;
                for (const Id condition : conditions_[id])
                    if (cost_[condition] > cost_[unary.supporter]) unary.supporter = condition;
                if (cost_[unary.supporter] == unary.supporter_cost) continue;
                unary.supporter_cost = cost_[unary.supporter];
                reach_heads(id);
            }
        }
        queue_.clear();
    }

    // Of equally costly conditions, one that lies in the goal zone anyhow adds nothing to it, and one that nothing
    // free makes true adds itself alone.
    void keep_zone_small(Unary& unary, std::span<const Id> conditions) const {
        Id border = -1;
        for (const Id condition : conditions) {
            if (cost_[condition] != unary.supporter_cost) continue;
            if (zone_[condition] == Zone::of_goal) {
                unary.supporter = condition;
                return;
            }
            if (border < 0 && free_makers_[condition] == 0) border = condition;
        }
        if (border >= 0) unary.supporter = border;
    }

    // What leads to the goal at no cost, through supporters.
    void find_goal_zone(Limits& limits) {
        std::fill(zone_.begin(), zone_.end(), Zone::nowhere);
        stack_.assign(1, goal_);
        zone_[goal_] = Zone::of_goal;
        while (!stack_.empty()) {
            const Id proposition = stack_.back();
            stack_.pop_back();
            limits.tick(1 + made_by_[proposition].size());
            for (const Id id : made_by_[proposition]) {
                Unary& unary = unaries_[id];
                if (unary.supporter < 0 || prices_[unary.owner] > 0) continue;
                keep_zone_small(unary, conditions_[id]);
                if (zone_[unary.supporter] == Zone::of_goal) continue;
                zone_[unary.supporter] = Zone::of_goal;
                stack_.push_back(unary.supporter);
            }
        }
    }

    // The operators that step into the goal zone from what is reached outside of it.
    void find_cut(std::span<const Word> state, Limits& limits) {
        for (const Id op : cut_) is_cut_[op] = 0;
        cut_.clear();
        stack_.clear();
        const auto enter = [&](Id proposition) {
            if (zone_[proposition] != Zone::nowhere) return;
            zone_[proposition] = Zone::before_goal;
            stack_.push_back(proposition);
        };
        enter(start_);
        relaxation_.for_each_true(state, enter);
        while (!stack_.empty()) {
            const Id proposition = stack_.back();
            stack_.pop_back();
            limits.tick(1 + used_by_[proposition].size());
            for (const Id id : used_by_[proposition]) {
                const Unary& unary = unaries_[id];
                if (unary.supporter != proposition) continue;
                const auto heads = heads_[id];
                const bool crosses =
                    std::any_of(heads.begin(), heads.end(), [&](Id head) { return zone_[head] == Zone::of_goal; });
                if (!crosses) {
                    for (const Id head : heads) enter(head);
                } else if (!is_cut_[unary.owner]) {
                    is_cut_[unary.owner] = 1;
                    cut_.push_back(unary.owner);
                }
            }
        }
    }

    const Relaxation& relaxation_;
    const Id start_, goal_;   // propositions of our own: one that always holds, and one for all goals together
    std::vector<Cost> cost_;  // by proposition: hmax
    std::vector<Zone> zone_;  // by proposition
    std::vector<Unary> initial_, unaries_;
    Rows conditions_, heads_;                            // by unary operator
    Rows used_by_, made_by_;                             // by proposition
    Rows owned_by_;                                      // by operator
    std::vector<Cost> initial_prices_, prices_;          // by operator: what is left of its cost
    std::vector<Id> initial_free_makers_, free_makers_;  // by proposition: free unary operators that make it true
    std::vector<std::uint8_t> is_cut_;                   // by operator
    std::vector<Id> cut_;                                // operators
    std::vector<Id> stack_;
    CostQueue queue_;
};

}  // namespace

std::unique_ptr<Heuristic> make_lmcut(const Relaxation& relaxation, Limits& limits) {
    return std::make_unique<LmCut>(relaxation, limits);
}

}  // namespace pds
