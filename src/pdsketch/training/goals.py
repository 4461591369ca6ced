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

from pdsketch.lang import Apply, Domain, Expr, Object, Predicate, map_children, rename_bound


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


def kinds(domain: Domain, goals: Iterable[Expr]) -> list[list[int]]:
    """The goals by what they ask of which predicates, whatever the objects; of those over several derived
    predicates at once (a red box, a blue key), all of one skeleton are one kind.
    """
    found: dict[Hashable, list[int]] = {}
    for at, goal in enumerate(goals):
        slots: dict[str, int] = {}
        skeleton = _skeleton(_impersonal(goal), domain, slots)
        alike = tuple(signature(domain.predicates[name]) for name in slots)
        found.setdefault((skeleton, tuple(slots) if len(slots) == 1 else alike), []).append(at)
    return list(found.values())


def _impersonal(goal: Expr) -> Expr:
    """The goal with objects named by the order in which they come."""
    names: dict[Object, str] = {}

    def renamed(node: Expr) -> Expr:
        if isinstance(node, Object):
            return replace(node, name=names.setdefault(node, f"#{len(names)}"))
        return map_children(node, renamed)

    return renamed(goal)


def signature(predicate: Predicate) -> tuple[Hashable, ...]:
    """What two predicates must share for their tables to take each other's place."""
    return (*(p.type for p in predicate.parameters), predicate.type)


def _skeleton(goal: Expr, domain: Domain, slots: dict[str, int]) -> Expr:
    """The goal with slots for derived predicates, and bound variables named by their place."""
    places = count()

    def fill(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.predicate in domain.analysis.tables:
            slot = slots.setdefault(node.predicate, len(slots))
            node = replace(node, predicate=f"${slot}")
        return map_children(node, fill)

    return fill(rename_bound(goal, lambda _: f"?{next(places)}"))
