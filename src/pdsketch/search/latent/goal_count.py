"""Goal counting: how many literals of the goal are false, for the objects that come nearest to it.

The oldest of heuristics (differences of GPS: Newell and Simon, 1961). It knows nothing of actions and reads
the state alone: where a parameter may take any value, so that a relaxation sees every relation one step
away, it still tells a tower of two from one of three. With reasonable orders (Koehler and Hoffmann, 2000), a
literal also counts that holds too early: what makes another one true will undo it. A literal j has to wait
for a literal i where i can only be made true by actions that overwrite what j reads: a block that is put into
a bowl of paint is no longer where it was. Nothing but the sketch is looked at for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.core import Bools, Floats
from pdsketch.lang import (
    TRUE,
    Apply,
    Domain,
    Each,
    Expr,
    Logic,
    Object,
    ObjectType,
    Quantified,
    Variable,
    free_variables,
    substitute,
    unfold_all,
    walk,
)
from pdsketch.search.latent.candidates import can_sample, name_of, pairs_in
from pdsketch.search.latent.heuristics import FAR, NeverInfinite, Searched
from pdsketch.search.latent.margin import SOFT, Margin
from pdsketch.tensor import CRISP, Model, Run, StateBatch

# A goal as what counts of it: literals, joined and quantified.


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or its negation, among the variables that are bound around it."""

    atom: Expr
    around: tuple[Variable, ...]
    wanted: bool


Orders = Callable[[Sequence[tuple[Expr, bool]]], frozenset[tuple[int, int]]]
"""Of literals that are wanted together: the pairs (i, j) where j has to wait for i."""


@final
@dataclass(frozen=True, slots=True)
class JoinedParts:
    """Parts that are all wanted, or one of which is; ``orders``: part j has to wait for part i."""

    all_: bool
    parts: tuple[Part, ...]
    orders: frozenset[tuple[int, int]] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Over:
    """A part for all objects of some types, or for one."""

    all_: bool
    types: tuple[ObjectType, ...]
    body: Part


Part = Literal | JoinedParts | Over


def part_of(goal: Expr, orders: Orders | None = None) -> Part:
    """A goal with negations at its atoms; ``orders`` says which literals wait for others."""

    def visit(expr: Expr, bound: tuple[Variable, ...], wanted: bool) -> Part:
        match expr:
            case Logic(op="not", args=(negated,)):
                return visit(negated, bound, not wanted)
            case Logic(op="implies", args=(given, then)):
                parts = ((given, not wanted), (then, wanted))
                return join(parts, bound, all_=not wanted)
            case Logic(op=op, args=args) if args:
                return join([(part, wanted) for part in args], bound, all_=(op == "and") == wanted)
            case Quantified(op=op, variables=own, body=body) if types := _objects(own):
                return Over((op == "forall") == wanted, types, visit(body, (*bound, *own), wanted))
            case _:
                return Literal(expr, bound, wanted)

    def join(parts: Sequence[tuple[Expr, bool]], bound: tuple[Variable, ...], *, all_: bool) -> Part:
        flat = _together(_flattened(parts), len(bound)) if all_ else list(parts)
        waiting = frozenset[tuple[int, int]]() if orders is None or not all_ else orders(flat)
        return JoinedParts(all_, tuple(visit(part, bound, wanted) for part, wanted in flat), waiting)

    return visit(goal, (), True)


def _objects(variables: Sequence[Variable]) -> tuple[ObjectType, ...]:
    """The types of variables over objects; none where some are over values: these are not counted."""
    types = tuple(v.type for v in variables if isinstance(v.type, ObjectType))
    return types if len(types) == len(variables) else ()


def _flattened(parts: Sequence[tuple[Expr, bool]]) -> list[tuple[Expr, bool]]:
    """The parts of a conjunction, with those of conjunctions in it."""
    found: list[tuple[Expr, bool]] = []
    for part, wanted in parts:
        match part:
            case Logic(op="not", args=(negated,)):
                found += _flattened([(negated, not wanted)])
            case Logic(op="and" | "or" as op, args=args) if args and (op == "and") == wanted:
                found += _flattened([(inner, wanted) for inner in args])
            case _:
                found.append((part, wanted))
    return found


