"""The tensor program means what the reference semantics says, on random domains."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.strategies import Sample, classical, sketch
from tests.strategies.modules import modules_of
from tests.tensor.agreement import (
    assert_close,
    assert_same,
    model_of,
    reference,
    sharp_comparisons,
    steps_of,
    variant,
)

from pdsketch.lang import semantics
from pdsketch.lang.load import parse_goal
from pdsketch.lang.terms import Apply, Object, walk
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch

SAMPLES = st.one_of(sketch(), classical())
many = settings(
    max_examples=44,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.fixture(autouse=True, scope="module")
def sharp():
    with sharp_comparisons():
        yield


def formulas_of(sample: Sample):
    yield from (parse_goal(text, sample.problem) for text in sample.formulas)
    yield sample.problem.goal


@many
@given(SAMPLES)
def test_formulas_hold_where_the_reference_says(sample: Sample):
    model, state = model_of(sample), sample.problem.state
    for expr in formulas_of(sample):
        wanted = reference(lambda expr=expr: semantics.holds(sample.world, sample.problem.init, expr))
        if wanted is not None:
            assert model.holds(state, expr, crisp=True) == wanted
            assert bool(model.holds(state, expr) > 0.5) == wanted


@many
@given(SAMPLES)
def test_steps_lead_where_the_reference_says(sample: Sample):
    model, state = model_of(sample), sample.problem.state
    for step in steps_of(sample):
        wanted = reference(lambda step=step: semantics.apply(sample.world, sample.problem.init, step))
        if wanted is None:
            continue
        assert_same(model.step(state, step, crisp=True), wanted)
        assert_same(model.step(state, step), wanted)
        could = reference(lambda step=step: semantics.applicable(sample.world, sample.problem.init, step))
        if could is not None:
            assert model.applicable(state, step, crisp=True) == could
            assert bool(model.applicable(state, step) > 0.5) == could


@st.composite
def mixtures(draw):
    """A sample, and several states of its domain with different objects in different orders."""
    sample = draw(SAMPLES)
    names = list(sample.problem.universe)
    count = draw(st.integers(2, 4))
    keeps = st.lists(st.sampled_from(names), unique=True) if names else st.just([])
    return sample, [(draw(keeps), draw(st.permutations(names))) for _ in range(count)]


def closed(sample: Sample):
    """The formulas that name no object of the problem."""
    for expr in formulas_of(sample):
        named = {t.name for t in walk(expr) if isinstance(t, Object)}
        if named <= set(sample.domain.constants):
            yield expr


@many
@given(mixtures())
def test_a_batch_means_what_its_states_mean(mixture):
    sample, found = mixture[0], [variant(mixture[0], *choice) for choice in mixture[1]]
    model = model_of(sample)
    batch = StateBatch.of([state for state, _, _ in found])
    for expr in closed(sample):
        truths = model.holds(batch, expr, crisp=True)
        for truth, (_, world, facts) in zip(truths, found, strict=True):
            wanted = reference(lambda w=world, f=facts, e=expr: semantics.holds(w, f, e))
            assert wanted is None or truth == wanted
    for action in sample.domain.actions.values():
        steps = [first_step(world, sample, action) for _, world, _ in found]
        rows = [i for i, step in enumerate(steps) if step is not None]
        if not rows:
            continue
        some = StateBatch.of([found[i][0] for i in rows])
        for crisp in (True, False):
            after = model.step(some, [steps[i] for i in rows], crisp=crisp)
            for i, state in zip(rows, after, strict=True):
                _, world, facts = found[i]
                wanted = reference(lambda w=world, f=facts, s=steps[i]: semantics.apply(w, f, s))
                if wanted is not None:
                    assert_same(state, wanted)


@many
@given(mixtures(), st.sampled_from(["godel", "product", "lukasiewicz"]))
def test_soft_values_do_not_depend_on_the_batch_or_the_order_of_objects(mixture, tnorm):
    sample, found = mixture[0], [variant(mixture[0], *choice) for choice in mixture[1]]
    externals = {n: m for n, m in modules_of(sample).items() if n not in sample.domain.blanks}
    model = Model(sample.domain, externals, tnorm=tnorm, seed=1)
    states = [state for state, _, _ in found]
    batch = StateBatch.of(states)
    for alone, together in zip(states, model.encode(batch), strict=True):
        assert_close(model.encode(alone), together)
    for expr in closed(sample):
        alone = torch.stack([model.holds(state, expr) for state in states])
        assert torch.allclose(model.holds(batch, expr), alone, atol=1e-4)
    for action in sample.domain.actions.values():
        steps = [first_step(world, sample, action) for _, world, _ in found]
        rows = [i for i, step in enumerate(steps) if step is not None]
        if rows:
            some = StateBatch.of([states[i] for i in rows])
            after = model.step(some, [steps[i] for i in rows])
            for i, together in zip(rows, after, strict=True):
                assert_close(model.step(states[i], steps[i]), together)


@many
@given(mixtures(), st.sampled_from(["godel", "product", "lukasiewicz"]), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(mixture, tnorm, random):
    sample, (keep, order) = mixture[0], mixture[1][0]
    externals = {n: m for n, m in modules_of(sample).items() if n not in sample.domain.blanks}
    model = Model(sample.domain, externals, tnorm=tnorm, seed=2)
    other = list(order)
    random.shuffle(other)
    (one, world, _), (two, _, _) = (variant(sample, keep, o) for o in (order, other))
    for expr in closed(sample):
        assert torch.allclose(model.holds(one, expr), model.holds(two, expr), atol=1e-4)
    for action in sample.domain.actions.values():
        step = first_step(world, sample, action)
        if step is not None:
            a, b = model.step(one, step), model.step(two, step)
            for expr in closed(sample):
                if not reads_raw(sample, expr):
                    assert torch.allclose(model.holds(a, expr), model.holds(b, expr), atol=1e-4)


def reads_raw(sample: Sample, expr) -> bool:
    """Whether a formula reads what is absent after a step."""
    seen, stack = set(), [expr]
    while stack:
        for term in walk(stack.pop()):
            if isinstance(term, Apply) and term.predicate not in seen:
                seen.add(term.predicate)
                predicate = sample.domain.predicates[term.predicate]
                if predicate.role == "derived":
                    stack.append(predicate.body)
    return any(sample.domain.predicates[name].role == "raw" for name in seen)


def first_step(world: semantics.StaticContext, sample: Sample, action):
    args = []
    for p in action.parameters:
        if isinstance(p.type, ObjectType) or p.type.choices is not None:
            members = world.members(p.type)
        else:
            members = sample.candidates[p.type.alias]
        if not members:
            return None
        args.append(members[-1])
    return (action.name, *args)


@many
@given(SAMPLES)
def test_all_ground_instances_at_once_are_each_alone(sample: Sample):
    model, state = model_of(sample), sample.problem.state
    batch = model.encode(StateBatch.of([state, state]), crisp=True)
    run = model.engine.open(batch)
    for action in sample.domain.actions.values():
        if not all(isinstance(p.type, ObjectType) for p in action.parameters):
            continue
        grounding = model.engine.ground(batch, action.name)
        ground = run.ground(grounding.of(batch), grounding.count)
        could = model.engine.precondition(ground, action.name)
        after = model.engine.successors(ground, action.name)
        assert len(after) == 2 * grounding.count
        members = [state.members(p.type) for p in action.parameters if isinstance(p.type, ObjectType)]
        steps = [(action.name, *args) for args in product(*members)]
        assert len(steps) == grounding.count
        for i, step in enumerate(steps[:8]):
            wanted = reference(lambda s=step: semantics.apply(sample.world, sample.problem.init, s))
            if wanted is not None:
                assert_same(after[grounding.count + i], wanted)
            legal = reference(lambda s=step: semantics.applicable(sample.world, sample.problem.init, s))
            assert legal is None or bool(could[1, i]) == legal
