/* The part of the interface that makes tasks ready: drafts are narrowed to initial states and goals. */
#ifndef PDS_PREPARATION_H
#define PDS_PREPARATION_H

#include "interface.h"

#ifdef __cplusplus
extern "C" {
#endif

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
typedef struct pds_goal pds_goal;
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
PDS_EXPORT int32_t pds_goal_new(const pds_goal_arrays* given, pds_goal** made, const pds_limits* limits);
PDS_EXPORT void pds_goal_free(pds_goal* goal);

/* `init` is the truth of the draft's first `n_init` facts; the `n_free` first may be false though they are true,
 * where `free_facts` says so. */
PDS_EXPORT int32_t pds_narrow(const pds_draft* draft, const pds_goal* goal, int64_t n_init, const uint8_t* init,
                              int64_t n_free, const uint8_t* free_facts, pds_narrowed** made,
                              pds_narrowed_arrays* found, const pds_limits* limits);
PDS_EXPORT void pds_narrowed_free(pds_narrowed* narrowed);

/* A program for joins, see pdsketch.task.program, and the facts that it begins with: rows of `1 + n_args` ints. */
typedef struct {
    int64_t n_code;
    const int32_t* code;
    int32_t n_args, n_indexes, n_variables, n_matched, n_pointers, untriggered;
    int64_t n_rules;
    const int32_t* widths; /* of the instances of each rule */
    int64_t n_facts, n_static;
    const int32_t* facts;
} pds_program;

typedef struct pds_join pds_join;

PDS_EXPORT int32_t pds_join_new(const pds_program* given, pds_join** made, const pds_limits* limits);
PDS_EXPORT void pds_join_free(pds_join* join);
PDS_EXPORT int32_t pds_join_run(pds_join* join, const pds_limits* limits);
/* All facts, a row of `columns` ints each, as long as the join lives. */
PDS_EXPORT int64_t pds_join_facts(const pds_join* join, const int32_t** facts, int64_t* columns);
PDS_EXPORT int64_t pds_join_n_instances(pds_join* join, int64_t rule);
/* Copies the instances of a rule: its variables' objects, the facts of its conditions and of its heads. They are not
 * kept. */
PDS_EXPORT int32_t pds_join_take(pds_join* join, int64_t rule, int32_t* instances, const pds_limits* limits);
/* The fact of a relation, given by its address, for each row of arguments; -1 where there is none. */
PDS_EXPORT int32_t pds_join_find(const pds_join* join, int32_t relation, int64_t n, int64_t width,
                                 const int32_t* arguments, int32_t* found, const pds_limits* limits);

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

/* Pairs of literals that may hold together, see mutexes.hpp: for each literal a row of words. `groups` has a number
 * for each fact, -1 for none: at most one fact of each holds in any state. `consistent` says of each axiom whether
 * its body may hold. */
PDS_EXPORT int32_t pds_mutexes(const pds_task* task, const int32_t* groups, uint64_t* pairs, uint8_t* consistent,
                               const pds_limits* limits);

#ifdef __cplusplus
}
#endif

#endif
