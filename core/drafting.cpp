#include "drafting.hpp"

#include <algorithm>
#include <map>

namespace pds {
namespace {

enum Kind : Id { kAction, kEffect, kAxiom };

// A rule as pdsketch.core.task says that it stands in the code.
struct Rule {
    Rule(std::span<const Id> code, Id at) : kind(code[at]), rule(code[at + 1]) {
        is_marked = code[at + 2] != 0;
        is_split = code[at + 3] != 0;
        n_named = code[at + 4];
        name = code[at + 5];
        cost = code[at + 6];
        number = code[rule];
        n_variables = code[rule + 1];
        n_body = code[rule + 2];
        n_heads = code[rule + 3];
        conditions = code.subspan(at + 8, code[at + 7]);
        const Id end = at + 8 + code[at + 7];
        deletes = code.subspan(end + 1, code[end]);
    }

    Id kind, rule, number, n_variables, n_body, n_heads, n_named, name, cost;
    bool is_marked;                  // the last head is the mark of an action that has conditional effects
    bool is_split;                   // several operators may share a name
    std::span<const Id> conditions;  // addresses
    std::span<const Id> deletes;     // addresses of atoms
};

class Drafting {
public:
    Drafting(Join& join, const Plan& plan, Limits& limits)
        : join_(join), plan_(plan), limits_(limits), conditions_(join, plan.constants, plan.values, limits) {
        for (const Id at : plan.rules) rules_.emplace_back(join.code(), at);
    }

    Drafted run() {
        for (const Rule& rule : rules_)
            if (rule.kind == kAction && !add_operators(rule)) return std::move(found_);
        const int n_operators = static_cast<int>(found_.origins.size());
        for (Id op = 0; op < n_operators; ++op) {
            found_.owners.push_back(op);
            found_.conditions.close();
        }
        own_ = owned(marks_, join_.n_facts() + 1, limits_);
        for (const Rule& rule : rules_)
            if (rule.kind == kEffect) add_effects(rule);
        for (const Rule& rule : rules_)
            if (rule.kind == kAxiom) add_axioms(rule);
        add_goal();
        // By now every condition has been ground: the axioms of disjunctions are complete.
        for (int axiom = 0; axiom < conditions_.axiom_bodies.size(); ++axiom) {
            found_.axiom_heads.push_back(conditions_.axiom_heads[axiom]);
            append(found_.axiom_bodies, conditions_.axiom_bodies[axiom]);
            found_.axiom_bodies.close();
        }
        for (const auto& [name, operators] : groups_)
            if (operators.size() > 1) found_.groups.append(operators);
        add_facts();
        return std::move(found_);
    }

private:
    void append(Rows& rows, std::span<const Id> items) {
        limits_.tick(1 + items.size());
        make_room(rows.items, items.size(), limits_);
        rows.items.insert(rows.items.end(), items.begin(), items.end());
    }

    // The literals of the precondition or condition of an instance, but for its first `skip` facts; false if it
    // cannot hold.
    bool ground(const Rule& rule, const Id* row, int skip) {
        join_.bind({row, static_cast<std::size_t>(rule.n_variables)});
        literals_.clear();
        for (Id i = skip; i < rule.n_body; ++i) literals_.push_back(2 * row[rule.n_variables + i]);
        return std::ranges::all_of(rule.conditions, [&](Id at) { return conditions_.ground(at, literals_); });
    }

    // What an instance adds and deletes.
    std::span<const Id> heads(const Rule& rule, const Id* row) {
        heads_.clear();
        const Id* const adds = row + rule.n_variables + rule.n_body;
        for (Id i = 0; i < rule.n_heads - rule.is_marked; ++i) heads_.push_back(2 * adds[i]);
        for (const Id at : rule.deletes)
            if (const Id fact = join_.fact(join_.code()[at], at + 1); fact >= 0) heads_.push_back(2 * fact + 1);
        return heads_;
    }

