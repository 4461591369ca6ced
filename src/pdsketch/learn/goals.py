"""Many goals over one batch: goals that differ only in their predicates are evaluated together.

``(exists (?o - item) (and (is-red ?o) (is-box ?o)))`` and the same with *blue*
and *key* have one skeleton, ``(exists (?o - item) (and ($0 ?o) ($1 ?o)))``. Each
derived predicate is computed once, for the states whose goals mention it; then
the skeleton is evaluated once for all of them, on tables whose rows come from
the predicate that the row's goal names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import final

from pdsketch.lang.domain import Domain, Predicate
from pdsketch.lang.rewrite import map_children, rename_bound
from pdsketch.lang.terms import Apply, BlankCall, Expr, walk
from pdsketch.lang.types import ObjectType


@final
@dataclass(frozen=True, eq=False)
class Family:
    """Goals of one skeleton.

    ``domain`` declares the skeleton's slots ``$0``, ``$1`` … as if they were
    observed. ``members`` maps each goal's index to the predicates in the slots.
    """

    skeleton: Expr
    domain: Domain
    members: dict[int, tuple[str, ...]]


def families(domain: Domain, goals: Iterable[Expr]) -> list[Family]:
    """The goals, grouped by skeleton."""
    found: dict[Hashable, Family] = {}
    for at, goal in enumerate(goals):
        slots: dict[str, int] = {}
        skeleton = _skeleton(goal, domain, slots)
        signatures = tuple(signature(domain.predicates[name]) for name in slots)
        family = found.get((skeleton, signatures))
        if family is None:
            declared = [
                Predicate(
                    f"${i}", domain.predicates[name].parameters, domain.predicates[name].type, "observed"
                )
                for i, name in enumerate(slots)
            ]
            wider = replace(domain, predicates={**domain.predicates, **{p.name: p for p in declared}})
            family = found[skeleton, signatures] = Family(skeleton, wider, {})
        family.members[at] = tuple(slots)
    return list(found.values())


def signature(predicate: Predicate) -> tuple[Hashable, ...]:
    """What two predicates must share for their tables to take each other's place."""
    return (*(p.type for p in predicate.parameters), predicate.type)


def _skeleton(goal: Expr, domain: Domain, slots: dict[str, int]) -> Expr:
    """The goal with slots for derived predicates, and bound variables named by their place."""
    places = count()

    def fill(node: Expr) -> Expr:
        if isinstance(node, Apply) and is_derived_table(domain, node.predicate):
            slot = slots.setdefault(node.predicate, len(slots))
            node = replace(node, predicate=f"${slot}")
        return map_children(node, fill)

    return fill(rename_bound(goal, lambda _: f"?{next(places)}"))


def is_derived_table(domain: Domain, name: str) -> bool:
    """Whether a predicate is derived and ranges over objects alone, so that its values form a table."""
    predicate = domain.predicates[name]
    return predicate.role == "derived" and all(isinstance(p.type, ObjectType) for p in predicate.parameters)


def blanks_in(domain: Domain, expr: Expr, *, encoders: bool = True) -> set[str]:
    """The blanks that an expression calls, through derived predicates and, if asked, through encoders."""
    agenda, seen, found = [expr], set[str](), set[str]()
    while agenda:
        for node in walk(agenda.pop()):
            if isinstance(node, BlankCall):
                found.add(node.blank)
            if isinstance(node, Apply) and node.predicate not in seen:
                seen.add(node.predicate)
                predicate = domain.predicates[node.predicate]
                if predicate.body is not None and (encoders or predicate.role == "derived"):
                    agenda.append(predicate.body)
    return found


@final
class Reads:
    """What expressions and actions read and write, through derived predicates."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._state: dict[str, frozenset[str]] = {}

    def predicate(self, name: str) -> frozenset[str]:
        """The state variables (and raw predicates) on which the value of a predicate depends."""
        if name not in self._state:
            seen, agenda = {name}, [name]
            while agenda:
                predicate = self.domain.predicates[agenda.pop()]
                if predicate.role == "derived" and predicate.body is not None:
                    named = {node.predicate for node in walk(predicate.body) if isinstance(node, Apply)}
                    agenda += sorted(named - seen)
                    seen |= named
            given = ("observed", "raw", "encoded")
            self._state[name] = frozenset(n for n in seen if self.domain.predicates[n].role in given)
        return self._state[name]

    def expression(self, expr: Expr) -> frozenset[str]:
        """The state variables on which the value of an expression depends."""
        names = {node.predicate for node in walk(expr) if isinstance(node, Apply)}
        return frozenset().union(*(self.predicate(name) for name in sorted(names)))

    def effects(self, action: str) -> frozenset[str]:
        """The state variables that the effects of an action read or write."""
        found = frozenset(self.written(action))
        return found.union(*(self.expression(expr) for expr in self._right_hand_sides(action)))

    def written(self, action: str) -> tuple[str, ...]:
        """What an action writes, each once."""
        return tuple(dict.fromkeys(u.target.predicate for u in self.domain.actions[action].effects))

    def tables(self, expressions: Iterable[Expr]) -> tuple[str, ...]:
        """The derived tables that expressions name, through others too, callees first."""
        found: dict[str, None] = {}

        def visit(expr: Expr) -> None:
            for node in walk(expr):
                if isinstance(node, Apply) and node.predicate not in found:
                    body = self.domain.predicates[node.predicate].body
                    if self.domain.predicates[node.predicate].role != "derived" or body is None:
                        continue
                    if node.predicate in self.domain.recursive:
                        found[node.predicate] = None
                        continue
                    visit(body)
                    if is_derived_table(self.domain, node.predicate):
                        found[node.predicate] = None

        for expr in expressions:
            visit(expr)
        return tuple(name for name in found if is_derived_table(self.domain, name))

    def action_tables(self, action: str) -> tuple[str, ...]:
        """The derived tables that the effects of an action read."""
        return self.tables(self._right_hand_sides(action))

    def _right_hand_sides(self, action: str) -> list[Expr]:
        effects = self.domain.actions[action].effects
        return [u.condition for u in effects] + [u.value for u in effects if u.value is not None]