def _together(parts: Sequence[tuple[Expr, bool]], depth: int) -> list[tuple[Expr, bool]]:
    """The parts of a conjunction, those about all objects of one type as one: orders are of each object."""
    found: list[tuple[Expr, bool]] = []
    groups: dict[ObjectType, list[Expr]] = {}
    for part, wanted in parts:
        if not isinstance(part, Quantified) or (part.op == "forall") != wanted:
            found.append((part, wanted))
            continue
        types = _objects(part.variables)
        if not types:
            found.append((part, wanted))
            continue
        first, *rest = part.variables
        body = replace(part, variables=tuple(rest)) if rest else part.body
        body = substitute(body, {first.name: Variable(f"?{depth}@all", types[0])})
        groups.setdefault(types[0], []).append(body if wanted else Logic("not", (body,)))
    for type_, bodies in groups.items():
        body = bodies[0] if len(bodies) == 1 else Logic("and", tuple(bodies))
        found.append((Quantified("forall", (Variable(f"?{depth}@all", type_),), body), True))
    return found


@final
@dataclass(frozen=True, slots=True)
class _Reads:
    """The state variables that a literal reads, and the one that is changed for it, if it is only one."""

    all: frozenset[Apply]
    changed: Apply | None
    wanted: bool


def reasonable_orders(model: Model) -> Orders:
    """The orders of literals that are wanted together."""
    return partial(_orders, model)


def _orders(model: Model, literals: Sequence[tuple[Expr, bool]]) -> frozenset[tuple[int, int]]:
    reads = [_reads(model, atom, wanted) for atom, wanted in literals]
    found = {
        (i, j)
        for i, one in enumerate(reads)
        if one.changed is not None
        for written in [_overwritten(model.domain, one.changed, one.wanted)]
        for j, other in enumerate(reads)
        if i != j and _spoils(written, one.changed, other)
    }
    for middle in range(len(reads)):  # transitive closure (Warshall, 1962)
        before = [i for i, j in found if j == middle]
        after = [j for i, j in found if i == middle]
        found |= {(i, j) for i in before for j in after if i != j}
    return frozenset(found)


def _reads(model: Model, atom: Expr, wanted: bool) -> _Reads:
    """What a part reads; nothing is known to change it where it is no atom over single objects."""
    plain = unfold_all(atom, model.domain)
    found = _variables(model.domain, plain)
    if any(isinstance(node, Logic | Quantified | Each) for node in walk(plain)):
        return _Reads(found, None, wanted)
    changeable = found
    for call in pairs_in(model, [plain]):
        module = model.blanks.calls.get(name_of(call))
        if call == plain and can_sample(module):  # plans move what values are proposed for
            proposed = [call.args[i] for i in getattr(module, "arguments", (0,))]
            changeable = frozenset().union(*(_variables(model.domain, part) for part in proposed))
    written = [v for v in changeable if v.predicate in model.domain.analysis.written]
    return _Reads(found, written[0] if len(written) == 1 else None, wanted)


def _variables(domain: Domain, expr: Expr) -> frozenset[Apply]:
    nodes = (node for node in walk(expr) if isinstance(node, Apply))
    return frozenset(node for node in nodes if domain.predicates[node.predicate].is_state)


def _overwritten(domain: Domain, variable: Apply, wanted: bool) -> frozenset[Apply]:
    """What every action that writes a variable overwrites, the variable itself included."""
    useless = "delete" if wanted else "add"
    found: frozenset[Apply] | None = None
    for action in domain.actions.values():
        for update in action.effects:
            if update.target.predicate != variable.predicate or update.op == useless:
                continue
            if update.variables:
                return frozenset({variable})
            given = zip(update.target.args, variable.args, strict=True)
            by = {p.name: argument for p, argument in given if isinstance(p, Variable)}
            own = {
                substitute(other.target, by)
                for other in action.effects
                if other.condition == TRUE and not other.variables
                if by.keys() >= set(free_variables(other.target))
            }
            together = frozenset(t for t in own if isinstance(t, Apply)) | {variable}
            found = together if found is None else found & together
    return found or frozenset()


