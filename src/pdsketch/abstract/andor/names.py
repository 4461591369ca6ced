"""How codes and what has them are called where people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from pdsketch.abstract.andor.codebook import Codebook
from pdsketch.abstract.andor.functions import CodeAxis
from pdsketch.lang import Apply, Expr, Variable, formula_text


def value_name(book: Codebook, code: int) -> str:
    """What stands behind the ``@``: the value, where the code has a single known one; else its number."""
    if book.fixed:
        return str(code)
    numbers = [f"{float(number):.4g}" for number in book.values[code]]
    numbers = ["0" if number == "-0" else number for number in numbers]
    return numbers[0] if len(numbers) == 1 else f"({','.join(numbers)})"


def shown_code(book: Codebook, code: int) -> str:
    """A code as a value: ``pose@(3,4)``."""
    return f"{book.name}@{value_name(book, code)}"


def axis_text(axis: CodeAxis) -> str:
    """What has the codes of an axis: ``(robot-pose ?r)``, ``(item-feature.1 ?o)``."""
    return _with(axis.input.expr, f".{axis.place}" if _is_split(axis) else "")


def fact_text(axis: CodeAxis, code: int) -> str:
    """It has a code: ``(robot-pose@(3,4) ?r)``; of a formula, it is true or false."""
    source = axis.input.expr
    if axis.part is None:
        return formula_text(source) if code else f"(not {formula_text(source)})"
    name = value_name(axis.part.book, code)
    if isinstance(source, Variable):
        return f"(= {axis_text(axis)} {name})"
    return _with(source, f"{f'.{axis.place}' if _is_split(axis) else ''}@{name}")


def _is_split(axis: CodeAxis) -> bool:
    """Whether what it reads has more than one part."""
    assert axis.part is not None
    return axis.part.book.name != str(axis.input.type)


def _with(source: Expr, suffix: str) -> str:
    if not isinstance(source, Apply):
        return formula_text(source) + suffix
    return f"({' '.join([source.predicate + suffix, *map(formula_text, source.args)])})"


@final
class AxisNames:
    """The names that literals over axes have: of their places in the ``axes``, or of codes (``coded``).

    ``own`` are the axes of an element of a set; the literals about them are put into ``element``, which says
    that some element satisfies them: one that the ``variables`` stand for, where ``condition`` (as text)
    holds.
    """

    def __init__(
        self,
        axes: Sequence[CodeAxis],
        own: Sequence[CodeAxis] = (),
        variables: Sequence[Variable] = (),
        condition: str = "",
        *,
        coded: bool = False,
    ) -> None:
        self._axes, self._own, self._coded = axes, own, coded
        self._variables, self._condition = variables, condition

    def argument(self, i: int) -> str:
        """``(robot-pose ?r)``."""
        return axis_text(self._axes[i])

    def fact(self, i: int, code: int) -> str:
        """``(robot-pose@(3,4) ?r)``."""
        return fact_text(self._axes[i], self._code(self._axes[i], code))

    def variable(self, group: int) -> str:
        """``?t - thing``."""
        del group
        return " ".join(f"{v.name} - {v.type}" for v in self._variables)

    def element(self, group: int, column: int) -> str:
        """``(item-feature ?t)``."""
        del group
        return axis_text(self._own[column])

    def element_fact(self, group: int, column: int, code: int) -> str:
        """``(item-feature@9 ?t)``."""
        del group
        return fact_text(self._own[column], self._code(self._own[column], code))

    def membership(self, group: int) -> str:
        """When an object is in the set; empty: always."""
        del group
        return self._condition

    def label(self, label: int) -> str:
        """The number."""
        return str(label)

    def _code(self, axis: CodeAxis, at: int) -> int:
        return at if self._coded else int(np.asarray(axis.codes)[at])
