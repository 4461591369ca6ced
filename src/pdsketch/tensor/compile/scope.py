"""What the variables in scope stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pdsketch.lang import Expr, Object, Predicate, Variable
from pdsketch.tensor.compile.node import Axes, Axis, Node
from pdsketch.tensor.compile.read import ActionParameter, Along, Named, Place

Binding = Along | ActionParameter | Named | Node
"""What a variable stands for: an axis of objects, a parameter of the action, an object, or a value."""

Env = Mapping[str, Binding]

NOTHING: Final[Env] = {}


def parameters(predicate: Predicate) -> tuple[Axes, Env]:
    """An axis for each object parameter of a predicate, in order, and what its variables stand for."""
    axes = tuple(Axis(level, p.type) for level, p in enumerate(predicate.parameters))
    return axes, {p.name: Along(axis) for p, axis in zip(predicate.parameters, axes, strict=True)}


def level_of(env: Env) -> int:
    """The first level below everything in scope."""
    axes: list[Axis] = []
    for bound in env.values():
        axes += [bound.axis] if isinstance(bound, Along) else bound.axes if isinstance(bound, Node) else ()
    return 1 + max((axis.level for axis in axes), default=-1)


def place(expr: Expr, env: Env) -> Place:
    """Where to find an object argument."""
    if isinstance(expr, Object):
        return Named(expr.name)
    assert isinstance(expr, Variable)
    bound = env[expr.name]
    assert not isinstance(bound, Node)
    return bound
