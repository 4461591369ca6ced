#include "conditions.hpp"

namespace pds {
namespace {

// As in pdsketch.task.program.
enum Kind : Id { kAtom, kSame, kTest, kAll, kEvery, kEither };
enum NumberKind : Id { kConstant, kFunction, kNegation, kAdd, kSubtract, kMultiply, kDivide };
enum Comparison : Id { kLess, kAtMost, kMore, kAtLeast, kEqualTo };

}  // namespace

bool Conditions::ground(Id at, std::vector<Id>& literals) {
    limits_.tick();
    switch (code_[at]) {
        case kAtom:
            return ground_atom(at, literals);
        case kSame:
            return (join_.value(code_[at + 2]) == join_.value(code_[at + 3])) == (code_[at + 1] != 0);
        case kTest:
            return compare(at);
        case kAll:
            for (Id i = 0; i < code_[at + 1]; ++i)
                if (!ground(code_[at + 2 + i], literals)) return false;
            return true;
        default:
            return remembered(at, literals);
    }
}

// Static atoms are true or false; others are literals, if they can become true at all.
bool Conditions::ground_atom(Id at, std::vector<Id>& literals) const {
    const bool positive = code_[at + 1] != 0, is_static = code_[at + 2] != 0;
    const Id fact = join_.fact(code_[at + 3], at + 4);
    if (fact < 0 || is_static) return (fact >= 0) == positive;
    literals.push_back(2 * fact + !positive);
    return true;
}

// A comparison is not true where a value is missing.
bool Conditions::compare(Id at) const {
    const bool positive = code_[at + 1] != 0;
    const double left = number(code_[at + 3]), right = number(code_[at + 4]);
    if (std::isnan(left) || std::isnan(right)) return false;
    switch (code_[at + 2]) {
        case kLess:
            return (left < right) == positive;
        case kAtMost:
            return (left <= right) == positive;
        case kMore:
            return (left > right) == positive;
        case kAtLeast:
            return (left >= right) == positive;
        default:
            return (std::fabs(left - right) <= constants_[code_[at + 5]]) == positive;
    }
}

double Conditions::number(Id at) const {
    if (code_[at] == kConstant) return constants_[code_[at + 1]];
    if (code_[at] == kFunction) {
        const Id fact = join_.fact(code_[at + 1], at + 2);
        return fact < 0 ? NAN : values_[fact];
    }
    const double left = number(code_[at + 1]);
    if (code_[at] == kNegation) return -left;
    const double right = number(code_[at + 2]);
    switch (code_[at]) {
        case kAdd:
            return left + right;
        case kSubtract:
            return left - right;
        case kMultiply:
            return left * right;
        default:
            // Division by zero is an error in the reference semantics: no such step can be taken.
            return right == 0 ? NAN : left / right;
    }
}

// A condition is ground once for each combination of the objects that it depends on.
bool Conditions::remembered(Id at, std::vector<Id>& literals) {
    std::vector<Id> key{at};
    for (Id i = 0; i < code_[at + 1]; ++i) key.push_back(join_.value(code_[at + 2 + i]));
    const auto known = memory_.find(key);
    if (known != memory_.end()) {
        const auto [can, begin, end] = known->second;
        if (can) literals.insert(literals.end(), remembered_.begin() + begin, remembered_.begin() + end);
        return can;
    }
    const std::size_t before = literals.size();
    Found found;
    found.can = code_[at] == kEvery ? every(at, literals) : either(at, key, literals);
    found.begin = remembered_.size();
    if (found.can) {
        make_room(remembered_, literals.size() - before, limits_);
        remembered_.insert(remembered_.end(), literals.begin() + before, literals.end());
    }
    found.end = remembered_.size();
    limits_.tick(found.end - found.begin);
    memory_.emplace(std::move(key), found);
    return found.can;
}

// The body for all objects: those of the facts that its antecedents match, where they never change, and all others.
bool Conditions::every(Id at, std::vector<Id>& literals) {
    const Id first = code_[at + 2 + code_[at + 1]], body = code_[at + 3 + code_[at + 1]];
    return join_.for_each(first, limits_, [&] {
        make_room(literals, 1, limits_);
        return ground(body, literals);
    });
}

// True where a part is; the one part that can hold, where there is only one; else a new fact.
bool Conditions::either(Id at, const std::vector<Id>& key, std::vector<Id>& literals) {
    const Id parts = at + 4 + code_[at + 1];
    const std::size_t before = literals.size();
    Rows ways;
    for (Id i = 0; i < code_[parts]; ++i) {
        const bool can = ground(code_[parts + 1 + i], literals);
        const bool is_true = can && literals.size() == before;
        if (can) ways.append(std::span(literals).subspan(before));
        literals.resize(before);
        if (is_true) return true;
    }
    if (ways.size() == 0) return false;
    if (ways.size() == 1)
        literals.insert(literals.end(), ways.items.begin(), ways.items.end());
    else
        literals.push_back(2 * invent(key, ways));
    return true;
}

Id Conditions::invent(const std::vector<Id>& key, const Rows& ways) {
    const Id fact = join_.n_facts() + facts.size();
    make_room(facts.items, key.size(), limits_);
    facts.append(key);
    for (int way = 0; way < ways.size(); ++way) {
        make_room(axiom_bodies.items, ways[way].size(), limits_);
        axiom_heads.push_back(fact);
        axiom_bodies.append(ways[way]);
    }
    return fact;
}

}  // namespace pds
