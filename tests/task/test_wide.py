"""Rules with very many conditions: found like any others, in time that grows with their number."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests.budgets import out_of_time_at, work
from tests.strategies.classical import classical

from pdsketch.budget import OutOfTimeError
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.task import bodies
from pdsketch.task.grounding import Grounding, ground


def conjuncts(count, form="{}", given=True):
    """A problem with an action, an effect and an axiom whose condition is so many facts."""
    names = [f"o{i}" for i in range(count)]
    facts = " ".join(form.format(f"p{i}" if "?x" in form else f"p {name}") for i, name in enumerate(names))
    predicates = " ".join(f"(p{i} ?x)" for i in range(count)) if "?x" in form else "(p ?x)"
    domain = parse_domain(
        f"""(define (domain wide) (:requirements :adl :derived-predicates) (:constants {" ".join(names)})
          (:predicates {predicates} (start) (all ?x) (done ?x) (seen ?x))
          (:derived (all ?x) (and {facts}))
          (:action begin :parameters (?x) :precondition (start) :effect (and {facts}))
          (:action end :parameters (?x) :precondition (and {facts}) :effect (done ?x))
          (:action look :parameters (?x) :precondition (start) :effect (when (and {facts}) (seen ?x))))"""
    )
    goal = "(and (done o0) (all o1) (seen o1))" if given else "(done o0)"
    return parse_problem(f"(define (problem q) (:domain wide) (:init (start)) (:goal {goal}))", domain)


FORMS = pytest.mark.parametrize("form", ["({})", "({} ?x)"], ids=["objects", "variables"])


@FORMS
def test_every_condition_of_a_wide_rule_is_kept(form):
    count = 40
    task = ground(conjuncts(count, form))
    numbers = {name: i for i, name in enumerate(task.operators)}
    own = task.preconditions[numbers["end", "o0"]]
    assert len(own) == count
    assert {task.facts[literal >> 1][0] for literal in own.tolist()} == {
        fact[0] for fact in task.facts if fact[0].startswith("p")
    }
    assert {fact[0] for fact in task.facts if "part" in fact[0]} == set()


@FORMS
def test_the_program_of_the_joins_grows_with_the_conditions_and_not_with_their_square(form):
    sizes = [len(Grounding(conjuncts(n, form)).program.code) for n in (40, 80)]
    assert sizes[1] < 2.3 * sizes[0]


def test_the_work_of_compiling_rules_grows_with_the_conditions():
    few, many = (work(lambda n=n: ground(conjuncts(n, "({})"))) for n in (40, 80))
    assert many < 2.3 * few


def test_the_clock_is_looked_at_while_rules_are_compiled():
    # Before anything is joined: each of 60 actions has a join for each of its conditions.
    facts = " ".join(f"(p{i} ?x)" for i in range(bodies.WIDEST))
    actions = " ".join(
        f"(:action a{i} :parameters (?x) :precondition (and {facts}) :effect (done))" for i in range(60)
    )
    actions += f" (:action all :parameters (?x) :effect (and {facts}))"
    domain = parse_domain(f"(define (domain many) (:predicates {facts} (done)) {actions})")
    problem = parse_problem("(define (problem q) (:domain many) (:objects a) (:init) (:goal (done)))", domain)
    with out_of_time_at(1).running(), pytest.raises(OutOfTimeError) as stopped:
        ground(problem)
    assert any(entry.name == "compile_rules" for entry in stopped.traceback)


def shape(task):
    """What a task is, whatever the order of its parts."""

    def literals(rows):
        return tuple(sorted((task.facts[x >> 1], x & 1) for x in rows.tolist()))

    operators = []
    for i, name in enumerate(task.operators):
        effects = [(literals(task.conditions[e]), literals(task.heads[e])) for e in task.effects[i].tolist()]
        operators.append((name, literals(task.preconditions[i]), tuple(sorted(effects)), task.costs[i]))
    return sorted(operators), sorted(task.facts), literals(task.goal)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(classical())
def test_tasks_are_the_same_when_every_rule_is_matched_in_parts(sample):
    whole = ground(sample.problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "WIDEST", 1)
        patch.setattr(bodies, "PART", 2)
        parts = ground(sample.problem)
    assert shape(parts) == shape(whole)
