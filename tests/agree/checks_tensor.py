"""The tensor program against the reference semantics: formulas and steps, crisp and soft."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from tests.agree.case import Case, DifferError, said
from tests.agree.graph import Facts
from tests.tensor.agreement import model_of, sharp_comparisons, variant

from pdsketch.lang import semantics
from pdsketch.lang.domain import Predicate
from pdsketch.lang.evaluation import EvaluationContext, StaticContext
from pdsketch.lang.rewrite import unfold_all
from pdsketch.lang.terms import Expr, Object, walk
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch

LOGICS = ("crisp", "godel", "product", "lukasiewicz")
STATES = 10
"""How many states of a problem are asked."""
SOFT_DEPTH = 4
"""Soft comparisons are asked of states so many steps away: numbers that were halved often lie too close."""


def check_formula(case: Case) -> None:
    """Formulas and derived predicates have the same truth in every state, one by one and in batches."""
    graph, model = case.graph, model_of(case.sample)
    moments = case.moments[:STATES]
    batch = StateBatch.of([case.state(facts) for facts in graph.states[: len(moments)]])
    shallow = [depth <= SOFT_DEPTH for depth in graph.depths]
    with sharp_comparisons(), torch.inference_mode():
        for text, expr in case.formulas:
            wanted = [said(lambda m=m, e=expr: bool(m.value(e, {}))) for m in moments]
            for logic in _some_logics(case, text):
                truth = _truth(model, batch, expr, logic)
                asked = [
                    w if logic == "crisp" or ok else None for w, ok in zip(wanted, shallow, strict=False)
                ]
                _same_truth(case, logic, f"{text} in state", asked, truth)
            if text == "the goal":
                out = unfold_all(expr, case.sample.domain)
                truth = _truth(model, batch, out, "crisp")
                _same_truth(case, "written out", f"{text} in state", wanted, truth)
        _initial(case, model)
        _tables(case, model, batch)
        _mixture(case, model)


def _some_logics(case: Case, text: str) -> tuple[str, ...]:
    """All logics for the goal, for the other formulas two."""
    return LOGICS if text == "the goal" else ("crisp", case.chance.choice(LOGICS[1:]))


def _truth(model: Model, batch: Any, expr: Expr, logic: str) -> list[float]:
    tnorm: Any = None if logic == "crisp" else logic
    return model.holds(batch, expr, crisp=logic == "crisp", tnorm=tnorm).tolist()


def _same_truth(
    case: Case, engine: str, what: str, wanted: Sequence[bool | None], found: Sequence[float]
) -> None:
    for i, (truth, value) in enumerate(zip(wanted, found, strict=True)):
        exact = engine == "crisp" or not case.has_values
        if truth is not None and (value != truth if exact else (value > 0.5) != truth):
            raise DifferError(engine, f"{what} {i}", truth, value)


def _initial(case: Case, model: Model) -> None:
    """The initial state by itself, as it is observed: not yet encoded."""
    state, moment = case.sample.problem.state, EvaluationContext(case.sample.world, case.sample.problem.init)
    for text, expr in case.formulas[:2]:
        wanted = said(lambda e=expr: bool(moment.value(e, {})))
        for logic in _some_logics(case, text):
            found = model.holds(
                state, expr, crisp=logic == "crisp", tnorm=None if logic == "crisp" else logic
            )
            _same_truth(case, logic, f"{text} in the initial state", [wanted], [found.item()])


def _tables(case: Case, model: Model, batch: StateBatch) -> None:
    """Derived predicates, for all objects at once."""
    run = model.engine.open(batch)
    for predicate in case.sample.domain.predicates.values():
        objects = all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        if predicate.role == "derived" and objects:
            table = model.engine.predicate(run, predicate.name).double().numpy()
            facts = _facts(case.sample.world, predicate)
            for i, moment in enumerate(case.moments[: len(table)]):
                own = table[i].reshape(len(facts), -1) if facts else []
                for fact, value in zip(facts, own, strict=True):
                    wanted = said(lambda m=moment, f=fact: m.atom(f))
                    if wanted is not None and not np.allclose(value, np.ravel(wanted), atol=1e-4):
                        raise DifferError("derived table", f"{fact} in state {i}", wanted, value)


def _facts(world: StaticContext, predicate: Predicate) -> list[tuple[Any, ...]]:
    members = [world.members(p.type) for p in predicate.parameters]
    return [(predicate.name, *args) for args in product(*members)]


def _mixture(case: Case, model: Model) -> None:
    """A batch of states with different objects in different orders."""
    names = list(case.sample.problem.universe)
    chosen = []
    for _ in range(3):
        order = case.chance.sample(names, len(names))
        chosen.append(variant(case.sample, [n for n in names if case.chance.random() < 0.7], order))
    batch = StateBatch.of([state for state, _, _ in chosen])
    constants = set(case.sample.domain.constants)
    for text, expr in case.formulas:
        if {t.name for t in walk(expr) if isinstance(t, Object)} <= constants:
            wanted = [said(lambda w=w, f=f, e=expr: semantics.holds(w, f, e)) for _, w, f in chosen]
            for logic in ("crisp", case.chance.choice(LOGICS[1:])):
                truth = _truth(model, batch, expr, logic)
                _same_truth(case, logic, f"{text} in variant", wanted, truth)


MOST_STEPS = 24
"""How many ground actions are applied in each state."""


def check_step(case: Case) -> None:
    """Ground actions can be applied in the same states and lead to the same ones, alone and together."""
    graph, model = case.graph, model_of(case.sample)
    picked = case.chance.sample(range(graph.expanded), min(2, graph.expanded))
    moments = [case.moments[i] for i in picked]
    with sharp_comparisons(), torch.inference_mode():
        batch = model.encode(StateBatch.of([case.state(graph.states[i]) for i in picked]), crisp=True)
        for name, action in case.sample.domain.actions.items():
            steps = [step for step in case.sample.steps if step[0] == name]
            if steps and all(isinstance(p.type, ObjectType) for p in action.parameters):
                _all_at_once(case, model, batch, moments, steps)
        _one_by_one(case, model, picked)


def _all_at_once(
    case: Case, model: Model, batch: StateBatch, moments: list[EvaluationContext], steps: list[semantics.Step]
) -> None:
    """Every ground instance of one action in several states, as the latent search asks for it."""
    engine, name = model.engine, steps[0][0]
    grounding = engine.ground(batch, name)
    run = engine.open(batch).ground(grounding.of(batch), grounding.count)
    could = engine.precondition(run, name)
    after = engine.successors(run, name)
    if grounding.count != len(steps):
        raise DifferError("all at once", f"the instances of {name}", len(steps), grounding.count)
    places, wanted = [], []
    for k, moment in enumerate(moments):
        for i in case.chance.sample(range(len(steps)), min(len(steps), MOST_STEPS // len(moments))):
            bindings = semantics.bind(case.sample.world, steps[i])
            legal = said(
                lambda m=moment, b=bindings: bool(m.value(case.sample.domain.actions[name].precondition, b))
            )
            if legal is not None and bool(could[k, i]) != legal:
                raise DifferError("all at once", f"whether {steps[i]} is applicable", legal, not legal)
            facts = said(lambda m=moment, s=steps[i]: semantics.apply_at(m, s))
            if facts is not None:
                places.append(k * len(steps) + i)
                wanted.append((steps[i], facts))
    if places:
        _same_states(case, "all at once", wanted, after.select(torch.tensor(places)))


def _one_by_one(case: Case, model: Model, picked: list[int]) -> None:
    """A batch of states with a step for each, crisp and under a t-norm."""
    graph = case.graph
    asked = []
    for i in picked:
        for step in case.chance.sample(case.sample.steps, min(4, len(case.sample.steps))):
            facts = said(lambda i=i, s=step: semantics.apply_at(case.moments[i], s))
            if facts is not None:
                asked.append((i, step, facts))
    if not asked:
        return
    soft = case.chance.choice(LOGICS[1:])
    for logic in ("crisp", soft):
        now = [a for a in asked if logic == "crisp" or graph.depths[a[0]] <= SOFT_DEPTH]
        if not now:
            continue
        states = StateBatch.of([case.state(graph.states[i]) for i, _, _ in now])
        tnorm: Any = None if logic == "crisp" else logic
        steps = [step for _, step, _ in now]
        after = model.step(states, steps, crisp=logic == "crisp", tnorm=tnorm)
        _same_states(case, logic, [(step, facts) for _, step, facts in now], after.crisp())
        could = model.applicable(states, steps, crisp=logic == "crisp", tnorm=tnorm).tolist()
        for (i, step, _), truth in zip(now, could, strict=True):
            legal = said(
                lambda i=i, s=step: case.moments[i].value(
                    case.sample.domain.actions[s[0]].precondition, semantics.bind(case.sample.world, s)
                )
            )
            if legal is not None and (truth > 0.5) != bool(legal):
                raise DifferError(logic, f"whether {step} is applicable", bool(legal), truth)


def _same_states(
    case: Case, engine: str, wanted: list[tuple[semantics.Step, Facts]], batch: StateBatch
) -> None:
    """Every value of every state is the one in the facts."""
    for predicate in case.sample.domain.state_predicates:
        names = _facts(case.sample.world, predicate)
        if not names:
            continue
        expected = np.array([[facts.get(fact, False) for fact in names] for _, facts in wanted], np.float64)
        found = batch.tensor(predicate.name).double().numpy().reshape(expected.shape)
        wrong = ~np.isclose(found, expected, rtol=1e-6, atol=1e-4)
        if wrong.any():
            row, place = (int(i[0]) for i in np.nonzero(wrong)[:2])
            raise DifferError(
                engine,
                f"{names[place]} after {wanted[row][0]}",
                expected[row, place].tolist(),
                found[row, place].tolist(),
            )
