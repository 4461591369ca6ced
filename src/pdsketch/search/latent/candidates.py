"""Values for the value parameters of actions: of state, goal, generators, relations and samplers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import final

import torch
from torch import Tensor

from pdsketch.lang import Action, Expr, ObjectType, Value, ValueType, effect_expressions, walk
from pdsketch.search.latent.instances import Candidates, value_types
from pdsketch.search.latent.proposals import (
    Proposal,
    Proposals,
    SamplingRelation,
    propose,
    relations_in,
    same_type,
)
from pdsketch.search.options import PlanOptions
from pdsketch.tensor import Model, State, every_choice


@final
class CandidateSource:
    """Where the candidate values of one problem come from, round by round.

    ``model``, ``state`` and ``goal`` are the problem, ``options`` say which generators, samplers and sources
    were given. The choices of a type that declares them; else the constants of the goal, what relations,
    generators and samplers propose, and, with ``candidates`` ``"all"``, every value of the type in the state.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        goal: Expr,
        options: PlanOptions,
    ) -> None:
        self._model = model
        self._state = state
        self._goal = goal
        self._proposals = Proposals(model.domain, options.samplers, options.generators)
        self._sources = options.candidates
        self._types = value_types(model.domain)
        self._relations: list[SamplingRelation] = []
        self._others: list[SamplingRelation] = []
        if self._types:
            self._relations = _proposing(relations_in(model, [goal]), self._types)
            self._others = _proposing(relations_in(model, _conditions(model)), self._types)
        self._places: dict[tuple[str, str], dict[tuple[str, ...], Tensor]] = {}
        self.pool: Candidates | None = None

    @property
    def goes_on(self) -> bool:
        """Whether another round may propose other values."""
        functions = self._proposals.generators or self._proposals.samplers
        return bool(self._types and (functions or self._relations or self._others))

    def advance(self, number: int, reached: Sequence[State] = ()) -> Candidates:
        """The candidates of round ``number``: those before, and what is proposed now.

        Samplers are asked about the initial state, and about those that the round before has ``reached``.
        """
        before = {} if self.pool is None else self.pool.values
        states = [self._state, *reached]
        made = {t: self._generated(t, number) for t in self._types}
        sampled = [one for s in states for name in self._proposals.samplers for one in self._sampled(name, s)]
        pool = [*made.items(), *((type_, values) for _, _, type_, values in sampled)]
        proposed: list[Proposal] = []
        if self._relations and number == 0:
            proposed = propose(self._model, self._state, self._relations, pool, 0, along=True)
        elif self._relations or self._others:
            pool += [(t, _given(self._model, self._state, t)) for t in self._types]
            relations = [*self._relations, *self._others]
            proposed = propose(self._model, self._state, relations, pool, number)
        found = {t: self._values(t, before.get(t), made[t], proposed) for t in self._types}
        for place, objects, type_, values in sampled:
            own = self._places.setdefault(place, {})
            found[type_], places = _joined(found[type_], values.to(found[type_]))
            own[objects] = torch.cat([own[objects], places]) if objects in own else places
        self.pool = Candidates(found, self._places)
        return self.pool

    def _generated(self, type_: ValueType, number: int) -> Tensor:
        """The goal's constants, in the first round, and what the generator of a type proposes."""
        given = _given(self._model, self._state, type_)
        own = _with_constants(given[:0], self._goal, type_) if number == 0 else given[:0]
        returned = self._proposals.generated(type_, self._model, self._state, number)
        return own if returned is None else torch.cat([own, returned.to(given)])

    def _values(
        self, type_: ValueType, before: Tensor | None, made: Tensor, proposed: Sequence[Proposal]
    ) -> Tensor:
        """The candidates of a type: those before, what relations and generators propose, and the state's."""
        own = [made] if before is None else [before, made]
        own[-1:-1] = [one.values.to(made) for one in proposed if same_type(one.type, type_)]
        if before is None and (self._sources == "all" or _is_listed(type_)):
            own.append(_given(self._model, self._state, type_))
        return _distinct(torch.cat(own))

    def _sampled(
        self, name: str, state: State
    ) -> Iterator[tuple[tuple[str, str], tuple[str, ...], ValueType, Tensor]]:
        """What a sampler proposes: its action and parameter, objects of the action, and values for these."""
        action, parameter = parameter_of(self._model, name)
        (type_,) = (p.type for p in action.parameters if p.name == parameter)
        assert isinstance(type_, ValueType)
        universe = self._state.batch.universe(0)
        members = [universe.members(p.type) for p in action.parameters if isinstance(p.type, ObjectType)]
        for objects in product(*members):
            values = self._proposals.sampled(name, type_, self._model, state, objects)
            yield (action.name, parameter), objects, type_, values


