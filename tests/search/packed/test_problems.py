"""`pdsketch.plan` on problems: optimal costs against the reference semantics, and what planners get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.strategies.classical import classical
from tests.strategies.oracle import reachable

import pdsketch as pds
from pdsketch.heuristics.registry import HEURISTICS
from pdsketch.lang.validator import validate
from pdsketch.search.options import SEARCHES

EXAMPLES = Path(__file__).parents[3] / "examples"
PROBLEMS = sorted(path for path in EXAMPLES.glob("*/p*.pddl"))
PAIRS = [(s, h) for s in SEARCHES for h in HEURISTICS]


def problem_of(domain, problem):
    return pds.parse_problem(problem, pds.parse_domain(domain))


@settings(max_examples=44, deadline=None)
@given(classical())
def test_costs_are_optimal_where_they_are_promised(sample):
    reached = reachable(sample, limit=300)
    for search, heuristic in (("astar", "blind"), ("astar", "max"), ("lazy-gbfs", "ff"), ("gbfs", "add")):
        found = pds.plan(sample.problem, search=search, heuristic=heuristic, max_expansions=5000)
        if found.status == "solved":
            assert reached.cost is not None or not reached.complete
            verdict = validate(sample.problem, found.plan)
            assert verdict.valid
            assert found.cost == verdict.cost
            if search == "astar" and reached.cost is not None:
                assert found.cost == pytest.approx(reached.cost)
        else:
            assert reached.cost is None, (search, heuristic)
            assert found.status == "unsolvable" or not reached.complete
            assert found.reasons


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_examples_are_solved_by_every_search_and_heuristic(path):
    problem = pds.load_problem(path, pds.load_domain(path.parent / "domain.pddl"))
    costs = {}
    for search, heuristic in PAIRS:
        found = pds.plan(problem, search=search, heuristic=heuristic, max_expansions=20000, time_limit=600)
        if found.status == "gave-up":
            continue
        assert found.solved
        costs[search, heuristic] = found.cost
    assert ("lazy-gbfs", "ff") in costs
    best = costs.get(("astar", "max"), costs.get(("astar", "blind"), 0))
    assert all(cost >= best for cost in costs.values())


EITHER = """
(define (domain either)
  (:requirements :strips :typing)
  (:types car boat - object)
  (:predicates (clean ?x - (either car boat)))
  (:action wash :parameters (?x - (either car boat)) :precondition () :effect (clean ?x)))
"""


def test_either_in_a_parameter_means_both_types():
    problem = """(define (problem p) (:domain either) (:objects a - car b - boat) (:init)
      (:goal (and (clean a) (clean b))))"""
    assert sorted(pds.plan(problem_of(EITHER, problem)).plan) == [("wash", "a"), ("wash", "b")]


MIXED = """
(define (domain mixed)
  (:requirements :adl)
  (:predicates (a) (b) (c) (done))
  (:action make-a :parameters () :precondition (and) :effect (a))
  (:action make-b :parameters () :precondition (a) :effect (b))
  (:action make-c :parameters () :precondition (and) :effect (c))
  (:action end :parameters () :precondition (and (or (b) (c)) (imply (c) (a))) :effect (done)))
"""


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
def test_or_and_imply_in_one_precondition(search, heuristic):
    problem = problem_of(MIXED, "(define (problem p) (:domain mixed) (:init (c)) (:goal (done)))")
    found = pds.plan(problem, search=search, heuristic=heuristic)
    assert found.plan[-1] == ("end",)
    assert ("make-a",) in found.plan


LAMPS = """
(define (domain lamps)
  (:requirements :adl)
  (:types lamp)
  (:predicates (old ?l - lamp) (lit ?l - lamp))
  (:action light :parameters (?l - lamp) :precondition (not (old ?l)) :effect (lit ?l))
  (:action renew :parameters (?l - lamp) :precondition (old ?l) :effect (not (old ?l))))
"""


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
def test_a_goal_of_forall_and_imply(search, heuristic):
    problem = """(define (problem p) (:domain lamps) (:objects x y z - lamp) (:init (old z))
      (:goal (forall (?l - lamp) (imply (not (old ?l)) (lit ?l)))))"""
    found = pds.plan(problem_of(LAMPS, problem), search=search, heuristic=heuristic)
    assert found.solved
    if search == "astar" and heuristic in ("blind", "max"):
        assert found.cost == 2


def test_a_goal_and_a_state_can_stand_in_for_the_problems_own():
    problem = problem_of(
        LAMPS, "(define (problem p) (:domain lamps) (:objects x - lamp) (:init) (:goal (lit x)))"
    )
    assert pds.plan(problem, goal="(old x)").status == "unsolvable"
    assert pds.plan(problem, state={("lit", "x"): True}).plan == []


FREE = """
(define (domain free)
  (:requirements :strips :typing :action-costs)
  (:types place)
  (:predicates (at ?p - place) (road ?a ?b - place) (path ?a ?b - place))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (length ?a ?b))))
  (:action walk :parameters (?a ?b - place) :precondition (and (at ?a) (path ?a ?b))
    :effect (and (not (at ?a)) (at ?b))))
