"""The objects that are nodes of a graph, and tensors over axes of types brought to the axis of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pdsketch.lang import OBJECT, Domain, ObjectType, did_you_mean, error
from pdsketch.tensor import StateBatch


def node_type(domain: Domain, types: Sequence[str] | None) -> ObjectType:
    """The type of the objects that are nodes: all of them, or those of some types."""
    for name in types or ():
        if name not in domain.hierarchy.names:
            raise error(
                "unknown-type",
                f"`{name}` is not an object type of the domain",
                help=did_you_mean(name, domain.hierarchy.names),
            )
    return ObjectType(tuple(types)) if types else OBJECT


def shared_type(domain: Domain, type_: ObjectType, nodes: ObjectType) -> ObjectType | None:
    """The type of the objects of another type that are nodes; None where there are none."""
    if domain.hierarchy.is_subtype(type_, nodes):
        return type_
    below = domain.hierarchy.descendants(type_.names) & domain.hierarchy.descendants(nodes.names)
    return ObjectType(tuple(sorted(below))) if below else None


def narrowed(
    batch: StateBatch, values: Tensor, axes: Sequence[ObjectType], nodes: ObjectType
) -> tuple[Tensor, tuple[ObjectType, ...]] | None:
    """The values of the objects that are nodes, and the types of their axes; None if none is a node."""
    found = []
    for at, axis in enumerate(axes):
        type_ = shared_type(batch.domain, axis, nodes)
        if type_ is None or not batch.count(type_):
            return None
        values = along(batch, values, at + 1, type_, axis)
        found.append(type_)
    return values, tuple(found)


def scattered(batch: StateBatch, values: Tensor, axes: Sequence[ObjectType], nodes: ObjectType) -> Tensor:
    """Values over axes of types that are nodes, at the nodes of the same objects; 0 elsewhere."""
    count = batch.count(nodes)
    place = torch.zeros((1,) * (1 + len(axes)), dtype=torch.int64, device=values.device)
    for at, type_ in enumerate(axes):
        shape = [-1, *(1,) * len(axes)]
        shape[at + 1] = batch.count(type_)
        mask = batch.mask(type_)
        if mask is not None:
            values = values * mask.reshape(shape)[..., None]
        own = batch.map(type_, nodes)
        if own is None:
            own = torch.arange(batch.count(type_), device=values.device)[None]
        place = place * count + own.reshape(shape)
    flat = values.flatten(1, -2)
    index = place.expand(batch.size, *values.shape[1:-1]).flatten(1)[..., None].expand_as(flat)
    empty = values.new_zeros(batch.size, count ** len(axes), values.shape[-1])
    return empty.scatter_add(1, index, flat).reshape(batch.size, *(count,) * len(axes), -1)


def along(batch: StateBatch, values: Tensor, axis: int, inner: ObjectType, outer: ObjectType) -> Tensor:
    """Values of the objects of an inner type, taken from the axis of an outer one."""
    own = batch.map(inner, outer)
    if own is None:
        return values
    shape = [1] * values.dim()
    shape[0], shape[axis] = own.shape
    size = list(values.shape)
    size[axis] = own.shape[1]
    return values.gather(axis, own.reshape(shape).expand(size))


def nodes_at(
    batch: StateBatch, nodes: Tensor, rows: Tensor, inner: ObjectType, at: Tensor, outer: ObjectType
) -> Tensor:
    """The vectors of one object in each of some states, by its place on the axis of its type."""
    own = batch.map(inner, outer)
    if own is not None:
        at = own.expand(batch.size, -1)[rows].gather(1, at[:, None])[:, 0]
    return nodes[rows, at]
