"""Reading the table of a predicate at arguments: variables, objects, parameters of an action."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.lang import OBJECT, Expr, Object, ObjectType, Predicate, Variable
from pdsketch.tensor.compile.node import INSTANCE, Axes, Axis, Compute, Node, Run, spread


@final
@dataclass(frozen=True, slots=True)
class Along:
    """A variable that has an axis of its own."""

    axis: Axis


@final
@dataclass(frozen=True, slots=True)
class ActionParameter:
    """An object parameter of an action: an index into the axis of its type for each ground instance."""

    name: str
    type: ObjectType


@final
@dataclass(frozen=True, slots=True)
class Named:
    """An object by its name."""

    name: str


Place = Along | ActionParameter | Named
"""What an object argument is."""


def axes_of(places: Sequence[Place]) -> Axes:
    """The axes over which arguments range."""
    found = {place.axis for place in places if isinstance(place, Along)}
    if any(isinstance(place, ActionParameter) for place in places):
        found.add(INSTANCE)
    return tuple(sorted(found, key=lambda axis: axis.depth))


def index_of(run: Run, place: Place, type_: ObjectType, axes: Axes) -> Tensor:
    """Where an argument stands on the axis of ``type_``, broadcasting over ``[state, *axes]``.

    ``place`` says what the argument is; its index is found in the objects of the states of ``run``. ``axes``
    are those of the table that is read: the argument varies along its own and is 1 along the others.
    """
    match place:
        case Named():
            found = run.batch.lookup(place.name, type_)
            return found.reshape(-1, *(1,) * len(axes))
        case ActionParameter():
            index = run.parameters[place.name]
            if place.type != type_:
                table = run.batch.map(place.type, type_)
                index = index if table is None else _picked(table, index)
            return spread(index, axes.index(INSTANCE), len(axes))
        case Along():
            assert isinstance(place.axis.type, ObjectType)
            table = run.batch.map(place.axis.type, type_)
            if table is None:
                table = torch.arange(run.size(place.axis), device=run.batch.device)[None]
            return spread(table, axes.index(place.axis), len(axes))


def identity_of(run: Run, place: Place, axes: Axes) -> Tensor:
    """Which object an argument is: an id that can be compared across types."""
    match place:
        case Along():
            assert isinstance(place.axis.type, ObjectType)
            return spread(run.batch.ids(place.axis.type), axes.index(place.axis), len(axes))
        case ActionParameter():
            index = run.parameters[place.name]
            ids = _picked(run.batch.ids(place.type), index)
            return spread(ids, axes.index(INSTANCE), len(axes))
        case Named():
            # On the axis of all objects, an object's place is its identity.
            return run.batch.lookup(place.name, OBJECT).reshape(-1, *(1,) * len(axes))


def _picked(table: Tensor, index: Tensor) -> Tensor:
    """The entries ``[state or 1, n]`` of a table ``[state or 1, m]`` at places ``[state or 1, n]``."""
    if table.shape[0] == 1:
        return table[0][index]
    return table.gather(1, index.expand(table.shape[0], -1))


def read(table: Node, types: Sequence[ObjectType], places: Sequence[Place]) -> Node:
    """The node of ``(p a b …)`` from that of p's table, ``[state, *types, *value]``."""
    if not places:
        return table
    axes = axes_of(places)
    along = [place.axis for place in places if isinstance(place, Along)]
    gather = _gather(table, types, places, axes)
    if len(set(along)) < len(along):
        return Node(axes, gather, loop=table.loop)
    view = _view(places, axes)
    casts = [
        (place.axis.type, type_)
        for place, type_ in zip(places, types, strict=True)
        if isinstance(place, Along) and isinstance(place.axis.type, ObjectType) and place.axis.type != type_
    ]
    named = [(p.name, t) for p, t in zip(places, types, strict=True) if isinstance(p, Named)]
    points = [1 + i for i, place in enumerate(places) if not isinstance(place, Along)]

    def compute(run: Run) -> Tensor:
        for inner, outer in casts:
            if run.batch.map(inner, outer) is not None:
                return gather(run)
        tensor = table(run)
        for dim in points:
            if tensor.shape[dim] != 1:
                return gather(run)
        for name, type_ in named:
            run.batch.lookup(name, type_)  # an unknown object is an error all the same
        return view(tensor)

    return Node(axes, compute, loop=table.loop)


def _view(places: Sequence[Place], axes: Axes) -> Callable[[Tensor], Tensor]:
    """A table as it is, its axes in order: for variables of their own, and objects that are the only ones."""
    points = [1 + i for i, place in enumerate(places) if not isinstance(place, Along)]
    along = [place.axis for place in places if isinstance(place, Along)]
    order = [1 + along.index(axis) for axis in axes if axis in along]
    permuted = order != sorted(order)

    def view(tensor: Tensor) -> Tensor:
        for dim in reversed(points):
            tensor = tensor.select(dim, 0)
        if permuted:
            tensor = tensor.permute(0, *order, *range(1 + len(order), tensor.dim()))
        return tensor.unsqueeze(1) if INSTANCE in axes else tensor

    return view


def _gather(table: Node, types: Sequence[ObjectType], places: Sequence[Place], axes: Axes) -> Compute:
    """The table indexed at every combination of the arguments."""

    def compute(run: Run) -> Tensor:
        tensor = table(run)
        batch = tensor.shape[0]
        if not axes and run.batch.rows is None:
            for place, type_ in zip(places, types, strict=True):
                assert isinstance(place, Named)
                at = run.batch.layout.universes[0].at(place.name, type_)
                tensor = tensor.select(1, at if tensor.shape[1] > 1 else 0)
            return tensor
        index: list[Tensor] = []
        for i, (place, type_) in enumerate(zip(places, types, strict=True)):
            found = index_of(run, place, type_, axes)
            index.append(torch.zeros_like(found) if tensor.shape[1 + i] == 1 else found)
        if batch == 1:
            return tensor[0][tuple(index)]
        if all(i.shape[0] == 1 for i in index) and len(index) == 1:
            moved = tensor.index_select(1, index[0].flatten())
            return moved.reshape(batch, *index[0].shape[1:], *moved.shape[2:])
        states = torch.arange(batch, device=tensor.device).reshape(-1, *(1,) * len(axes))
        return tensor[(states, *index)]

    return compute


# What the variables in scope stand for.

Binding = Along | ActionParameter | Named | Node
"""What a variable stands for: an axis of objects, a parameter of the action, an object, or a value."""

Env = Mapping[str, Binding]

NOTHING: Final[Env] = {}


def parameters(predicate: Predicate) -> tuple[Axes, Env]:
    """An axis for each object parameter of a predicate, in order, and what its variables stand for."""
    axes = tuple(Axis(depth, p.type) for depth, p in enumerate(predicate.parameters))
    return axes, {p.name: Along(axis) for p, axis in zip(predicate.parameters, axes, strict=True)}


def depth_of(env: Env) -> int:
    """The first depth below everything in scope."""
    axes: list[Axis] = []
    for bound in env.values():
        axes += [bound.axis] if isinstance(bound, Along) else bound.axes if isinstance(bound, Node) else ()
    return 1 + max((axis.depth for axis in axes), default=-1)


def place(expr: Expr, env: Env) -> Place:
    """Where to find an object argument."""
    if isinstance(expr, Object):
        return Named(expr.name)
    assert isinstance(expr, Variable)
    bound = env[expr.name]
    assert not isinstance(bound, Node)
    return bound
