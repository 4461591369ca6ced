"""Quantifiers and many-part connectives: truth values folded under masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import torch
from torch import Tensor

from pdsketch.tensor.compile.logic import FuzzyLogic
from pdsketch.tensor.compile.node import Axes, Compute, Node, Run, aligned


def folded(parts: Sequence[Node], op: Callable[..., Tensor], fold: Callable[..., Tensor]) -> Node:
    """A conjunction or disjunction of parts over the same axes."""
    if len(parts) == 1:
        return parts[0]
    loop = any(part.loop for part in parts)
    if len(parts) <= 8:
        return Node(parts[0].axes, lambda run: reduce(op, [part(run) for part in parts]), loop=loop)

    def stacked(run: Run) -> Tensor:
        tensors = torch.broadcast_tensors(*[part(run) for part in parts])  # type: ignore[no-untyped-call]
        return fold(torch.stack(tensors, -1), (tensors[0].dim(),))

    return Node(parts[0].axes, stacked, loop=loop)


def over(body: Node, own: Axes, logic: FuzzyLogic, *, every: bool) -> Node:
    """``forall`` or ``exists`` over some axes: the body reduced, under the masks.

    ``own`` are the axes that go; the rest of those of ``body`` stay. ``logic`` folds: with ``every`` as a
    conjunction, in which objects that are masked count as true, else as a disjunction, in which they are
    false.
    """
    if not own:
        return body
    axes = tuple(sorted({*body.axes, *own}, key=lambda axis: axis.level))
    get: Compute = aligned(body, axes)
    places = [(1 + axes.index(axis), axis) for axis in own]
    dims = tuple(place for place, _ in places)
    fold = logic.every if every else logic.some
    rest = tuple(axis for axis in axes if axis not in own)

    def compute(run: Run) -> Tensor:
        tensor = get(run)
        for dim, axis in places:
            size = run.size(axis)
            if size == 0:
                shape = [n for i, n in enumerate(tensor.shape) if i not in dims]
                return torch.full(shape, every, dtype=tensor.dtype, device=tensor.device)
            mask = run.mask(axis)
            if mask is not None:
                ready = mask.reshape(mask.shape[0], *(1,) * (dim - 1), size, *(1,) * (len(axes) - dim))
                tensor = torch.where(
                    ready, tensor, torch.full((), every, dtype=tensor.dtype, device=tensor.device)
                )
            elif tensor.shape[dim] != size:
                tensor = tensor.expand(*tensor.shape[:dim], size, *tensor.shape[dim + 1 :])
        return fold(tensor, dims)

    return Node(rest, compute, loop=body.loop)
