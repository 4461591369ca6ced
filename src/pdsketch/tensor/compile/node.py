"""Compiled expressions: nodes that compute a tensor over named axes, each at most once a run.

A node's tensor is ``[state, *axes, *value]``: the first axis is the batch (of
size 1 where all states agree), then one axis for each variable in ``axes``,
then the value's own. Any axis may have size 1 where the value does not depend
on it, so that nothing is expanded before it must be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from torch import Tensor

from pdsketch.budget import MEGABYTE, UNLIMITED, current
from pdsketch.lang import ObjectType, ValueType
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.values import every_choice

if TYPE_CHECKING:
    from pdsketch.tensor.compile.blanks import Functions


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a bound variable. Inner variables are deeper; axes stand in that order."""

    depth: int
    type: ObjectType | ValueType | None


INSTANCE: Final = Axis(-1, None)
"""The axis over ground instances of an action."""

Axes = tuple[Axis, ...]
Compute = Callable[["Run"], Tensor]


@final
class Node:
    """A compiled expression. ``loop``: its value changes while a fixpoint is computed."""

    __slots__ = ("axes", "compute", "kind", "loop")

    def __init__(self, axes: Axes, compute: Compute, *, loop: bool = False) -> None:
        self.axes = axes
        self.compute = compute
        self.loop = loop
        self.kind = _LOOP if loop else _GROUND if INSTANCE in axes else _STATE

    def __call__(self, run: Run) -> Tensor:
        """The node's tensor, computed if it was not yet."""
        memo = run.memos[self.kind]
        value = memo.get(self)
        if value is None:
            if run.limited:
                run.ask(self.axes)
            value = memo[self] = self.compute(run)
        return value


_AT_ONCE = 4
"""Tensors of a node that are there at a time: two parts, what is made of them, and a copy for a reduction."""

_STATE, _GROUND, _LOOP = 0, 1, 2


_PARDONED: ContextVar[bool] = ContextVar("pardoned", default=False)


@contextmanager
def pardoning() -> Iterator[None]:
    """Within, NaN that a module returns is no error: a search drops what it leads to."""
    token = _PARDONED.set(True)
    try:
        yield
    finally:
        _PARDONED.reset(token)


@final
class Run:
    """One evaluation: a batch, the ground arguments of an action, and what was computed so far.

    ``memos`` hold what depends on the state alone, on the ground arguments too,
    and on the current round of a fixpoint. ``checked``: what modules return is
    looked at; ``pardons``: NaN is let through all the same (`pardoning`).
    ``limited``: there is a ``budget``, which is asked before anything is computed.
    """

    __slots__ = (
        "batch",
        "budget",
        "checked",
        "functions",
        "instances",
        "limited",
        "memos",
        "parameters",
        "pardons",
    )

    def __init__(self, batch: StateBatch, functions: Functions, *, checked: bool = True) -> None:
        self.batch = batch
        self.functions = functions
        self.parameters: Mapping[str, Tensor] = {}
        self.instances = 1
        self.checked = checked
        self.pardons = _PARDONED.get()
        self.budget = current()
        self.limited = self.budget is not UNLIMITED
        self.memos: list[dict[Node, Tensor]] = [{}, {}, {}]

    def ground(self, parameters: Mapping[str, Tensor], instances: int) -> Run:
        """The same evaluation for ground arguments: what depends on the state alone is shared.

        Object parameters are places on the axis of their type, ``[state or 1,
        instance]``; value parameters ``[state or 1, instance, *value]``.
        """
        run = Run(self.batch, self.functions, checked=self.checked)
        run.parameters = parameters
        run.instances = instances
        run.memos = [self.memos[_STATE], {}, {}]
        return run

    def ask(self, axes: Axes) -> None:
        """Ask the budget for a node over these axes, of a byte each at least; now and then, if small."""
        size = _AT_ONCE * self.batch.size
        for axis in axes:
            size *= self.size(axis)
        if size > MEGABYTE:
            self.budget.reserve(size)
        else:
            self.budget.tick()

    @property
    def nbytes(self) -> int:
        """The memory that what was computed takes, and its last step took."""
        tensors = [t for memo in self.memos for t in memo.values()]
        held = sum(min(t.numel() * t.element_size(), t.untyped_storage().nbytes()) for t in tensors)
        return 2 * held + 24 * max((t.numel() for t in tensors), default=0)

    def remember(self, nodes: Iterable[Node], values: Iterable[Tensor]) -> None:
        """Take values of nodes over the state as computed."""
        self.memos[_STATE].update(zip(nodes, values, strict=True))

    def enter(self, nodes: Iterable[Node], values: Iterable[Tensor]) -> dict[Node, Tensor]:
        """Begin a round of a fixpoint with these values; returns what `leave` takes."""
        outer = self.memos[_LOOP]
        self.memos[_LOOP] = dict(zip(nodes, values, strict=True))
        return outer

    def leave(self, outer: dict[Node, Tensor]) -> None:
        """Return to the fixpoint around this one."""
        self.memos[_LOOP] = outer

    def size(self, axis: Axis) -> int:
        """How long an axis is here."""
        if axis.type is None:
            return self.instances
        if isinstance(axis.type, ObjectType):
            return self.batch.layout.size(axis.type)
        return len(self.choices(axis.type))

    def choices(self, type_: ValueType) -> Tensor:
        """Every value of a type with choices, ``[n, *shape]``."""
        key = ("choices", type_)
        cache = self.batch._cache
        if key not in cache:
            cache[key] = every_choice(type_, self.batch.device)
        found = cache[key]
        assert found is not None
        return found

    def mask(self, axis: Axis) -> Tensor | None:
        """Which places on an axis are real, ``[state, n]``; None: all are."""
        return self.batch.mask(axis.type) if isinstance(axis.type, ObjectType) else None


def union(nodes: Iterable[Node]) -> Axes:
    """The axes of several nodes, in order."""
    return tuple(sorted({axis for node in nodes for axis in node.axes}, key=_depth))


def _depth(axis: Axis) -> int:
    return axis.depth


def aligned(node: Node, axes: Axes) -> Compute:
    """The node's tensor with an axis (of size 1) for every one of ``axes``, which hold its own."""
    missing = [1 + i for i, axis in enumerate(axes) if axis not in node.axes]
    if not missing:
        return node
    if len(missing) == 1:
        place = missing[0]
        return lambda run: node(run).unsqueeze(place)

    def align(run: Run) -> Tensor:
        tensor = node(run)
        for place in missing:
            tensor = tensor.unsqueeze(place)
        return tensor

    return align


def spread(index: Tensor, axis: int, axes: int) -> Tensor:
    """An index ``[state or 1, n]`` over axis number ``axis`` of ``axes``, ready to broadcast."""
    return index.reshape(index.shape[0], *(1,) * axis, index.shape[1], *(1,) * (axes - axis - 1))
