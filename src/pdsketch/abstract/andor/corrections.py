"""Rules corrected by what the model was seen to do: where a code stands for values that behave differently.

A function over codes is asked for the values that its codes stand for. Where a plan shows that it gives
something else for the values of a state, that result is put in the place of the other for these codes, and
remembered with the model (counterexample-guided refinement; Clarke et al., 2003). Results that contradict
each other correct nothing: then the codes are too coarse, and what they stand for counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.abstraction import with_names
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.functions import CodeAxis, CodeInput
from pdsketch.abstract.andor.model_function import ModelFunction
from pdsketch.core import Longs
from pdsketch.lang import ObjectType, ValueType, Variable, free_variables, walk
from pdsketch.tensor import CORRECTIONS, ENTRIES, WEIGHTS, Model, StateBatch

if TYPE_CHECKING:
    from pdsketch.abstract.andor.translate import Translator

MOST: Final = 1024
"""Corrections that a model remembers; then the oldest go. Set by hand."""

Numbers = tuple[tuple[float, ...], ...]
"""Codes as the numbers that they stand for; a truth is 0 or 1, and nothing is written: ``()``."""


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

    def applied(self, function: ModelFunction, rows: Longs, results: Longs) -> Longs:
        """The results of a function on rows of codes with its corrections in their place."""
        for (own, given), right in self._entries.items():
            if own != function.key or right is None or len(given) != len(function.axes):
                continue
            codes = [_code(axis, numbers) for axis, numbers in zip(function.axes, given, strict=True)]
            result = self._coded(function.type, right)
            if None not in codes and None not in result and len(result) == results.shape[1]:
                results[(rows == np.array(codes, np.int64)).all(1)] = np.array(result, np.int64)
        return results

    def add(self, function: ModelFunction, row: Longs, result: Longs) -> bool:
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


# Where functions over codes say something else than the model does in a state.

MOST_ROWS: Final = 4096
"""Combinations of objects for which a function is asked in a state; one of more is left out. Set by hand."""

WrongCase = tuple[ModelFunction, Longs, Longs]
"""A function, the codes on its axes, and its results there."""


def counter_examples(
    translator: Translator,
    state: StateBatch,
    owners: Collection[str],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> list[WrongCase]:
    """The cases that one state shows to be wrong, of functions of some actions and derived predicates.

    ``owners`` are the names of these actions and predicates, whose functions ``translator`` has put into
    rules; ``state`` is a batch of one, encoded. ``arguments`` are those of the action's parameters: objects
    and values. ``names`` are the objects of the state by the names that formulas have for them.
    """
    known = translator.functions.values()
    asked = {f.function.key: f.function for f in known if f.owner in owners and f.function.set is None}
    found = []
    for function in asked.values():
        inputs = list(dict.fromkeys(axis.input for axis in function.axes))
        given = _values(translator.model, state, inputs, arguments, names)
        if given is None:
            continue
        n = len(next(iter(given.values()))) if given else 1
        columns = [_column(axis, given[axis.input.variable.name]) for axis in function.axes]
        rows = np.stack(columns, -1) if columns else np.zeros((n, 0), np.int64)
        device = translator.evaluator.programs.device
        said = function.results(rows)
        done = function.answers({name: values[None].to(device) for name, values in given.items()}, n)
        differ = np.flatnonzero((said != done).any(1))
        cases = {(*rows[i].tolist(), *done[i].tolist()): i for i in differ.tolist()}
        found += [(function, rows[i], done[i]) for i in cases.values()]
    return found


def _values(
    model: Model,
    state: StateBatch,
    inputs: Sequence[CodeInput],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> dict[str, Tensor] | None:
    """The values of inputs in a state, ``[n, *shape]`` each, for all objects; None: they are not known."""
    engine, universe = model.engine, state.universe(0)
    read = [node for each in inputs for node in walk(each.expr) if isinstance(node, Variable)]
    free = {name for each in inputs for name in free_variables(each.expr)}
    objects = {v.name: v for v in read if v.name in free and isinstance(v.type, ObjectType)}
    members = [universe.members(v.type) for v in objects.values() if isinstance(v.type, ObjectType)]
    n = prod(map(len, members))
    if n > MOST_ROWS:
        return None
    rows = product(*members)
    fits = [all(arguments.get(v, o) == o for v, o in zip(objects, row, strict=True)) for row in rows]
    kept = torch.tensor([i for i, fit in enumerate(fits) if fit], dtype=torch.int64)
    found, run = {}, engine.open(state)
    for each in inputs:
        if isinstance(each.expr, Variable):
            if each.expr.name not in arguments:
                return None
            value = torch.as_tensor(arguments[each.expr.name])
            found[each.variable.name] = value.expand(len(kept), *value.shape)
            continue
        table = engine.table(run, with_names(each.expr, names), list(objects.values()))[0]
        found[each.variable.name] = table.reshape(n, *table.shape[len(members) :]).cpu()[kept]
    return found


def _column(axis: CodeAxis, values: Tensor) -> Longs:
    """The codes of values on an axis."""
    if axis.part is None:
        return (values.reshape(-1) > 0.5).numpy().astype(np.int64)
    numbers = values.double().reshape(len(values), -1).numpy()
    return axis.part.book.nearest(numbers[:, list(axis.part.dimensions)])
