"""Latent search against exhaustive search in the reference semantics, on random sketches."""

import pytest
from hypothesis import assume, given, settings
from tests.strategies import sketch
from tests.strategies.oracle import far_goal, reachable
from tests.tensor.agreement import model_of

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.search.planning import plan_many

LIMIT = 150


def settled(sample):
    """What the oracle says of a sample, a model of it, its state and its goal; None where it refuses."""
    try:
        oracle = reachable(sample, LIMIT)
    except Error:
        return None
    if not oracle.complete:
        return None
    costs = sample.problem.metric == "cost"
    return oracle, model_of(sample), sample.problem.state, costs


@given(sketch(value_parameters=False))
@settings(max_examples=44, deadline=None)
def test_blind_search_finds_cheapest_plans_whatever_k(sample):
    found = settled(sample)
    assume(found is not None)
    oracle, model, state, costs = found
    for k in (1, 7):
        result = pds.plan(model, state, sample.problem.goal, heuristic="blind", k=k, costs=costs)
        assert result.cost == (None if oracle.cost is None else pytest.approx(oracle.cost))
        assert result.status in (("unsolvable", "gave-up") if oracle.cost is None else ("solved",))


@given(sketch(value_parameters=False))
@settings(max_examples=30, deadline=None)
def test_optimism_is_infinite_only_where_there_is_no_plan(sample):
    found = settled(sample)
    assume(found is not None)
    oracle, model, state, costs = found
    goals = (
        [sample.problem.goal, far_goal(sample, LIMIT)] if oracle.cost is not None else [sample.problem.goal]
    )
    for goal, search in zip(goals, ("astar", "gbfs"), strict=False):
        result = pds.plan(model, state, goal, heuristic="opt", search=search, costs=costs)
        if goal is goals[0]:
            assert result.solved == (oracle.cost is not None)
        else:
            assert result.solved


@given(sketch(value_parameters=False))
@settings(max_examples=11, deadline=None)
def test_many_problems_together_are_many_problems_alone(sample):
    found = settled(sample)
    assume(found is not None)
    _, model, state, costs = found
    goals = [sample.problem.goal, *sample.formulas]
    states = [state] * len(goals)
    together = plan_many(model, states, goals, heuristic="blind", k=3, costs=costs)
    for goal, result in zip(goals, together, strict=True):
        alone = pds.plan(model, state, goal, heuristic="blind", k=3, costs=costs)
        assert (result.status, result.cost) == (alone.status, alone.cost)


@given(sketch())
@settings(max_examples=22, deadline=None)
def test_values_from_generators_suffice(sample):
    """Actions over values: what the oracle reaches with its candidates, a generator of them reaches too."""
    found = settled(sample)
    assume(found is not None and sample.candidates)
    oracle, model, state, costs = found
    assume(oracle.cost is not None)
    generators = {name: lambda m, s, r, v=values: list(v) for name, values in sample.candidates.items()}
    result = pds.plan(
        model, state, sample.problem.goal, heuristic="blind", k=4, costs=costs, generators=generators
    )
    assert result.solved
    assert result.cost <= oracle.cost + 1e-9
