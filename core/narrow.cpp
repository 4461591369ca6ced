#include "narrow.hpp"

#include <algorithm>
#include <numeric>

#include "simplify.hpp"

namespace pds {

namespace {

bool contradicts_itself(std::span<const Id> literals) {
    std::vector<Id> sorted(literals.begin(), literals.end());
    std::sort(sorted.begin(), sorted.end());
    return std::any_of(sorted.begin(), sorted.end(), [&](Id literal) {
        return !(literal & 1) && std::binary_search(sorted.begin(), sorted.end(), literal ^ 1);
    });
}

// Takes over what is left of a draft, and numbers it anew.
class Taking {
public:
    Taking(const Draft& draft, const Goal& goal, const Tidied& tidied, const Relevant& relevant, Limits& limits)
        : draft_(draft), goal_(goal), tidied_(tidied), relevant_(relevant), limits_(limits) {}

    void run(const Start& start, const std::vector<Id>& literals, Narrowed& found) {
        if (found.solvable) choose();
        number_facts(literals, found);
        Task& task = found.task;
        limits_.reserve(4 * (tidied_.preconditions.items.size() + tidied_.conditions.items.size() +
                             tidied_.heads.items.size() + tidied_.axiom_bodies.items.size() + number_.size()));
        for (int i = 0; i < task.n_basic; ++i) task.init.push_back(start.holds(found.kept[i]));
        for (Id literal : literals) task.goal.push_back(renumbered(literal));
        for (Id op : operators_) {
            const Id number = tidied_.operators[op];
            found.chosen.push_back(number);
            task.costs.push_back(draft_.arrays.costs[number]);
            add(tidied_.preconditions[op], task.preconditions);
            for (Id effect : tidied_.own[op])
                if (place_[effect] >= 0) task.effects.items.push_back(place_[effect]);
            task.effects.close();
        }
        for (Id effect : effects_) {
            add(tidied_.conditions[effect], task.conditions);
            add(tidied_.heads[effect], task.heads);
        }
        for (Id axiom : axioms_) {
            task.axiom_heads.push_back(number_[tidied_.axiom_heads[axiom]]);
            task.axiom_layers.push_back(layer(tidied_.axiom_heads[axiom]));
            add(tidied_.axiom_bodies[axiom], task.axiom_bodies);
        }
    }

private:
    // Operators that help, with effects on facts that matter, and the axioms of such facts, by layers.
    void choose() {
        for (int op = 0; op < tidied_.n_operators(); ++op)
            if (relevant_.operators[op]) operators_.push_back(op);
        place_.assign(tidied_.n_effects(), -1);
        for (int effect = 0; effect < tidied_.n_effects(); ++effect) {
            const auto heads = tidied_.heads[effect];
            const bool busy = std::any_of(heads.begin(), heads.end(), [&](Id x) { return relevant_.matters(x); });
            if (!busy || !relevant_.operators[tidied_.owners[effect]]) continue;
            place_[effect] = static_cast<Id>(effects_.size());
            effects_.push_back(effect);
        }
        for (std::size_t axiom = 0; axiom < tidied_.axiom_heads.size(); ++axiom)
            if (relevant_.matters(2 * tidied_.axiom_heads[axiom])) axioms_.push_back(static_cast<Id>(axiom));
        std::stable_sort(axioms_.begin(), axioms_.end(), [&](Id left, Id right) {
            return layer(tidied_.axiom_heads[left]) < layer(tidied_.axiom_heads[right]);
        });
    }

    // Numbers the facts that are used, basic ones first.
    void number_facts(const std::vector<Id>& literals, Narrowed& found) {
        const int n_facts = draft_.n_facts() + goal_.n_facts;
        Marks used(n_facts, 0);
        const auto use = [&](std::span<const Id> row) {
            limits_.tick(row.size());
            for (Id literal : row) used[literal >> 1] = 1;
        };
        use(literals);
        for (Id op : operators_) use(tidied_.preconditions[op]);
        for (Id effect : effects_) {
            use(tidied_.conditions[effect]);
            for (Id literal : tidied_.heads[effect])
                if (relevant_.matters(literal)) used[literal >> 1] = 1;
        }
        for (Id axiom : axioms_) {
            used[tidied_.axiom_heads[axiom]] = 1;
            use(tidied_.axiom_bodies[axiom]);
        }
        number_.assign(n_facts, -1);
        for (const bool derived : {false, true}) {
            for (Id fact = 0; fact < n_facts; ++fact) {
                if (!used[fact] || is_derived(fact) != derived) continue;
                number_[fact] = static_cast<Id>(found.kept.size());
                found.kept.push_back(fact);
            }
            if (!derived) found.task.n_basic = static_cast<int>(found.kept.size());
        }
        found.task.n_facts = static_cast<int>(found.kept.size());
    }

    // Adds a row; literals of facts that have no number are left out.
    void add(std::span<const Id> row, Rows& into) {
        limits_.tick(row.size());
        for (Id literal : row)
            if (number_[literal >> 1] >= 0) into.items.push_back(renumbered(literal));
        into.close();
    }

    Id renumbered(Id literal) const { return 2 * number_[literal >> 1] + (literal & 1); }
    bool is_derived(Id fact) const { return fact >= draft_.n_facts() || draft_.arrays.derived[fact]; }
    Id layer(Id fact) const {
        const Id own = fact - draft_.n_facts();
        return own >= 0 ? goal_.layer + own : draft_.arrays.layers[fact];
    }

    const Draft& draft_;
    const Goal& goal_;
    const Tidied& tidied_;
    const Relevant& relevant_;
    Limits& limits_;
    std::vector<Id> operators_, effects_, axioms_;  // places among the tidied ones
    std::vector<Id> place_;                         // of each tidied effect among the effects
    std::vector<Id> number_;                        // of each fact
};

}  // namespace

Narrowed narrow(const Draft& draft, const Goal& goal, const Start& start, Limits& limits) {
    Narrowed found;
    Reached reached = reach(draft, goal, start, limits);
    const auto can_hold = [&](Id literal) { return reached.possible[literal] != 0; };
    found.solvable = goal.possible && !contradicts_itself(goal.literals) &&
                     std::all_of(goal.literals.begin(), goal.literals.end(), can_hold);
    std::vector<Id> left;
    for (Id literal : goal.literals)
        if (found.solvable ? !reached.certain[literal] : !can_hold(literal)) left.push_back(literal);
    Tidied tidied;
    Relevant relevant;
    if (found.solvable) {
        tidied = tidy(draft, goal, reached, limits);
        relevant = find_relevant(tidied, reached.possible.size(), left, limits);
    }
    Taking(draft, goal, tidied, relevant, limits).run(start, left, found);
    found.possible = std::move(reached.possible);
    return found;
}

}  // namespace pds
