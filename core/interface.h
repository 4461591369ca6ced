/* The C interface of the engine: plain structs and opaque pointers, called by pdsketch.core alone.
 *
 * Arrays that are given are copied, and may go after the call. No exception leaves a function: it answers with
 * a pds_answer, and pds_last_error says more about PDS_ERROR. What a function makes is freed by its `_free`. */
#ifndef PDS_INTERFACE_H
#define PDS_INTERFACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PDS_EXPORT __attribute__((visibility("default")))

typedef enum {
    PDS_DONE = 0,
    PDS_OUT_OF_TIME = 1,
    PDS_OUT_OF_MEMORY = 2,
    PDS_INTERRUPTED = 3,
    PDS_ERROR = 4
} pds_answer;

/* Seconds and bytes from now on, infinite where there is no limit. `stop` is polled: not 0 ends the call. */
typedef struct {
    double seconds;
    double bytes;
    const int32_t* stop;
} pds_limits;

/* Row i is items[starts[i]] up to items[starts[i + 1]]. */
typedef struct {
    int64_t n;
    const int32_t* starts;
    const int32_t* items;
} pds_rows;

/* A grounded task, see task.hpp. */
typedef struct {
    int64_t n_facts, n_basic, n_goal, n_operators, n_axioms;
    const uint8_t* init;
    const int32_t* goal;
    const double* costs;
    pds_rows preconditions, effects, conditions, heads;
    const int32_t* axiom_heads;
    pds_rows axiom_bodies;
    const int32_t* axiom_layers;
} pds_task;

/* Raised with every change of the interface: the library and its caller must be of one make. */
#define PDS_VERSION 7

PDS_EXPORT int32_t pds_version(void);
PDS_EXPORT const char* pds_last_error(void);

/* Heuristics of many states, see heuristic.hpp. `costs`, one an operator, stand in for the task's unless null. */
typedef struct pds_evaluator pds_evaluator;

PDS_EXPORT int32_t pds_evaluator_new(const pds_task* task, const double* costs, int32_t estimate, int32_t per_effect,
                                     pds_evaluator** made, const pds_limits* limits);
PDS_EXPORT void pds_evaluator_free(pds_evaluator* evaluator);
/* The values of `n` states: rows of `width` Booleans, of which the first are the task's basic facts. */
PDS_EXPORT int32_t pds_evaluator_values(pds_evaluator* evaluator, const uint8_t* states, int64_t n, int64_t width,
                                        double* values, const pds_limits* limits);
/* The preferred operators of the state that was evaluated last: how many, and as many as there is room for. */
PDS_EXPORT int64_t pds_evaluator_preferred(const pds_evaluator* evaluator, int32_t* operators, int64_t room);

/* Searches, see schedule.hpp. */
typedef struct pds_search pds_search;

typedef struct {
    int32_t estimate, lazy, order;
    double g_weight, h_weight, share, work;
    int64_t most_evaluations, patience;
} pds_phase;

typedef enum { PDS_PAUSED = 0, PDS_SOLVED = 1, PDS_EXHAUSTED = 2, PDS_ENOUGH = 3 } pds_found;

/* `n_states` and `goal`, a node or -1, are those of the present phase. */
typedef struct {
    int64_t expanded, evaluated, generated, n_states, bytes, goal, n_steps, n_unreached, phase;
    double best_h;
} pds_progress;

/* `costs`, one an operator, may be null. */
PDS_EXPORT int32_t pds_search_new(const pds_task* task, const pds_phase* phases, int64_t n_phases,
                                  int64_t most_expansions, int32_t per_effect, const double* costs, pds_search** made,
                                  const pds_limits* limits);
PDS_EXPORT void pds_search_free(pds_search* search);
/* Goes on for about so many seconds; says in `found` how far it came. */
PDS_EXPORT int32_t pds_search_run(pds_search* search, double seconds, int32_t* found, const pds_limits* limits);
PDS_EXPORT void pds_search_progress(const pds_search* search, pds_progress* progress);
/* The plan's operators, and the goal literals that even the relaxed task does not reach from the initial state; of
 * both as many as the progress says. */
PDS_EXPORT int32_t pds_search_result(const pds_search* search, int32_t* steps, int32_t* unreached);
/* Some of the nodes of the present phase, column by column. */
PDS_EXPORT void pds_search_nodes(const pds_search* search, int64_t first, int64_t last, int32_t* parents,
                                 int32_t* operators, double* g, double* h, uint8_t* status);

/* Tasks are made ready: drafts are narrowed to initial states and goals. */

/* A draft, see draft.hpp. Its arrays are read for as long as what is made of it lives. */
typedef struct {
    int64_t n_facts, n_effects, n_axioms;
    pds_rows preconditions;
    const double* costs;
    const int32_t* owners;
    pds_rows conditions, heads;
    const int32_t* axiom_heads;
    pds_rows axiom_bodies;
    const uint8_t* derived;
    const int32_t* layers;
    pds_rows groups;
} pds_draft_arrays;

/* A goal, with derived facts of its own behind those of the draft, each in a layer of its own from `layer` on. */
typedef struct {
    int64_t n_literals, n_facts, n_axioms;
    const int32_t* literals;
    int32_t possible, layer;
    const int32_t* axiom_heads;
    pds_rows axiom_bodies;
} pds_goal_arrays;

typedef struct pds_draft pds_draft;
typedef struct pds_narrowed pds_narrowed;

