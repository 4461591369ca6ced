#include "interface.h"

#include <cstring>
#include <new>

#include "boundary.hpp"

namespace pds {
namespace {

thread_local char last_error[512];

// What the C++ runtime keeps for a thread that throws is made by its first throw, and without memory for it the
// process would be ended: so that is made when the library is loaded.
const bool has_thrown = [] {
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        return last_error[0] == '\0';
    }
}();

}  // namespace

void remember_error(const char* message) { std::strncpy(last_error, message, sizeof last_error - 1); }

Task task_of(const pds_task& given) {
    Task task;
    task.n_facts = static_cast<int>(given.n_facts);
    task.n_basic = static_cast<int>(given.n_basic);
    task.init.assign(given.init, given.init + given.n_basic);
    task.goal.assign(given.goal, given.goal + given.n_goal);
    task.costs.assign(given.costs, given.costs + given.n_operators);
    task.preconditions = rows_of(given.preconditions);
    task.effects = rows_of(given.effects);
    task.conditions = rows_of(given.conditions);
    task.heads = rows_of(given.heads);
    task.axiom_heads.assign(given.axiom_heads, given.axiom_heads + given.n_axioms);
    task.axiom_bodies = rows_of(given.axiom_bodies);
    task.axiom_layers.assign(given.axiom_layers, given.axiom_layers + given.n_axioms);
    return task;
}

}  // namespace pds

int32_t pds_version(void) { return PDS_VERSION; }

const char* pds_last_error(void) { return pds::last_error; }
