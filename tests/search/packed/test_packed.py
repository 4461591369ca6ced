"""Searches over packed states, against brute force on the grounded task."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.heuristics.tasks import chain, make_task
from tests.search.packed.random_tasks import closed, is_goal, optimum, replay, successors, tasks

from pdsketch.budget import Budget, now
from pdsketch.heuristics.evaluator import EngineEvaluator
from pdsketch.heuristics.registry import HEURISTICS
from pdsketch.lang.diagnostics import Error
from pdsketch.search.options import SEARCHES, problem_options
from pdsketch.search.packed import engine
from pdsketch.search.packed.engine import search

PAIRS = [(s, h) for s in SEARCHES for h in HEURISTICS]


def grid(size):
    """A robot on a grid that is to visit two corners: many states, easy plans."""
    last = size - 1
    corners = (f"{last}_0", f"0_{last}")
    operators = []
    for i in range(size):
        for j in range(size):
            for k, m in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                if 0 <= k < size and 0 <= m < size:
                    seen = f" v{k}_{m}" if f"{k}_{m}" in corners else ""
                    made = f"a{k}_{m} ~a{i}_{j}{seen}"
                    operators.append((f"go{i}_{j}_{k}_{m}", f"a{i}_{j}", made, 1.0))
    cells = [f"{i}_{j}" for i in range(size) for j in range(size)]
    facts = " ".join([*(f"a{c}" for c in cells), *(f"v{c}" for c in corners)])
    return make_task(facts, "a0_0", " ".join(f"v{c}" for c in corners), operators)


@settings(max_examples=150, deadline=None)
@given(tasks())
def test_every_search_agrees_with_brute_force(task):
    best = optimum(task)
    for name, heuristic in PAIRS:
        found = search(task, problem_options(search=name, heuristic=heuristic))
        assert found.status == ("solved" if best < np.inf else "unsolvable"), (name, heuristic)
        if found.plan is None:
            continue
        assert replay(task, found.plan) == pytest.approx(found.cost)
        if name == "astar" and HEURISTICS[heuristic].admissible:
            assert found.cost == pytest.approx(best)


@settings(max_examples=150, deadline=None)
@given(tasks())
def test_heuristics_keep_their_promises_in_all_reachable_states(task):
    states = [closed(task, task.init)]
    for state in states:
        states += [after for _, after in successors(task, state) if after not in states]
    rows = np.array(states, np.bool_)
    for name, heuristic in HEURISTICS.items():
        values = EngineEvaluator(task, name).values(rows)
        for state, value in zip(states, values, strict=True):
            true = optimum(task, state)
            assert value == 0 or not is_goal(task, state), name
            assert value < np.inf or true == np.inf, name
            if heuristic.admissible:
                assert value <= true + 1e-9, name


@settings(max_examples=150, deadline=None)
@given(tasks())
def test_landmarks_see_at_least_as_far_as_the_costliest_fact(task):
    states = np.array(list(np.ndindex(*[2] * task.n_basic)), np.bool_)
    cuts, costliest = (EngineEvaluator(task, name).values(states) for name in ("lmcut", "max"))
    assert (cuts >= costliest - 1e-9).all()
    assert (np.isinf(cuts) == np.isinf(costliest)).all()


@settings(max_examples=100, deadline=None)
@given(tasks(axioms=False))
def test_without_axioms_and_free_operators_only_goals_are_zero(task):
    if not (task.costs > 0).all():
        return
    states = np.array(list(np.ndindex(*[2] * task.n_basic)), np.bool_)
    for name in HEURISTICS:
        for state, value in zip(states, EngineEvaluator(task, name).values(states), strict=True):
            assert (value == 0) == is_goal(task, state), name


@pytest.mark.parametrize(("name", "heuristic"), PAIRS)
def test_all_searches_solve_a_grid(name, heuristic):
    task = grid(5)
    found = search(task, problem_options(search=name, heuristic=heuristic))
    assert found.status == "solved"
    assert replay(task, found.plan) == found.cost >= 12
    if name == "astar" and heuristic in ("blind", "max"):
        assert found.cost == 12


@pytest.mark.parametrize("name", SEARCHES)
def test_arrays_grow_as_far_as_needed(name):
    # More states than the first arrays hold, and none of them a goal.
    task = make_task(
        " ".join(f"x{i}" for i in range(12)) + " never",
        "",
        "never",
        [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(12)],
    )
    found = search(task, problem_options(search=name, heuristic="goalcount"))
    assert (found.status, found.states) == ("unsolvable", 4096)
    assert found.expanded >= 4096


def test_an_unreachable_goal_is_proven_without_expansion():
    found = search(make_task("a b", "a", "b", []), problem_options())
    assert (found.status, found.expanded, found.best_h) == ("unsolvable", 0, np.inf)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_limit_of_expansions_holds(name):
    found = search(grid(6), problem_options(search=name, heuristic="blind", max_expansions=7))
    assert (found.status, found.expanded) == ("gave-up", 7)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_time_limit_holds(name):
    facts = " ".join(f"x{i}" for i in range(60)) + " never"
    flips = [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(60)]
    task = make_task(facts, "", "never", [*flips, *((f"r{i}", f"x{i}", f"~x{i}", 1.0) for i in range(60))])
    start, taken = now(), time.process_time()
    found = search(task, problem_options(search=name, heuristic="goalcount"), Budget(seconds=0.5))
    assert found.status == "out-of-time"
    assert now() - start > 0.4
    assert time.process_time() - taken < 2


@pytest.mark.parametrize("name", SEARCHES)
def test_the_memory_limit_holds_and_is_used_up(name, monkeypatch):
    monkeypatch.setattr(engine, "_SLICE", 0.0)
    facts = " ".join(f"x{i}" for i in range(60)) + " never"
    task = make_task(facts, "", "never", [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(60)])
    found = search(
        task, problem_options(search=name, heuristic="goalcount"), Budget(megabytes=10, meter=lambda: 0)
    )
    assert found.status == "out-of-memory"
    assert 0.9 * 10e6 < found.bytes < 1.1 * 10e6


def test_lazy_search_starts_again_when_it_is_stuck_and_is_complete_in_the_end():
    flips = [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(13)]
    task = make_task(" ".join(f"x{i}" for i in range(13)) + " never", "", "never", flips)
    found = search(task, problem_options(heuristic="goalcount"))
    assert (found.status, found.states) == ("unsolvable", 8192)
    assert found.expanded > 8192
    limited = search(task, problem_options(heuristic="goalcount", max_expansions=3000))
    assert (limited.status, limited.expanded) == ("gave-up", 3000)


def test_the_last_round_has_a_plan_where_all_others_got_stuck(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 3)
    task = grid(6)
    found = search(task, problem_options(heuristic="blind"))
    assert found.evaluated > found.states
    assert replay(task, found.plan) == found.cost


@pytest.mark.parametrize("right", [12, 15, 19])
def test_a_later_round_that_tries_the_right_door_first_says_which_one_it_was(monkeypatch, right):
    """The first round gets stuck before it comes to that door; another one has another order."""
    monkeypatch.setattr(engine, "PATIENCE", 10)
    doors = [(f"door{i}", "s", f"in{i}{' g' if i == right else ''} ~s", 1.0) for i in range(20)]
    task = make_task("s g " + " ".join(f"in{i}" for i in range(20)), "s", "g", doors)
    found = search(task, problem_options(heuristic="blind"))
    assert found.plan == (right,)
    assert 10 < found.evaluated < 10 * engine.ROUNDS


def test_a_goal_that_holds_needs_no_step():
    for name in SEARCHES:
        found = search(make_task("a", "a", "a", []), problem_options(search=name))
        assert (found.status, found.plan, found.cost) == ("solved", (), 0)


def test_tasks_without_facts_and_operators_work():
    for name, heuristic in PAIRS:
        assert search(make_task("", "", "", []), problem_options(search=name, heuristic=heuristic)).plan == ()


def test_a_star_opens_a_state_again_when_it_is_reached_more_cheaply():
    # The heuristic goalcount misleads: the dear way is seen first.
    operators = [("dear", "s", "a ~s", 10.0), ("cheap1", "s", "b ~s", 1.0), ("cheap2", "b", "a ~b", 1.0)]
    operators += [("end", "a", "g", 20.0)]
    task = make_task("s a b g", "s", "g", operators)
    assert search(task, problem_options(search="astar", heuristic="blind")).cost == 22


@pytest.mark.parametrize("heuristic", ["blind", "max"])
def test_a_star_takes_the_cheap_detour_although_it_meets_the_goal_on_the_direct_way_first(heuristic):
    operators = [("direct", "s", "g ~s", 5.0), ("aside", "s", "b ~s", 1.0), ("on", "b", "g ~b", 1.0)]
    found = search(
        make_task("s b g", "s", "g", operators), problem_options(search="astar", heuristic=heuristic)
    )
    assert (found.plan, found.cost) == ((1, 2), 2)


@pytest.mark.parametrize("name", ["astar", "wastar"])
def test_a_state_that_was_reached_more_cheaply_before_its_turn_is_expanded_once(name):
    operators = [("dear", "s", "a ~s", 10.0), ("cheap1", "s", "b ~s", 1.0), ("cheap2", "b", "a ~b", 1.0)]
    found = search(make_task("s a b g", "s", "g", operators), problem_options(search=name, heuristic="blind"))
    assert (found.status, found.states, found.expanded) == ("unsolvable", 3, 3)


@pytest.mark.parametrize("name", SEARCHES)
def test_what_an_effect_asks_for_is_asked_before_it_fires(name):
    task = make_task("w g x", "", "g ~x", [("go", "", ["g", "w > x"], 1.0), ("dry", "", "~w", 1.0)])
    options = problem_options(search=name, heuristic="blind")
    assert search(task, options).plan == (0,)
    assert search(replace(task, init=np.array([True, False, False])), options).plan == (1, 0)


def test_a_star_stops_at_a_goal_that_nothing_open_can_beat():
    """Where operators cost the same; else it expands the goal, as the way to it may not be the cheapest."""
    for costs, astar in ((np.ones(3), 3), (np.array([1.0, 1.0, 2.0]), 4)):
        task = replace(chain(3), costs=costs)
        assert search(task, problem_options(search="astar", heuristic="max")).expanded == astar
        assert search(task, problem_options(search="gbfs", heuristic="max")).expanded == 3


def test_progress_is_reported(monkeypatch):
    monkeypatch.setattr(engine, "_SLICE", 0.0)
    seen = []
    task = grid(30)
    search(task, problem_options(search="astar", heuristic="blind", max_expansions=5000, watch=seen.append))
    assert seen
    assert seen[-1].evaluated >= seen[0].evaluated > 0


def test_an_unknown_search_is_an_error_with_a_hint():
    with pytest.raises(Error, match="did you mean `astar`"):
        problem_options(search="a-star")
