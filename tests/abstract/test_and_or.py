"""AO: codes, relations and the task that they make, beside the classical task and exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import pdsketch as pds
from pdsketch.abstract.abstraction import FactReader
from pdsketch.abstract.andor import functions
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.compile import abstraction_of, compile_and_or
from pdsketch.abstract.andor.domain import symbolic_domain
from pdsketch.abstract.andor.translate import Corrections
from pdsketch.budget import Budget
from pdsketch.core import States
from pdsketch.heuristics.evaluator import EngineEvaluator
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import search
from pdsketch.task.grounding import ground

PAPER = """
(define (domain sums)
  (:types thing)
  (:predicates
    (p [return_type=int64] ?o - thing)
    (q [return_type=int64] ?o - thing)
    (r [return_type=int64] ?o - thing))
  (:action set-p :parameters (?o - thing) :effect (p::assign ?o (+ (p ?o) 1)))
  (:action set-q :parameters (?o - thing) :effect (q::assign ?o (+ (q ?o) 1)))
  (:action set-r :parameters (?o - thing) :effect (r::assign ?o (+ (p ?o) (q ?o)))))
"""


def estimate(model, state, goal, heuristic):
    """The heuristic's value of a state."""
    result = pds.plan(model, state, goal, heuristic=heuristic, search="gbfs", max_expansions=0)
    return result.best_h


def sums():
    domain = pds.parse_domain(PAPER)
    state = pds.State(domain, objects={"thing": ["a", "b"]}, values={"p": [1, 1], "q": [1, 1], "r": [0, 0]})
    return pds.Model(domain), state, "(forall (?o - thing) (= (r ?o) 4))"


def test_the_papers_example_takes_six_and_opt_says_two():
    model, state, goal = sums()
    assert estimate(model, state, goal, "ao") == 6
    assert estimate(model, state, goal, "opt") == 2


def test_numbers_that_count_up_grow_codes_and_the_plan_is_found_in_the_abstraction():
    model, state, goal = sums()
    result = pds.plan(model, state, goal, search="abstract")
    assert result.solved
    assert (result.cost, result.refinements) == (6, 0)


SYMBOLIC = """
(define (domain rooms)
  (:requirements :adl)
  (:types room thing)
  (:predicates (at ?r - room) (door ?a - room ?b - room)
    (has ?t - thing) (in ?t - thing ?r - room) (lit ?r - room))
  (:derived (dark ?r - room) (not (lit ?r)))
  (:action go :parameters (?a - room ?b - room)
    :precondition (and (at ?a) (door ?a ?b)) :effect (and (not (at ?a)) (at ?b)))
  (:action take :parameters (?t - thing ?r - room)
    :precondition (and (at ?r) (in ?t ?r) (lit ?r)) :effect (and (has ?t) (not (in ?t ?r))))
  (:action switch :parameters (?r - room)
    :precondition (at ?r)
    :effect (and (when (dark ?r) (lit ?r)) (when (lit ?r) (not (lit ?r))))))
"""


def test_of_a_symbolic_sketch_it_is_the_classical_tasks_hff():
    domain = pds.parse_domain(SYMBOLIC)
    rooms = ["a", "b", "c", "d"]
    facts = {("at", "a"), ("door", "a", "b"), ("door", "b", "c"), ("door", "c", "d"), ("in", "key", "d")}
    init = " ".join(f"({' '.join(fact)})" for fact in sorted(facts))
    for goal in ("(has key)", "(and (has key) (lit a))", "(exists (?r - room) (and (lit ?r) (at ?r)))"):
        problem = pds.parse_problem(
            f"(define (problem p) (:domain rooms) (:objects {' '.join(rooms)} - room key - thing)"
            f" (:init {init}) (:goal {goal}))",
            domain,
        )
        task = ground(problem)
        for name in ("ff", "add", "max"):
            classical = EngineEvaluator(task, name).values(task.init[None])[0]
            ours = estimate(
                pds.Model(domain), problem.state, problem.goal, "ao" if name == "ff" else f"ao-{name}"
            )
            assert ours == classical


