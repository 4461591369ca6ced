#include <algorithm>
#include <memory>

#include "axioms.hpp"
#include "boundary.hpp"
#include "drafting.hpp"
#include "successors.hpp"

namespace pds {
namespace {

DraftArrays arrays_of(const pds_draft_arrays& given) {
    return {view_of(given.preconditions),
            span_of(given.costs, given.preconditions.n),
            span_of(given.owners, given.n_effects),
            view_of(given.conditions),
            view_of(given.heads),
            span_of(given.axiom_heads, given.n_axioms),
            view_of(given.axiom_bodies),
            span_of(given.derived, given.n_facts),
            span_of(given.layers, given.n_facts),
            view_of(given.groups)};
}

pds_rows given_of(const Rows& rows) { return {rows.size(), rows.starts.data(), rows.items.data()}; }

pds_task given_of(const Task& task) {
    pds_task given;
    given.n_facts = task.n_facts;
    given.n_basic = task.n_basic;
    given.n_goal = static_cast<std::int64_t>(task.goal.size());
    given.n_operators = task.n_operators();
    given.n_axioms = task.n_axioms();
    given.init = task.init.data();
    given.goal = task.goal.data();
    given.costs = task.costs.data();
    given.preconditions = given_of(task.preconditions);
    given.effects = given_of(task.effects);
    given.conditions = given_of(task.conditions);
    given.heads = given_of(task.heads);
    given.axiom_heads = task.axiom_heads.data();
    given.axiom_bodies = given_of(task.axiom_bodies);
    given.axiom_layers = task.axiom_layers.data();
    return given;
}

}  // namespace
}  // namespace pds

struct pds_narrowed {
    pds::Narrowed narrowed;
};

struct pds_join {
    pds::Join join;
    pds::Drafted drafted;
    std::unique_ptr<pds_draft> draft;  // of the arrays of `drafted`
};

struct pds_states {
    pds_states(pds::Task given, pds::Limits& limits)
        : task(std::move(given)), axioms(task, limits), generator(task, limits), words(pds::words_for(task.n_facts)) {}

    void read(const uint8_t* facts) {
        std::fill(words.begin(), words.end(), 0);
        for (pds::Id fact = 0; fact < task.n_facts; ++fact)
            if (facts[fact]) pds::set_true(fact, words.data());
    }
    void write(uint8_t* facts) const {
        for (pds::Id fact = 0; fact < task.n_facts; ++fact) facts[fact] = pds::holds(2 * fact, words.data());
    }

    const pds::Task task;
    pds::Axioms axioms;
    const pds::SuccessorGenerator generator;
    std::vector<pds::Word> words;
};

int32_t pds_draft_new(const pds_draft_arrays* given, pds_draft** made, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        *made = new pds_draft{pds::Draft(pds::arrays_of(*given), own)};
    });
}

void pds_draft_free(pds_draft* draft) { delete draft; }

int32_t pds_narrow(const pds_draft* draft, const pds_goal_arrays* goal, int64_t n_init, const uint8_t* init,
                   int64_t n_free, const uint8_t* free_facts, pds_narrowed** made, pds_narrowed_arrays* found,
                   const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        const pds::Start start{pds::span_of(init, n_init), pds::span_of(free_facts, n_free)};
        auto narrowed = std::make_unique<pds_narrowed>(pds::narrow(draft->draft, pds::goal_of(*goal), start, own));
        const pds::Narrowed& own_arrays = narrowed->narrowed;
        found->task = pds::given_of(own_arrays.task);
        found->kept = own_arrays.kept.data();
        found->chosen = own_arrays.chosen.data();
        found->n_literals = static_cast<std::int64_t>(own_arrays.possible.size());
        found->possible = own_arrays.possible.data();
        found->solvable = own_arrays.solvable;
        *made = narrowed.release();
    });
}

void pds_narrowed_free(pds_narrowed* narrowed) { delete narrowed; }

int32_t pds_join_new(const pds_program* given, pds_join** made, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        const auto widths = pds::span_of(given->widths, given->n_rules);
        pds::JoinShape shape{given->n_args,
                             given->n_indexes,
                             given->n_variables,
                             given->n_matched,
                             given->n_pointers,
                             given->untriggered,
                             {widths.begin(), widths.end()}};
        const auto facts = pds::span_of(given->facts, given->n_facts * (1 + given->n_args));
        *made = new pds_join{pds::Join(pds::span_of(given->code, given->n_code), std::move(shape), facts,
                                       static_cast<int>(given->n_static), own),
                             {},
                             nullptr};
    });
}

