#include "mutexes.hpp"

#include <algorithm>
#include <bit>

namespace pds {

namespace {

using Set = std::vector<Word>;
using Literals = std::span<const Id>;

bool has(const Set& set, Id literal) { return (set[literal >> 6] >> (literal & 63)) & 1; }
void add(std::span<Word> set, Id literal) { set[literal >> 6] |= Word{1} << (literal & 63); }
void remove(std::span<Word> set, Id literal) { set[literal >> 6] &= ~(Word{1} << (literal & 63)); }

bool has_all(const Set& set, Literals literals) {
    return std::all_of(literals.begin(), literals.end(), [&](Id literal) { return has(set, literal); });
}

class Spreading {
public:
    Spreading(const Task& task, std::span<const Id> groups, Limits& limits)
        : task_(task), limits_(limits), pairs_(2 * task.n_facts), forbidden_(2 * task.n_facts) {
        forbid(groups);
        std::vector<Id> true_literals;
        for (Id fact = 0; fact < task.n_basic; ++fact) true_literals.push_back(2 * fact + !task.init[fact]);
        for (Id literal : true_literals)
            for (Id other : true_literals) add(pairs_[literal], other);
        basic_.assign(pairs_.n_words(), 0);
        for (Id literal = 0; literal < 2 * task.n_basic; ++literal) add(basic_, literal);
    }

    Pairs run() {
        bool found = true;
        while (found) {
            found = false;
            spread_axioms(found);
            for (int op = 0; op < task_.n_operators(); ++op) spread_operator(op, found);
        }
        return std::move(pairs_);
    }

private:
    void forbid(std::span<const Id> groups) {
        std::vector<std::pair<Id, Id>> members;
        for (Id fact = 0; fact < task_.n_facts; ++fact)
            if (!groups.empty() && groups[fact] >= 0) members.emplace_back(groups[fact], 2 * fact);
        std::sort(members.begin(), members.end());
        for (std::size_t first = 0, end = 0; first < members.size(); first = end) {
            while (end < members.size() && members[end].first == members[first].first) ++end;
            for (std::size_t i = first; i < end; ++i)
                for (std::size_t j = first; j < end; ++j) add(forbidden_[members[i].second], members[j].second);
        }
        for (Id literal = 0; literal < 2 * task_.n_facts; ++literal) {
            remove(forbidden_[literal], literal);
            add(forbidden_[literal], literal ^ 1);
        }
    }

    // Lets a literal go together with all of a set.
    void join(Id literal, const Set& set, bool& found) {
        const auto own = pairs_[literal];
        const auto never = forbidden_[literal];
        limits_.tick(set.size());
        for (std::size_t word = 0; word < set.size(); ++word) {
            Word fresh = set[word] & ~own[word] & ~never[word];
            if (fresh == 0) continue;
            found = true;
            own[word] |= fresh;
            for (; fresh != 0; fresh &= fresh - 1)
                add(pairs_[static_cast<Id>(64 * word) + std::countr_zero(fresh)], literal);
        }
    }

    // Narrows a set down to what goes together with some literals; whether these are in it.
    bool keep_with(Literals literals, Set& set) {
        for (Id literal : literals) {
            const auto row = pairs_[literal];
            limits_.tick(row.size());
            for (std::size_t word = 0; word < set.size(); ++word) set[word] &= row[word];
        }
        return has_all(set, literals);
    }

    // Those that may hold at all.
    Set alive() const {
        Set set(pairs_.n_words(), 0);
        for (Id literal = 0; literal < 2 * task_.n_facts; ++literal)
            if (pairs_.has(literal, literal)) add(set, literal);
        return set;
    }

    // What axioms derive, and what may be underivable, beside what it may hold with.
    void spread_axioms(bool& found) {
        const Set before = alive();
        Set set;
        for (int axiom = 0; axiom < task_.n_axioms(); ++axiom) {
            set = before;
            if (!keep_with(task_.axiom_bodies[axiom], set)) continue;
            const Id head = 2 * task_.axiom_heads[axiom];
            add(set, head);
            join(head, set, found);
        }
        for (Id literal = 2 * task_.n_basic + 1; literal < 2 * task_.n_facts; literal += 2) {
            set = before;
            add(set, literal);
            join(literal, set, found);
        }
    }

