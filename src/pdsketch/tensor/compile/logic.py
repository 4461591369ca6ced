"""The connectives and quantifiers of each t-norm, and of two-valued logic.

A logic has a binary ``conj`` and ``disj``, which it also folds along axes
(``every``, ``some``), ``neg`` and ``implies``. On truth values 0 and 1 all four
agree. Gradients are finite everywhere: products are plain products, never
logarithms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pdsketch.lang import did_you_mean, error
from pdsketch.tensor.compile.node import Axes, Compute, Node, Run, aligned


class FuzzyLogic(ABC):
    """What the connectives mean. ``true`` and ``false`` are the neutral elements of ``conj`` and ``disj``."""

    name: str
    crisp = False
    dtype = torch.float32

    @abstractmethod
    def conj(self, a: Tensor, b: Tensor) -> Tensor:
        """Both."""

    @abstractmethod
    def disj(self, a: Tensor, b: Tensor) -> Tensor:
        """One or both."""

    @abstractmethod
    def every(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """All along some axes, none of which is empty."""

    @abstractmethod
    def some(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """At least one along some axes, none of which is empty."""

    def neg(self, a: Tensor) -> Tensor:
        """Not."""
        return 1.0 - a

    def implies(self, a: Tensor, b: Tensor) -> Tensor:
        """If the first, then the second."""
        return self.disj(self.neg(a), b)


@final
class Godel(FuzzyLogic):
    """min, max, 1 − p: what defines the meaning."""

    name = "godel"

    def conj(self, a: Tensor, b: Tensor) -> Tensor:
        """``min(a, b)``."""
        return torch.minimum(a, b)

    def disj(self, a: Tensor, b: Tensor) -> Tensor:
        """``max(a, b)``."""
        return torch.maximum(a, b)

    def every(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """The minimum."""
        return a.amin(axes)

    def some(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """The maximum."""
        return a.amax(axes)


@final
class Product(FuzzyLogic):
    """ab, a + b − ab: every conjunct and every object receives a gradient."""

    name = "product"

    def conj(self, a: Tensor, b: Tensor) -> Tensor:
        """``ab``."""
        return a * b

    def disj(self, a: Tensor, b: Tensor) -> Tensor:
        """``1 − (1 − a)(1 − b)``, which is exact where either is 0 or 1."""
        return 1.0 - (1.0 - a) * (1.0 - b)

    def implies(self, a: Tensor, b: Tensor) -> Tensor:
        """``1 − a(1 − b)``."""
        return 1.0 - a * (1.0 - b)

    def every(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """The product."""
        for axis in sorted(axes, reverse=True):
            a = _product(a, axis)
        return a

    def some(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """One minus the product of the complements."""
        return 1.0 - self.every(1.0 - a, axes)


def _product(a: Tensor, axis: int) -> Tensor:
    """The product along an axis: its gradient is right at zeros, and needs no synchronisation."""
    if a.requires_grad and a.shape[axis] > 2 and torch.is_grad_enabled():
        found: Tensor = _Product.apply(a, axis)  # type: ignore[no-untyped-call]
        return found
    return _halved(a, axis)


class _Product(torch.autograd.Function):
    """The product by halving, with a gradient of a few operations, not of several a half."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, axis: int) -> Tensor:
        ctx.save_for_backward(a)
        ctx.axis = axis
        return _halved(a, axis)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """The gradient of each factor: the product of those before it and of those behind it."""
        (a,), axis = ctx.saved_tensors, ctx.axis
        n = a.shape[axis]
        one = a.new_ones(()).expand(*a.shape[:axis], 1, *a.shape[axis + 1 :])
        # Not `product / a`: that is 0 / 0 where a factor is 0, and crisp truth values often are.
        before = torch.cat([one, a.narrow(axis, 0, n - 1)], axis).cumprod(axis)
        behind = torch.cat([one, a.narrow(axis, 1, n - 1).flip(axis)], axis).cumprod(axis).flip(axis)
        return before.mul_(behind).mul_(grad.unsqueeze(axis)), None


def _halved(a: Tensor, axis: int) -> Tensor:
    # A tree of products in place of `prod`, whose backward pass asks the device whether there are zeros.
    while (n := a.shape[axis]) > 1:
        half = n // 2
        folded = a.narrow(axis, 0, half) * a.narrow(axis, half, half)
        if n % 2:
            folded = torch.cat([folded, a.narrow(axis, n - 1, 1)], dim=axis)
        a = folded
    return a.squeeze(axis)


