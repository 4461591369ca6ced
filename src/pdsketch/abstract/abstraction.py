"""What a compiler of models returns: a symbolic task that stands in for a goal, and how to use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Protocol, final

import numpy as np
from torch import Tensor

from pdsketch.core import Bools, Floats, Task
from pdsketch.lang import (
    FALSE,
    Domain,
    Expr,
    Form,
    Object,
    ObjectType,
    Step,
    ValueType,
    map_children,
    substitute,
)
from pdsketch.tensor import Model, StateBatch

KEPT: Final = 256
"""How many tasks with other costs are kept."""


class NoAbstractionError(Exception):
    """A goal has no form in an abstraction; says why."""


class NumberCodes(Protocol):
    """Codes for some of the numbers of a value."""

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Which numbers of a value, laid out flat, they are of."""

    def codes(self, numbers: Tensor) -> Tensor:
        """The code of each row of numbers: ``[n, d]`` → ``[n]``."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodeReading:
    """Facts that say which code a state variable has.

    Fact ``places[i]`` holds where the variable of the objects ``rows[i]`` has the code ``numbers[i]``; a
    Boolean variable has no ``part``, and is 0 or 1.
    """

    predicate: str
    part: NumberCodes | None
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    places: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Abstraction:
    """A symbolic task that stands in for a goal in the states of a model.

    - ``task``: what heuristics are computed on. Problems may share it: its operators may name an
      object by its number, ``@0``, ``@1`` …, and a value that is not known by its parameter, ``?p``.
    - ``readings``: which expressions give its facts in a state. Fact ``places[i]`` of a form holds where
      its expression is true of the objects ``rows[i]``. All other basic facts are false in every state.
    - ``infinity_is_proof``: where the relaxed task has no plan, the model has none, either. Otherwise
      infinity is only a bad sign.
    - ``explain``: given the basic facts of a state from which the relaxed task has no plan, why that is
      so, one sentence a reason.
    - ``objects``: those of the problem, with their types, in the order of their numbers.
    - ``codes``: facts that are read as codes of state variables. Their objects may be named by number.
    - ``per_effect``: hFF counts each conditional effect as an operator of its own; otherwise an
      action that moves a robot would count once however far it has to go.
    - ``values``: what the arguments of operators that are codes stand for.
    """

    task: Task
    readings: tuple[Form, ...]
    infinity_is_proof: bool
    explain: Callable[[Bools], Sequence[str]]
    objects: Mapping[str, ObjectType]
    codes: tuple[CodeReading, ...] = ()
    per_effect: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_read(self) -> int:
        """How many facts are read off a state; those that no reading says are false."""
        return self.task.n_basic

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions of the facts that are read, written out, in the order of the facts."""
        found: list[Expr] = [FALSE] * self.n_read
        for form in self.readings:
            for row, place in zip(form.rows, form.places, strict=True):
                objects = [Object(name, self.objects[name]) for name in row]
                names = [variable.name for variable in form.variables]
                found[place] = substitute(form.expr, dict(zip(names, objects, strict=True)))
        return tuple(found)

    @property
    def steps(self) -> list[Step]:
        """The ground action of each operator."""
        names = [*self.objects]
        return [step_named(operator, names, self.values) for operator in self.task.operators]

    def step_of(self, operator: int) -> Step:
        """The step that an operator is, in the model's own terms: names of objects, and values."""
        return step_named(self.task.operators[operator], [*self.objects], self.values)

    def states(self, facts: Bools) -> Bools:
        """The basic facts of states of which those that are read, ``[state, fact]``, are given."""
        states = np.zeros((len(facts), self.task.n_basic), dtype=np.bool_)
        states[:, : self.n_read] = facts[:, : self.n_read]
        return states

    def priced(self, costs: Sequence[float]) -> Abstraction:
        """The same where the operators cost so much; problems with the same costs share a task, too."""
        return replace(self, task=_priced(self.task, tuple(costs)))


def numbered(domain: Domain, objects: Mapping[str, ObjectType]) -> dict[str, str]:
    """The objects of a problem by number; constants keep their names."""
    return {name: name if name in domain.constants else f"@{i}" for i, name in enumerate(objects)}


def with_names(expr: Expr, names: Mapping[str, str]) -> Expr:
    """An expression in which objects have other names; those that are not among them keep theirs."""
    if isinstance(expr, Object):
        return Object(names.get(expr.name, expr.name), expr.type, expr.span)
    return map_children(expr, lambda part: with_names(part, names))


def step_named(operator: tuple[str, ...], names: Sequence[str], values: Mapping[str, Any]) -> Step:
    """An operator whose arguments are numbers of objects and codes, in the model's own terms."""
    given = [values[o] if o in values else names[int(o[1:])] if o[0] == "@" else o for o in operator[1:]]
    return (operator[0], *given)


Values = Mapping[ValueType, Tensor]
"""The values that arguments of actions may have, by type: ``[n, *shape]``."""

Compile = Callable[[Model, Mapping[str, ObjectType], Expr, StateBatch, Values], Abstraction]
"""Compiles a goal over the objects of a problem, the domain's constants first, in its initial state."""


@lru_cache(maxsize=KEPT)
def _priced(task: Task, costs: tuple[float, ...]) -> Task:
    prices: Floats = np.array(costs, np.float64)
    return replace(task, costs=prices)