void pds_join_free(pds_join* join) { delete join; }

int32_t pds_join_run(pds_join* join, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        join->join.run(own);
    });
}

int64_t pds_join_n_facts(const pds_join* join) { return join->join.n_facts(); }

int64_t pds_join_n_instances(pds_join* join, int64_t rule) {
    return join->join.instances(static_cast<int>(rule)).size();
}

int32_t pds_join_draft(pds_join* join, const pds_plan* plan, pds_drafted* found, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        const pds::Plan wanted{pds::span_of(plan->rules, plan->n_rules), plan->goal,
                               pds::span_of(plan->constants, plan->n_constants),
                               pds::span_of(plan->values, plan->n_values), plan->largest_cost};
        pds::Drafted& drafted = join->drafted = pds::draft(join->join, wanted, own);
        found->wrong_rule = drafted.wrong.rule;
        if (drafted.wrong.rule >= 0) {
            found->wrong_cost = drafted.wrong_cost;
            found->wrong_objects = join->join.instances(drafted.wrong.rule)[drafted.wrong.instance];
            return;
        }
        join->draft = std::make_unique<pds_draft>(pds::Draft(drafted.arrays(), own));
        found->draft = join->draft.get();
        found->n_facts = static_cast<std::int64_t>(drafted.derived.size());
        found->n_operators = drafted.preconditions.size();
        found->n_goal = static_cast<std::int64_t>(drafted.goal.size());
        found->n_axioms = static_cast<std::int64_t>(drafted.axiom_heads.size());
        found->n_items =
            static_cast<std::int64_t>(drafted.preconditions.items.size() + drafted.conditions.items.size() +
                                      drafted.heads.items.size() + drafted.axiom_bodies.items.size());
        found->goal = drafted.goal.data();
        found->possible = drafted.possible;
        found->axiom_heads = drafted.axiom_heads.data();
        found->axiom_bodies = pds::given_of(drafted.axiom_bodies);
        found->derived = drafted.derived.data();
        found->layers = drafted.layers.data();
    });
}

void pds_join_facts(const pds_join* join, int64_t n, const int32_t* facts, int64_t width, int32_t* rows) {
    const std::span<const pds::Id> code = join->join.code();
    std::fill_n(rows, n * width, -1);
    for (int64_t i = 0; i < n; ++i, rows += width) {
        const pds::Id disjunction = facts[i] - join->join.n_facts();
        const auto row = disjunction < 0 ? join->join.fact(facts[i]) : join->drafted.invented[disjunction];
        std::ranges::copy(row, rows);
        rows[0] = disjunction < 0 ? code[row[0] + 7] : code[row[0] + 2 + code[row[0] + 1]];
    }
}

void pds_join_operators(pds_join* join, int64_t n, const int32_t* operators, int64_t width, int32_t* rows) {
    for (int64_t i = 0; i < n; ++i, rows += width) {
        const auto [rule, instance] = join->drafted.origins[operators[i]];
        rows[0] = rule;
        pds::Pieces<pds::Id>& instances = join->join.instances(rule);
        std::copy_n(instances[instance], std::min<int64_t>(width - 1, instances.width()), rows + 1);
    }
}

int32_t pds_states_new(const pds_task* task, pds_states** made, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        *made = new pds_states(pds::task_of(*task), own);
    });
}

void pds_states_free(pds_states* states) { delete states; }

int32_t pds_states_derive(pds_states* states, uint8_t* facts, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        states->read(facts);
        states->axioms.evaluate(states->words.data(), own);
        states->write(facts);
    });
}

int32_t pds_states_applicable(pds_states* states, const uint8_t* facts, int32_t* operators, int64_t* n,
                              const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits(*limits).look();
        states->read(facts);
        std::vector<pds::Id> found;
        states->generator.applicable(states->words, found);
        std::copy(found.begin(), found.end(), operators);
        *n = static_cast<int64_t>(found.size());
    });
}

int32_t pds_states_apply(pds_states* states, int32_t op, uint8_t* facts, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        states->read(facts);
        std::vector<pds::Word> after(states->words);
        states->generator.apply(states->words.data(), op, after.data());
        states->words = after;
        states->axioms.evaluate(states->words.data(), own);
        states->write(facts);
    });
}
