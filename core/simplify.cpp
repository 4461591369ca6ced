#include "simplify.hpp"

#include <algorithm>

namespace pds {

namespace {

using Literals = std::span<const Id>;

// Which literals were met in the present row.
class Seen {
public:
    explicit Seen(std::size_t size) : stamps_(size, -1) {}
    void next() { ++now_; }
    bool has(Id item) const { return stamps_[item] == now_; }
    // Whether it is new.
    bool add(Id item) {
        if (has(item)) return false;
        stamps_[item] = now_;
        return true;
    }

private:
    std::vector<Id> stamps_;
    Id now_ = 0;
};

class Tidying {
public:
    Tidying(const Draft& draft, const Goal& goal, const Reached& reached, Limits& limits)
        : draft_(draft),
          goal_(goal),
          reached_(reached),
          limits_(limits),
          seen_(reached.certain.size()),
          place_(draft.n_operators(), -1) {}

    Tidied run() {
        const DraftArrays& arrays = draft_.arrays;
        // Rows at their largest, and eight arrays over literals.
        limits_.reserve(4 * (arrays.preconditions.items.size() + arrays.conditions.items.size() +
                             2 * arrays.heads.items.size() + arrays.axiom_bodies.items.size() +
                             3 * static_cast<std::size_t>(draft_.n_rows()) + 8 * reached_.certain.size()));
        const std::vector<Id> dominated = find_dominated();
        add_operators(dominated);
        add_effects();
        tidied_.own = owned(tidied_.owners, tidied_.n_operators(), limits_);
        add_heads();
        add_axioms();
        return std::move(tidied_);
    }

private:
    // Adds what must be said of the literals of a row, beside what was seen already; whether it can hold.
    bool add_tidy(Literals row, std::vector<Id>& into) {
        limits_.tick(row.size());
        bool fine = true;
        for (Id literal : row) {
            fine = fine && !seen_.has(literal ^ 1);
            if (!reached_.certain[literal] && seen_.add(literal)) into.push_back(literal);
        }
        return fine;
    }

