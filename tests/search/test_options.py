"""The options of planning: as type checkers see them, and the same for problems and for models."""

from __future__ import annotations

import math
from typing import get_type_hints

import pytest

import pdsketch as pds
from pdsketch.search.memory import Memory
from pdsketch.search.options import (
    UNSET,
    ModelOptions,
    ModelSearch,
    PlanOptions,
    ProblemOptions,
    model_options,
    problem_options,
)

ROADS = """(define (domain roads) (:requirements :action-costs) (:types place)
  (:predicates (at ?p - place) (road ?p ?q - place){more})
  (:functions (length ?p ?q - place) (total-cost) - number)
  (:action go :parameters (?p ?q - place) :precondition (and (at ?p) (road ?p ?q))
    :effect (and (not (at ?p)) (at ?q){effect} (increase (total-cost) (length ?p ?q)))))"""

CLASSICAL = ROADS.format(more="", effect="")
WITH_VALUES = ROADS.format(more=" (here [return_type=vector[float32, 1]])", effect=" (assign (here) [1])")

LENGTHS = {("a", "b"): 9, ("a", "c"): 2, ("c", "d"): 2, ("d", "b"): 2}


def roads(text, metric="(:metric minimize (total-cost))"):
    """From a to b: one long road, or three short ones."""
    names = "abcd"
    pairs = [(p, q) for p in names for q in names]
    init = " ".join(f"(= (length {p} {q}) {LENGTHS.get((p, q), 0)})" for p, q in pairs)
    init += "".join(f" (road {p} {q})" for p, q in LENGTHS) + (" (= (here) [0])" if "here" in text else "")
    source = f"""(define (problem p) (:domain roads) (:objects a b c d - place)
      (:init (at a) {init}) (:goal (at b)) {metric})"""
    return pds.parse_problem(source, pds.parse_domain(text))


def hints(kind):
    """The types of options by their names; names that only type checkers import are given."""
    return get_type_hints(kind, localns={"Model": pds.Model, "State": pds.State, "Memory": Memory})


def test_type_checkers_see_the_options_that_there_are_with_their_types():
    taken = {n: hint | None if n in UNSET else hint for n, hint in hints(PlanOptions).items()}
    assert hints(ProblemOptions) == taken
    of_problems = {"heuristic_costs": None, "search": ModelSearch | None}
    assert hints(ModelOptions) == {
        name: of_problems.get(name, hint) for name, hint in taken.items() if name != "heuristic_costs"
    }


def test_of_problems_none_of_the_options_of_models_is_an_option():
    for name in ("k", "snap", "confidence"):
        with pytest.raises(pds.Error, match=f"planning for a problem has no option `{name}`"):
            pds.plan(roads(CLASSICAL), **{name: 1})
    with pytest.raises(pds.Error, match="planning with a model has no option `heuristic_costs`"):
        pds.plan(roads(WITH_VALUES), heuristic_costs="own")


def test_no_option_changes_the_default_of_another():
    strategy, named = model_options(), model_options(heuristic="ao")
    assert (strategy.search, strategy.heuristic, strategy.k) == ("portfolio", None, 1)
    assert (named.search, named.heuristic, named.k) == ("astar", "ao", 1)
    assert (model_options(k=4).search, model_options(search="gbfs").heuristic) == ("portfolio", "opt")
    of_problem = problem_options(heuristic="max")
    assert (of_problem.search, of_problem.heuristic, of_problem.time_limit) == ("lazy-gbfs", "max", None)
    assert problem_options(search="astar").heuristic == "ff"


@pytest.mark.parametrize("text", [CLASSICAL, WITH_VALUES], ids=["classical", "with-values"])
@pytest.mark.parametrize(
    ("given", "cost", "steps"),
    [({}, 6, 3), ({"costs": None}, 6, 3), ({"costs": True}, 6, 3), ({"costs": False}, 1, 1)],
)
def test_costs_mean_the_same_in_both_searches(text, given, cost, steps):
    problem = roads(text)
    by_problem = pds.plan(problem, search="astar", heuristic="blind", **given)
    model = pds.Model(problem.domain)
    by_model = pds.plan(model, problem.state, problem.goal, heuristic="blind", **given)
    assert [(r.cost, len(r.plan)) for r in (by_problem, by_model)] == [(cost, steps)] * 2


@pytest.mark.parametrize("text", [CLASSICAL, WITH_VALUES], ids=["classical", "with-values"])
def test_a_problem_without_a_metric_can_be_asked_for_costs(text):
    problem = roads(text, metric="")
    assert pds.plan(problem, search="astar", heuristic="blind").cost == 1
    assert pds.plan(problem, search="astar", heuristic="blind", costs=True).cost == 6


@pytest.mark.parametrize("wrong", ["own", "plus-one", "unit", 1, 0, 1.0, math.nan, [], {}])
def test_other_values_of_costs_are_refused_by_both(wrong):
    problem, values = roads(CLASSICAL), roads(WITH_VALUES)
    model = pds.Model(problem.domain)
    calls = [
        lambda: pds.plan(problem, costs=wrong),
        lambda: pds.plan(values, costs=wrong),
        lambda: pds.plan(model, problem.state, "(at b)", costs=wrong),
        lambda: pds.plan_many(model, [problem.state], "(at b)", costs=wrong),
        lambda: pds.Policy(model, options={"costs": wrong}).act(problem.state, "(at b)"),
    ]
    for call in calls:
        with pytest.raises(pds.Error, match="`costs` must be True") as refused:
            call()
        assert refused.value.diagnostics[0].code == "bad-option"


def test_what_the_heuristic_reads_is_an_option_of_its_own():
    problem = roads(CLASSICAL)
    own = pds.plan(problem, search="astar", max_expansions=0, heuristic_costs="own")
    one_more = pds.plan(problem, search="astar", max_expansions=0, heuristic_costs="plus-one")
    assert (own.best_h, one_more.best_h) == (6, 9)
    with pytest.raises(pds.Error, match="`own` or `plus-one`"):
        pds.plan(problem, heuristic_costs="mine")


@pytest.mark.parametrize("text", [CLASSICAL, WITH_VALUES], ids=["classical", "with-values"])
def test_none_is_the_default_of_a_search_and_its_limits(text):
    unset = dict.fromkeys(("search", "heuristic", "time_limit", "memory_limit", "max_expansions"))
    assert pds.plan(roads(text), **unset).solved


def test_a_search_through_a_model_says_how_it_is_going():
    text = """(define (domain counters) (:types counter) (:predicates (n [return_type=float32] ?c - counter))
      (:action up :parameters (?c - counter) :effect (assign (n ?c) (+ (n ?c) 1))))"""
    domain = pds.parse_domain(text)
    state = pds.State(domain, objects={"counter": ["a", "b", "c"]}, values={"n": [0.0, 0.0, 0.0]})
    seen = []
    pds.plan(
        pds.Model(domain), state, "(< (n a) 0)", heuristic="blind", watch=seen.append, time_limit=2.5, k=16
    )
    assert seen[0].expanded > 0
    assert seen[0].evaluated > 0
    assert seen[0].generated > 0
    assert seen[0].bytes > 0
    assert (seen[0].best_h, seen[0].open_problems) == (1, 1)