    // False where a cost is wrong.
    bool add_operators(const Rule& rule) {
        Pieces<Id>& instances = join_.instances(rule.number);
        for (Id instance = 0; instance < instances.size(); ++instance) {
            const Id* const row = instances[instance];
            join_.bind({row, static_cast<std::size_t>(rule.n_variables)});
            const double cost = conditions_.number(rule.cost);
            if (cost < 0 || cost > plan_.largest_cost) {
                found_.wrong = {rule.number, instance};
                found_.wrong_cost = cost;
                return false;
            }
            // Where a cost has no value, the reference semantics refuses the step.
            if (std::isnan(cost) || !ground(rule, row, 0)) continue;
            const Id op = static_cast<Id>(found_.origins.size());
            make_room(found_.origins, 1, limits_);
            found_.origins.push_back({rule.number, instance});
            found_.costs.push_back(cost);
            append(found_.preconditions, literals_);
            found_.preconditions.close();
            append(found_.heads, heads(rule, row));
            found_.heads.close();
            const Id last = rule.n_variables + rule.n_body + rule.n_heads - 1;
            marks_.push_back(rule.is_marked ? row[last] : join_.n_facts());
            if (!rule.is_split) continue;
            std::vector<Id> name{rule.name};
            name.insert(name.end(), row, row + rule.n_named);
            groups_[std::move(name)].push_back(op);
        }
        return true;
    }

    // A conditional effect is copied to each operator that it is of: those with the mark that it asks for first.
    void add_effects(const Rule& rule) {
        Pieces<Id>& instances = join_.instances(rule.number);
        for (Id instance = 0; instance < instances.size(); ++instance) {
            const Id* const row = instances[instance];
            if (!ground(rule, row, 1)) continue;
            const auto own_heads = heads(rule, row);
            for (const Id op : own_[row[rule.n_variables]]) {
                found_.owners.push_back(op);
                append(found_.conditions, literals_);
                found_.conditions.close();
                append(found_.heads, own_heads);
                found_.heads.close();
            }
        }
    }

    void add_axioms(const Rule& rule) {
        Pieces<Id>& instances = join_.instances(rule.number);
        for (Id instance = 0; instance < instances.size(); ++instance) {
            const Id* const row = instances[instance];
            if (!ground(rule, row, 0)) continue;
            found_.axiom_heads.push_back(row[rule.n_variables + rule.n_body]);
            append(found_.axiom_bodies, literals_);
            found_.axiom_bodies.close();
        }
    }

    void add_goal() {
        std::vector<Id>& goal = found_.goal;
        found_.possible = conditions_.ground(plan_.goal, goal);
        std::sort(goal.begin(), goal.end());
        goal.erase(std::unique(goal.begin(), goal.end()), goal.end());
    }

    // Which facts are derived, and their layers.
    void add_facts() {
        limits_.reserve(5 * static_cast<std::size_t>(join_.n_facts() + conditions_.facts.size()));
        const auto add = [&](Id layer) {
            limits_.tick();
            found_.derived.push_back(layer >= 0);
            found_.layers.push_back(std::max(layer, 0));
        };
        for (Id fact = 0; fact < join_.n_facts(); ++fact) add(join_.layer(fact));
        found_.invented = std::move(conditions_.facts);
        for (int fact = 0; fact < found_.invented.size(); ++fact) {
            const Id at = found_.invented[fact][0];
            add(join_.code()[at + 3 + join_.code()[at + 1]]);
        }
    }

    Join& join_;
    const Plan& plan_;
    Limits& limits_;
    Conditions conditions_;
    std::vector<Rule> rules_;
    std::vector<Id> literals_, heads_;  // of the instance at hand
    std::vector<Id> marks_;             // by operator: the mark of its action, or a number behind all facts
    Rows own_;                          // operators, by mark
    std::map<std::vector<Id>, std::vector<Id>> groups_;
    Drafted found_;
};

}  // namespace

Drafted draft(Join& join, const Plan& plan, Limits& limits) { return Drafting(join, plan, limits).run(); }

}  // namespace pds
