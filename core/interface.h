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
#define PDS_VERSION 1

PDS_EXPORT int32_t pds_version(void);
PDS_EXPORT const char* pds_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
