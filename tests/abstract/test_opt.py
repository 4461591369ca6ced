"""OPT: what it says on small sketches, and that its infinity is a proof."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from tests.strategies import classical, reachable, sketch

from pdsketch.abstract.optimistic.compile import compile_optimistic
from pdsketch.heuristics.evaluator import KernelEvaluator
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.rewrite import lift_objects, substitute
from pdsketch.lang.semantics import EvaluationContext, StaticContext, apply, encode
from pdsketch.lang.terms import Object
from pdsketch.task.grounding import ground

SETTINGS = settings(
    max_examples=28, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def values(problem, states, functions=None, heuristic="ff"):
    """OPT of states of a problem; the truth of facts comes from the reference semantics."""
    opt = compile_optimistic(problem.domain, problem.universe, problem.goal)
    world = StaticContext.of(problem, functions)
    rows = np.zeros((len(states), opt.task.n_basic), np.bool_)
    for row, state in zip(rows, states, strict=True):
        moment = EvaluationContext(world, state)
        row[: len(opt.expressions)] = [moment.value(e, {}) for e in opt.expressions]
    return KernelEvaluator(opt.task, heuristic).values(rows).tolist()


def opt_of(domain, problem, functions=None, heuristic="ff"):
    """OPT of the initial state."""
    loaded = parse_problem(f"(define (problem p) (:domain d) {problem})", parse_domain(domain))
    world = StaticContext.of(loaded, functions)
    return values(loaded, [encode(world, loaded.init)], functions, heuristic)[0]


SUMS = """(define (domain d) (:types item) (:predicates
    (p [return_type=int64] ?o - item) (q [return_type=int64] ?o - item) (r [return_type=int64] ?o - item))
  (:action set-p :parameters (?o - item) :effect (assign (p ?o) (+ (p ?o) 1)))
  (:action set-q :parameters (?o - item) :effect (assign (q ?o) (+ (q ?o) 1)))
  (:action set-r :parameters (?o - item) :effect (assign (r ?o) (+ (p ?o) (q ?o)))))"""
SUMS_PROBLEM = """(:objects a b - item)
  (:init (= (p a) 1) (= (q a) 1) (= (r a) 0) (= (p b) 1) (= (q b) 1) (= (r b) 0))
  (:goal (forall (?o - item) (= (r ?o) 4)))"""


def test_the_papers_example_is_two():
    assert opt_of(SUMS, SUMS_PROBLEM) == 2


def test_the_papers_example_over_codes_is_six():
    codes = range(5)
    facts = " ".join(f"({v}{code} ?o - item)" for v in "pqr" for code in codes)

    def shift(variable):
        moves = " ".join(f"(when ({variable}{c} ?o) ({variable}{c + 1} ?o))" for c in codes if c < 4)
        return f"(:action set-{variable} :parameters (?o - item) :effect (and {moves}))"

    sums = " ".join(
        f"(when (and (p{i} ?o) (q{j} ?o)) (r{i + j} ?o))" for i in codes for j in codes if i + j < 5
    )
    domain = f"""(define (domain d) (:requirements :adl) (:types item) (:predicates {facts})
        {shift("p")} {shift("q")} (:action set-r :parameters (?o - item) :effect (and {sums})))"""
    problem = parse_problem(
        """(define (problem p) (:domain d) (:objects a b - item)
        (:init (p1 a) (q1 a) (r0 a) (p1 b) (q1 b) (r0 b)) (:goal (forall (?o - item) (r4 ?o))))""",
        parse_domain(domain),
    )
    task = ground(problem)
    assert KernelEvaluator(task, "ff", per_effect=True).values(task.init[None]).tolist() == [6]


def test_one_writer_is_enough_for_a_goal_over_one_object():
    goal = SUMS_PROBLEM.replace("(forall (?o - item) (= (r ?o) 4))", "(and (= (r a) 4) (> (r a) 7))")
    assert opt_of(SUMS, goal) == 1


def test_goals_that_hold_cost_nothing():
    goal = SUMS_PROBLEM.replace("(= (r ?o) 4)", "(= (r ?o) 0)")
    assert opt_of(SUMS, goal) == 0


GATED = """(define (domain d) (:types item - object pose - vector[float32, 2]) (:constants a b - item)
  (:predicates (lit) (armed) (at [return_type=pose] ?o - item) (seen ?o - item) (near ?a ?b - pose))
  (:derived (good ?o - item) (??f (at ?o) (lit)))
  (:derived (all-good) (??g (foreach (?o - item) (when (seen ?o) (at ?o)))))
  {actions})"""
NEVER = {
    "derived::good::f": lambda at, lit: False,
    "derived::all-good::g": lambda at: False,
    "near": lambda a, b: abs(a[0] - b[0]) < 1,
}


@pytest.mark.parametrize(
    ("actions", "goal", "expected"),
    [
        ("(:action go :parameters () :effect (lit))", "(good a)", 1),
        ("(:action go :parameters () :effect (not (lit)))", "(good a)", math.inf),
        ("(:action go :parameters () :effect (assign (lit) (armed)))", "(good a)", math.inf),
        ("(:action go :parameters () :effect (assign (lit) (not (armed))))", "(good a)", 1),
        ("(:action go :parameters () :effect (at::assign b (??h)))", "(good a)", math.inf),
        ("(:action go :parameters () :effect (at::assign b (??h)))", "(all-good)", 1),
        ("(:action go :parameters () :effect (seen b))", "(all-good)", 1),
        ("(:action go :parameters () :effect (seen a))", "(all-good)", math.inf),
        ("(:action go :parameters () :effect (seen a))", "(not (all-good))", 0),
        ("(:action go :parameters (?o - item) :effect (not (seen ?o)))", "(all-good)", 1),
        ("(:action go :parameters (?p - pose) :effect (at::assign a ?p))", "(near (at a) (at b))", 1),
        (
            "(:action go :parameters (?p - pose) :precondition (near ?p [9, 9]) :effect (lit))",
            "(lit)",
            1,
        ),
        ("(:action go :parameters (?o - item) :precondition (good ?o) :effect (lit))", "(lit)", math.inf),
        (
            """(:action go :parameters () :effect (armed))
            (:action shine :parameters () :effect (when (armed) (lit)))""",
            "(good a)",
            2,
        ),
        ("", "(and (lit) (seen a))", math.inf),
        ("", "(and (not (lit)) (exists (?o - item) (seen ?o)))", 0),
        ("", "(= a b)", math.inf),
        ("", "(imply (seen b) (lit))", 0),
        ("(:action go :parameters () :effect (assign (seen a) (lit)))", "(not (seen a))", 1),
        ("", "(= (lit) (armed))", 0),
        ("", "(= (lit) (seen a))", math.inf),
        ("", "(not (= (lit) (armed)))", math.inf),
        ("(:action go :parameters () :effect (lit))", "(= (lit) (seen a))", 1),
        ("(:action go :parameters () :precondition (= a b) :effect (lit))", "(lit)", math.inf),
    ],
)
def test_what_may_hold(actions, goal, expected):
    problem = f"(:init (= (at a) [0, 0]) (= (at b) [5, 5]) (seen a)) (:goal {goal})"
    assert opt_of(GATED.format(actions=actions), problem, NEVER) == expected


GRAPH = """(define (domain d) (:types node) (:predicates (edge ?a ?b - node) (lamp) (other))
  (:derived (path ?a ?b - node)
    (or (edge ?a ?b) (exists (?c - node) (and (edge ?a ?c) (path ?c ?b)))))
  (:derived (apart) (exists (?a ?b - node) (not (path ?a ?b))))
  (:action toggle :parameters () :effect (assign (other) (not (other))))
  {actions})"""
LINK = "(:action link :parameters (?a ?b - node) :effect (edge ?a ?b))"
CUT = "(:action cut :parameters (?a ?b - node) :precondition (lamp) :effect (not (edge ?a ?b)))"


@pytest.mark.parametrize(
    ("actions", "init", "goal", "expected"),
    [
        ("", "(edge a b) (edge b c)", "(path a c)", 0),
        (LINK, "(edge b c)", "(path a c)", 1),
        (LINK, "", "(and (path a b) (path b c) (path c a))", 3),
        ("", "(edge a b)", "(not (path a b))", math.inf),
        (LINK, "(edge a b)", "(not (path a b))", 1),  # it reads other edges, and those may change
        (CUT, "(edge a b) (lamp)", "(not (path a b))", 1),
        (CUT, "(edge a b)", "(not (path a b))", math.inf),
        (CUT, "(edge a b)", "(not (path b a))", 0),
        (CUT, "(edge a b) (edge b a) (lamp)", "(apart)", 0),
    ],
)
def test_recursive_predicates(actions, init, goal, expected):
    problem = f"(:objects a b c - node) (:init {init}) (:goal {goal})"
    assert opt_of(GRAPH.format(actions=actions), problem) == expected


def replayed(sample, plan):
    states = [encode(sample.world, sample.problem.init)]
    for step in plan:
        states.append(apply(sample.world, states[-1], step))
    return states


@SETTINGS
@given(sketch())
def test_no_state_of_a_plan_is_infinitely_far_and_hmax_is_admissible(sample):
    found = reachable(sample, 150)
    assume(found.plan is not None)
    states = replayed(sample, found.plan)
    for heuristic in ("ff", "max"):
        estimates = values(sample.problem, states, sample.functions, heuristic)
        assert estimates[-1] == 0
        assert all(math.isfinite(value) for value in estimates)
        if heuristic == "max":
            left = range(len(found.plan), -1, -1)
            assert all(value <= true for value, true in zip(estimates, left, strict=True))


@SETTINGS
@given(classical(costs=False))
def test_infinity_is_a_proof_on_classical_tasks_too(sample):
    found = reachable(sample, 150)
    assume(found.plan is not None)
    estimates = values(sample.problem, replayed(sample, found.plan), heuristic="max")
    left = range(len(found.plan), -1, -1)
    assert all(value <= true for value, true in zip(estimates, left, strict=True))


@SETTINGS
@given(sketch())
def test_forms_stand_for_all_expressions(sample):
    opt = compile_optimistic(sample.domain, sample.problem.universe, sample.problem.goal)
    universe = sample.problem.universe
    rebuilt = {}
    for form in lift_objects(opt.expressions, sample.domain):
        for row, place in zip(form.rows, form.places, strict=True):
            names = [variable.name for variable in form.variables]
            objects = [Object(name, universe[name]) for name in row]
            rebuilt[place] = substitute(form.expr, dict(zip(names, objects, strict=True)))
    assert [rebuilt[i] for i in range(len(opt.expressions))] == list(opt.expressions)