def counters(effects, k):
    """Two counters per object, ints of k choices, and some actions."""
    actions = "".join(
        f"(:action act{i} :parameters (?o - thing)"
        f" :precondition {condition} :effect ({target}::assign ?o {value}))"
        for i, (condition, target, value) in enumerate(effects)
    )
    return pds.parse_domain(f"""
        (define (domain counters)
          (:types thing - object n - int64[choices={k}])
          (:predicates (a [return_type=n] ?o - thing) (b [return_type=n] ?o - thing) (on ?o - thing)
            (next [return_type=n] ?x - n) (mix [return_type=n] ?x - n ?y - n) (good ?x - n ?y - n))
          (:derived (fine ?o - thing) (good (a ?o) (b ?o)))
          {actions}
          (:action flip :parameters (?o - thing) :effect (assign (on ?o) (not (fine ?o)))))
    """)


CONDITIONS = st.sampled_from(
    [
        *("(and)", "(fine ?o)", "(not (fine ?o))", "(on ?o)", "(= (a ?o) (b ?o))"),
        *("(exists (?x - thing) (on ?x))", "(implies (on ?o) (fine ?o))"),
    ]
)
VALUES = st.sampled_from(["(next (a ?o))", "(next (b ?o))", "(mix (a ?o) (b ?o))", "(a ?o)", "0", "1"])
EFFECTS = st.lists(st.tuples(CONDITIONS, st.sampled_from(["a", "b"]), VALUES), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(EFFECTS, st.integers(2, 4), st.integers(0, 10_000))
def test_an_exact_abstraction_has_the_models_optimal_costs_and_transitions(effects, k, seed):
    same_costs(effects, k, seed)


@settings(max_examples=8, deadline=None)
@given(EFFECTS, st.integers(2, 4), st.integers(0, 10_000))
def test_so_has_one_whose_functions_are_all_learned_from_samples(effects, k, seed):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(functions, "MOST_COMBINATIONS", 1)
        translator = same_costs(effects, k, seed)
    known = translator.functions.values()
    assert all(f.sampled is not None or f.table.results.size == 1 for f in known)
    assert any(f.sampled is not None for f in known)


def same_costs(effects, k, seed):
    rng = np.random.default_rng(seed)
    domain = counters(effects, k)
    successor_of = torch.tensor(rng.integers(0, k, k))
    mixed, good = torch.tensor(rng.integers(0, k, (k, k))), torch.tensor(rng.random((k, k)) < 0.4)
    model = pds.Model(
        domain,
        modules={
            "next": lambda x: successor_of[x],
            "mix": lambda x, y: mixed[x, y],
            "good": lambda x, y: good[x, y].float(),
        },
    )
    values = {"a": rng.integers(0, k, 2).tolist(), "b": rng.integers(0, k, 2).tolist(), "on": [False, True]}
    state = pds.State(domain, objects={"thing": ["x", "y"]}, values=values)
    goal = f"(and (fine x) (not (on y)) (= (a y) {int(rng.integers(0, k))}))"
    exhaustive = pds.plan(model, state, goal, heuristic="blind", time_limit=None)
    found = pds.plan(model, state, goal, search="abstract", time_limit=None)
    assert found.solved == exhaustive.solved
    assert found.refinements == 0
    universe = state.batch.universe(0)
    abstraction = compile_and_or(model, universe.types, universe.formula(goal), state.batch)
    if exhaustive.solved:
        assert found.cost >= exhaustive.cost
        reached = state
        for step in found.plan:
            assert bool(model.applicable(reached, step, crisp=True))
            reached = model.step(reached, step, crisp=True)
        assert bool(model.holds(reached, goal, crisp=True))
        best = search(abstraction.task, problem_options(search="astar", heuristic="blind"))
        assert best.cost == exhaustive.cost
    return abstraction_of(model).symbolic.translator


def test_facts_read_off_the_models_successor_are_those_of_the_abstractions():
    model, state, goal = sums()
    universe = state.batch.universe(0)
    formula = universe.formula(goal)
    abstraction = compile_and_or(model, universe.types, formula, state.batch)
    names = {name: i for i, name in enumerate(abstraction.task.operators)}
    operator = names["set-p", "@0"]
    after = model.step(state, ("set-p", "a"))
    reader = FactReader(model, [abstraction], [universe])
    told = reader.facts(after.batch, torch.tensor([0])).numpy()[0]
    states, n_basic = States(abstraction.task), abstraction.task.n_basic
    before = states.derived(abstraction.task.init)
    believed = states.successor(before, operator)
    assert np.array_equal(told[:n_basic], believed[:n_basic])
    assert not np.array_equal(believed, before)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_order_of_objects_changes_nothing(order):
    model, _, goal = sums()
    values = {"a": (1, 2, 0), "b": (3, 1, 4)}
    state = pds.State(
        model.domain,
        objects={"thing": list(order)},
        values={name: [values[o][i] for o in order] for i, name in enumerate("pqr")},
    )
    assert estimate(model, state, goal, "ao") == 2
    assert pds.plan(model, state, goal, search="abstract").cost == 2


def test_a_model_that_is_trained_on_gets_new_rules():
    domain = pds.parse_domain("""
        (define (domain d) (:types o) (:predicates (x [return_type=int64[choices=3]] ?o - o))
          (:derived (good ?o - o) (??f (x ?o)))
          (:action up :parameters (?o - o) :effect (x::assign ?o (??g (x ?o)))))
    """)
    model = pds.Model(domain, seed=0)
    before = abstraction_of(model)
    assert abstraction_of(model) is before
    with torch.no_grad():
        next(iter(model.parameters())).add_(1.0)
    assert abstraction_of(model) is not before


def test_what_is_kept_of_a_model_does_not_keep_the_limits_of_the_call_that_made_it():
    model, state, goal = sums()
    clock = [0.0]
    with Budget(1.0, clock=lambda: clock[0]).running():
        compile_and_or(model, state.batch.universe(0).types, model.formula(state.batch, goal), state.batch)
    clock[0] = 2.0
    assert pds.plan(model, state, goal, search="abstract").solved


def test_problems_of_different_sizes_are_estimated_together():
    model, small, goal = sums()
    large = pds.State(
        model.domain,
        objects={"thing": ["a", "b", "c"]},
        values={"p": [1, 1, 2], "q": [1, 1, 2], "r": [0, 0, 0]},
    )
    together = pds.plan_many(model, [large, small, large], goal, search="gbfs", heuristic="ao")
    assert [r.cost for r in together] == [7, 6, 7]


COARSE = """
(define (domain coarse)
  (:types thing - object x - float32[tolerance=0.4])
  (:predicates (at [return_type=x] ?o - thing) (low ?o - thing) (jumped [return_type=x] ?x - x))
  (:action lower :parameters (?o - thing)
    :effect (and (at::assign ?o (- (at ?o) 0.2)) (low ?o)))
  (:action lift :parameters (?o - thing) :effect (at::assign ?o (+ (at ?o) 0.3)))
  (:action jump :parameters (?o - thing) :effect (at::assign ?o (jumped (at ?o)))))
"""


def coarse(at, short):
    """A model that jumps far from above 0.25 alone, which codes of 0.4 do not tell apart."""
    domain = pds.parse_domain(COARSE)
    model = pds.Model(domain, modules={"jumped": lambda x: torch.where(x > 0.25, 5.0, short)})
    return model, pds.State(domain, objects={"thing": ["a"]}, values={"at": [at], "low": [False]})


def test_where_the_model_does_something_else_the_search_goes_on_from_there():
    model, state = coarse(0.3, short=1.0)
    result = pds.plan(model, state, "(and (low a) (= (at a) 5.0))", search="abstract")
    assert result.plan == [("lower", "a"), ("jump", "a"), ("jump", "a")]
    assert result.refinements == 1


def test_problems_planned_together_get_the_plans_that_each_gets_alone():
    model, state = coarse(0.3, short=1.0)
    states = [state, *(coarse(at, short=1.0)[1] for at in (0.0, 0.7, 1.4))]
    goals = ["(and (low a) (= (at a) 5.0))", "(low a)", "(= (at a) 5.0)", "(not (low a))"]
    pairs = [(one, goal) for one in states for goal in goals]
    options = {"search": "abstract", "max_expansions": 200}
    pds.plan_many(model, *map(list, zip(*pairs, strict=True)), **options)  # now all numbers have codes
    together = pds.plan_many(model, *map(list, zip(*pairs, strict=True)), **options)
    alone = [pds.plan(model, one, goal, **options) for one, goal in pairs]
    assert [(r.plan, r.expanded, r.refinements) for r in together] == [
        (r.plan, r.expanded, r.refinements) for r in alone
    ]


def test_where_the_abstraction_sees_no_plan_the_model_is_searched():
    model, state = coarse(0.0, short=0.0)
    goal = "(and (= (at a) 5.0) (not (low a)))"
    result = pds.plan(model, state, goal, search="abstract", max_depth=2)
    assert result.plan == [("lift", "a"), ("jump", "a")]
    assert result.refinements == 0
    assert [stage.name for stage in result.stages] == ["rules", "latent"]


def test_a_plan_through_costs_pays_what_the_model_says():
    domain = pds.parse_domain("""
        (define (domain paid) (:types o - object n - int64[choices=4])
          (:predicates (x [return_type=n] ?o - o)) (:functions (total-cost) - number)
          (:action slow :parameters (?o - o) :precondition (= (x ?o) 0)
            :effect (and (x::assign ?o 1) (increase (total-cost) 3)))
          (:action quick :parameters (?o - o) :precondition (= (x ?o) 0)
            :effect (and (x::assign ?o 2) (increase (total-cost) 1)))
          (:action done :parameters (?o - o) :precondition (not (= (x ?o) 0))
            :effect (and (x::assign ?o 3) (increase (total-cost) 1))))
    """)
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0]})
    result = pds.plan(pds.Model(domain), state, "(= (x a) 3)", search="abstract")
    assert (result.plan, result.cost) == ([("quick", "a"), ("done", "a")], 2)
    there = pds.State(domain, objects={"o": ["a"]}, values={"x": [3]})
    together = pds.plan_many(pds.Model(domain), [there, state], "(= (x a) 3)", search="abstract")
    assert [r.cost for r in together] == [0, 2]


