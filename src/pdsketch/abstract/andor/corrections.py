"""Rules corrected by what the model was seen to do: where a code stands for values that behave differently.

A function over codes is asked for the values that its codes stand for. Where a plan shows that it gives
something else for the values of a state, that result is put in the place of the other for these codes, and
remembered with the model (counterexample-guided refinement; Clarke et al., 2003). Results that contradict
each other correct nothing: then the codes are too coarse, and what they stand for counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, final

import numpy as np
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.functions import CodeAxis
from pdsketch.core import Longs
from pdsketch.lang import BlankCall, Expr, ValueType, formula_text, walk
from pdsketch.tensor import CORRECTIONS, ENTRIES, WEIGHTS, Model

MOST: Final = 1024
"""Corrections that a model remembers; then the oldest go. Set by hand."""

Answers = Callable[[Mapping[str, Tensor], int], Longs]
"""The values of inputs, ``[1, n, *shape]`` each, and how many → results, ``[n, parts]``."""

Numbers = tuple[tuple[float, ...], ...]
"""Codes as the numbers that they stand for; a truth is 0 or 1, and nothing is written: ``()``."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class NetworkFunction:
    """A function of the model that has no set among its inputs.

    ``results`` are those on codes of its ``axes``, corrected; ``answers`` are the network's on values.
    ``type`` is that of its value; None: it is a truth.
    """

    key: str
    axes: tuple[CodeAxis, ...]
    type: ValueType | None
    answers: Answers
    results: Callable[[Longs], Longs]


def key_of(expr: Expr, type_: ValueType | None) -> str:
    """A name for a function that is the same in every process."""
    blanks = sorted({node.blank for node in walk(expr) if isinstance(node, BlankCall)})
    return " ".join([formula_text(expr), *blanks, "" if type_ is None else f"-> {type_}"]).strip()


@final
class Corrections:
    """The corrections of a model's functions: for codes of their axes, other results.

    An entry whose results contradicted each other is None.
    """

    def __init__(self, model: Model, books: Codebooks) -> None:
        self._model = model
        self._books = books
        self._entries: dict[tuple[str, Numbers], Numbers | None] = {}
        kept = model.notes.get(CORRECTIONS, {})
        if kept and kept.get(WEIGHTS) == _digest(model):
            for key, given, result in kept[ENTRIES]:
                self._entries[key, _tuples(given)] = None if result is None else _tuples(result)

    def count(self, key: str) -> int:
        """How many cases of a function are corrected."""
        return sum(own == key and result is not None for (own, _), result in self._entries.items())

    def applied(self, function: NetworkFunction, rows: Longs, results: Longs) -> Longs:
        """The results of a function on rows of codes with its corrections in their place."""
        for (own, given), right in self._entries.items():
            if own != function.key or right is None or len(given) != len(function.axes):
                continue
            codes = [_code(axis, numbers) for axis, numbers in zip(function.axes, given, strict=True)]
            result = self._coded(function.type, right)
            if None not in codes and None not in result and len(result) == results.shape[1]:
                results[(rows == np.array(codes, np.int64)).all(1)] = np.array(result, np.int64)
        return results

    def add(self, function: NetworkFunction, row: Longs, result: Longs) -> bool:
        """Correct one case; False where it was corrected otherwise before."""
        given = tuple(_numbers(axis, int(code)) for axis, code in zip(function.axes, row, strict=True))
        right = self._values(function.type, result.tolist())
        known = self._entries.get((function.key, given), right)
        agrees = known == right
        self._entries[function.key, given] = right if agrees else None
        while len(self._entries) > MOST:
            del self._entries[next(iter(self._entries))]
        self._remember()
        return agrees

    def _remember(self) -> None:
        listed = [
            [key, [*map(list, given)], None if right is None else [*map(list, right)]]
            for (key, given), right in self._entries.items()
        ]
        self._model.notes[CORRECTIONS] = {WEIGHTS: _digest(self._model), ENTRIES: listed}

    def _values(self, type_: ValueType | None, codes: Sequence[int]) -> Numbers:
        if type_ is None:
            return tuple((float(code),) for code in codes)
        books = [part.book for part in self._books.parts(type_)]
        return tuple(
            tuple(book.values[code].tolist()) if code >= 0 else ()
            for book, code in zip(books, codes, strict=True)
        )

    def _coded(self, type_: ValueType | None, values: Numbers) -> list[int | None]:
        """The codes that results are now; None: there is none."""
        if type_ is None:
            return [int(numbers[0]) for numbers in values]
        parts = self._books.parts(type_)
        found: list[int | None] = []
        for part, numbers in zip(parts, values, strict=False):
            near = np.array([numbers]) if len(numbers) == len(part.dimensions) else None
            if near is None:
                found.append(-1 if not numbers else None)
            else:
                code = int(part.book.nearest(near)[0] if part.book.fixed else part.book.admit(near)[0])
                found.append(code if part.book.is_near(near)[0] else None)
        return found


def _numbers(axis: CodeAxis, code: int) -> tuple[float, ...]:
    return (float(code),) if axis.part is None else tuple(axis.part.book.values[code].tolist())


def _code(axis: CodeAxis, numbers: tuple[float, ...]) -> int | None:
    if axis.part is None:
        return int(numbers[0])
    book = axis.part.book
    if len(numbers) != len(axis.part.dimensions) or not book.is_near(np.array([numbers]))[0]:
        return None
    return int(book.nearest(np.array([numbers]))[0])


def _tuples(listed: Sequence[Sequence[float]]) -> Numbers:
    return tuple(tuple(map(float, numbers)) for numbers in listed)


def _digest(model: Model) -> str:
    """What the weights are: those of other ones are not corrected."""
    digest = sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]
