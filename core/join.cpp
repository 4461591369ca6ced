#include "join.hpp"

#include <algorithm>
#include <limits>

namespace pds {

namespace {

constexpr Id kVariantWords = 5;

Word mixed(Word hash, Id value) {
    hash = (hash ^ (static_cast<Word>(value) + 1)) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

}  // namespace

Join::Join(std::span<const Id> code, JoinShape shape, std::span<const Id> facts, int n_static, Limits& limits)
    : code_(code.begin(), code.end()),
      shape_(std::move(shape)),
      columns_(1 + shape_.n_args + shape_.n_indexes),
      n_static_(n_static),
      current_(n_static - 1),
      table_(1 << 10),
      frame_(shape_.n_variables + shape_.n_matched + shape_.n_pointers + 1, 0) {
    const std::size_t width = 1 + shape_.n_args, n = facts.size() / width;
    limits.reserve(4 * n * columns_);
    facts_.assign(n * columns_, -1);
    for (std::size_t fact = 0; fact < n; ++fact)
        std::copy_n(facts.begin() + fact * width, width, facts_.begin() + fact * columns_);
    for (const int cells : shape_.widths) instances_.emplace_back(cells);
}

template <typename Key>
std::size_t Join::slot_of(Id index, Key key) const {
    const Id n_keys = code_[index + 1], columns = index + 2;
    Word hash = static_cast<Word>(index) << 20;
    for (Id i = 0; i < n_keys; ++i) hash = mixed(hash, key(i));
    const std::size_t mask = table_.size() - 1;
    for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (table_[slot].index < 0) return slot;
        if (table_[slot].index != index) continue;
        Id i = 0;
        while (i < n_keys && cell(table_[slot].newest, code_[columns + i]) == key(i)) ++i;
        if (i == n_keys) return slot;
    }
}

Id Join::newest(Id index, Id operands) const {
    return table_[slot_of(index, [&](Id i) { return value(code_[operands + i]); })].newest;
}

// Enters a fact in an index of its relation.
void Join::insert(Id fact, Id index, Limits& limits) {
    if (2 * (used_ + 1) > table_.size()) grow_table(limits);
    Slot& slot = table_[slot_of(index, [&](Id i) { return cell(fact, code_[index + 2 + i]); })];
    used_ += slot.index < 0;
    cell(fact, code_[index]) = slot.newest;
    slot = {index, fact};
}

void Join::grow_table(Limits& limits) {
    limits.reserve(2 * table_.size() * sizeof(Slot));
    std::vector<Slot> old(2 * table_.size());
    old.swap(table_);
    try {
        for (const Slot& slot : old) {
            limits.tick();
            if (slot.index < 0) continue;
            table_[slot_of(slot.index, [&](Id i) { return cell(slot.newest, code_[slot.index + 2 + i]); })] = slot;
        }
    } catch (...) {
        table_.swap(old);
        throw;
    }
}

// The fact of a head; a new one is put in the queue.
Id Join::add_fact(Id head, Limits& limits) {
    const Id relation = code_[head], index = code_[relation + 4];
    const Id known = newest(index, head + 1);
    if (known >= 0) return known;
    if (facts_.size() + columns_ > facts_.capacity()) {
        limits.reserve(2 * 4 * facts_.size());
        if (n_facts() == std::numeric_limits<Id>::max()) throw Stop{PDS_OUT_OF_MEMORY};
        facts_.reserve(2 * facts_.size() + columns_);
    }
    const Id fact = n_facts();
    facts_.push_back(relation);
    for (Id i = 0; i < code_[relation]; ++i) facts_.push_back(value(code_[head + 1 + i]));
    facts_.resize(static_cast<std::size_t>(fact + std::int64_t{1}) * columns_, -1);
    insert(fact, index, limits);
    return fact;
}

void Join::run(Limits& limits) {
    // Static facts are entered in every index, the others to be found again.
    for (Id fact = 0; fact < n_facts(); ++fact) {
        const Id relation = cell(fact, 0), indexes = fact < n_static_ ? code_[relation + 3] : 1;
        for (Id i = 0; i < indexes; ++i) insert(fact, code_[code_[relation + 5] + i], limits);
    }
    join_variants(shape_.untriggered, limits);
    for (current_ = n_static_; current_ < n_facts(); ++current_) {
        const Id relation = cell(current_, 0);
        for (Id i = 1; i < code_[relation + 3]; ++i) insert(current_, code_[code_[relation + 5] + i], limits);
        join_variants(relation, limits);
    }
}

void Join::join_variants(Id relation, Limits& limits) {
    for (Id variant = code_[relation + 1]; variant < code_[relation + 2]; variant += kVariantWords) {
        limits.tick();
        if (relation != shape_.untriggered && !is_triggered(variant)) continue;
        for_each(code_[variant + 1], limits, [&] {
            emit(code_[variant], limits);
            return true;
        });
    }
}

// Binds the variables of a trigger to the arguments of the fact taken, if it fits.
bool Join::is_triggered(Id variant) {
    const Id pattern = code_[variant + 2], arity = code_[code_[variant + 3]];
    for (Id i = 0; i < arity; ++i) {
        const Id mode = code_[pattern + 2 * i], operand = code_[pattern + 2 * i + 1], object = cell(current_, 1 + i);
        if (mode == 0)
            frame_[operand] = object;
        else if (value(operand) != object)
            return false;
    }
    frame_[code_[variant + 4]] = current_;
    return true;
}

// Takes the first choice at a step (forward) or the next one; false if there is none.
bool Join::advance(Id step, bool forward, Limits& limits) {
    const Id pointer = code_[step + 7];
    if (code_[step] == kMatch) {
        const Id fact =
            forward ? newest(code_[step + 1], code_[step + 2]) : cell(frame_[pointer], code_[code_[step + 1]]);
        frame_[pointer] = next_match(step, fact, limits);
        if (frame_[pointer] >= 0 && code_[step + 5] >= 0) frame_[code_[step + 5]] = frame_[pointer];
        return frame_[pointer] >= 0;
    }
    if (code_[step] == kEnumerate) {
        const Id members = code_[step + 2], at = forward ? members : frame_[pointer] + 1;
        frame_[pointer] = at;
        if (at >= members + code_[step + 3]) return false;
        frame_[code_[step + 1]] = code_[at];
        return true;
    }
    return forward && holds(step);
}

// Binds the variables of a match to the next fact of its chain that fits; -1 at the end.
Id Join::next_match(Id step, Id fact, Limits& limits) {
    const Id column = code_[code_[step + 1]], first = code_[step + 3], end = first + 3 * code_[step + 4];
    const Id newest_seen = current_ - code_[step + 6];
    for (; fact >= 0; fact = cell(fact, column)) {
        bool fits = fact <= newest_seen;
        for (Id at = first; fits && at < end; at += 3) {
            const Id object = cell(fact, code_[at + 1]);
            if (code_[at] == 0)
                frame_[code_[at + 2]] = object;
            else
                fits = frame_[code_[at + 2]] == object;
        }
        if (fits) return fact;
        limits.tick();
    }
    return -1;
}

bool Join::holds(Id step) const {
    const Id kind = code_[step], left = code_[step + 1], right = code_[step + 2];
    if (kind == kAbsent) return newest(left, right) < 0;
    if (kind == kOfType) return code_[right + value(left)] == 1;
    return (value(left) == value(right)) == (kind == kEqual);
}

// Writes the instance at hand as a row, and puts the facts of its heads in the queue.
void Join::emit(Id rule, Limits& limits) {
    const Id n_variables = code_[rule + 1], n_body = code_[rule + 2], n_heads = code_[rule + 3];
    Id* row = instances_[code_[rule]].add(limits);
    row = std::copy_n(frame_.begin(), n_variables, row);
    row = std::copy_n(frame_.begin() + shape_.n_variables, n_body, row);
    Id head = rule + 4;
    for (Id i = 0; i < n_heads; ++i) {
        *row++ = add_fact(head, limits);
        head += 1 + code_[code_[head]];
    }
}

}  // namespace pds