LEVELS = """
(define (domain levels)
  (:types o - object)
  (:predicates (x [return_type=int64] ?o - o) (big ?o - o) (never ?x - int64))
  (:derived (odd-one ?o - o) (never (x ?o)))
  (:derived (safe ?o - o) (implies (big ?o) (> (x ?o) 1)))
  (:action more :parameters (?o - o) :effect (increase (x ?o) 1))
  (:action less :parameters (?o - o) :effect (decrease (x ?o) 2))
  (:action grow :parameters (?o - o) :effect (big ?o)))
"""


@pytest.mark.parametrize(
    ("goal", "plan"),
    [
        ("(= (x a) 3)", ["more", "more", "more"]),
        ("(= (x a) -1)", ["less", "more"]),
        ("(not (safe a))", ["grow"]),
        ("(odd-one a)", None),
    ],
)
def test_the_abstraction_counts_up_and_down_and_knows_what_never_holds(goal, plan):
    domain = pds.parse_domain(LEVELS)
    model = pds.Model(domain, modules={"never": lambda x: torch.zeros(x.shape[:-1])})
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0], "big": [False]})
    universe = state.batch.universe(0)
    abstraction = compile_and_or(model, universe.types, universe.formula(goal), state.batch)
    found = search(abstraction.task, problem_options(search="astar", heuristic="blind")).plan
    steps = None if found is None else sorted(abstraction.step_of(operator)[0] for operator in found)
    assert steps == (None if plan is None else sorted(plan))


