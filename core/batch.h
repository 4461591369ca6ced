/* The part of the interface that plans for many drafts at once, see batch.hpp. */
#ifndef PDS_BATCH_H
#define PDS_BATCH_H

#include "preparation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `groups`, a number for each fact of the draft, may be null. */
typedef struct {
    const pds_draft* draft;
    const pds_goal* goal;
    const uint8_t* init;
    const int32_t* groups;
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
