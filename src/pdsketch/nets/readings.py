"""What a form reads off the arguments of a blank: codes, numbers, and how two arguments differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Final, Literal, final

import torch
from torch import Tensor

from pdsketch.nets.features import Argument
from pdsketch.nets.signature import Input, Signature

Kind = Literal["code", "number", "turn", "difference", "distance", "sum", "gap", "length"]
KINDS: Final[tuple[Kind, ...]] = ("code", "number", "turn", "difference", "distance", "sum", "gap", "length")

MOST_NUMBERS: Final = 40
"""A value of more numbers (an image, a signal) is nothing to read single numbers of. Set by hand."""


@final
@dataclass(frozen=True, slots=True)
class InputReading:
    """One number of the arguments: a ``code`` (an int with choices, or a truth) or a ``number`` of one of
    them, the ``length`` of a vector, or of two the ``difference``, for ints modulo their choices (``turn``),
    or the ``distance``; of two that are of different types the ``gap``, of one's number at ``place`` and the
    other's at ``other``; of three the ``sum``: how far the second is from the first, moved by argument
    ``other``.
    """

    kind: Kind
    first: int
    second: int = -1
    place: int = 0
    other: int = 0

    @property
    def is_discrete(self) -> bool:
        """Whether it has few values that have no order."""
        return self.kind in ("code", "turn")

    @property
    def price(self) -> float:
        """What a test of it costs: relations carry over to other scenes, absolute numbers seldom do."""
        return {"code": 1.1, "sum": 1.3, "gap": 1.5, "number": 1.6, "length": 1.7}.get(self.kind, 1.0)

    def of(self, args: Sequence[Argument], signature: Signature) -> Tensor:
        """Its value for arguments ``[n, *axes]``."""
        one = self._alone(args, self.first, signature)
        if self.kind == "length":
            return one.square().sum(1).sqrt()
        if self.second < 0:
            return one[:, self.place]
        other = self._alone(args, self.second, signature)
        if self.kind == "distance":
            return (one - other).square().sum(1).sqrt()
        if self.kind == "gap":
            return one[:, self.place] - other[:, self.other]
        apart = one[:, self.place] - other[:, self.place]
        if self.kind == "sum":
            return apart + self._alone(args, self.other, signature)[:, self.place]
        return apart % (signature.inputs[self.first].spec.choices or 1) if self.kind == "turn" else apart

    def typed(self, signature: Signature) -> Hashable:
        """What it reads in the words of any signature: types in the places of arguments."""
        inputs = [one.type_id or (at, signature) for at, one in enumerate(signature.inputs)]
        second = inputs[self.second] if self.second >= 0 else None
        return self.kind, inputs[self.first], second, self.place, self.other if self.kind == "gap" else 0

    def _alone(self, args: Sequence[Argument], at: int, signature: Signature) -> Tensor:
        """An argument as numbers ``[n, size]``."""
        value, spec = args[at], signature.inputs[at].spec
        assert isinstance(value, Tensor)
        if spec.is_categorical:
            return value.reshape(len(value), spec.size, spec.choices or 1).argmax(-1).to(torch.float32)
        flat = value.reshape(len(value), spec.size)
        return (flat > 0.5).to(torch.float32) if spec.prim == "bool" else flat.to(torch.float32)

    def said(self, names: Sequence[str], sizes: Sequence[int]) -> str:
        """It, in words: ``names`` and ``sizes`` are those of the arguments."""
        part = f"[{self.place}]" if sizes[self.first] > 1 and self.kind != "distance" else ""
        if self.kind == "length":
            return f"length({names[self.first]})"
        if self.second < 0:
            return f"{names[self.first]}{part}"
        if self.kind == "distance":
            return f"distance({names[self.first]}, {names[self.second]})"
        if self.kind == "gap":
            second = f"[{self.other}]" if sizes[self.second] > 1 else ""
            return f"({names[self.first]}{part} - {names[self.second]}{second})"
        if self.kind == "sum":
            return f"({names[self.first]} + {names[self.other]} - {names[self.second]}){part}"
        return f"({names[self.first]} - {names[self.second]}){part}"

    def as_json(self) -> list[Any]:
        """Plain data."""
        return [self.kind, self.first, self.second, self.place, self.other]


MOST_GAPS: Final = 8
"""Numbers of different types, or of three arguments, are compared where few can be. Set by hand."""


def readings_of(signature: Signature) -> tuple[InputReading, ...]:
    """Everything there is to read off arguments that are no sets, comparisons first."""
    alone: list[InputReading] = []
    between: list[InputReading] = []
    gaps: list[InputReading] = []
    singles = [i for i, one in enumerate(signature.inputs) if not one.is_set]
    for i in singles:
        one = signature.inputs[i]
        kind: Kind = "code" if one.spec.is_categorical or one.spec.prim == "bool" else "number"
        alone += [InputReading(kind, i, place=at) for at in range(one.spec.size)]
        if kind == "number" and one.spec.size > 1:
            alone.append(InputReading("length", i))
    for i, j in combinations(singles, 2):
        one = signature.inputs[i]
        if not _kindred(one, signature.inputs[j]):
            if one.spec.prim == signature.inputs[j].spec.prim == "float":
                gaps += [
                    InputReading("gap", i, j, at, to)
                    for at in range(one.spec.size)
                    for to in range(signature.inputs[j].spec.size)
                ]
            continue
        apart: Kind = "turn" if one.spec.is_categorical else "difference"
        between += [InputReading(apart, i, j, at) for at in range(one.spec.size)]
        if apart == "difference" and one.spec.size > 1:
            between.append(InputReading("distance", i, j))
    rare = [some for some in (_sums(signature, singles), gaps) if len(some) <= MOST_GAPS]
    return (*between, *(one for some in rare for one in some), *alone)


def _sums(signature: Signature, singles: Sequence[int]) -> list[InputReading]:
    """How far two vectors or numbers of one type are apart, one of them moved by a third."""
    found: dict[tuple[frozenset[int], int], int] = {}
    for first, second, by in permutations(singles, 3):
        one, other, third = (signature.inputs[at] for at in (first, second, by))
        if one.spec.prim == "float" and _kindred(one, other) and third.spec == one.spec:
            found.setdefault((frozenset((first, by)), second), first)
    return [
        InputReading("sum", first, second, at, *(both - {first}))
        for (both, second), first in found.items()
        for at in range(signature.inputs[first].spec.size)
    ]


def can_read(signature: Signature) -> bool:
    """Whether every argument is a value of few numbers, and so is the result."""
    return all(
        not spec.is_image and spec.size <= MOST_NUMBERS
        for spec in (*(one.spec for one in signature.inputs), signature.output)
    )


def _kindred(a: Input, b: Input) -> bool:
    return a.type_id is not None and a.type_id == b.type_id and a.spec == b.spec and a.spec.prim != "bool"


def reading_of(given: Any, signature: Signature) -> InputReading | None:
    """The reading that plain data describe; None where there is no such one."""
    if not isinstance(given, list) or len(given) != 5 or given[0] not in KINDS:
        return None
    if not all(type(n) is int for n in given[1:]):
        return None
    found = InputReading(*given)
    return found if found in readings_of(signature) else None