    // Of operators that are one action, those whose precondition another's is a part of.
    std::vector<Id> find_dominated() {
        std::vector<Id> found;
        for (int group = 0; group < draft_.arrays.groups.size(); ++group) {
            std::vector<std::pair<Id, std::vector<Id>>> members;
            for (Id op : draft_.arrays.groups[group]) {
                if (!reached_.happens(op)) continue;
                std::vector<Id> needs;
                seen_.next();
                if (!add_tidy(draft_.arrays.preconditions[op], needs)) continue;
                std::sort(needs.begin(), needs.end());
                members.emplace_back(op, std::move(needs));
            }
            std::stable_sort(members.begin(), members.end(), [](const auto& left, const auto& right) {
                return left.second.size() < right.second.size();
            });
            std::vector<const std::vector<Id>*> kept;
            for (const auto& [op, needs] : members) {
                const auto is_part = [&](const std::vector<Id>* fewer) {
                    limits_.tick(fewer->size());
                    return std::includes(needs.begin(), needs.end(), fewer->begin(), fewer->end());
                };
                if (std::any_of(kept.begin(), kept.end(), is_part))
                    found.push_back(op);
                else
                    kept.push_back(&needs);
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    void add_operators(const std::vector<Id>& dominated) {
        for (int op = 0; op < draft_.n_operators(); ++op) {
            if (!reached_.happens(op) || std::binary_search(dominated.begin(), dominated.end(), op)) continue;
            auto& items = tidied_.preconditions.items;
            const std::size_t before = items.size();
            seen_.next();
            if (!add_tidy(draft_.arrays.preconditions[op], items)) {
                items.resize(before);
                continue;
            }
            place_[op] = static_cast<Id>(tidied_.operators.size());
            tidied_.operators.push_back(op);
            tidied_.preconditions.close();
        }
    }

    // Conditional effects without conditions are not among those that are left, but go `always` along.
    void add_effects() {
        always_.assign(draft_.n_effects(), 0);
        for (int effect = 0; effect < draft_.n_effects(); ++effect) {
            const Id owner = place_[draft_.arrays.owners[effect]];
            if (owner < 0 || !reached_.happens(draft_.n_operators() + effect)) continue;
            auto& items = tidied_.conditions.items;
            const std::size_t before = items.size();
            seen_.next();
            for (Id literal : tidied_.preconditions[owner]) seen_.add(literal);
            if (!add_tidy(draft_.arrays.conditions[effect], items)) {
                items.resize(before);
            } else if (effect >= draft_.n_operators() && items.size() == before) {
                always_[effect] = 1;
            } else {
                effects_.push_back(effect);
                tidied_.owners.push_back(owner);
                tidied_.conditions.close();
            }
        }
    }

    // Adding wins over deleting, so that a delete goes where the operator adds anyway; an add goes where the fact
    // is true before and nothing deletes it.
    void add_heads() {
        Rows all;
        for (int k = 0; k < tidied_.n_effects(); ++k) {
            const Id effect = effects_[k];
            append(all, draft_.arrays.heads[effect]);
            if (effect < draft_.n_operators())
                for (Id other : draft_.own[effect])
                    if (always_[other]) append(all, draft_.arrays.heads[other]);
            all.close();
        }
        Marks keep(all.items.size(), 0);
        const std::size_t n_literals = reached_.certain.size();
        Seen before(n_literals), added(n_literals), deleted(n_literals);
        Seen asked(n_literals), headed(n_literals), kept(n_literals);
        for (int op = 0; op < tidied_.n_operators(); ++op) {
            for (Seen* seen : {&before, &added, &deleted}) seen->next();
            limits_.tick(tidied_.preconditions[op].size());
            for (Id literal : tidied_.preconditions[op]) before.add(literal);
            for (Id effect : tidied_.own[op])
                if (tidied_.conditions[effect].empty())
                    for (Id literal : all[effect])
                        if (!(literal & 1)) added.add(literal);
            for (Id effect : tidied_.own[op]) {
                for (Seen* seen : {&asked, &headed, &kept}) seen->next();
                for (Id literal : tidied_.conditions[effect]) asked.add(literal);
                for (Id literal : all[effect]) headed.add(literal);
                for (Id i = all.starts[effect]; i < all.starts[effect + 1]; ++i) {
                    const Id literal = all.items[i];
                    if (!(literal & 1) || reached_.certain[literal]) continue;
                    if (added.has(literal ^ 1) || before.has(literal) || asked.has(literal)) continue;
                    if (headed.has(literal ^ 1) || !kept.add(literal)) continue;
                    keep[i] = 1;
                    deleted.add(literal);
                }
            }
            for (Id effect : tidied_.own[op]) {
                for (Seen* seen : {&asked, &kept}) seen->next();
                const bool always = tidied_.conditions[effect].empty();
                for (Id literal : tidied_.conditions[effect]) asked.add(literal);
                for (Id i = all.starts[effect]; i < all.starts[effect + 1]; ++i) {
                    const Id literal = all.items[i];
                    if (literal & 1 || reached_.certain[literal] || (!always && added.has(literal))) continue;
                    const bool held = before.has(literal) || asked.has(literal);
                    if ((!held || deleted.has(literal ^ 1)) && kept.add(literal)) keep[i] = 1;
                }
            }
        }
        for (int effect = 0; effect < all.size(); ++effect) {
            for (Id i = all.starts[effect]; i < all.starts[effect + 1]; ++i)
                if (keep[i]) tidied_.heads.items.push_back(all.items[i]);
            tidied_.heads.close();
        }
    }

    void append(Rows& rows, Literals literals) {
        limits_.tick(literals.size());
        rows.items.insert(rows.items.end(), literals.begin(), literals.end());
    }

    void add_axioms() {
        for (int axiom = 0; axiom < draft_.n_axioms(); ++axiom)
            add_axiom(draft_.first_axiom() + axiom, draft_.arrays.axiom_heads[axiom],
                      draft_.arrays.axiom_bodies[axiom]);
        for (int axiom = 0; axiom < goal_.axiom_bodies.size(); ++axiom)
            add_axiom(draft_.n_rows() + axiom, goal_.axiom_heads[axiom], goal_.axiom_bodies[axiom]);
    }

    void add_axiom(int row, Id head, Literals body) {
        if (!reached_.happens(row) || reached_.certain[2 * head]) return;
        auto& items = tidied_.axiom_bodies.items;
        const std::size_t before = items.size();
        seen_.next();
        if (!add_tidy(body, items)) {
            items.resize(before);
            return;
        }
        tidied_.axiom_heads.push_back(head);
        tidied_.axiom_bodies.close();
    }

    const Draft& draft_;
    const Goal& goal_;
    const Reached& reached_;
    Limits& limits_;
    Seen seen_;
    std::vector<Id> place_;    // of each operator of the draft
    std::vector<Id> effects_;  // the effects that are left
    Marks always_;
    Tidied tidied_;
};

class Relevance {
public:
    Relevance(const Tidied& tidied, std::size_t n_literals, Limits& limits)
        : tidied_(tidied), limits_(limits), useful_(tidied.n_effects(), 0), averted_(tidied.n_effects(), 0) {
        limits.reserve(8 * n_literals + 4 * (tidied.heads.items.size() + tidied.axiom_heads.size()));
        found_.literals.assign(n_literals, 0);
        found_.operators.assign(tidied.n_operators(), 0);
        makers_ = inverse({tidied.heads}, static_cast<int>(n_literals), limits);
        axioms_ = owned(tidied.axiom_heads, static_cast<int>(n_literals / 2), limits);
    }

    Relevant run(const std::vector<Id>& goal) {
        for (Id literal : goal) mark(literal);
        for (std::size_t at = 0; at < queue_.size(); ++at) {
            const Id literal = queue_[at];
            for (Id effect : makers_[literal]) use(effect);
            for (Id effect : makers_[literal ^ 1])
                if (found_.operators[tidied_.owners[effect]]) avert(effect);
            for (Id axiom : axioms_[literal >> 1])
                for (Id below : tidied_.axiom_bodies[axiom]) mark(below ^ (literal & 1));
        }
        return std::move(found_);
    }

private:
    void mark(Id literal) {
        if (found_.literals[literal]) return;
        found_.literals[literal] = 1;
        queue_.push_back(literal);
    }

    void use(Id effect) {
        if (useful_[effect]) return;
        useful_[effect] = 1;
        limits_.tick(tidied_.conditions[effect].size());
        for (Id literal : tidied_.conditions[effect]) mark(literal);
        const Id op = tidied_.owners[effect];
        if (found_.operators[op]) return;
        found_.operators[op] = 1;
        for (Id literal : tidied_.preconditions[op]) mark(literal);
        for (Id other : tidied_.own[op]) {
            const auto heads = tidied_.heads[other];
            limits_.tick(heads.size());
            if (std::any_of(heads.begin(), heads.end(), [&](Id x) { return found_.literals[x ^ 1]; })) avert(other);
        }
    }

    void avert(Id effect) {
        if (averted_[effect]) return;
        averted_[effect] = 1;
        for (Id literal : tidied_.conditions[effect]) mark(literal ^ 1);
    }

    const Tidied& tidied_;
    Limits& limits_;
    Marks useful_, averted_;
    Rows makers_;  // effects, by literal
    Rows axioms_;  // by head
    std::vector<Id> queue_;
    Relevant found_;
};

}  // namespace

Tidied tidy(const Draft& draft, const Goal& goal, const Reached& reached, Limits& limits) {
    return Tidying(draft, goal, reached, limits).run();
}

Relevant find_relevant(const Tidied& tidied, std::size_t n_literals, const std::vector<Id>& goal, Limits& limits) {
    return Relevance(tidied, n_literals, limits).run(goal);
}

}  // namespace pds
