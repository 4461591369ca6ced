"""What stays the same from state to state: the domain, the objects, the users' functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any, final

from pdsketch.budget import current
from pdsketch.lang.data import choices_of
from pdsketch.lang.domain import Domain, Predicate, Problem
from pdsketch.lang.records import dataclass
from pdsketch.lang.terms import Expr, Variable, children
from pdsketch.lang.types import ObjectType, Type


@final
@dataclass(frozen=True, slots=True, eq=False)
class StaticContext:
    """What stays the same from state to state: the domain, the objects, the users' functions.

    ``functions`` holds a plain Python function for each external predicate, by
    its name, and for each blank, by its full name. It takes and returns plain
    values: Booleans, numbers, tuples of numbers, names of objects. A set is a
    list of pairs (value, weight); crisply, of those elements alone whose
    condition holds, each with weight 1.0.
    """

    domain: Domain
    universe: Mapping[str, ObjectType]
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    _members: dict[Type, tuple[Any, ...]] = field(default_factory=dict, repr=False)
    _frames: dict[str, int] = field(default_factory=dict, repr=False)
    _of_role: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, problem: Problem, functions: Mapping[str, Callable[..., Any]] | None = None) -> StaticContext:
        """The world of a problem."""
        return cls(problem.domain, problem.universe, functions or {})

    def members(self, type_: Type) -> tuple[Any, ...]:
        """What a variable of this type ranges over: objects, or the choices of a value type."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                self._members[type_] = self.domain.hierarchy.members(type_, self.universe)
            else:
                self._members[type_] = choices_of(type_)
        return self._members[type_]

    def of_role(self, role: str) -> frozenset[str]:
        """The predicates of a role."""
        if role not in self._of_role:
            found = (p.name for p in self.domain.predicates.values() if p.role == role)
            self._of_role[role] = frozenset(found)
        return self._of_role[role]

    def frames(self, predicate: Predicate) -> int:
        """How deep Python's stack grows, at most, while the body of a derived predicate is evaluated."""
        if predicate.name not in self._frames:
            assert predicate.body is not None
            self._frames[predicate.name] = 4 + 2 * _depth(predicate.body)
        return self._frames[predicate.name]

    def instances(self, variables: Sequence[Variable]) -> Iterator[tuple[Any, ...]]:
        """Every way to give the variables something to stand for."""
        budget = current()
        for instance in product(*(self.members(variable.type) for variable in variables)):
            budget.tick()
            yield instance


def _depth(expr: Expr) -> int:
    return 1 + max(map(_depth, children(expr)), default=0)
