"""Wherever time or memory runs out, the result says so: never a traceback, never another status."""

from __future__ import annotations

import pytest
import torch
from tests.budgets import Steady, Until, out_of_memory_at, out_of_time_at

import pdsketch as pds
from pdsketch.abstract.abstraction import FactReader
from pdsketch.abstract.optimistic.compile import compile_optimistic
from pdsketch.budget import Budget, OutOfTimeError
from pdsketch.search.packed import problem as planning

ROOMS = """(define (domain rooms) (:requirements :adl :derived-predicates :action-costs)
  (:types room ball) (:predicates (at ?r - room) (in ?b - ball ?r - room) (held ?b - ball) (door ?a ?b - room)
    (near ?b - ball) (free))
  (:functions (total-cost) - number)
  (:derived (near ?b - ball) (exists (?r - room) (and (at ?r) (in ?b ?r))))
  (:derived (free) (forall (?b - ball) (not (held ?b))))
  (:action go :parameters (?a ?b - room) :precondition (and (at ?a) (or (door ?a ?b) (door ?b ?a)))
    :effect (and (not (at ?a)) (at ?b) (increase (total-cost) 1)))
  (:action take :parameters (?b - ball) :precondition (and (near ?b) (free))
    :effect (and (held ?b) (forall (?r - room) (when (in ?b ?r) (not (in ?b ?r)))) (increase (total-cost) 1)))
  (:action put :parameters (?b - ball ?r - room) :precondition (and (held ?b) (at ?r))
    :effect (and (not (held ?b)) (in ?b ?r) (increase (total-cost) 1))))"""

BALLS = """(define (problem p) (:domain rooms) (:objects a b c - room x y - ball)
  (:init (at a) (in x a) (in y c) (door a b) (door b c)) (:goal {goal})
  (:metric minimize (total-cost)))"""

LAMPS = """(define (domain lamps) (:types lamp - object)
  (:predicates (bright [return_type=vector[float32, 1]] ?l - lamp) (on ?l - lamp))
  (:derived (shining [return_type=bool] ?l - lamp) (??f (bright ?l)))
  (:action turn :parameters (?l ?m - lamp) :precondition (not (= ?l ?m))
    :effect (and (on ?l) (bright::assign ?l (??g (bright ?l) (bright ?m))))))"""

MODULES = {
    "derived::shining::f": lambda b: ((b > 2.5) * 1.0).squeeze(-1),
    "action::turn::g": lambda a, b: a + 1 + 0 * b,
}


@pytest.fixture(scope="module")
def problems():
    domain = pds.parse_domain(ROOMS)
    goals = ("(and (in x c) (in y a))", "(and (in x c) (door a c))")
    return [pds.parse_problem(BALLS.format(goal=goal), domain) for goal in goals]


@pytest.fixture(scope="module")
def lamps():
    domain = pds.parse_domain(LAMPS)
    state = pds.State(
        domain,
        objects={"lamp": ["a", "b"]},
        values={"bright": [[0.0], [0.0]], "on": [False, False]},
    )
    return pds.Model(domain, modules=MODULES), state


def looks(plan):
    """How often the clock, and the meter, is looked at in a call."""
    clock, meter = Until(), Until()
    for budget in (Budget(seconds=1, clock=clock), Budget(megabytes=1e6, clock=Steady(0.02), meter=meter)):
        with budget.running():
            plan()
    return clock.looks, meter.looks


def spread(total, count=25):
    """Some of the numbers from 1 to a total, the first and the last among them."""
    return sorted({1 + round(i * (total - 1) / (count - 1)) for i in range(count)})


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("options", [{}, {"search": "astar", "heuristic": "max"}], ids=["lazy", "astar"])
def test_a_problem_whose_time_or_memory_runs_out_at_any_moment(problems, which, options):
    problem = problems[which]
    expected = pds.plan(problem, **options)
    by_time, by_memory = looks(lambda: pds.plan(problem, **options))
    for status, make, total in (
        ("out-of-time", out_of_time_at, by_time),
        ("out-of-memory", out_of_memory_at, by_memory),
    ):
        ends = set()
        for look in spread(total):
            with make(look).running():
                found = pds.plan(problem, **options)
            ends.add(found.status)
            assert found.status in (status, expected.status)
            assert found.reasons or found.solved
            assert found.plan is None or found.plan == expected.plan
        assert status in ends


@pytest.mark.parametrize("heuristic", ["opt", "blind"])
@pytest.mark.parametrize("goal", ["(and (shining a) (shining b))", "(and (on a) (not (on a)))"])
def test_a_model_whose_time_or_memory_runs_out_at_any_moment(lamps, heuristic, goal):
    model, state = lamps
    options = {"heuristic": heuristic, "time_limit": None, "max_expansions": 6}
    expected = pds.plan(model, state, goal, **options)
    by_time, by_memory = looks(lambda: pds.plan(model, state, goal, **options))
    for status, make, total in (
        ("out-of-time", out_of_time_at, by_time),
        ("out-of-memory", out_of_memory_at, by_memory),
    ):
        ends = set()
        for look in spread(total):
            with make(look).running():
                found = pds.plan(model, state, goal, **options)
            ends.add(found.status)
            # A proof that could not be finished is none.
            assert found.status in (status, expected.status, "gave-up")
            assert found.reasons or found.solved
        assert status in ends