def parameter_of(model: Model, name: str) -> tuple[Action, str]:
    """The action and the parameter that ``ACTION.?PARAMETER`` names, known to be there."""
    action, _, parameter = name.partition(".")
    return model.domain.actions[action], parameter


def _proposing(relations: Sequence[SamplingRelation], types: Sequence[ValueType]) -> list[SamplingRelation]:
    """The relations that propose values of these types."""
    return [r for r in relations if any(same_type(r.type, type_) for type_ in types)]


def _conditions(model: Model) -> list[Expr]:
    """What actions ask for, and when they do what."""
    found: list[Expr] = []
    for action in model.domain.actions.values():
        found += [action.precondition, *effect_expressions(action.effects)]
    return found


def _is_listed(type_: ValueType) -> bool:
    """Whether all values of a type can be listed."""
    return type_.choices is not None or type_.prim == "bool"


def _given(model: Model, state: State, type_: ValueType) -> Tensor:
    """Declared choices, else every value of this type in the state."""
    if _is_listed(type_):
        return every_choice(type_, state.device)
    same = [
        p
        for p in model.domain.state_predicates
        if p.type == type_ and (type_.alias is None or p.type.alias == type_.alias)
    ]
    shape = _shape(type_, state, [p.name for p in same])
    pools = [state[p.name].reshape(-1, *shape) for p in same]
    if not pools:
        dtype = torch.float32 if type_.prim == "float32" else torch.int64
        return torch.zeros(0, *shape, dtype=dtype, device=state.device)
    return torch.cat(pools)


def _with_constants(pool: Tensor, goal: Expr, type_: ValueType) -> Tensor:
    """The values and those that stand in the goal and could be of the type."""
    if _is_listed(type_):
        return pool
    kinds = ("int64",) if type_.prim == "int64" else ("int64", "float32")
    own = [
        torch.as_tensor(node.value).to(pool).reshape(pool.shape[1:])
        for node in walk(goal)
        if isinstance(node, Value) and node.type.prim in kinds and _size(node) == pool.shape[1:].numel()
    ]
    return torch.cat([pool, torch.stack(own)]) if own else pool


def _size(node: Value) -> int:
    return torch.as_tensor(node.value).numel()


def _shape(type_: ValueType, state: State, names: list[str]) -> tuple[int, ...]:
    if type_.shape is not None:
        return type_.shape
    predicates = state.domain.predicates
    for name in names:
        return tuple(state[name].shape[len(predicates[name].parameters) :])
    return (0,)


def _joined(pool: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """A pool with values that it does not have yet, and where each of the values stands in it."""
    rows = {tuple(row): i for i, row in enumerate(_as_rows(pool))}
    places, new = [], []
    for i, row in enumerate(map(tuple, _as_rows(values))):
        if row not in rows:
            rows[row] = len(rows)
            new.append(i)
        places.append(rows[row])
    return torch.cat([pool, values[new]]), torch.tensor(sorted(set(places)), dtype=torch.int64)


def _as_rows(pool: Tensor) -> list[list[float]]:
    rows: list[list[float]] = pool.unsqueeze(-1).flatten(1).tolist()
    return rows


def _distinct(pool: Tensor) -> Tensor:
    """Each value once, in the order of first occurrence."""
    rows = {tuple(row): i for i, row in reversed(list(enumerate(_as_rows(pool))))}
    return pool[sorted(rows.values())]
