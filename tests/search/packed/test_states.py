"""Which states are one, in which order they come, and what is remembered of them."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.heuristics.tasks import make_task
from tests.search.packed.random_tasks import tasks

from pdsketch.budget import Budget
from pdsketch.search.options import SEARCHES, problem_options
from pdsketch.search.packed import engine
from pdsketch.search.packed.engine import search


def flips(count: int, before: int = 0, **more):
    """Switches that can be thrown one by one, behind so many facts that never change; no goal is reached."""
    facts = " ".join([*(f"c{i}" for i in range(before)), *(f"x{i}" for i in range(count)), "never"])
    operators = [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(count)]
    return make_task(facts, "", "never", operators, **more)


@pytest.mark.parametrize("name", ["astar", "lazy-gbfs"])
def test_states_that_differ_in_the_second_word_are_two(name):
    """A word holds 64 facts: the first is the same in all states."""
    found = search(flips(11, before=64), problem_options(search=name, heuristic="goalcount"))
    assert (found.status, found.states) == ("unsolvable", 2048)


def test_derived_facts_do_not_tell_states_apart():
    """They follow from the others, whatever they were in the state before."""
    axioms = [(0, "d", "x0"), (0, "e", "~x1")]
    task = flips(6, derived="d e", axioms=axioms)
    back = [(f"r{i}", f"x{i}", f"~x{i}", 1.0) for i in range(6)]
    both = make_task(
        " ".join([*(f"x{i}" for i in range(6)), "never"]),
        "",
        "never",
        [*((f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(6)), *back],
        derived="d e",
        axioms=axioms,
    )
    for one in (task, both):
        assert search(one, problem_options(search="astar", heuristic="blind")).states == 64


def test_a_state_is_expanded_once_where_no_cheaper_way_is_found():
    for name in SEARCHES:
        found = search(flips(8), problem_options(search=name, heuristic="goalcount"))
        assert (found.expanded, found.states) == (256, 256)


def test_what_the_process_has_grown_by_counts_as_memory():
    """However little of it the search's own lists are."""
    for megabytes, status in ((600, "out-of-memory"), (800, "unsolvable")):
        sizes = chain([0.0], repeat(700e6))
        budget = Budget(megabytes=megabytes, meter=sizes.__next__)
        assert search(flips(12), problem_options(heuristic="goalcount"), budget).status == status


@pytest.mark.parametrize("name", SEARCHES)
def test_limits_hold_between_two_slices(name, monkeypatch):
    """Between two slices of a search an hour passes, or the process takes a gigabyte."""
    slices = [0]

    def count(_progress: object) -> None:
        slices[0] += 1

    def hours() -> float:
        return slices[0] * 3600.0

    def gigabytes() -> float:
        return slices[0] * 1e9

    monkeypatch.setattr(engine, "_SLICE", 0.0)
    options = problem_options(search=name, heuristic="goalcount", watch=count)
    for limits, status in (
        ({"seconds": 1800}, "out-of-time"),
        ({"megabytes": 500}, "out-of-memory"),
        ({"seconds": 1e9, "megabytes": 1e9}, "unsolvable"),
    ):
        budget = Budget(**limits, clock=hours, meter=gigabytes)
        assert search(flips(11), options, budget).status == status


@settings(max_examples=40, deadline=None)
@given(tasks(), st.sampled_from(["astar", "wastar", "gbfs"]), st.sampled_from(["goalcount", "max", "ff"]))
def test_nodes_are_expanded_by_their_keys_and_among_equals_first_in_first_out(task, name, heuristic):
    """A search that may expand one node more expands the best that the one before left open."""
    left, first_come = None, True
    for most in range(12):
        taken = []
        options = problem_options(search=name, heuristic=heuristic, max_expansions=most, trace=taken.append)
        found = search(task, options)
        nodes = taken[-1](0, 1 << 20)
        if left is not None:
            best = min(node.f for _, node in left)
            keys = [(node.f, node.h if name != "gbfs" else 0, number) for number, node in left]
            first_come = first_come and all(node.g == nodes[number].g for number, node in left)
            (now,) = {number for number, _ in left if nodes[number].fate != "open"} or {None}
            if now is not None:
                chosen = next(key for key in keys if key[2] == now)
                assert chosen[0] == best
                assert chosen[: 3 if first_come else 2] == min(keys)[: 3 if first_come else 2]
        left = [(number, node) for number, node in enumerate(nodes) if node.fate == "open"]
        if found.status != "gave-up" or not left:
            break


def test_an_operator_whose_effects_fight_adds():
    task = make_task("a b", "a", "a b", [("both", "a", ("~a", "a > a b"), 1.0)])
    found = search(task, problem_options(search="astar", heuristic="blind"))
    assert (found.status, found.plan) == ("solved", (0,))


def test_costs_are_the_tasks_own_also_where_each_counts_as_a_step():
    task = make_task("a b c", "a", "c", [("free", "a", "b", 0.0), ("dear", "b", "c", 3.0)])
    found = search(task, problem_options(heuristic_costs="plus-one"))
    assert (found.plan, found.cost) == ((0, 1), 3)


def test_weighted_search_follows_its_weight():
    """With no weight on h it is Dijkstra's search; with much it hardly looks aside."""
    way = [(f"go{i}", f"f{i}", f"f{i + 1} ~f{i}", 1.0) for i in range(12)]
    aside = [(f"idle{i}", f"~g{i}", f"g{i}", 1.0) for i in range(6)]
    facts = " ".join([*(f"f{i}" for i in range(13)), *(f"g{i}" for i in range(6))])
    task = make_task(facts, "f0", "f12", [*aside, *way])
    wide, narrow = (
        search(task, problem_options(search="wastar", heuristic="max", weight=w)).expanded
        for w in (0.0, 10.0)
    )
    assert narrow == 12 < wide


def test_the_lowest_h_that_was_seen_is_told():
    task = make_task(
        "a b c d", "a", "d", [("go", "a", "b", 1.0), ("on", "b", "c", 1.0), ("end", "c", "d", 1.0)]
    )
    found = search(task, problem_options(search="astar", heuristic="max", max_expansions=2))
    assert (found.status, found.best_h) == ("gave-up", 1)
    assert np.isinf(search(make_task("a b", "a", "b", []), problem_options()).best_h)
