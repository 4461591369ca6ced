"""What an expression over values computes, as a function of codes: tables over all combinations of them.

The *inputs* of an expression are the state variables that it reads, the Boolean formulas that it is given,
and variables over values. Each has *axes*: one for each part of its type, or one of two codes. A table is
the expression's truth, or the codes of its value, over all axes; axes on which nothing depends are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks, Part
from pdsketch.budget import current
from pdsketch.kernels.arrays import Bools, Longs
from pdsketch.lang.domain import Domain
from pdsketch.lang.rewrite import map_children, unfold
from pdsketch.lang.terms import (
    TRUE,
    Apply,
    BlankCall,
    Each,
    Expr,
    Logic,
    Quantified,
    Update,
    Variable,
)
from pdsketch.lang.types import ObjectType, ValueType
from pdsketch.tensor.calls import Callee, SetArgument
from pdsketch.tensor.logic import CRISP
from pdsketch.tensor.model import Model
from pdsketch.tensor.node import INSTANCE, Node, Run
from pdsketch.tensor.scope import Binding
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import Layout, Universe
from pdsketch.tensor.values import convert, harden

MOST_COMBINATIONS: Final = 200_000
"""Combinations of codes on which an expression is evaluated. Set by hand: a network of a few thousand weights takes a second."""

_AT_ONCE: Final = 1 << 16


class TooManyCombinationsError(Exception):
    """An expression depends on more combinations of codes than are looked at."""


@final
@dataclass(frozen=True, slots=True)
class Input:
    """What an expression depends on: a state variable, a formula (Boolean), or a variable over values."""

    expr: Expr
    variable: Variable

    @property
    def type(self) -> ValueType:
        """The type of its value."""
        assert isinstance(self.variable.type, ValueType)
        return self.variable.type


@final
@dataclass(frozen=True, slots=True)
class CodeAxis:
    """One axis of a table: a part of an input (None: a Boolean one), and its codes in order."""

    input: Input
    place: int
    part: Part | None
    codes: Longs

    @property
    def is_bool(self) -> bool:
        """Whether it is a formula's truth: 0 or 1."""
        return self.part is None


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A function of codes: ``results`` over the axes: Booleans, or codes of one part of the value."""

    axes: tuple[CodeAxis, ...]
    results: Bools | Longs

    def reduced(self) -> Table:
        """The same without the axes on which nothing depends."""
        axes, results = list(self.axes), self.results
        for i in reversed(range(len(axes))):
            first = results.take([0], axis=i)
            if (results == first).all():
                results = first.squeeze(i)
                del axes[i]
        return Table(tuple(axes), results)


@final
class Inputs:
    """Collects what an expression depends on, and puts variables in its place."""

    def __init__(self, domain: Domain, fresh: count[int]) -> None:
        self._domain = domain
        self._fresh = fresh
        self.found: dict[Expr, Input] = {}

    def replaced(self, expr: Expr) -> Expr:
        """The expression with a variable for each of its inputs."""
        match expr:
            case Variable() if isinstance(expr.type, ValueType):
                return self._input(expr)
            case Logic() | Quantified():
                return self._input(expr)
            case Apply():
                predicate = self._domain.predicates[expr.predicate]
                if predicate.is_state or predicate.role == "raw":
                    return self._input(expr)
                if predicate.role == "derived":
                    if predicate.type.is_bool and all(isinstance(a.type, ObjectType) for a in expr.args):
                        return self._input(expr)
                    return self.replaced(unfold(expr, self._domain, self._fresh))
                return map_children(expr, self.replaced)
            case Each():
                raise AssertionError("sets are looked at by themselves")
            case _:
                return map_children(expr, self.replaced)

    def _input(self, expr: Expr) -> Variable:
        if expr not in self.found:
            assert isinstance(expr.type, ValueType)
            variable = Variable(f"?{next(self._fresh)}@in", expr.type)
            self.found[expr] = Input(expr, variable)
        return self.found[expr].variable


@final
class Evaluator:
    """Evaluates expressions whose only variables are inputs, on rows of codes."""

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.model = model
        self.books = books
        self.domain = model.domain
        universe = Universe.known(model.domain, dict(model.domain.constants))
        layout = Layout((universe,), torch.device(model.device))
        self._batch = StateBatch(model.domain, layout, None, 1, {})
        self._lowering = model.engine.lowering(CRISP)

    def axes(self, inputs: Iterable[Input]) -> list[CodeAxis]:
        """The axes of inputs, with the codes that each can have."""
        found = []
        for each in inputs:
            if each.type.is_bool:
                found.append(CodeAxis(each, 0, None, np.arange(2)))
                continue
            for place, part in enumerate(self.books.parts(each.type)):
                found.append(CodeAxis(each, place, part, self._codes(each, place, part)))
        return found

    def _codes(self, each: Input, place: int, part: Part) -> Longs:
        if isinstance(each.expr, Apply):
            return np.array([*self.books.domains[each.expr.predicate][place]], np.int64)
        return np.arange(len(part.book))

    def env(self, inputs: Iterable[Input]) -> dict[str, Binding]:
        """What the variables of inputs stand for."""
        return {each.variable.name: _value_node(each.variable) for each in inputs}

    def run(self, axes: Sequence[CodeAxis], rows: Longs, node: Node, extra: Mapping[str, Tensor] | None = None) -> Tensor:
        """The values of a node on rows of codes, ``[n, axes]``."""
        parts = []
        for first in range(0, max(1, len(rows)), _AT_ONCE):
            current().check()
            some = rows[first : first + _AT_ONCE]
            given = {k: v[first : first + _AT_ONCE][None] for k, v in (extra or {}).items()}
            parameters = {**self.parameters(axes, some), **given}
            run = Run(self._batch, self.model.blanks, checked=False).ground(parameters, len(some))
            value = node(run)
            if not node.axes:
                value = value.unsqueeze(1)
            parts.append(value.expand(1, len(some), *value.shape[2:])[0].cpu())
        return torch.cat(parts)

    def parameters(self, axes: Sequence[CodeAxis], rows: Longs) -> dict[str, Tensor]:
        """The values of inputs on rows of codes, ``[1, n, *shape]`` each."""
        by_input: dict[Input, list[tuple[int, int]]] = {}
        for column, axis in enumerate(axes):
            by_input.setdefault(axis.input, []).append((axis.place, column))
        found = {}
        for each, places in by_input.items():
            if each.type.is_bool:
                tensor = torch.from_numpy(rows[:, places[0][1]] > 0)
            else:
                tensor = self.books.value_of(each.type, [rows[:, column] for _, column in sorted(places)])
            found[each.variable.name] = tensor[None].to(self.model.device)
        return found

    def lower(self, expr: Expr, type_: ValueType, env: Mapping[str, Binding]) -> Node:
        """The node of an expression as a value of a type."""
        return self._lowering.as_type(expr, type_, env)

    def fires(self, update: Update, value: Expr, env: Mapping[str, Binding]) -> Node | None:
        """The gate that a network has of its own where an update has no condition; None: it always fires."""
        return self._lowering.condition(replace(update, condition=TRUE, value=value), env)

    @property
    def gated(self) -> Set[str]:
        """The blanks whose network decides itself whether it writes."""
        return self._lowering.gated

    def called(
        self, expr: BlankCall, arguments: Sequence[Expr | None], env: Mapping[str, Binding]
    ) -> tuple[Callee, list[Node | SetArgument]]:
        """A blank, and the nodes of its arguments; None stands for a set that is put there later."""
        callee = self._lowering.callee(expr.blank)
        nodes: list[Node | SetArgument] = [
            self._lowering.lower(TRUE) if argument is None else self.lower(argument, type_, env)
            for argument, type_ in zip(arguments, callee.inputs, strict=True)
        ]
        return callee, nodes

    def as_type(self, node: Node, given: ValueType, wanted: ValueType) -> Node:
        """A node's value as one of a type that it may be assigned to."""
        if given.prim == wanted.prim and given.choices == wanted.choices:
            return node
        return Node(node.axes, lambda run: convert(node(run), given, wanted))

    def coded(self, values: Tensor, type_: ValueType, *, constant: bool) -> Longs:
        """The codes of computed values, ``[n, *shape]``, a column a part."""
        size = prod(type_.shape or ()) if type_.shape != () else 1
        numbers = values.double().reshape(-1, size).nan_to_num().numpy()
        found = []
        for part in self.books.parts(type_):
            own = numbers[:, list(part.dimensions)]
            found.append(part.book.admit(own) if constant else part.book.meet(own)[0])
        return np.stack(found, -1)


def every_row(axes: Sequence[CodeAxis]) -> Longs:
    """All combinations of the codes of axes, ``[n, axes]``."""
    grids = np.meshgrid(*(axis.codes for axis in axes), indexing="ij") if axes else []
    if not grids:
        return np.zeros((1, 0), np.int64)
    return np.stack([grid.reshape(-1) for grid in grids], -1)


def _value_node(variable: Variable) -> Node:
    name, type_ = variable.name, variable.type
    assert isinstance(type_, ValueType)
    return Node((INSTANCE,), lambda run: harden(run.parameters[name], type_))
