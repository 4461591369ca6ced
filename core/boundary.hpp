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

template <typename T>
std::span<const T> span_of(const T* given, std::int64_t n) {
    return {given, static_cast<std::size_t>(n)};
}

inline RowsView view_of(const pds_rows& given) {
    const auto starts = span_of(given.starts, given.n + 1);
    return {starts, span_of(given.items, starts.back())};
}

inline Goal goal_of(const pds_goal_arrays& given) {
    return {span_of(given.literals, given.n_literals),
            given.possible != 0,
            static_cast<int>(given.n_facts),
            given.layer,
            span_of(given.axiom_heads, given.n_axioms),
            view_of(given.axiom_bodies)};
}

inline Rows rows_of(const pds_rows& given) {
    Rows rows;
    rows.starts.assign(given.starts, given.starts + given.n + 1);
    rows.items.assign(given.items, given.items + rows.starts.back());
    return rows;
}

Task task_of(const pds_task& given);

}  // namespace pds

// What an opaque pointer points to that several parts of the interface read.
struct pds_draft {
    pds::Draft draft;
};
