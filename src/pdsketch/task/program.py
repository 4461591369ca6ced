"""The program of the joins while it is written: what is shared then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from math import inf
from typing import final

from pdsketch.lang import ObjectType, dataclass
from pdsketch.task.normal import Vocabulary

MATCH, ENUMERATE, OF_TYPE, EQUAL, DIFFERENT, ABSENT, EMIT = range(7)
"""Kinds of steps of a join."""

ATOM, SAME, TEST, ALL, EVERY, EITHER = range(6)
"""Kinds of conditions."""


@final
@dataclass(frozen=True, slots=True)
class JoinRelation:
    """A predicate as the joins see it.

    ``spread[i]`` estimates how many objects stand in place ``i``, ``size`` how many
    facts there are; both are exact for a static relation.
    """

    number: int
    arity: int
    static: bool
    size: float
    spread: tuple[float, ...]


@final
@dataclass(slots=True)
class Compiler:
    """Writes the code. Indexes, types and places in the frame are numbered as they are met.

    ``addresses`` are those of the relations, ``n_args`` is the largest arity.
    """

    words: Vocabulary
    relations: Mapping[str, JoinRelation]
    addresses: dict[str, int]
    n_args: int
    n_variables: int
    n_matched: int
    code: list[int] = field(default_factory=list)
    indexes: dict[str, dict[tuple[int, ...], int]] = field(default_factory=dict)
    types: dict[ObjectType, tuple[int, int, int]] = field(default_factory=dict)
    constants: list[float] = field(default_factory=list)
    n_pointers: int = 0

    def listed(self, values: Iterable[int]) -> int:
        """The address of these values."""
        start = len(self.code)
        self.code.extend(values)
        return start

    def constant(self, value: float) -> int:
        """The place of a number."""
        self.constants.append(value)
        return len(self.constants) - 1

    def index(self, name: str, positions: tuple[int, ...]) -> int:
        """The address of the index of a relation over some argument positions."""
        if name not in self.indexes:
            self.indexes[name] = {}
            self.index(name, tuple(range(self.relations[name].arity)))
        own = self.indexes[name]
        if positions not in own:
            column = 1 + self.n_args + len(own)
            own[positions] = self.listed([column, len(positions), *(1 + i for i in positions)])
        return own[positions]

    def type(self, variable: str) -> tuple[int, int, int]:
        """The addresses of the objects of a variable's type and of its membership, and their number."""
        type_ = self.words.types[variable]
        if type_ not in self.types:
            members = self.words.members(type_)
            inside = set(members)
            membership = [int(i in inside) for i in range(len(self.words.names))]
            self.types[type_] = self.listed(members), self.listed(membership), len(members)
        return self.types[type_]


def relation_of(
    number: int, arity: int, static: bool, facts: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> JoinRelation:
    """A relation with its estimates; ``sizes`` are the numbers of objects of its parameters' types.

    ``number`` is its place among the relations, ``arity`` the count of its parameters. A ``static`` one has
    its ``facts``, rows of objects, which no action changes; of others, any fact may come to be.
    """
    if not static:
        return JoinRelation(number, arity, static, inf, tuple(float(n) for n in sizes))
    spread = tuple(float(len({fact[i] for fact in facts})) for i in range(arity))
    return JoinRelation(number, arity, static, float(len(facts)), spread)
