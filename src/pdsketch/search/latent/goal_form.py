"""The form of a goal: how its literals are joined and quantified, apart from which literals they are.

Goals that differ in their predicates alone (a *red* block in the box, a *blue* one) have one form, so that
their literals are counted together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from pdsketch.lang import Expr, Logic, ObjectType, Quantified, Variable, free_variables, substitute


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or its negation; its ``variables`` stand for the goal's variables number ``axes``."""

    atom: Expr
    variables: tuple[Variable, ...]
    axes: tuple[int, ...]
    wanted: bool


Orders = Callable[[Sequence[tuple[Expr, bool]]], frozenset[tuple[int, int]]]
"""Of literals that are wanted together: the pairs (i, j) where j has to wait for i."""


@final
@dataclass(frozen=True, slots=True)
class Leaf:
    """The literal number ``slot``."""

    slot: int
    axes: tuple[int, ...]
    wanted: bool


@final
@dataclass(frozen=True, slots=True)
class JoinedParts:
    """Parts that are all wanted, or one of which is; ``orders``: part j has to wait for part i."""

    all_: bool
    parts: tuple[Shape, ...]
    orders: frozenset[tuple[int, int]] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Over:
    """A part for all objects of some types, or for one; its variables begin with number ``first``."""

    all_: bool
    first: int
    types: tuple[ObjectType, ...]
    body: Shape


Shape = Leaf | JoinedParts | Over


@final
@dataclass(frozen=True, slots=True)
class GoalForm:
    """A goal's shape, and its literals in the order of their slots."""

    shape: Shape
    literals: tuple[Literal, ...]


def form_of(goal: Expr, orders: Orders | None = None) -> GoalForm:
    """The form of a goal, with negations at its atoms; ``orders`` says which literals wait for others."""
    literals: list[Literal] = []

    def visit(expr: Expr, bound: tuple[Variable, ...], wanted: bool) -> Shape:
        match expr:
            case Logic(op="not", args=(negated,)):
                return visit(negated, bound, not wanted)
            case Logic(op="implies", args=(given, then)):
                parts = ((given, not wanted), (then, wanted))
                return join(parts, bound, all_=not wanted)
            case Logic(op=op, args=args) if args:
                return join([(part, wanted) for part in args], bound, all_=(op == "and") == wanted)
            case Quantified(op=op, variables=own, body=body):
                types = tuple(v.type for v in own if isinstance(v.type, ObjectType))
                inner = visit(body, (*bound, *own), wanted)
                return Over((op == "forall") == wanted, len(bound), types, inner)
            case _:
                literals.append(_literal(expr, bound, wanted))
                return Leaf(len(literals) - 1, literals[-1].axes, wanted)

    def join(parts: Sequence[tuple[Expr, bool]], bound: tuple[Variable, ...], *, all_: bool) -> Shape:
        flat = _flattened(parts) if all_ else list(parts)
        waiting = frozenset[tuple[int, int]]() if orders is None or not all_ else orders(flat)
        return JoinedParts(all_, tuple(visit(part, bound, wanted) for part, wanted in flat), waiting)

    return GoalForm(visit(goal, (), True), tuple(literals))


def _flattened(parts: Sequence[tuple[Expr, bool]]) -> list[tuple[Expr, bool]]:
    """The parts of a conjunction, with those of conjunctions in it."""
    found: list[tuple[Expr, bool]] = []
    for part, wanted in parts:
        match part:
            case Logic(op="not", args=(negated,)):
                found += _flattened([(negated, not wanted)])
            case Logic(op="and" | "or" as op, args=args) if args and (op == "and") == wanted:
                found += _flattened([(inner, wanted) for inner in args])
            case _:
                found.append((part, wanted))
    return found


def _literal(atom: Expr, bound: tuple[Variable, ...], wanted: bool) -> Literal:
    """The atom with names for its variables that are the same in all goals."""
    free = set(free_variables(atom))
    # An inner variable hides an outer one of the same name.
    last = {v.name: i for i, v in enumerate(bound) if v.name in free}
    axes = tuple(sorted(last.values()))
    variables = tuple(Variable(f"?{rank}@", bound[axis].type) for rank, axis in enumerate(axes))
    named = {bound[axis].name: variable for axis, variable in zip(axes, variables, strict=True)}
    return Literal(substitute(atom, named), variables, axes, wanted)
