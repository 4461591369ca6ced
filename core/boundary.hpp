// What every function of the interface needs: no exception leaves it, and arrays become our own.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include "interface.h"
#include "narrow.hpp"

namespace pds {

void remember_error(const char* message);

// Runs a function; what it throws becomes the answer.
template <typename Function>
std::int32_t guarded(Function function) {
    try {
        function();
        return PDS_DONE;
    } catch (const Stop& stop) {
        return stop.answer;
    } catch (const std::bad_alloc&) {
        return PDS_OUT_OF_MEMORY;
    } catch (const std::length_error&) {  // a vector larger than any memory
        return PDS_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
        remember_error(error.what());
    } catch (...) {
        remember_error("an unknown exception");
    }
    return PDS_ERROR;
}

inline Rows rows_of(const pds_rows& given) {
    Rows rows;
    rows.starts.assign(given.starts, given.starts + given.n + 1);
    rows.items.assign(given.items, given.items + rows.starts.back());
    return rows;
}

Task task_of(const pds_task& given);

}  // namespace pds

// What the opaque pointers point to that several parts of the interface read.
struct pds_draft {
    pds::Draft draft;
};

struct pds_goal {
    pds::Goal goal;
};
