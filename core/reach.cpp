#include "reach.hpp"

#include <algorithm>

namespace pds {

namespace {

// Literals are made true independently of their negations. A derived fact that is certain makes its negation
// impossible, which may make more impossible: then all is computed anew.
class Reaching {
public:
    Reaching(const Draft& draft, const Goal& goal, const Start& start, Limits& limits)
        : draft_(draft), goal_(goal), start_(start), limits_(limits) {
        const int n_literals = 2 * (draft.n_facts() + goal.n_facts);
        const int n_rows = draft.n_rows() + static_cast<int>(goal.axiom_heads.size());
        limits.reserve(6 * static_cast<std::size_t>(n_literals) + 8 * static_cast<std::size_t>(n_rows));
        found_.possible.resize(n_literals);
        found_.certain.assign(n_literals, 0);
        found_.left.resize(n_rows);
        queue_.reserve(n_literals);
    }

    Reached run() {
        do {
            explore();
            explore_goal();
        } while (find_certain());
        return std::move(found_);
    }

private:
    void explore() {
        std::copy(draft_.sizes.begin(), draft_.sizes.end(), found_.left.begin());
        queue_.clear();
        for (int fact = 0; fact < draft_.n_facts() + goal_.n_facts; ++fact) {
            limits_.tick();
            const bool init = start_.holds(fact);
            found_.possible[2 * fact] = init;
            found_.possible[2 * fact + 1] = (!init || start_.is_free(fact)) && !found_.certain[2 * fact];
            if (fact >= draft_.n_facts()) continue;  // no row of the draft waits for it
            for (Id literal = 2 * fact; literal < 2 * fact + 2; ++literal)
                if (found_.possible[literal]) queue_.push_back(literal);
        }
        for (Id row : draft_.unwaiting) happen(row);
        for (std::size_t at = 0; at < queue_.size(); ++at) {
            const auto rows = draft_.waiting[queue_[at]];
            limits_.tick(rows.size());
            for (Id row : rows) satisfy(row);
        }
    }

    void satisfy(Id row) {
        if (--found_.left[row] == 0) happen(row);
    }

    void happen(Id row) {
        if (row < draft_.n_operators()) {
            for (Id effect : draft_.own[row]) satisfy(draft_.n_operators() + effect);
        } else if (row < draft_.first_axiom()) {
            for (Id literal : draft_.arrays.heads[row - draft_.n_operators()]) mark(literal);
        } else {
            mark(2 * draft_.arrays.axiom_heads[row - draft_.first_axiom()]);
        }
    }

    void mark(Id literal) {
        if (found_.possible[literal]) return;
        found_.possible[literal] = 1;
        queue_.push_back(literal);
    }

    void explore_goal() {
        for (Id head : goal_.axiom_heads) found_.possible[2 * head] = 0;
        for (int axiom = 0; axiom < goal_.axiom_bodies.size(); ++axiom) {
            const auto body = goal_.axiom_bodies[axiom];
            const bool fires = std::all_of(body.begin(), body.end(), [&](Id x) { return found_.possible[x]; });
            found_.left[draft_.n_rows() + axiom] = !fires;
            if (fires) found_.possible[2 * goal_.axiom_heads[axiom]] = 1;
        }
    }

    // Marks what holds in all states; returns whether that makes impossible what a row waits for.
    bool find_certain() {
        for (std::size_t literal = 0; literal < found_.certain.size(); ++literal)
            found_.certain[literal] |= !found_.possible[literal ^ 1];
        if (draft_.n_axioms() == 0 && goal_.axiom_heads.empty()) return false;
        bool found = false;
        const int first = draft_.first_axiom();
        std::vector<Id> uncertain(draft_.n_axioms(), -1);
        queue_.clear();
        const auto derive = [&](Id head) {
            if (found_.certain[2 * head]) return;
            found_.certain[2 * head] = 1;
            found_.possible[2 * head + 1] = 0;
            if (head >= draft_.n_facts()) {
                const auto& read = goal_.axiom_bodies.items;
                found |= std::find(read.begin(), read.end(), 2 * head + 1) != read.end();
                return;
            }
            found |= !draft_.waiting[2 * head + 1].empty();
            queue_.push_back(2 * head);
        };
        for (int axiom = 0; axiom < draft_.n_axioms(); ++axiom) {
            if (!found_.happens(first + axiom)) continue;
            const auto body = draft_.arrays.axiom_bodies[axiom];
            limits_.tick(body.size());
            uncertain[axiom] =
                static_cast<Id>(std::count_if(body.begin(), body.end(), [&](Id x) { return !found_.certain[x]; }));
        }
        for (int axiom = 0; axiom < draft_.n_axioms(); ++axiom)
            if (uncertain[axiom] == 0) derive(draft_.arrays.axiom_heads[axiom]);
        for (std::size_t at = 0; at < queue_.size(); ++at) {
            const auto rows = draft_.waiting[queue_[at]];
            limits_.tick(rows.size());
            for (Id row : rows)
                if (row >= first && --uncertain[row - first] == 0) derive(draft_.arrays.axiom_heads[row - first]);
        }
        for (int axiom = 0; axiom < goal_.axiom_bodies.size(); ++axiom) {
            const auto body = goal_.axiom_bodies[axiom];
            const bool all = std::all_of(body.begin(), body.end(), [&](Id x) { return found_.certain[x]; });
            if (all && found_.happens(draft_.n_rows() + axiom)) derive(goal_.axiom_heads[axiom]);
        }
        explore_goal();
        return found;
    }

    const Draft& draft_;
    const Goal& goal_;
    const Start& start_;
    Limits& limits_;
    Reached found_;
    std::vector<Id> queue_;
};

}  // namespace

Draft::Draft(const DraftArrays& given, Limits& limits) : arrays(given) {
    const int n_literals = 2 * n_facts();
    const RowsView tables[] = {arrays.preconditions, arrays.conditions, arrays.axiom_bodies};
    limits.reserve(8 * static_cast<std::size_t>(n_rows()));
    sizes.reserve(n_rows());
    for (const RowsView& table : tables)
        for (int row = 0; row < table.size(); ++row) {
            limits.tick();
            sizes.push_back(static_cast<Id>(table[row].size()));
        }
    for (int row = 0; row < n_rows(); ++row)
        if (sizes[row] == 0 && (row < n_operators() || row >= first_axiom())) unwaiting.push_back(row);
    for (int effect = 0; effect < n_effects(); ++effect) ++sizes[n_operators() + effect];

    own = owned(arrays.owners, n_operators(), limits);
    waiting = inverse({arrays.preconditions, arrays.conditions, arrays.axiom_bodies}, n_literals, limits);
}

Reached reach(const Draft& draft, const Goal& goal, const Start& start, Limits& limits) {
    return Reaching(draft, goal, start, limits).run();
}

}  // namespace pds
