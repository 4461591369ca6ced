"""Conditions over many variables as several over few.

That a robot faces a thing depends on where both are, and on the robot's direction: one instance for
each combination. That it faces a *cell* depends on the robot alone, and that the thing is there on the
thing alone.
Variables are eliminated one by one, as in Bichler, Morak & Woltran (2016): what they occur in becomes a
derived predicate over the variables that are left, where these are not all the others. Of the orders, one
is taken whose rules have the fewest variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final, final

from pdsketch.abstract.andor.symbolic import Symbols, conjoined, some
from pdsketch.lang import Action, Expr, Predicate, Quantified, Update, Variable, conjuncts, free_variables

MOST_ORDERED: Final = 5
"""Variables whose orders are all tried: 120 of them."""


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """Conditions that share variables which occur nowhere else: ``inner``."""

    parts: tuple[Expr, ...]
    inner: tuple[Variable, ...]

    @property
    def outer(self) -> set[str]:
        """The names of the variables that others see."""
        return {n for part in self.parts for n in free_variables(part)} - {v.name for v in self.inner}


@final
@dataclass(frozen=True, slots=True)
class Splitting:
    """Splits the bodies of derived predicates, and the conditions of effects."""

    symbols: Symbols

    def derived(self, predicate: Predicate) -> Predicate:
        """A derived predicate whose body says that something exists in steps."""
        body = predicate.body
        if not isinstance(body, Quantified) or body.op != "exists":
            return predicate
        seen = {parameter.name for parameter in predicate.parameters}
        left, parts = self._split(body.variables, conjuncts(body.body), seen)
        return replace(predicate, body=some(left, conjoined(parts)))

    def action(self, action: Action) -> Action:
        """An action whose effects depend on no variables that they do not need."""
        return replace(action, effects=tuple(self._effects(action)))

    def _effects(self, action: Action) -> Iterator[Update]:
        groups: dict[tuple[object, ...], list[Update]] = {}
        for update in action.effects:
            groups.setdefault((update.variables, update.condition), []).append(update)
        for updates in groups.values():
            seen = {p.name for p in action.parameters}
            for update in updates:
                seen |= {*free_variables(update.target)}
                seen |= {*free_variables(update.value)} if update.value is not None else set()
            first = updates[0]
            free = [v for v in first.variables if v.name not in seen]
            left, parts = self._split(free, conjuncts(first.condition), seen)
            kept = tuple(v for v in first.variables if v.name in seen or v in left)
            for update in updates:
                yield replace(update, variables=kept, condition=conjoined(parts))

    def _split(
        self, variables: Sequence[Variable], parts: Iterable[Expr], seen: set[str]
    ) -> tuple[list[Variable], list[Expr]]:
        """The variables that are left, and the conditions over these and the ``seen`` ones."""
        first = [_Group((part,), ()) for part in parts]
        orders = permutations(variables) if len(variables) <= MOST_ORDERED else [variables]
        groups = min((_eliminated(order, first, seen) for order in orders), key=lambda g: _widths(g, seen))
        gone = {v for group in groups for v in group.inner}
        return [v for v in variables if v not in gone], [self._named(group) for group in groups]

    def _named(self, group: _Group) -> Expr:
        return self.symbols.named(some(group.inner, conjoined(group.parts)))


def _eliminated(variables: Iterable[Variable], groups: list[_Group], seen: set[str]) -> list[_Group]:
    """The groups without those of the variables, taken in this order, that some of the groups share alone."""
    for variable in variables:
        own = [group for group in groups if variable.name in group.outer]
        joined = _Group(
            tuple(part for group in own for part in group.parts),
            (*(v for group in own for v in group.inner), variable),
        )
        others = {name for group in groups for name in group.outer} | seen
        if own and joined.outer < others - {variable.name}:
            groups = [*(group for group in groups if group not in own), joined]
    return groups


def _widths(groups: Sequence[_Group], seen: set[str]) -> list[int]:
    """How many variables each rule has, the widest first: those of the groups, and what is left of them."""
    rest = {name for group in groups for name in group.outer} | seen
    return sorted([len(rest), *(len(g.outer) + len(g.inner) for g in groups if g.inner)], reverse=True)
