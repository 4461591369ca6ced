"""What an expression over values computes, as a function of codes: tables over all combinations of them.

The *inputs* of an expression are the state variables that it reads, the Boolean formulas that it is given,
and variables over values. Each has *axes*: one for each part of its type, or one of two codes. A table is
the expression's truth, or the codes of its value, over all axes; axes on which nothing depends are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from types import MappingProxyType
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks, CodePart
from pdsketch.budget import current
from pdsketch.kernels.arrays import Bools, Longs
from pdsketch.lang.domain import Domain
from pdsketch.lang.rewrite import map_children, unfold
from pdsketch.lang.terms import Apply, Each, Expr, Logic, Quantified, Variable
from pdsketch.lang.types import ObjectType, ValueType
from pdsketch.tensor.compile.node import Node
from pdsketch.tensor.detached import Detached
from pdsketch.tensor.model import Model

MOST_COMBINATIONS: Final = 200_000
"""Combinations of codes on which an expression is evaluated: a second for a small network. Set by hand."""

_AT_ONCE: Final = 1 << 16

NOTHING: Final[Mapping[str, Tensor]] = MappingProxyType({})


class NotAbstractableError(Exception):
    """An expression has no form over codes; says which, and why."""


class TooManyCombinationsError(Exception):
    """An expression depends on more combinations of codes than are looked at."""


@final
@dataclass(frozen=True, slots=True)
class CodeInput:
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

    input: CodeInput
    place: int
    part: CodePart | None
    codes: Longs

    @property
    def is_bool(self) -> bool:
        """Whether it is a formula's truth: 0 or 1."""
        return self.part is None


@final
@dataclass(frozen=True, slots=True)
class CodeTable:
    """A function of codes: ``results`` over the axes: Booleans, or codes of one part of the value."""

    axes: tuple[CodeAxis, ...]
    results: Bools | Longs

    def reduced(self) -> CodeTable:
        """The same without the axes on which nothing depends."""
        axes, results = list(self.axes), self.results
        for i in reversed(range(len(axes))):
            first = results.take([0] if results.size else [], axis=i)
            if results.size and (results == first).all():
                results = first.squeeze(i)
                del axes[i]
        return CodeTable(tuple(axes), results)


@final
class CodeInputs:
    """Collects what an expression depends on, and puts variables in its place."""

    def __init__(self, domain: Domain, fresh: count[int]) -> None:
        self._domain = domain
        self._fresh = fresh
        self.found: dict[Expr, CodeInput] = {}

    @property
    def variables(self) -> list[Variable]:
        """The variables in the places of inputs."""
        return [each.variable for each in self.found.values()]

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
            self.found[expr] = CodeInput(expr, variable)
        return self.found[expr].variable


@final
class CodeEvaluator:
    """Evaluates programs of expressions whose only variables are inputs, on rows of codes."""

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.books = books
        self.programs = Detached(model)

    def axes(self, inputs: Iterable[CodeInput]) -> list[CodeAxis]:
        """The axes of inputs, with the codes that each can have."""
        found = []
        for each in inputs:
            if each.type.is_bool:
                found.append(CodeAxis(each, 0, None, np.arange(2)))
                continue
            for place, part in enumerate(self.books.parts(each.type)):
                found.append(CodeAxis(each, place, part, self._codes(each, place, part)))
        return found

    def _codes(self, each: CodeInput, place: int, part: CodePart) -> Longs:
        if isinstance(each.expr, Apply):
            return np.array([*self.books.domains[each.expr.predicate][place]], np.int64)
        return np.arange(len(part.book))

    def run(
        self, axes: Sequence[CodeAxis], rows: Longs, node: Node, more: Mapping[str, Tensor] = NOTHING
    ) -> Tensor:
        """The values of a program on rows of codes, ``[n, axes]``; ``more`` are more parameters of rows."""
        parts = []
        for first in range(0, max(1, len(rows)), _AT_ONCE):
            current().check()
            some = rows[first : first + _AT_ONCE]
            given = {name: values[None, first : first + _AT_ONCE] for name, values in more.items()}
            parameters = {**self.parameters(axes, some), **given}
            parts.append(self.programs.run(node, parameters, len(some)).cpu())
        return torch.cat(parts)

    def parameters(self, axes: Sequence[CodeAxis], rows: Longs) -> dict[str, Tensor]:
        """The values of inputs on rows of codes, ``[1, n, *shape]`` each."""
        by_input: dict[CodeInput, list[tuple[int, int]]] = {}
        for column, axis in enumerate(axes):
            by_input.setdefault(axis.input, []).append((axis.place, column))
        found = {}
        for each, places in by_input.items():
            if each.type.is_bool:
                tensor = torch.from_numpy(rows[:, places[0][1]] > 0)
            else:
                tensor = self.books.value_of(each.type, [rows[:, column] for _, column in sorted(places)])
            found[each.variable.name] = tensor[None].to(self.programs.device)
        return found

    def coded(self, values: Tensor, type_: ValueType, *, constant: bool) -> Longs:
        """The codes of computed values, ``[n, *shape]``, a column a part."""
        size = prod(type_.shape or ()) if type_.shape != () else 1
        numbers = values.double().reshape(-1, size).nan_to_num().numpy()
        found = []
        for part in self.books.parts(type_):
            own = numbers[:, list(part.dimensions)]
            if constant:
                found.append(part.book.admit(own))
                continue
            codes, near = part.book.meet(own)
            # Of a closed codebook nothing else is written than what was seen.
            found.append(np.where(near, codes, -1) if part.book.closed else codes)
        return np.stack(found, -1)


def every_row(axes: Sequence[CodeAxis]) -> Longs:
    """All combinations of the codes of axes, ``[n, axes]``."""
    grids = np.meshgrid(*(axis.codes for axis in axes), indexing="ij") if axes else []
    if not grids:
        return np.zeros((1, 0), np.int64)
    return np.stack([grid.reshape(-1) for grid in grids], -1)