def test_a_plan_that_could_not_be_replayed_in_time_is_not_returned_as_one(problems, monkeypatch):
    def slow(*_):
        raise OutOfTimeError

    expected = pds.plan(problems[0])
    monkeypatch.setattr(planning, "validate", slow)
    found = pds.plan(problems[0])
    assert (found.status, found.plan, found.best) == ("out-of-time", None, expected.plan)
    assert f"a plan of {len(expected.plan)} steps was replayed" in found.reasons[0]


def test_an_explanation_has_no_more_time_than_the_call(problems):
    clock = Until()
    with Budget(seconds=1, clock=clock).running():
        known = pds.plan(problems[1]).reasons
    with out_of_time_at(clock.looks - 2).running():
        found = pds.plan(problems[1])
    assert found.status == "unsolvable"
    assert found.reasons[0] == known[0]
    assert len(found.reasons) < len(known)


class Rows:
    """A function that says how many rows it was asked for, each time."""

    def __init__(self, then=None):
        self.seen = []
        self.then = then

    def __call__(self, bright):
        self.seen.append(bright[..., 0].numel())
        if self.then is not None:
            self.then()
        hidden = bright.expand(*bright.shape[:-1], 64) * 1.0
        return (hidden.mean(-1) > 1e9) * 1.0


def many_lamps(function, count):
    domain = pds.parse_domain(LAMPS)
    names = [f"l{i}" for i in range(count)]
    values = {"bright": [[float(i)] for i in range(count)], "on": [False] * count}
    state = pds.State(domain, objects={"lamp": names}, values=values)
    return pds.Model(domain, modules={**MODULES, "derived::shining::f": function}), state


def test_facts_of_many_states_are_asked_for_in_portions_that_fit(monkeypatch):
    function = Rows()
    model, state = many_lamps(function, 40)
    pds.plan(model, state, "(exists (?l - lamp) (shining ?l))", max_expansions=1)
    most = max(function.seen)
    assert most >= 40 * 39
    monkeypatch.setattr("pdsketch.budget.PORTION", 100_000)
    monkeypatch.setattr("pdsketch.tensor.compile.calls._SMALL", 0)
    function.seen.clear()
    model.blanks.weights.clear()
    pds.plan(model, state, "(exists (?l - lamp) (shining ?l))", max_expansions=1)
    # 64 numbers of 4 bytes for each row, and some more: so many rows are far less than a portion.
    assert 1 < max(function.seen) < 100_000 / (4 * 64)


def test_successors_are_estimated_in_portions_that_fit(monkeypatch):
    sizes, read = [], FactReader.read

    def noted(self, batch, problems):
        sizes.append(batch.size)
        return read(self, batch, problems)

    monkeypatch.setattr(FactReader, "read", noted)
    model, state = many_lamps(Rows(), 40)
    for portion, expected in ((32_000_000, 40), (8_000, 4)):
        monkeypatch.setattr(Budget, "portion", lambda _, portion=portion: portion)
        sizes.clear()
        pds.plan(model, state, "(exists (?l - lamp) (shining ?l))", heuristic="opt", max_expansions=1)
        assert sum(sizes) == 41  # the root and its successors
        assert expected / 4 < max(sizes) <= expected


def test_portions_change_nothing(monkeypatch, lamps):
    model, state = lamps
    goal = "(and (shining a) (shining b))"
    whole = [pds.plan(model, state, goal, heuristic=h, k=4) for h in ("opt", "blind", "max")]
    monkeypatch.setattr("pdsketch.budget.PORTION", 400)
    monkeypatch.setattr("pdsketch.tensor.compile.calls._SMALL", 0)
    parts = [pds.plan(model, state, goal, heuristic=h, k=4) for h in ("opt", "blind", "max")]
    for one, other in zip(whole, parts, strict=True):
        assert one.plan == other.plan
        assert (one.expanded, one.generated, one.evaluated) == (
            other.expanded,
            other.generated,
            other.evaluated,
        )


@pytest.mark.parametrize("heuristic", ["opt", "blind"])
def test_the_clock_is_looked_at_between_the_calls_of_a_module(heuristic):
    seconds = [0.0]

    def later():
        seconds[0] += 1.0

    function = Rows(later)
    model, state = many_lamps(function, 3)
    with Budget(seconds=4, clock=lambda: seconds[0]).running():
        found = pds.plan(
            model, state, "(forall (?l - lamp) (shining ?l))", heuristic=heuristic, time_limit=None
        )
    assert found.status == "out-of-time"
    assert len(function.seen) <= 6


def test_memory_that_the_system_refuses_is_a_limit_and_not_the_modules_fault():
    def refuse():
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory")

    model, state = many_lamps(Rows(refuse), 2)
    found = pds.plan(model, state, "(shining l0)")
    assert found.status == "out-of-memory"
    assert "memory limit" in found.reasons[0]

    def fail():
        raise RuntimeError("shapes do not fit")

    model, state = many_lamps(Rows(fail), 2)
    with pytest.raises(pds.Error, match="module-failed"):
        pds.plan(model, state, "(shining l0)")


def test_memory_of_a_gpu_that_runs_out_is_a_limit():
    def refuse():
        raise torch.OutOfMemoryError("CUDA out of memory")

    model, state = many_lamps(Rows(refuse), 2)
    assert pds.plan(model, state, "(shining l0)").status == "out-of-memory"


def test_the_optimistic_compilation_looks_at_the_clock():
    model, state = many_lamps(Rows(), 30)
    goal = model.formula(state.batch, "(forall (?l - lamp) (shining ?l))")
    with out_of_time_at(3).running(), pytest.raises(OutOfTimeError):
        compile_optimistic(model.domain, state.batch.universe(0).types, goal)