/* A narrowed task: arrays of the pds_narrowed, which lie there until it is freed. `kept` are facts of the draft
 * and `chosen` operators; `possible` says of each literal whether it can hold. */
typedef struct {
    pds_task task;
    const int32_t* kept;
    const int32_t* chosen;
    int64_t n_literals;
    const uint8_t* possible;
    int32_t solvable;
} pds_narrowed_arrays;

PDS_EXPORT int32_t pds_draft_new(const pds_draft_arrays* given, pds_draft** made, const pds_limits* limits);
PDS_EXPORT void pds_draft_free(pds_draft* draft);

/* `init` is the truth of the draft's first `n_init` facts; the `n_free` first may be false though they are true,
 * where `free_facts` says so. */
PDS_EXPORT int32_t pds_narrow(const pds_draft* draft, const pds_goal_arrays* goal, int64_t n_init, const uint8_t* init,
                              int64_t n_free, const uint8_t* free_facts, pds_narrowed** made,
                              pds_narrowed_arrays* found, const pds_limits* limits);
PDS_EXPORT void pds_narrowed_free(pds_narrowed* narrowed);

/* A program for joins, see pdsketch.core.task, and the facts that it begins with: rows of `1 + n_args` ints. */
typedef struct {
    int64_t n_code;
    const int32_t* code;
    int32_t n_args, n_indexes, n_variables, n_matched, n_pointers, untriggered;
    int64_t n_rules;
    const int32_t* widths; /* of the instances of each rule */
    int64_t n_facts, n_static;
    const int32_t* facts;
} pds_program;

/* What a join is drafted for, see drafting.hpp: `values` are those of the static facts that are functions. */
typedef struct {
    int64_t n_rules;
    const int32_t* rules;
    int64_t n_constants;
    const double* constants;
    int64_t n_values;
    const double* values;
    int32_t goal;
    double largest_cost;
} pds_plan;

/* A drafted join: arrays of it, which lie there as long as it lives. `n_items` are those of all rows. Where
 * `wrong_rule` is not -1, `wrong_cost` is that of the operator for `wrong_objects`, and there is no draft. */
typedef struct {
    const pds_draft* draft;
    int64_t n_facts, n_operators, n_goal, n_axioms, n_items;
    const int32_t* goal;
    int32_t possible, wrong_rule;
    double wrong_cost;
    const int32_t* wrong_objects;
    const int32_t* axiom_heads;
    pds_rows axiom_bodies;
    const uint8_t* derived;
    const int32_t* layers;
} pds_drafted;

typedef struct pds_join pds_join;

PDS_EXPORT int32_t pds_join_new(const pds_program* given, pds_join** made, const pds_limits* limits);
PDS_EXPORT void pds_join_free(pds_join* join);
PDS_EXPORT int32_t pds_join_run(pds_join* join, const pds_limits* limits);
PDS_EXPORT int64_t pds_join_n_facts(const pds_join* join);
PDS_EXPORT int64_t pds_join_n_instances(pds_join* join, int64_t rule);
PDS_EXPORT int32_t pds_join_draft(pds_join* join, const pds_plan* plan, pds_drafted* found, const pds_limits* limits);
/* Writes a row for each of some facts: the number of its relation or disjunction, and objects; -1 behind them. */
PDS_EXPORT void pds_join_facts(const pds_join* join, int64_t n, const int32_t* facts, int64_t width, int32_t* rows);
/* Writes a row for each of some operators of the draft: its rule, and the objects of the first variables. */
PDS_EXPORT void pds_join_operators(pds_join* join, int64_t n, const int32_t* operators, int64_t width, int32_t* rows);

/* The states of a task, one at a time: a byte for each fact, of which the basic ones, the first, are given. */
typedef struct pds_states pds_states;

PDS_EXPORT int32_t pds_states_new(const pds_task* task, pds_states** made, const pds_limits* limits);
PDS_EXPORT void pds_states_free(pds_states* states);
/* Computes the derived facts of a state. */
PDS_EXPORT int32_t pds_states_derive(pds_states* states, uint8_t* facts, const pds_limits* limits);
/* Which operators can be applied where all these facts hold: writes them, and how many they are. */
PDS_EXPORT int32_t pds_states_applicable(pds_states* states, const uint8_t* facts, int32_t* operators, int64_t* n,
                                         const pds_limits* limits);
/* Makes of a state the one after an operator, whose precondition is taken to hold. */
PDS_EXPORT int32_t pds_states_apply(pds_states* states, int32_t op, uint8_t* facts, const pds_limits* limits);

/* Planning for many drafts at once, see batch.hpp. */

typedef struct {
    const pds_draft* draft;
    const pds_goal_arrays* goal;
    const uint8_t* init;
    int64_t n_init, most_expansions;
} pds_posed;

/* `ended` is a pds_answer, `found` a pds_found. */
typedef struct {
    int64_t ended, found, expanded, evaluated, generated, n_steps;
} pds_solved;

typedef struct pds_plans pds_plans;

/* Writes what came of each; plans are copied by pds_plans_steps, one behind the other. */
PDS_EXPORT int32_t pds_search_many(const pds_posed* posed, int64_t n, const pds_phase* phases, int64_t n_phases,
                                   int32_t per_effect, int32_t n_threads, pds_plans** made, pds_solved* found,
                                   const pds_limits* limits);
PDS_EXPORT void pds_plans_steps(const pds_plans* plans, int32_t* steps);
PDS_EXPORT void pds_plans_free(pds_plans* plans);

#ifdef __cplusplus
}
#endif

#endif
