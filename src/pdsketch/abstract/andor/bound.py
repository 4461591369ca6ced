"""What effects rule out, asked of the codes that they read.

An effect that reads where a robot is, and asks that nothing blocks it, asks that nothing blocks it *there*.
A state variable has one code at a time, so that within the condition of an effect its reads stand for the
variable: a predicate that is denied is derived anew with these codes as arguments. It then depends on less
of the state, most of it can be settled while grounding, and a relaxed plan can no
longer deny it by what is true elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import final

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
