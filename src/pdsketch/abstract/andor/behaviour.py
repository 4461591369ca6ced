"""What is known of the functions of a model over codes, and how well that agrees with the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from pdsketch.abstract.andor.corrections import NetworkFunction
from pdsketch.abstract.andor.functions import CodeAxis, CodeTable
from pdsketch.abstract.decision_lists.decision_list import DecisionList
from pdsketch.lang import Apply, Each, Expr, ValueType

UNCHANGED = -1
AS_EMPTY = -2
"""Among the codes that a function gives: it writes nothing; what it gives for the empty set."""


@final
@dataclass(frozen=True, slots=True)
class CounterExample:
    """A case in which rules are wrong: the codes on axes, those of elements of a set, and the results."""

    axes: tuple[CodeAxis, ...]
    codes: tuple[int, ...]
    own: tuple[CodeAxis, ...] = ()
    elements: tuple[tuple[int, ...], ...] = ()
    result: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a function of the model is represented: exactly, or how often it agreed where it was tried.

    - ``cases``: combinations of codes, or samples, on which it was compared.
    - ``not_finite``: combinations for which a network returned NaN: they are false, or write nothing.
    - ``off``: combinations whose value is off every code: the nearest stands for it.
    - ``unseen``: combinations whose value no data had: nothing is written.
    - ``corrected``: combinations whose result is what the model did in a plan (`Corrections`).
    """

    name: str
    exact: bool
    agreement: float
    cases: int
    not_finite: int = 0
    off: int = 0
    unseen: int = 0
    corrected: int = 0
    counter_example: CounterExample | None = None


@final
@dataclass(frozen=True, slots=True)
class SampledRules:
    """A decision list that was learned from samples: ``meanings[label]`` is a code, or 0 and 1 of truth."""

    axes: tuple[CodeAxis, ...]
    own: tuple[CodeAxis, ...]
    rules: DecisionList
    meanings: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class CodeFunction:
    """A function of the model over codes: of ``owner``, an action or a derived predicate.

    - ``target`` is what its value is written to, of ``type``, at ``place``; None: it is a truth.
    - ``table`` says its results; of a set, those of the empty one, and ``elements`` how one element changes
      them (`AS_EMPTY`: not at all). ``sampled`` says them where there are no tables.
    - ``network`` is what a table was made of, without a set.
    """

    owner: str
    expr: Expr
    target: Apply | None
    type: ValueType | None
    place: int
    behaviour: Behaviour
    table: CodeTable | None = None
    elements: CodeTable | None = None
    set: Each | None = None
    sampled: SampledRules | None = None
    network: NetworkFunction | None = None