    void spread_operator(int op, bool& found) {
        Set before = alive();
        limits_.tick(static_cast<std::size_t>(task_.n_facts));
        if (!keep_with(task_.preconditions[op], before)) return;
        const auto own = task_.effects[op];
        std::vector<Set> together(own.size(), before);
        Marks fires(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) fires[i] = keep_with(task_.conditions[own[i]], together[i]);
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (!fires[i]) continue;
            // What it makes true beside what others make true that fire with it, and what stays as it is.
            Set made(pairs_.n_words(), 0);
            for (std::size_t j = 0; j < own.size(); ++j) {
                limits_.tick();
                if (fires[j] && has_all(together[i], task_.conditions[own[j]]))
                    for (Id literal : task_.heads[own[j]]) add(made, literal);
            }
            leave_out_lost(op, own[i], together[i]);
            for (std::size_t word = 0; word < made.size(); ++word) made[word] |= together[i][word] & basic_[word];
            for (Id literal : task_.heads[own[i]]) join(literal, made, found);
        }
    }

    // Leaves out of what went with an effect what its operator makes false whenever the effect fires.
    void leave_out_lost(int op, Id effect, Set& together) {
        const auto given = task_.preconditions[op];
        const auto asked = task_.conditions[effect];
        for (Id other : task_.effects[op]) {
            for (Id head : task_.heads[other]) {
                limits_.tick();
                const Id lost = head ^ 1;
                if (!has(together, lost)) continue;
                const auto conditions = task_.conditions[other];
                const bool fires = std::all_of(conditions.begin(), conditions.end(), [&](Id literal) {
                    return literal == lost || std::find(asked.begin(), asked.end(), literal) != asked.end() ||
                           std::find(given.begin(), given.end(), literal) != given.end();
                });
                if (fires) remove(together, lost);
            }
        }
    }

    using Marks = std::vector<std::uint8_t>;

    const Task& task_;
    Limits& limits_;
    Pairs pairs_;
    Pairs forbidden_;
    Set basic_;
};

}  // namespace

namespace {

// As bits, the pairs of so many literals take 8 MiB.
constexpr int kMostLiterals = 1 << 13;
// Pairs of effects and words of bits that a round looks at, about a tenth of a second; a room of eight things has
// 400,000.
constexpr double kMostWork = 20'000'000;

double work_for(const Task& task) {
    double work = static_cast<double>(task.axiom_bodies.items.size() + task.conditions.items.size()) *
                  ((2 * task.n_facts + 63) / 64);
    for (int op = 0; op < task.n_operators(); ++op) {
        const double own = static_cast<double>(task.effects[op].size());
        work += own * own;
    }
    return work;
}

}  // namespace

void leave_out_inconsistent(Task& task, std::span<const Id> groups, Limits& limits) {
    if (task.n_axioms() == 0 || 2 * task.n_facts > kMostLiterals || work_for(task) > kMostWork) return;
    const Pairs pairs = possible_pairs(task, groups, limits);
    std::vector<Id> heads, layers;
    Rows bodies;
    for (int axiom = 0; axiom < task.n_axioms(); ++axiom) {
        if (!pairs.may_hold(task.axiom_bodies[axiom])) continue;
        heads.push_back(task.axiom_heads[axiom]);
        layers.push_back(task.axiom_layers[axiom]);
        bodies.append(task.axiom_bodies[axiom]);
    }
    task.axiom_heads = std::move(heads);
    task.axiom_layers = std::move(layers);
    task.axiom_bodies = std::move(bodies);
}

bool Pairs::may_hold(std::span<const Id> literals) const {
    return std::all_of(literals.begin(), literals.end(), [&](Id one) {
        return std::all_of(literals.begin(), literals.end(), [&](Id other) { return has(one, other); });
    });
}

Pairs possible_pairs(const Task& task, std::span<const Id> groups, Limits& limits) {
    limits.reserve(2 * 8 * 2 * static_cast<std::size_t>(task.n_facts) * ((2 * task.n_facts + 63) / 64));
    return Spreading(task, groups, limits).run();
}

}  // namespace pds
