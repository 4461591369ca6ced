"""Plans with ever new goals, and models that come and go, leave no memory behind."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
import weakref

import pytest

import pdsketch as pds

SKETCH = """(define (domain lamps) (:types lamp - object)
  (:predicates (lit ?l - lamp) (level [return_type=int64] ?l - lamp))
  (:action on :parameters (?l - lamp) :precondition (not (lit ?l)) :effect (lit ?l))
  (:action up :parameters (?l - lamp) :precondition (lit ?l) :effect (level::assign ?l (+ (level ?l) 1))))"""
NAMES = "abcdef"
PROBLEM = f"""(define (problem p) (:domain lamps) (:objects {" ".join(NAMES)} - lamp)
  (:init {" ".join(f"(= (level {name}) 0)" for name in NAMES)}) (:goal (lit a)))"""


def _goals() -> list[str]:
    orders = itertools.permutations(NAMES, 4)
    return [f"(and {' '.join(f'(lit {name})' for name in order)})" for order in orders]


def _growth(work, warm: int, then: int) -> float:
    """Bytes of Python that are left by each of so many calls, after some that fill what is kept."""
    tracemalloc.start()
    try:
        for i in range(warm):
            work(i)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for i in range(warm, warm + then):
            work(i)
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / then
    finally:
        tracemalloc.stop()


@pytest.fixture
def keeps_little(monkeypatch):
    """What is kept of goals is full after some dozens of them."""
    monkeypatch.setattr("pdsketch.tensor.compile.lower.MOST_NODES", 60)
    monkeypatch.setattr("pdsketch.tensor.states.universe._KEPT", 20)
    monkeypatch.setattr("pdsketch.task.template.KEPT", 8)
    monkeypatch.setattr("pdsketch.abstract.andor.compile.KEPT", 8)


@pytest.mark.usefixtures("keeps_little")
def test_plans_with_new_goals_leave_nothing_behind():
    domain = pds.parse_domain(SKETCH)
    model, state, goals = pds.Model(domain), pds.parse_problem(PROBLEM, domain).state, _goals()

    def work(i: int) -> None:
        assert pds.plan(model, state, goals[i]).solved

    assert _growth(work, 100, 200) < 300  # of 15,000 where goals are kept


@pytest.mark.usefixtures("keeps_little")
def test_formulas_leave_nothing_behind():
    domain = pds.parse_domain(SKETCH)
    model, state, goals = pds.Model(domain), pds.parse_problem(PROBLEM, domain).state, _goals()
    assert _growth(lambda i: model.holds(state, goals[i]), 100, 200) < 200


def test_a_model_that_was_planned_with_is_freed():
    domain = pds.parse_domain(SKETCH)
    model = pds.Model(domain)
    assert pds.plan(model, pds.parse_problem(PROBLEM, domain).state, "(lit b)").solved
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_problems_with_values_leave_no_models_behind():
    problem = pds.parse_problem(PROBLEM, pds.parse_domain(SKETCH))
    assert _growth(lambda _: pds.plan(problem), 5, 10) < 5_000  # a model takes 240,000
