"""Derived predicates written out mean what they meant."""

import torch
from hypothesis import given, settings
from tests.strategies import sketch
from tests.tensor.agreement import model_of, steps_of

from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.semantics import World, holds
from pdsketch.lang.substitute import written_out
from pdsketch.lang.terms import Apply, walk
from pdsketch.tensor.arguments import bind
from pdsketch.tensor.effects import written


@given(sketch())
@settings(max_examples=60, deadline=None)
def test_a_formula_written_out_has_the_same_truth_and_no_derived_predicate_left(sample):
    model = model_of(sample)
    batch = model.encode(sample.problem.state, crisp=True).batch
    domain = sample.domain
    for text in sample.formulas:
        formula = model.formula(batch, text)
        plain = written_out(formula, domain)
        truths = [model.engine.truth(model.engine.open(batch, checked=False), f) for f in (formula, plain)]
        assert torch.equal(*truths)
        named = {n.predicate for n in walk(plain) if isinstance(n, Apply)} - domain.recursive
        assert not any(domain.predicates[name].role == "derived" for name in named)


@given(sketch())
@settings(max_examples=60, deadline=None)
def test_an_action_written_out_has_the_same_effects(sample):
    model = model_of(sample)
    batch = model.encode(sample.problem.state, crisp=True).batch
    for step in steps_of(sample, 6):
        action = sample.domain.actions[step[0]]
        run = model.engine.open(batch, checked=False).ground(bind(batch, action, [step]), 1)
        program, plain = model.engine.program(action.name), model.engine.plain_program(action.name)
        # What is written out may name fewer variables, and then has fewer axes.
        truths = torch.broadcast_tensors(program.precondition(run), plain.precondition(run))
        assert torch.equal(*truths)
        after, other = written(program, run), written(plain, run)
        for name, table in after.items():
            assert torch.allclose(table.double(), other[name].double(), equal_nan=True)


def test_an_argument_is_not_captured_by_a_quantifier_of_the_body():
    domain = parse_domain("""(define (domain d) (:types thing) (:predicates (p ?a ?b - thing))
      (:derived (linked ?x - thing) (exists (?y - thing) (p ?x ?y))))""")
    problem = parse_problem(
        """(define (problem q) (:domain d) (:objects a b - thing) (:init (p a b))
        (:goal (exists (?y - thing) (linked ?y))))""",
        domain,
    )
    world = World.of(problem)
    assert holds(world, problem.init, problem.goal)
    assert holds(world, problem.init, written_out(problem.goal, domain))