def test_objects_of_any_type_are_not_codes():
    domain = pds.parse_domain("""
        (define (domain any) (:predicates (x [return_type=int64] ?o - object) (marked ?o - object))
          (:action mark :parameters (?o - object) :precondition (= (x ?o) 1) :effect (marked ?o))
          (:action more :parameters (?o - object) :effect (increase (x ?o) 1)))
    """)
    state = pds.State(domain, objects={"object": ["a", "b"]}, values={"x": [0, 1], "marked": [False, False]})
    universe = state.batch.universe(0)
    goal = "(forall (?o - object) (marked ?o))"
    abstraction = compile_and_or(pds.Model(domain), universe.types, universe.formula(goal), state.batch)
    assert {o for step in abstraction.steps for o in step[1:]} == {"a", "b"}
    assert search(abstraction.task, problem_options(search="astar", heuristic="blind")).cost == 3


@pytest.mark.parametrize(
    ("goal", "cost"),
    [
        ("(> (p a) (q b))", 2),
        ("(not (= (p a) (q a)))", 0),
        ("(= (p a) (q a))", 1),
        ("(not (> (q a) (p b)))", 0),
        ("(not (>= (q a) (p b)))", 1),
        ("(exists (?o - thing) (< (p ?o) (q ?o)))", 0),
        ("(forall (?o - thing) (not (< (p ?o) (q ?o))))", 1),
    ],
)
def test_goals_may_compare_what_no_action_compares(goal, cost):
    model, _, _ = sums()
    values = {"p": [1, 2], "q": [2, 2], "r": [0, 0]}
    state = pds.State(model.domain, objects={"thing": ["a", "b"]}, values=values)
    universe = state.batch.universe(0)
    abstraction = compile_and_or(model, universe.types, universe.formula(goal), state.batch)
    assert search(abstraction.task, problem_options(search="astar", heuristic="blind")).cost == cost
    assert pds.plan(model, state, goal, heuristic="blind").cost == cost


