"""The facts over codes of many states at once: initial states of a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.symbolic import code_name, part_name
from pdsketch.kernels.arrays import Bools, Longs
from pdsketch.lang.domain import Domain, Fact, Predicate
from pdsketch.lang.types import ObjectType
from pdsketch.task.template import Template
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.universe import Universe


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """The facts of a state variable, ``[row of objects, code]``; -1: none. A Boolean one has one code.

    ``parts`` has such a table for each part of its type.
    """

    predicate: str
    parts: tuple[Longs, ...]
    is_bool: bool


@final
class FactTables:
    """Where the facts of states stand in a template. ``names`` are the template's names of their objects."""

    def __init__(
        self,
        domain: Domain,
        books: Codebooks,
        template: Template,
        universe: Universe,
        names: Mapping[str, str],
    ) -> None:
        self._books = books
        self._template = template
        self._places = []
        for predicate in domain.state_predicates:
            members = [
                [names[n] for n in universe.members(p.type)]
                for p in predicate.parameters
                if isinstance(p.type, ObjectType)
            ]
            rows = [*product(*members)]
            if predicate.type.is_bool:
                found: Sequence[Longs] = [_numbers(template, predicate.name, rows, [()])]
            else:
                found = [
                    _numbers(
                        template,
                        part_name(books, predicate, place),
                        rows,
                        [(code_name(part.book, code),) for code in range(len(part.book))],
                    )
                    for place, part in enumerate(books.parts(predicate.type))
                ]
            self._places.append(_Places(predicate.name, tuple(found), predicate.type.is_bool))

    def states(self, tensors: Mapping[str, Tensor], n: int) -> Bools:
        """The truth of the template's facts in ``n`` states, ``[state, fact]``."""
        first = self._template.state(())
        states = np.repeat(first[None], n, 0)
        for places in self._places:
            table = tensors[places.predicate]
            if places.is_bool:
                (numbers,) = places.parts
                held = table.reshape(n, -1).cpu().numpy().astype(np.bool_)
                self._enter(states, np.where(held, numbers[:, 0], -1))
                continue
            for numbers, codes in zip(places.parts, self._books.codes(places.predicate, table), strict=True):
                self._enter(states, numbers[np.arange(len(numbers)), codes.reshape(n, -1)])
        return states

    @staticmethod
    def _enter(states: Bools, facts: Longs) -> None:
        """Make facts true, ``[state, k]``."""
        owners, columns = np.nonzero(facts >= 0)
        states[owners, facts[owners, columns]] = True


def _numbers(
    template: Template, name: str, rows: Sequence[tuple[str, ...]], codes: Sequence[tuple[str, ...]]
) -> Longs:
    known = template.numbers
    found = [known.get((name, *row, *code), -1) for row in rows for code in codes]
    return np.array(found, np.int64).reshape(len(rows), len(codes))


def facts_of(
    books: Codebooks, predicates: Iterable[Predicate], state: StateBatch, names: Mapping[str, str]
) -> Iterator[Fact]:
    """The facts over codes of one state, those of some state variables; its objects have these names."""
    universe = state.universe(0)
    for predicate in predicates:
        table = state.tensors[predicate.name]
        members = [
            [names[n] for n in universe.members(p.type)]
            for p in predicate.parameters
            if isinstance(p.type, ObjectType)
        ]
        rows = [*product(*members)]
        if predicate.type.is_bool:
            truths = table.reshape(-1).tolist()
            yield from ((predicate.name, *row) for row, held in zip(rows, truths, strict=True) if held)
            continue
        for place, codes in enumerate(books.split(predicate.name, table)):
            book = books.parts(predicate.type)[place].book
            name = part_name(books, predicate, place)
            yield from ((name, *row, code_name(book, c)) for row, c in zip(rows, codes, strict=True))