def _spoils(written: frozenset[Apply], changed: Apply, other: _Reads) -> bool:
    """Whether a literal does not outlast what is written; one about the changed variable alone may."""
    hit = written & other.all
    return bool(hit - {changed}) or (changed in hit and len(other.all) > 1)


# What counts.


@final
class GoalCount(NeverInfinite):
    """The least number of literals to be made true; by a margin where the goal must hold by one."""

    def __init__(self, searched: Searched, *, ordered: bool = False) -> None:
        self._model, self._margin = searched.model, searched.margin
        orders = reasonable_orders(searched.model) if ordered else None
        owners: dict[Expr, list[int]] = {}
        for problem, goal in enumerate(searched.goals):
            owners.setdefault(goal, []).append(problem)
        self._goals = [(goal, part_of(goal, orders), own) for goal, own in owners.items()]
        self.reads = frozenset[str]().union(*map(searched.model.domain.analysis.reads, owners))

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state."""
        found, owners = np.zeros(len(goals)), problems.cpu().numpy()
        narrow = batch.with_tensors({n: t for n, t in batch.tensors.items() if n in self.reads})
        shared = self._model.engine.open(narrow)
        for goal, part, own in self._goals:
            rows = np.flatnonzero(np.isin(owners, own))
            if not len(rows):
                continue
            places = None if len(rows) == batch.size else torch.from_numpy(rows).to(batch.device)
            run = shared  # atoms of several goals are evaluated once
            if places is not None and any(isinstance(node, Object) for node in walk(goal)):
                run, places = self._model.engine.open(narrow.select(places)), None  # others may lack these
            found[rows] = _Count(self._model, self._margin, run, places).of(part).double().cpu().numpy()
        return np.where(goals, 0.0, np.maximum(found, 1.0))


@final
class _Count:
    """What counts in the states of a ``run``, or in some of them (``places``)."""

    def __init__(self, model: Model, margin: Margin, run: Run, places: Tensor | None) -> None:
        self._model, self._margin, self._run, self._places = model, margin, run, places
        self._batch = run.batch if places is None else run.batch.select(places)

    def of(self, part: Part) -> Tensor:
        """What counts of a part: ``[state, *variables]``, those that are bound around it."""
        match part:
            case Literal():
                return self._false(part)
            case JoinedParts(all_, parts, orders):
                return _joined(_waiting([self.of(one) for one in parts], orders), all_=all_)
            case Over(all_, types, body):
                return self._over_objects(self.of(body), types, all_=all_)

    def _false(self, literal: Literal) -> Tensor:
        """1 where a literal is false, else 0."""
        logic = CRISP if self._margin.is_crisp else SOFT
        truth = self._model.engine.table(self._run, literal.atom, literal.around, logic)
        if self._places is not None:
            truth = truth.index_select(0, self._places)
        if self._margin.is_crisp:
            return (truth.bool() != literal.wanted).float()
        return (~self._margin.clears(truth if literal.wanted else 1 - truth)).float()

    def _over_objects(self, counts: Tensor, types: Sequence[ObjectType], *, all_: bool) -> Tensor:
        """The last axes, one for each variable, summed up or reduced to the least; padding does not count."""
        for type_ in reversed(types):
            mask = self._batch.mask(type_)
            if mask is not None:
                real = mask.reshape(-1, *[1] * (counts.dim() - 2), mask.shape[-1])
                counts = torch.where(real, counts, 0.0 if all_ else FAR)
            if all_:
                counts = counts.sum(-1)
            else:
                counts = counts.amin(-1) if counts.shape[-1] else counts.new_full(counts.shape[:-1], FAR)
        return counts


def _waiting(counts: Sequence[Tensor], orders: frozenset[tuple[int, int]]) -> list[Tensor]:
    """The counts of parts; one that waits for another that is false counts as false itself."""
    found = list(counts)
    for i, j in orders:
        found[j] = torch.maximum(found[j], (counts[i] > 0).float())
    return found


def _joined(parts: Sequence[Tensor], *, all_: bool) -> Tensor:
    found = parts[0]
    for part in parts[1:]:
        found = found + part if all_ else torch.minimum(found, part)
    return found