def test_a_rule_that_a_plan_refutes_is_corrected_and_the_correction_is_saved(tmp_path):
    model, state = coarse(0.3, short=1.0)
    goal = "(and (low a) (= (at a) 5.0))"
    first = pds.plan(model, state, goal, search="abstract")
    ((key, given, result),) = model.notes["corrections"]["entries"]
    assert key == "(jumped (at ?o)) -> x"
    assert (given, result) == ([[pytest.approx(0.3)]], [[1.0]])
    again = pds.plan(model, state, goal, search="abstract")
    assert (again.plan, first.refinements, again.refinements) == (first.plan, 1, 0)
    said = str(pds.rules(model, state))
    assert "x@1 when (at@0.3 ?o)" in said
    assert "; corrected in 1 case by what the model did in plans" in said
    model.save(tmp_path / "m")
    loaded = pds.load_model(tmp_path / "m", dict(model.blanks.given))
    assert pds.plan(loaded, state, goal, search="abstract").refinements == 0


def test_truths_that_a_plan_refutes_are_corrected():
    domain = pds.parse_domain("""
        (define (domain coarse) (:types thing - object x - float32[tolerance=0.4])
          (:predicates (at [return_type=x] ?o - thing) (done ?o - thing) (high ?x - x) (tried ?o - thing))
          (:action try :parameters (?o - thing)
            :effect (and (at::assign ?o (- (at ?o) 0.2)) (tried ?o)))
          (:action jump :parameters (?o - thing) :effect (at::assign ?o 2.0))
          (:action finish :parameters (?o - thing) :precondition (and (high (at ?o)) (tried ?o))
            :effect (done ?o)))
    """)
    model = pds.Model(domain, modules={"high": lambda x: (x > 0.2).float()})
    values = {"at": [0.3], "done": [False], "tried": [False]}
    state = pds.State(domain, objects={"thing": ["a"]}, values=values)
    result = pds.plan(model, state, "(done a)", search="abstract")
    assert result.plan == [("try", "a"), ("jump", "a"), ("finish", "a")]
    assert result.refinements == 1
    assert [key for key, _, _ in model.notes["corrections"]["entries"]] == ["(high (at ?o))"]


def test_corrections_of_other_weights_are_left_alone():
    domain = pds.parse_domain("""
        (define (domain d) (:types o - object n - int64[choices=3])
          (:predicates (x [return_type=n] ?o - o))
          (:derived (good ?o - o) (??f (x ?o)))
          (:action up :parameters (?o - o) :effect (x::assign ?o 1)))
    """)
    model = pds.Model(domain, seed=0)
    books = Codebooks(domain, model.notes)
    function = symbolic_domain(model, books).translator.functions[
        "good", domain.predicates["good"].body, None, 0
    ]
    before = pds.rules(model).functions[0].rules
    corrections = Corrections(model, books)
    for code in range(3):
        answer = function.function.answers(
            {function.function.axes[0].input.variable.name: torch.tensor([[code]])}, 1
        )
        assert corrections.add(function.function, np.array([code]), 1 - answer[0])
    assert pds.rules(model).functions[0].rules != before
    assert pds.rules(model).functions[0].corrected == 3
    with torch.no_grad():
        next(iter(model.parameters())).add_(1e-7)
    assert pds.rules(model).functions[0].rules == before


def test_results_that_contradict_each_other_correct_nothing():
    model, state = coarse(0.3, short=1.0)
    pds.plan(model, state, "(and (low a) (= (at a) 5.0))", search="abstract")
    books = Codebooks(model.domain, model.notes)
    books.observe("at", state.batch.tensors["at"])
    translator = symbolic_domain(model, books).translator
    (function,) = {f.function for f in translator.functions.values() if f.owner == "jump"}
    corrections = translator.corrections
    high = books.know_values(model.domain.predicates["at"].type, torch.tensor([5.0]))[0]
    assert corrections.count(function.key) == 1
    assert not corrections.add(function, np.array([0]), high)
    assert corrections.count(function.key) == 0