@final
class Lukasiewicz(FuzzyLogic):
    """max(0, a + b − 1), min(1, a + b)."""

    name = "lukasiewicz"

    def conj(self, a: Tensor, b: Tensor) -> Tensor:
        """``max(0, a + b − 1)``."""
        return (a + b - 1.0).clamp(min=0.0)

    def disj(self, a: Tensor, b: Tensor) -> Tensor:
        """``min(1, a + b)``."""
        return (a + b).clamp(max=1.0)

    def every(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """``max(0, 1 − Σ(1 − a))``."""
        return (1.0 - (1.0 - a).sum(axes)).clamp(min=0.0)

    def some(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """``min(1, Σa)``."""
        return a.sum(axes).clamp(max=1.0)


@final
class Crisp(FuzzyLogic):
    """Two-valued logic on Boolean tensors: Gödel on rounded values."""

    name = "crisp"
    crisp = True
    dtype = torch.bool

    def conj(self, a: Tensor, b: Tensor) -> Tensor:
        """And."""
        return a & b

    def disj(self, a: Tensor, b: Tensor) -> Tensor:
        """Or."""
        return a | b

    def neg(self, a: Tensor) -> Tensor:
        """Not."""
        return ~a

    def every(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """All."""
        return a.all(axes[0]) if len(axes) == 1 else a.all(axes)

    def some(self, a: Tensor, axes: tuple[int, ...]) -> Tensor:
        """Any."""
        return a.any(axes[0]) if len(axes) == 1 else a.any(axes)


CRISP = Crisp()
LOGICS: dict[str, FuzzyLogic] = {logic.name: logic for logic in (Godel(), Product(), Lukasiewicz())}


def logic_of(tnorm: str) -> FuzzyLogic:
    """The logic of a t-norm by its name."""
    if tnorm not in LOGICS:
        raise error(
            "unknown-tnorm",
            f"there is no t-norm `{tnorm}`",
            help=did_you_mean(str(tnorm), LOGICS) or f"choose from {', '.join(LOGICS)}",
        )
    return LOGICS[tnorm]


# Quantifiers and many-part connectives: truth values folded under masks.


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
    axes = tuple(sorted({*body.axes, *own}, key=lambda axis: axis.depth))
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
            # Objects that pad a smaller state are neutral: true under `forall`, false under `exists`.
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


# Least fixpoints of recursive Boolean predicates, soft and crisp.

CONVERGED = 1e-7
"""A soft fixpoint has been reached when no truth value changes by more than this."""


def fixpoint(
    names: Sequence[str], holders: Sequence[Node], bodies: Sequence[tuple[Axes, Compute]], logic: FuzzyLogic
) -> dict[str, Node]:
    """One node a predicate of a component: all false at first, then their bodies until nothing changes.

    ``names`` are the predicates, ``bodies`` the axes and the program of each, ``holders`` what the bodies
    read the current values from. By Gödel's or crisp ``logic``, values come from a finite set and grow, so
    that as many rounds as there are atoms are enough.
    """

    def solve(run: Run) -> list[Tensor]:
        current = [_all_false(run, axes, logic) for axes, _ in bodies]
        # Product values may creep up for ever; so many rounds bound those, and are exact for the others.
        rounds = sum(tensor[0].numel() for tensor in current) + 1
        outer = run.enter((), ())
        try:
            for _ in range(rounds):
                run.enter(holders, current)
                found = [body(run).expand(run.batch.size, *map(run.size, axes)) for axes, body in bodies]
                stable = all(map(_same, current, found))
                current = found
                if stable:
                    break
        finally:
            run.leave(outer)
        return current

    nodes: list[Node] = []

    def one(i: int) -> Compute:
        def compute(run: Run) -> Tensor:
            solved = solve(run)
            run.remember(nodes, solved)
            return solved[i]

        return compute

    nodes += [Node(axes, one(i)) for i, (axes, _) in enumerate(bodies)]
    return dict(zip(names, nodes, strict=True))


def _all_false(run: Run, axes: Axes, logic: FuzzyLogic) -> Tensor:
    shape = (run.batch.size, *map(run.size, axes))
    return torch.zeros(shape, dtype=logic.dtype, device=run.batch.device)


def _same(a: Tensor, b: Tensor) -> bool:
    if a.numel() == 0:
        return True
    if not a.is_floating_point():
        return torch.equal(a, b)
    return float((a.detach() - b.detach()).abs().max()) <= CONVERGED
