#include <algorithm>
#include <memory>

#include "axioms.hpp"
#include "boundary.hpp"
#include "join.hpp"
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
                                       static_cast<int>(given->n_static), own)};
    });
}

void pds_join_free(pds_join* join) { delete join; }

int32_t pds_join_run(pds_join* join, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        join->join.run(own);
    });
}

int64_t pds_join_facts(const pds_join* join, const int32_t** facts, int64_t* columns) {
    *facts = join->join.facts().data();
    *columns = join->join.columns();
    return join->join.n_facts();
}

int64_t pds_join_n_instances(pds_join* join, int64_t rule) {
    return join->join.instances(static_cast<int>(rule)).size();
}

int32_t pds_join_take(pds_join* join, int64_t rule, int32_t* instances, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits(*limits).look();
        join->join.instances(static_cast<int>(rule)).take(instances);
    });
}

int32_t pds_join_find(const pds_join* join, int32_t relation, int64_t n, int64_t width, const int32_t* arguments,
                      int32_t* found, const pds_limits* limits) {
    return pds::guarded([&] {
        pds::Limits own(*limits);
        const auto cells = pds::span_of(arguments, n * width);
        for (int64_t row = 0; row < n; ++row) {
            own.tick();
            found[row] = join->join.find(
                relation, cells.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)));
        }
    });
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
