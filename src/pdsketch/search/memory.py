"""What acting has shown: which steps failed in which states, how often skills succeed, what is no goal.

What was met counts in like states, and less the longer ago it is. The likeness of two states is e⁻ᵈ, where d
counts the predicates in which they differ; a float differs wholly by its tolerance, and in part by less.
Failures in states that are somewhat alike add up to a price. What is more than half alike is the same, and
what failed there again and again is barred. In a noisy world no two failures are the same: what seldom
succeeds is paid for, and tried again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log
from typing import Any, Final, final

import torch
from torch import Tensor

from pdsketch.lang import Apply, Domain, Expr, Object, ObjectType, Step, ValueType, unfold_all, walk
from pdsketch.tensor import Model, State, StateBatch, tolerance_of

FADING: Final = 32.0
"""After so many steps, what was met weighs 1/e. Set by hand."""

PRIOR: Final = 2.0
"""Before anything was met, a step is as good as if it had succeeded so often. Set by hand."""


@final
@dataclass(slots=True)
class SkillRates:
    """How often each action did what it should, in all episodes."""

    tried: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)

    def of(self, action: str) -> float:
        """The chance that it succeeds; 1 before it was tried."""
        return (self.done[action] + PRIOR) / (self.tried[action] + PRIOR)

    def price(self, action: str) -> float:
        """What it costs beyond its own cost."""
        return -log(self.of(action))


@final
@dataclass(frozen=True, slots=True)
class _Met:
    """A step and the state it was taken in, or a goal that was denied there; failures have a ``weight``."""

    what: Step | Expr
    state: State
    weight: float
    time: int


@final
@dataclass(slots=True)
class Memory:
    """What was met in one episode with a ``model``, as prices of steps and as states that are no goals.

    A step costs -log p beyond its own cost, where p is the chance that it succeeds in a state; it is barred
    where it failed ``tries`` times more often than it succeeded in the same state. ``rates`` are those of
    all episodes.
    """

    model: Model
    rates: SkillRates = field(default_factory=SkillRates)
    tries: float = 2
    _met: list[_Met] = field(default_factory=list)
    _now: int = 0

    @property
    def speaks(self) -> bool:
        """Whether anything of this episode is remembered that did not go as planned."""
        return any(one.weight > 0 for one in self._met)

    def succeeded(self, step: Step, state: State) -> None:
        """The step did in that state what it should."""
        self.rates.tried[step[0]] += 1
        self.rates.done[step[0]] += 1
        self._note(_Met(step, state, 0.0, self._now))

    def failed(self, step: Step, state: State, *, refused: bool = False) -> None:
        """The step did not; where it was ``refused``, there is no point in a second try."""
        self.rates.tried[step[0]] += 1
        self._note(_Met(step, state, float(self.tries) if refused else 1.0, self._now))

    def denied(self, goal: Expr, state: State) -> None:
        """The goal does not hold in that state, says the world, whatever the model says."""
        self._note(_Met(goal, state, 1.0, self._now))

    def _note(self, one: _Met) -> None:
        self._now += 1
        self._met.append(one)

    def _fresh(self, one: _Met) -> float:
        return exp(-(self._now - one.time) / FADING)

    def knows(self, action: str) -> bool:
        """Whether the action was taken in this episode."""
        return any(isinstance(one.what, tuple) and one.what[0] == action for one in self._met)

    def prices(self, action: str, batch: StateBatch, arguments: Mapping[str, Tensor]) -> Tensor:
        """What an action costs beyond its own cost, ``[state, instance]``; infinite where it is barred.

        ``arguments`` are ``[state, instance, *value]`` in the states of ``batch``, all of this episode.
        """
        own = [one for one in self._met if isinstance(one.what, tuple) and one.what[0] == action]
        shape = next((a.shape[:2] for a in arguments.values()), torch.Size((batch.size, 1)))
        good, bad, vain = (torch.zeros(shape, dtype=torch.float64, device=batch.device) for _ in range(3))
        for one in own:
            apart = self._states_apart(one.state, batch, None).unsqueeze(1)
            apart = apart + self._steps_apart(one, arguments, shape)
            alike = self._fresh(one) * (-apart).exp()
            if one.weight:
                bad += one.weight * alike
            else:
                good += alike
            vain += (one.weight or -1.0) * (alike > 0.5)
        price = -((PRIOR * self.rates.of(action) + good) / (PRIOR + good + bad)).log()
        return price.masked_fill(vain >= self.tries, torch.inf)

    def unbarred(self) -> Memory:
        """The same, where steps that failed are dear, and none is barred."""
        return replace(self, tries=inf)

    def denies(self, goal: Expr, batch: StateBatch) -> Tensor | None:
        """In which of these states, all of this episode, the goal is no goal; None: in none."""
        own = [one for one in self._met if one.what == goal]
        if not own:
            return None
        reads = _entries(goal, self.model.domain, own[0].state)
        weight = sum(
            (self._fresh(one) * (-self._states_apart(one.state, batch, reads)).exp() for one in own),
            torch.zeros(batch.size, dtype=torch.float64, device=batch.device),
        )
        return weight > 0.5

    def _states_apart(self, state: State, batch: StateBatch, reads: Mapping[str, Tensor] | None) -> Tensor:
        """In how many predicates states differ from one, ``[state]``, if need be in what is read alone."""
        found = torch.zeros(batch.size, dtype=torch.float64, device=batch.device)
        written = self.model.domain.analysis.written & batch.tensors.keys()
        for name in written if reads is None else written & reads.keys():
            predicate = self.model.domain.predicates[name]
            one, many = state.batch.tensor(name).to(batch.device), batch.tensor(name)
            axes = len(predicate.parameters)
            for axis in range(1, 1 + axes):
                many = many.narrow(axis, 0, one.shape[axis])
            off = _apart(many, one, predicate.type, tolerance_of(self.model.notes, predicate))
            if not off.numel():
                continue
            off = off.reshape(*off.shape[: 1 + axes], -1).amax(-1)
            if reads is not None:
                off = torch.where(reads[name].to(off.device), off, 0.0)
            found += off.reshape(batch.size, -1).amax(1)
        return found

    def _steps_apart(self, one: _Met, arguments: Mapping[str, Tensor], shape: Sequence[int]) -> Tensor:
        """In how many arguments instances differ from a step; infinite where objects do."""
        assert isinstance(one.what, tuple)
        action, *given = one.what
        found = torch.zeros(*shape, dtype=torch.float64)
        universe = one.state.batch.universe(0)
        for parameter, argument in zip(self.model.domain.actions[action].parameters, given, strict=True):
            table = arguments[parameter.name]
            found = found.to(table.device)
            if isinstance(parameter.type, ObjectType):
                found = found.masked_fill(table != universe.at(argument, parameter.type), torch.inf)
                continue
            value = torch.as_tensor(argument).to(table)
            off = _apart(table, value, parameter.type, parameter.type.tolerance)
            found = found + off.reshape(*shape, -1).amax(-1)
        return found


def _apart(many: Tensor, one: Tensor, type_: ValueType, tolerance: float) -> Tensor:
    """How far values are apart, from 0 to 1."""
    if type_.prim != "float32":
        return (many != one).double()
    return ((many.double() - one.double()).abs() / tolerance).clamp(max=1.0)


def _entries(goal: Expr, domain: Domain, state: State) -> dict[str, Tensor]:
    """Which entries of which predicates a goal reads, ``[*objects]``: those of the objects that it names."""
    found: dict[str, Tensor] = {}

    def read(name: str, places: tuple[Any, ...]) -> None:
        shape = state.batch.tensor(name).shape[1 : 1 + len(domain.predicates[name].parameters)]
        found.setdefault(name, torch.zeros(shape, dtype=torch.bool))[places] = True

    for node in walk(unfold_all(goal, domain)):
        if not isinstance(node, Apply):
            continue
        predicate = domain.predicates[node.predicate]
        if not predicate.is_state:
            for name in domain.analysis.predicate_reads(node.predicate):
                if name in state:
                    read(name, (...,))
        elif node.predicate in state:
            universe = state.batch.universe(0)
            read(
                node.predicate,
                tuple(
                    universe.at(argument.name, type_) if isinstance(argument, Object) else slice(None)
                    for argument, type_ in zip(node.args, predicate.object_types, strict=True)
                ),
            )
    return found