"""


@pytest.mark.parametrize("heuristic", ["blind", "max"])
def test_costs_may_be_zero_or_fractions(heuristic):
    problem = problem_of(
        FREE,
        """(define (problem p) (:domain free) (:objects a b c d - place)
        (:init (at a) (road a d) (path a b) (road b c) (path c d)
               (= (length a d) 2) (= (length b c) 1.25) (= (total-cost) 0))
        (:goal (at d)) (:metric minimize (total-cost)))""",
    )
    found = pds.plan(problem, search="astar", heuristic=heuristic)
    assert (len(found.plan), found.cost) == (3, 1.25)


def test_results_carry_counters_and_phases():
    problem = problem_of(
        LAMPS, "(define (problem p) (:domain lamps) (:objects x - lamp) (:init) (:goal (lit x)))"
    )
    found = pds.plan(problem)
    assert found.plan == [("light", "x")]
    assert found.expanded >= 1
    assert found.evaluated >= 1
    assert {"ground", "search"} <= set(found.phases)
    assert found.seconds >= sum(found.phases.values()) - 1e-6


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"search": "bfs"}, "unknown-search"),
        ({"heuristic": "hmax"}, "unknown-heuristic"),
        ({"time_limit": -1}, "bad-limit"),
        ({"memory_limit": "much"}, "bad-limit"),
        ({"depth": 3}, "unknown-option"),
        ({"state": 3}, "bad-state"),
        ({"weight": -1}, "bad-limit"),
    ],
)
def test_bad_options_are_errors(options, code):
    problem = problem_of(
        LAMPS, "(define (problem p) (:domain lamps) (:objects x - lamp) (:init) (:goal (lit x)))"
    )
    with pytest.raises(pds.Error) as caught:
        pds.plan(problem, **options)
    assert caught.value.diagnostics[0].code == code


def test_grounding_that_explodes_is_a_limit_with_a_reason():
    parameters = " ".join(f"?x{i}" for i in range(4))
    domain = f"""(define (domain wide) (:predicates (p {parameters}) (done))
      (:action act :parameters ({parameters}) :precondition (and) :effect (and (p {parameters}) (done))))"""
    objects = " ".join(f"o{i}" for i in range(30))
    problem = f"(define (problem q) (:domain wide) (:objects {objects}) (:init) (:goal (done)))"
    found = pds.plan(problem_of(domain, problem), time_limit=600, memory_limit=10)
    assert found.status == "out-of-memory"
    assert found.reasons[0].startswith("<domain>:2:")
    assert "`act`" in found.reasons[0]
    assert found.reasons[1].startswith("give `act` fewer parameters")


STILL = """
(define (domain still)
  (:types item - object kind - int64[choices=3])
  (:predicates (size [return_type=float32] ?o - item) (lit ?o - item))
  {more}
  (:action light :parameters (?o - item {parameter}) :precondition {condition} :effect (lit ?o)))
"""


@pytest.mark.parametrize(
    ("more", "parameter", "condition"),
    [
        ("(:derived (twice [return_type=float32] ?o - item) (* 2 (size ?o)))", "", "(> (twice ?o) 1)"),
        ("(:derived (above ?o - item ?x - float32) (> (size ?o) ?x))", "", "(above ?o 0.5)"),
        ("(:derived (odd ?x - float32) (> ?x 3))", "", "(and)"),
        ("", "?k - kind", "(> ?k 1)"),
        ("", "", "(= [1, 2] [1, 2])"),
    ],
)
def test_values_that_no_action_changes_are_planned_with(more, parameter, condition):
    problem = problem_of(
        STILL.format(more=more, parameter=parameter, condition=condition),
        "(define (problem p) (:domain still) (:objects a - item) (:init (= (size a) 1)) (:goal (lit a)))",
    )
    found = pds.plan(problem)
    assert found.solved
    assert validate(problem, found.plan).valid


WRITERS = """
(define (domain writers)
  (:types item)
  (:predicates (p ?x - item) (q ?x - item) (done))
  (:action both :parameters (?x ?y - item) :effect (and (assign (p ?x) (q ?x)) (assign (p ?y) (not (q ?x)))))
  (:action all :parameters () :effect (forall (?x - item) (assign (done) (q ?x))))
  (:action add :parameters (?x - item) :effect (q ?x)))
"""


@pytest.mark.parametrize(("search", "heuristic"), [("astar", "max"), ("lazy-gbfs", "ff")])
@pytest.mark.parametrize(
    ("goal", "cost"), [("(done)", 2), ("(and (p a) (not (p b)))", 1), ("(and (p a) (p b))", 2)]
)
def test_of_truth_values_that_are_assigned_in_one_step_true_wins(goal, cost, search, heuristic):
    problem = f"(define (problem x) (:domain writers) (:objects a b - item) (:init) (:goal {goal}))"
    found = pds.plan(problem_of(WRITERS, problem), search=search, heuristic=heuristic)
    assert found.solved
    assert search != "astar" or found.cost == cost
