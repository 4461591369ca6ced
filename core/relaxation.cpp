#include "relaxation.hpp"

#include <algorithm>
#include <cmath>

namespace pds {
namespace {

constexpr double kLargestCost = 1 << 28;

// Sorts the items that were appended from `begin` on, drops repetitions, and ends the row.
void close_sorted(Rows& rows) {
    const auto begin = rows.items.begin() + rows.starts.back();
    std::sort(begin, rows.items.end());
    rows.items.erase(std::unique(begin, rows.items.end()), rows.items.end());
    rows.close();
}

void extend(Rows& rows, std::span<const Id> items) { rows.items.insert(rows.items.end(), items.begin(), items.end()); }

// Unary operators over literals; helper propositions, one a rule, are numbered behind the literals.
struct Unaries {
    Rows conditions, heads;
    std::vector<Id> owner;
};

// One for all unconditional effects of each operator, then one for each conditional effect.
void add_operators(const Task& task, Unaries& all, Limits& limits) {
    for (int op = 0; op < task.n_operators(); ++op) {
        const std::size_t before = all.heads.items.size();
        for (const Id effect : task.effects[op])
            if (task.conditions[effect].empty()) extend(all.heads, task.heads[effect]);
        if (all.heads.items.size() == before) continue;
        close_sorted(all.heads);
        extend(all.conditions, task.preconditions[op]);
        close_sorted(all.conditions);
        all.owner.push_back(op);
        limits.tick(all.heads.items.size() - before);
    }
    for (int op = 0; op < task.n_operators(); ++op)
        for (const Id effect : task.effects[op]) {
            if (task.conditions[effect].empty()) continue;
            extend(all.heads, task.heads[effect]);
            close_sorted(all.heads);
            extend(all.conditions, task.preconditions[op]);
            extend(all.conditions, task.conditions[effect]);
            close_sorted(all.conditions);
            all.owner.push_back(op);
            limits.tick(task.heads[effect].size());
        }
}

void add_axioms(const Task& task, Unaries& all) {
    for (int rule = 0; rule < task.n_axioms(); ++rule) {
        all.conditions.append(task.axiom_bodies[rule]);
        const Id head = 2 * task.axiom_heads[rule];
        all.heads.append({&head, 1});
        all.owner.push_back(-1);
    }
}

// By rule, whether it may depend on its own head: it reads a derived fact of its own layer.
std::vector<std::uint8_t> recursive_rules(const Task& task) {
    std::vector<Id> layer(task.n_facts, -1);
    for (int rule = 0; rule < task.n_axioms(); ++rule) layer[task.axiom_heads[rule]] = task.axiom_layers[rule];
    std::vector<std::uint8_t> recursive(task.n_axioms(), 0);
    for (int rule = 0; rule < task.n_axioms(); ++rule)
        for (const Id literal : task.axiom_bodies[rule])
            if (layer[literal >> 1] == task.axiom_layers[rule]) recursive[rule] = 1;
    return recursive;
}

// How negations of derived facts come about: those that something asks for, and those that they need in turn.
void add_negations(const Task& task, Unaries& all, Limits& limits) {
    std::vector<Id> wanted;
    {
        std::vector<std::uint8_t> asked(2 * task.n_facts, 0);
        for (const Id literal : all.conditions.items) asked[literal] = 1;
        for (const Id literal : task.goal) asked[literal] = 1;
        for (Id fact = task.n_basic; fact < task.n_facts; ++fact)
            if (asked[2 * fact + 1]) wanted.push_back(fact);
    }
    if (wanted.empty()) return;
    const Rows rules_of = owned(task.axiom_heads, task.n_facts, limits);
    const std::vector<std::uint8_t> recursive = recursive_rules(task);
    std::vector<std::uint8_t> seen(task.n_facts, 0);
    for (const Id fact : wanted) seen[fact] = 1;
    const Id first_helper = 2 * task.n_facts;
    const auto add = [&](Id head) {
        all.conditions.close();
        all.heads.append({&head, 1});
        all.owner.push_back(-1);
    };
    while (!wanted.empty()) {
        for (const Id fact : wanted) {
            for (const Id rule : rules_of[fact])
                if (!recursive[rule]) all.conditions.items.push_back(first_helper + rule);
            add(2 * fact + 1);
        }
        std::vector<Id> next;
        for (const Id fact : wanted)
            for (const Id rule : rules_of[fact]) {
                if (recursive[rule]) continue;
                limits.tick(task.axiom_bodies[rule].size());
                for (const Id literal : task.axiom_bodies[rule]) {
                    all.conditions.items.push_back(literal ^ 1);
                    add(first_helper + rule);
                    const Id below = literal >> 1;
                    if ((literal & 1) || below < task.n_basic || seen[below]) continue;
                    seen[below] = 1;
                    next.push_back(below);
                }
            }
        std::sort(next.begin(), next.end());
        wanted = std::move(next);
    }
}

}  // namespace

ScaledCosts::ScaledCosts(std::span<const double> given) : scale(1) {
    const double top = given.empty() ? 0.0 : *std::max_element(given.begin(), given.end());
    for (const double factor : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
        const bool is_exact = top * factor <= kLargestCost && std::all_of(given.begin(), given.end(), [&](double cost) {
                                  return std::fabs(cost * factor - std::nearbyint(cost * factor)) <= 1e-9 * factor;
                              });
        if (!is_exact) continue;
        scale = factor;
        for (const double cost : given) costs.push_back(static_cast<Id>(std::nearbyint(cost * factor)));
        return;
    }
    scale = kLargestCost / top;
    for (const double cost : given) costs.push_back(static_cast<Id>(std::floor(cost * scale)));
}

Relaxation::Relaxation(const Task& task, std::span<const double> costs, bool per_effect, Limits& limits) : task(task) {
    const ScaledCosts scaled(costs);
    scale = scaled.scale;
    if (!costs.empty()) cheapest = *std::min_element(scaled.costs.begin(), scaled.costs.end()) / scale;
    limits.reserve(24 * (task.heads.items.size() + task.preconditions.items.size() + task.conditions.items.size()));
    Unaries all;
    add_operators(task, all, limits);
    add_axioms(task, all);
    add_negations(task, all, limits);
    limits.reserve(4 * sizeof(Id) * (all.conditions.items.size() + all.heads.items.size()));

    std::vector<Id> number(2 * task.n_facts + task.n_axioms(), -1);
    for (const Id literal : all.conditions.items) number[literal] = 0;
    for (const Id literal : task.goal) number[literal] = 0;
    for (Id& entry : number)
        if (entry == 0) entry = n_propositions++;

    // Heads that nobody needs, or that are conditions too, are left out; so are rows without heads then. Rows
    // are cut to what an operator's counter can hold: fewer conditions relax more, and stay sound.
    std::vector<Id> stamp(n_propositions, -1);
    for (const bool few : {false, true}) {
        for (int row = 0; row < all.heads.size(); ++row) {
            const auto own = all.conditions[row].first(std::min(all.conditions[row].size(), kMostConditions));
            if ((own.size() < 2) != few) continue;
            for (const Id literal : all.conditions[row]) stamp[number[literal]] = row;
            for (const Id literal : all.heads[row])
                if (const Id head = number[literal]; head >= 0 && stamp[head] != row) heads.items.push_back(head);
            limits.tick(own.size() + all.heads[row].size());
            if (heads.items.size() == static_cast<std::size_t>(heads.starts.back())) continue;
            heads.close();
            for (const Id literal : own) conditions.items.push_back(number[literal]);
            if (own.empty()) free.push_back(conditions.size());
            conditions.close();
            const Id op = all.owner[row];
            owner.push_back(op);
            part.push_back(op >= 0 && !per_effect ? op : per_effect ? n_unary() - 1 : -1);
            base.push_back(op < 0 ? 0 : scaled.costs[op]);
        }
        if (!few) n_several = n_unary();
    }

    // What each proposition is a condition of.
    const Id several_end = conditions.starts[n_several];
    const std::span<const Id> starts(conditions.starts), items(conditions.items);
    uses = inverse({RowsView(starts.first(n_several + 1), items.first(several_end))}, n_propositions, limits);
    edge_starts.assign(1, 0);
    const Rows alone = inverse({RowsView(starts.subspan(n_several), items)}, n_propositions, limits);
    for (int proposition = 0; proposition < n_propositions; ++proposition) {
        limits.tick();
        for (const Id place : alone[proposition])
            for (const Id head : heads[n_several + place])
                edges.push_back({head, n_several + place, base[n_several + place]});
        edge_starts.push_back(static_cast<Id>(edges.size()));
    }

    for (Id fact = 0; fact < task.n_facts; ++fact) {
        positive.push_back(number[2 * fact]);
        negative.push_back(number[2 * fact + 1]);
        if (negative.back() >= 0) negated.push_back(fact);
    }
    goal_literals = task.goal;
    std::sort(goal_literals.begin(), goal_literals.end());
    goal_literals.erase(std::unique(goal_literals.begin(), goal_literals.end()), goal_literals.end());
    is_goal.assign(n_propositions, 0);
    for (const Id literal : goal_literals) {
        goal.push_back(number[literal]);
        is_goal[number[literal]] = 1;
    }
}

int Relaxation::n_parts() const {
    int most = 0;
    for (const Id each : part) most = std::max(most, each + 1);
    return most;
}

}  // namespace pds
