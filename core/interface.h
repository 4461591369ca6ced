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
#define PDS_VERSION 4

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
    int32_t estimate, lazy, consistent, order;
    double g_weight, h_weight, share, work;
    int64_t most_evaluations, patience;
} pds_phase;

typedef enum { PDS_PAUSED = 0, PDS_SOLVED = 1, PDS_EXHAUSTED = 2, PDS_ENOUGH = 3 } pds_found;

/* `n_states` and `goal`, a node or -1, are those of the present phase. */
typedef struct {
    int64_t expanded, evaluated, generated, n_states, bytes, goal, n_steps, n_unreached, phase;
    double best_h;
} pds_progress;

/* `costs`, one an operator, and `groups`, one a fact, may be null. */
PDS_EXPORT int32_t pds_search_new(const pds_task* task, const pds_phase* phases, int64_t n_phases,
                                  int64_t most_expansions, int32_t per_effect, const double* costs,
                                  const int32_t* groups, pds_search** made, const pds_limits* limits);
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

#ifdef __cplusplus
}
#endif

#endif
