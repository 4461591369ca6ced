#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <system_error>
#include <thread>

namespace pds {
namespace {

// How many conditions an evaluation looks at: those of effects, and three times those of axioms. An axiom is a unary
// operator, and another for the negation of its head, which has its literals, too.
double work_for(const Task& task) {
    return 1.0 + static_cast<double>(task.conditions.items.size()) +
           3.0 * static_cast<double>(task.axiom_bodies.items.size());
}

Solved search_one(const Posed& posed, Settings settings, double work, Limits& limits) {
    const Narrowed narrowed = narrow(*posed.draft, *posed.goal, Start{posed.init, {}}, limits);
    if (!narrowed.solvable) return {};
    const Task& task = narrowed.task;
    const double most = std::ceil(work / work_for(task));
    settings.patience = kForever;
    settings.most_expansions = posed.most_expansions;
    if (most < static_cast<double>(settings.most_expansions))
        settings.most_expansions = static_cast<std::int64_t>(most);
    settings.early =
        std::adjacent_find(task.costs.begin(), task.costs.end(), std::not_equal_to<>()) == task.costs.end();
    Search search(task, settings, task.costs, limits);
    const bool is_solved = search.run(limits) == Answer::solved;
    Solved found{is_solved, search.counters(), search.plan()};
    for (Id& step : found.plan) step = narrowed.chosen[step];
    return found;
}

}  // namespace

std::vector<Solved> search_many(std::span<const Posed> posed, const Settings& settings, double work, int n_threads,
                                const pds_limits& given) {
    std::vector<Solved> found(posed.size());
    std::vector<std::exception_ptr> failures(n_threads);
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    const auto run = [&](int thread) {
        try {
            Limits limits(given);
            for (std::size_t i = next++; i < posed.size() && !failed; i = next++)
                found[i] = search_one(posed[i], settings, work, limits);
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
