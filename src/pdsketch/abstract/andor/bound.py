"""What effects rule out, asked of the codes that they read.

An effect that reads where a robot is, and asks that nothing blocks it, asks that nothing blocks it *there*.
A state variable has one code at a time, so that within the condition of an effect its reads stand for the
variable: a predicate that is denied is derived anew with these codes as arguments. It then depends on less
of the state, most of it can be settled while grounding, and a relaxed plan can no
longer deny it by what is true elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, permutations
from typing import Final, final

from pdsketch.abstract.andor.symbolic import Symbols, conjoined, negated, some
from pdsketch.lang import (
    FALSE,
    TRUE,
    Action,
    Apply,
    Domain,
    Equal,
    Expr,
    Logic,
    Object,
    Predicate,
    Quantified,
    Update,
    Variable,
    conjuncts,
    free_variables,
    map_children,
    substitute,
    unfold,
    walk,
)

Read = tuple[str, tuple[Expr, ...]]
"""A part of a state variable, and its objects."""


@final
@dataclass(slots=True)
class BoundReads:
    """Rewrites conditions of effects. ``parts`` are the predicates that say which code something has."""

    domain: Domain
    symbols: Symbols
    parts: frozenset[str]
    _fresh: count[int] = field(default_factory=count)
    _known: dict[tuple[Expr, frozenset[tuple[Read, Expr]]], Expr] = field(default_factory=dict)

    def action(self, action: Action) -> Action:
        """The action with the conditions of its effects rewritten."""
        return replace(action, effects=tuple(map(self._update, action.effects)))

    def _update(self, update: Update) -> Update:
        parts = conjuncts(update.condition)
        reads = {
            (part.predicate, part.args[:-1]): part.args[-1]
            for part in parts
            if isinstance(part, Apply) and part.predicate in self.parts
        }
        if not reads:
            return update
        return replace(update, condition=conjoined(self._denied(part, reads) for part in parts))

    def _denied(self, part: Expr, reads: Mapping[Read, Expr]) -> Expr:
        if not (isinstance(part, Logic) and part.op == "not"):
            return part
        key = (part, frozenset(reads.items()))
        if key not in self._known:
            (inner,) = part.args
            found = self._at(inner, reads)
            self._known[key] = part if found is inner else negated(self.symbols.named(found))
        return self._known[key]

    def _at(self, expr: Expr, reads: Mapping[Read, Expr]) -> Expr:
        """The formula where the state variables have these codes; itself if it does not read them."""
        match expr:
            case Apply() if expr.predicate in self.parts:
                code = reads.get((expr.predicate, expr.args[:-1]))
                return expr if code is None else _same(expr.args[-1], code)
            case Apply() if self._is_derived(expr.predicate):
                body = unfold(expr, self.domain, self._fresh)
                found = self._at(body, reads)
                return expr if found is body else found
            # A variable that is equal to a known code need not be quantified any more: that is what makes
            # rules small.
            case Quantified(op="exists"):
                body = self._at(expr.body, reads)
                return expr if body is expr.body else _without_equals(expr.variables, body)
            case _:
                return map_children(expr, lambda part: self._at(part, reads))

    def _is_derived(self, name: str) -> bool:
        predicate = self.domain.predicates.get(name)
        return predicate is not None and predicate.body is not None and name not in self.domain.recursive


def _same(left: Expr, right: Expr) -> Expr:
    if left == right:
        return TRUE
    return FALSE if isinstance(left, Object) and isinstance(right, Object) else Equal(left, right, 0.0)


def _without_equals(variables: Sequence[Variable], body: Expr) -> Expr:
    """That something exists, without the variables that are said to be equal to something else."""
    left = list(variables)
    parts = conjuncts(body)
    inner = [part for part in parts if isinstance(part, Quantified) and part.op == "exists"]
    # Bound variables have names of their own: what exists in a part exists outside as well.
    left += [variable for part in inner for variable in part.variables]
    parts = [p for part in parts for p in (conjuncts(part.body) if part in inner else [part])]
    for part in [part for part in parts if isinstance(part, Equal)]:
        for own, other in ((part.left, part.right), (part.right, part.left)):
            if isinstance(own, Variable) and own in left and part in parts:
                left.remove(own)
                parts.remove(part)
                parts = [substitute(p, {own.name: other}) for p in parts]
    return some(left, conjoined(parts))


def reachable(formulas: Iterable[Expr], bodies: Mapping[str, Predicate]) -> dict[str, Predicate]:
    """Those of some derived predicates that formulas lead to."""
    found: dict[str, Predicate] = {}
    waiting = [*formulas]
    while waiting:
        for node in walk(waiting.pop()):
            if isinstance(node, Apply) and node.predicate in bodies and node.predicate not in found:
                predicate = found[node.predicate] = bodies[node.predicate]
                waiting += [predicate.body] if predicate.body is not None else []
    return found


# Conditions over many variables as several over few.
#
# That a robot faces a thing depends on where both are, and on the robot's direction: one instance for
# each combination. That it faces a *cell* depends on the robot alone, and that the thing is there on the
# thing alone.
# Variables are eliminated one by one, as in Bichler, Morak & Woltran (2016): what they occur in becomes a
# derived predicate over the variables that are left, where these are not all the others. Of the orders, one
# is taken whose rules have the fewest variables.

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
        # A proper part of what the others see: else the new predicate would be as wide as the rule it is
        # taken from.
        if own and joined.outer < others - {variable.name}:
            groups = [*(group for group in groups if group not in own), joined]
    return groups


def _widths(groups: Sequence[_Group], seen: set[str]) -> list[int]:
    """How many variables each rule has, the widest first: those of the groups, and what is left of them."""
    rest = {name for group in groups for name in group.outer} | seen
    return sorted([len(rest), *(len(g.outer) + len(g.inner) for g in groups if g.inner)], reverse=True)
