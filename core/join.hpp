// A semi-naive Datalog engine: the facts that can become true when nothing is ever deleted, and the instances of
// rules behind them.
//
// Facts wait in a queue. When one is taken, it is matched against each condition that it may satisfy, and the other
// conditions of that rule are joined to it by backtracking over hash indexes. Only facts taken before are seen by
// the joins, and among equal ones the order of the conditions decides, so every instance of a rule is found exactly
// once, in time proportional to the matches tried.
#pragma once

#include "pieces.hpp"

namespace pds {

// How the program's arrays are shaped; see pdsketch.core.task, which also says what the code means.
struct JoinShape {
    int n_args = 0;     // the largest arity
    int n_indexes = 0;  // the most of one relation
    int n_variables = 0;
    int n_matched = 0;
    int n_pointers = 0;
    Id untriggered = 0;       // the address of a relation that holds the joins without a trigger
    std::vector<int> widths;  // by rule: cells of an instance
};

class Join {
public:
    // A fact of the beginning is a row of `1 + n_args` ints: the address of its relation and its arguments. The
    // first `n_static` are of relations that no rule changes.
    Join(std::span<const Id> code, JoinShape shape, std::span<const Id> facts, int n_static, Limits& limits);

    // Derives everything that can be derived.
    void run(Limits& limits);

    std::span<const Id> code() const { return code_; }
    Id n_facts() const { return static_cast<Id>(facts_.size() / columns_); }
    // The address of a fact's relation, and its arguments.
    std::span<const Id> fact(Id fact) const {
        const Id* const row = facts_.data() + static_cast<std::size_t>(fact) * columns_;
        return {row, static_cast<std::size_t>(1 + code_[row[0]])};
    }
    // The layer of a fact in the axioms; -1 for basic facts.
    Id layer(Id fact) const { return code_[cell(fact, 0) + 6]; }
    Pieces<Id>& instances(int rule) { return instances_[rule]; }

    // After all is derived: binds the first variables, and reads what is bound.
    void bind(std::span<const Id> objects) { std::ranges::copy(objects, frame_.begin()); }
    Id value(Id operand) const { return operand >= 0 ? frame_[operand] : -1 - operand; }
    // The fact of a relation whose arguments are the operands at an address; -1 if there is none.
    Id fact(Id relation, Id operands) const { return newest(code_[relation + 4], operands); }
    // Binds the variables of a join, whose first step is given, in every way, as long as `see` says so; returns
    // what it said last.
    template <typename See>
    bool for_each(Id first, Limits& limits, See see) {
        bool forward = true;
        for (Id step = first; step >= first; step += forward ? kStepWords : -kStepWords) {
            limits.tick();
            forward = code_[step] != kEmit && advance(step, forward, limits);
            if (code_[step] == kEmit && !see()) return false;
        }
        return true;
    }

private:
    // Kinds of steps, as in pdsketch.task.program.
    enum Step : Id { kMatch, kEnumerate, kOfType, kEqual, kDifferent, kAbsent, kEmit };
    static constexpr Id kStepWords = 8;

    struct Slot {
        Id index = -1;   // the address of an index; -1 where the slot is free
        Id newest = -1;  // the newest fact with one key
    };

    Id cell(Id fact, Id column) const { return facts_[static_cast<std::size_t>(fact) * columns_ + column]; }
    Id& cell(Id fact, Id column) { return facts_[static_cast<std::size_t>(fact) * columns_ + column]; }
    // The slot of the facts of an index whose keys have the values that `key` gives, or the free one for them.
    template <typename Key>
    std::size_t slot_of(Id index, Key key) const;
    Id newest(Id index, Id operands) const;
    void insert(Id fact, Id index, Limits& limits);
    void grow_table(Limits& limits);
    Id add_fact(Id head, Limits& limits);
    void join_variants(Id relation, Limits& limits);
    bool is_triggered(Id variant);
    bool advance(Id step, bool forward, Limits& limits);
    Id next_match(Id step, Id fact, Limits& limits);
    bool holds(Id step) const;
    void emit(Id rule, Limits& limits);

    const std::vector<Id> code_;
    const JoinShape shape_;
    const int columns_;  // a relation, arguments, and for each index the next older fact with the same key
    const int n_static_;
    Id current_;  // the fact taken
    std::vector<Id> facts_;
    std::vector<Slot> table_;  // open addressing
    std::size_t used_ = 0;
    std::vector<Id> frame_;  // objects of variables, facts that were matched, how far each step has come
    std::vector<Pieces<Id>> instances_;
};

}  // namespace pds
