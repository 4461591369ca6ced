"""Many goals over one batch: goals that differ only in their predicates are evaluated together.

``(exists (?o - item) (and (is-red ?o) (is-box ?o)))`` and the same with *blue*
and *key* have one skeleton. Each derived predicate is computed once, for the
states whose goals mention it; then the skeleton is evaluated once for all of
them, on tables whose rows come from the predicate that the row's goal names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, final

from pdsketch.lang.domain import Domain
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Each,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Value,
    Variable,
    walk,
)


@final
@dataclass(frozen=True, eq=False)
class Family:
    """Goals of one skeleton.

    ``model`` is one of them, which is evaluated for all; ``slots`` are its
    derived predicates, each once. ``members`` maps each goal's index to the
    predicates that take the slots' places.
    """

    model: Expr
    slots: tuple[str, ...]
    members: dict[int, tuple[str, ...]]


def families(domain: Domain, goals: Iterable[Expr]) -> list[Family]:
    """The goals, grouped by skeleton."""
    found: dict[Hashable, Family] = {}
    for at, goal in enumerate(goals):
        slots: dict[str, int] = {}
        key = _key(goal, domain, slots, {})
        family = found.setdefault(key, Family(goal, tuple(slots), {}))
        family.members[at] = tuple(slots)
    return list(found.values())


def _key(expr: Expr, domain: Domain, slots: dict[str, int], names: dict[str, int]) -> Hashable:
    """What goals of one skeleton have in common: derived predicates become slots, variables numbers."""

    def parts(*inner: Expr) -> tuple[Hashable, ...]:
        return tuple(_key(part, domain, slots, names) for part in inner)

    match expr:
        case Variable():
            return ("variable", names.get(expr.name, expr.name))
        case Object():
            return ("object", expr.name)
        case Value():
            return ("value", expr.value, expr.type)
        case Apply():
            predicate = domain.predicates[expr.predicate]
            signature = (*(p.type for p in predicate.parameters), predicate.type)
            head: Hashable = expr.predicate
            if predicate.role == "derived" and is_table(domain, expr.predicate):
                head = slots.setdefault(expr.predicate, len(slots))
            return ("apply", head, signature, *parts(*expr.args))
        case BlankCall():
            return ("blank", expr.blank, *parts(*expr.args))
        case Logic() | Arithmetic():
            return (expr.op, *parts(*expr.args))
        case Quantified() | Each():
            inside = dict(names)
            for variable in expr.variables:
                inside[variable.name] = len(inside)
            kind = expr.op if isinstance(expr, Quantified) else "each"
            bodies = (expr.body,) if isinstance(expr, Quantified) else (expr.condition, expr.body)
            types = tuple(v.type for v in expr.variables)
            return (kind, types, *(_key(body, domain, slots, inside) for body in bodies))
        case Equal():
            return ("=", expr.tolerance, *parts(expr.left, expr.right))
        case Compare():
            return (expr.op, *parts(expr.left, expr.right))


def is_table(domain: Domain, name: str) -> bool:
    """Whether a predicate ranges over objects alone, so that its values form a table."""
    from pdsketch.lang.types import ObjectType

    return all(isinstance(p.type, ObjectType) for p in domain.predicates[name].parameters)


@final
class Reads:
    """Which state variables expressions read, through derived predicates; and which an action writes."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._of: dict[str, frozenset[str]] = {}

    def predicate(self, name: str) -> frozenset[str]:
        """What the value of a predicate depends on."""
        if name not in self._of:
            predicate = self.domain.predicates[name]
            if predicate.role in ("derived",) and predicate.body is not None:
                self._of[name] = frozenset()  # recursion ends here
                self._of[name] = self.expression(predicate.body)
            else:
                self._of[name] = frozenset({name})
        return self._of[name]

    def expression(self, expr: Expr) -> frozenset[str]:
        """What the value of an expression depends on."""
        names = {node.predicate for node in walk(expr) if isinstance(node, Apply)}
        return frozenset().union(*(self.predicate(name) for name in names))

    def action(self, name: str) -> frozenset[str]:
        """What the effects of an action depend on."""
        found: set[str] = set()
        for update in self.domain.actions[name].effects:
            found |= self.expression(update.condition) | {update.target.predicate}
            if update.value is not None:
                found |= self.expression(update.value)
        return frozenset(found)

    def written(self, name: str) -> tuple[str, ...]:
        """What an action writes, each once."""
        return tuple(dict.fromkeys(u.target.predicate for u in self.domain.actions[name].effects))


def derived_in(domain: Domain, expressions: Iterable[Any]) -> tuple[str, ...]:
    """The derived predicates with tables that expressions name directly, each once."""
    found = dict.fromkeys(
        node.predicate
        for expr in expressions
        for node in walk(expr)
        if isinstance(node, Apply)
        and domain.predicates[node.predicate].role == "derived"
        and is_table(domain, node.predicate)
    )
    return tuple(found)
