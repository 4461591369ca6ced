#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

namespace pds {
namespace {

void search_one(const Posed& posed, std::span<const Phase> phases, Solved& found, Limits& limits) {
    Narrowed narrowed = narrow(*posed.draft, posed.goal, Start{posed.init, {}}, limits);
    if (!narrowed.solvable) return;
    std::vector<double> costs = narrowed.task.costs;
    Schedule schedule(std::move(narrowed.task), phases, posed.most_expansions, std::move(costs));
    try {
        found.answer = schedule.run(limits);
    } catch (...) {
        found.counters = schedule.counters();
        throw;
    }
    found.counters = schedule.counters();
    found.plan = schedule.plan();
    for (Id& step : found.plan) step = narrowed.chosen[step];
}

}  // namespace

std::vector<Solved> search_many(std::span<const Posed> posed, std::span<const Phase> phases, int n_threads,
                                const pds_limits& given) {
    std::vector<Solved> found(posed.size());
    std::vector<std::exception_ptr> failures(n_threads);
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    const auto run = [&](int thread) {
        try {
            Limits limits(given);
            for (std::size_t i = next++; i < posed.size() && !failed; i = next++) try {
                    search_one(posed[i], phases, found[i], limits);
                } catch (const Stop& stop) {
                    if (stop.answer == PDS_INTERRUPTED) throw;
                    found[i].ended = stop.answer;
                } catch (const std::bad_alloc&) {
                    found[i].ended = PDS_OUT_OF_MEMORY;
                }
        } catch (...) {
            failures[thread] = std::current_exception();
            failed = true;
        }
    };
    std::vector<std::thread> others;
    try {
        for (int thread = 1; thread < std::min<std::int64_t>(n_threads, posed.size()); ++thread)
            others.emplace_back(run, thread);
    } catch (const std::system_error&) {
        // The system has no more threads: those that there are do it all.
    }
    run(0);
    for (std::thread& thread : others) thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    return found;
}

}  // namespace pds
