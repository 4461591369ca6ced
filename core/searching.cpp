// The part of the interface for heuristics and searches.
#include <algorithm>

#include "batch.hpp"
#include "boundary.hpp"

struct pds_evaluator {
    pds_evaluator(pds::Task given, std::span<const double> costs, pds::Estimate estimate, bool per_effect,
                  pds::Limits& limits)
        : task(std::move(given)),
          relaxation(task, costs.empty() ? task.costs : costs, per_effect, limits),
          axioms(task, limits),
          heuristic(pds::make_heuristic(relaxation, estimate, false, limits)) {}

    const pds::Task task;
    const pds::Relaxation relaxation;
    pds::Axioms axioms;
    const std::unique_ptr<pds::Heuristic> heuristic;
};

struct pds_search {
    const std::vector<pds::Phase> phases;
    pds::Schedule schedule;
};

struct pds_plans {
    std::vector<pds::Solved> solved;
};

namespace pds {
namespace {

Task taken(const pds_task& given, Limits& limits) {
    std::int64_t size = given.n_facts + given.n_operators;
    for (const pds_rows* rows : {&given.preconditions, &given.effects, &given.conditions, &given.heads})
        size += rows->n + rows->starts[rows->n];
    limits.reserve(sizeof(Id) * size);
    return task_of(given);
}

std::span<const double> costs_of(const pds_task& task, const double* costs) {
    return {costs, costs ? static_cast<std::size_t>(task.n_operators) : 0};
}

std::vector<Phase> phases_of(std::span<const pds_phase> given, bool per_effect) {
    std::vector<Phase> phases;
    for (const pds_phase& each : given) {
        Settings settings;
        settings.estimate = static_cast<Estimate>(each.estimate);
        settings.lazy = each.lazy != 0;
        settings.per_effect = per_effect;
        settings.g_weight = each.g_weight;
        settings.h_weight = each.h_weight;
        settings.most_evaluations = each.most_evaluations;
        settings.patience = each.patience;
        phases.push_back({settings, each.share, each.work, static_cast<std::uint64_t>(each.order)});
    }
    return phases;
}

}  // namespace
}  // namespace pds

using namespace pds;

int32_t pds_evaluator_new(const pds_task* task, const double* costs, int32_t estimate, int32_t per_effect,
                          pds_evaluator** made, const pds_limits* given) {
    return guarded([&] {
        Limits limits(*given);
        *made = new pds_evaluator(taken(*task, limits), costs_of(*task, costs), static_cast<Estimate>(estimate),
                                  per_effect != 0, limits);
    });
}

void pds_evaluator_free(pds_evaluator* evaluator) { delete evaluator; }

int32_t pds_evaluator_values(pds_evaluator* evaluator, const uint8_t* states, int64_t n, int64_t width, double* values,
                             const pds_limits* given) {
    return guarded([&] {
        Limits limits(*given);
        const Task& task = evaluator->task;
        std::vector<Word> state(words_for(task.n_facts));
        for (int64_t i = 0; i < n; ++i) {
            std::fill(state.begin(), state.end(), 0);
            for (Id fact = 0; fact < task.n_basic; ++fact)
                if (states[i * width + fact]) set_true(fact, state.data());
            evaluator->axioms.evaluate(state.data(), limits);
            values[i] = evaluator->heuristic->evaluate(state, limits);
            limits.tick(task.n_basic);
        }
    });
}

int64_t pds_evaluator_preferred(const pds_evaluator* evaluator, int32_t* operators, int64_t room) {
    const std::vector<Id>& preferred = evaluator->heuristic->preferred();
    std::copy_n(preferred.begin(), std::min<int64_t>(room, preferred.size()), operators);
    return static_cast<int64_t>(preferred.size());
}

int32_t pds_search_new(const pds_task* task, const pds_phase* given_phases, int64_t n_phases, int64_t most_expansions,
                       int32_t per_effect, const double* costs, pds_search** made, const pds_limits* given) {
    return guarded([&] {
        Limits limits(*given);
        Task own = taken(*task, limits);
        const auto own_costs = costs_of(*task, costs);
        std::vector<double> heuristic_costs(own_costs.begin(), own_costs.end());
        if (!costs) heuristic_costs = own.costs;
        std::vector<Phase> phases = phases_of(span_of(given_phases, n_phases), per_effect != 0);
        const std::span<const Phase> all(phases);  // which stays where it is when the vector is moved
        *made = new pds_search{std::move(phases), {std::move(own), all, most_expansions, std::move(heuristic_costs)}};
    });
}

void pds_search_free(pds_search* search) { delete search; }

int32_t pds_search_run(pds_search* search, double seconds, int32_t* found, const pds_limits* given) {
    return guarded([&] {
        Limits limits(*given);
        limits.begin_slice(seconds);
        *found = static_cast<int32_t>(search->schedule.run(limits));
    });
}

void pds_search_progress(const pds_search* search, pds_progress* progress) {
    const Schedule& schedule = search->schedule;
    const Counters counters = schedule.counters();
    const Search* const own = schedule.search();
    *progress = {counters.expanded,
                 counters.evaluated,
                 counters.generated,
                 own ? own->nodes().size() : 0,
                 static_cast<int64_t>(schedule.bytes()),
                 own ? own->goal() : -1,
                 0,
                 static_cast<int64_t>(schedule.unreached().size()),
                 static_cast<int64_t>(schedule.phase()),
                 schedule.best_h()};
    if (!own) return;
    for (Id node = own->goal(); node >= 0 && own->nodes()[node].parent >= 0; node = own->nodes()[node].parent)
        ++progress->n_steps;
}

int32_t pds_search_result(const pds_search* search, int32_t* steps, int32_t* unreached) {
    return guarded([&] {
        std::ranges::copy(search->schedule.plan(), steps);
        std::ranges::copy(search->schedule.unreached(), unreached);
    });
}

void pds_search_nodes(const pds_search* search, int64_t first, int64_t last, int32_t* parents, int32_t* operators,
                      double* g, double* h, uint8_t* status) {
    const Nodes& nodes = search->schedule.search()->nodes();
    for (int64_t i = first; i < last; ++i) {
        const Nodes::Node& node = nodes[static_cast<Id>(i)];
        *parents++ = node.parent;
        *operators++ = search->schedule.own(node.op);
        *g++ = node.g;
        *h++ = node.h;
        *status++ = node.status;
    }
}

int32_t pds_search_many(const pds_posed* given, int64_t n, const pds_phase* phases, int64_t n_phases,
                        int32_t per_effect, int32_t n_threads, pds_plans** made, pds_solved* found,
                        const pds_limits* limits) {
    return guarded([&] {
        std::vector<Posed> posed;
        for (const pds_posed& each : std::span(given, n))
            posed.push_back(
                {&each.draft->draft, goal_of(*each.goal), span_of(each.init, each.n_init), each.most_expansions});
        auto plans = std::make_unique<pds_plans>();
        plans->solved = search_many(posed, phases_of(span_of(phases, n_phases), per_effect != 0), n_threads, *limits);
        for (const Solved& each : plans->solved)
            *found++ = {each.ended,
                        static_cast<int64_t>(each.answer),
                        each.counters.expanded,
                        each.counters.evaluated,
                        each.counters.generated,
                        static_cast<int64_t>(each.plan.size())};
        *made = plans.release();
    });
}

void pds_plans_steps(const pds_plans* plans, int32_t* steps) {
    for (const Solved& each : plans->solved) steps = std::ranges::copy(each.plan, steps).out;
}

void pds_plans_free(pds_plans* plans) { delete plans; }
