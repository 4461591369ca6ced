"""One update of one predicate, compiled: where it writes, when it fires, and what."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import final

import torch
from torch import Tensor

from pdsketch.lang import TRUE, ObjectType, Predicate, Update
from pdsketch.tensor.compile.logic import FuzzyLogic, logic_of, over
from pdsketch.tensor.compile.lower import Lowering
from pdsketch.tensor.compile.node import INSTANCE, Axes, Axis, Run, aligned
from pdsketch.tensor.compile.read import Along, Binding, Place, axes_of, depth_of, index_of, place
from pdsketch.tensor.states import saturating
from pdsketch.tensor.states.values import fully_soft, numbers


@final
class Writer:
    """An update for every ground instance of its action.

    ``axes`` are those over which the target ranges, the instances first. A *local* tensor is ``[state, *axes,
    *value]``, a *table* ``[state, instance, *objects, *value]``. ``extra`` are the axes of variables that the
    target does not mention: over them, one entry has several writers.

    It is made of an ``update`` of ``predicate``; ``lowering`` compiles its condition and value under its
    logic, where ``env`` says what the action's parameters are bound to.
    """

    def __init__(
        self, update: Update, predicate: Predicate, lowering: Lowering, env: Mapping[str, Binding]
    ) -> None:
        own, inner = lowering.bound(update.variables, env, depth_of(env))
        self.op = update.op
        self.type = predicate.type
        self.types = predicate.object_types
        self.places: list[Place] = [place(a, inner) for a in update.target.args]
        self.axes: Axes = _in_order({INSTANCE, *axes_of(self.places)})
        self.extra = tuple(axis for axis in own if axis not in self.axes)
        condition = lowering.condition(update, inner)
        self.always = condition is None and not self.extra
        self.crisp = lowering.logic.crisp
        self._soft = soft(lowering.logic)
        self._whole = _in_order({*self.axes, *self.extra})
        self._condition = lowering.lower(TRUE) if condition is None else condition
        self._fires = aligned(over(self._condition, self.extra, lowering.logic, every=False), self.axes)
        value = None if update.value is None else lowering.as_type(update.value, predicate.type, inner)
        self._value = None if value is None else aligned(value, self._whole)
        along = [p.axis for p in self.places if isinstance(p, Along)]
        self._ordered = along == list(self.axes[1:])
        self._points = [i for i, p in enumerate(self.places) if not isinstance(p, Along)]
        self._casts = [
            (p.axis.type, t)
            for p, t in zip(self.places, self.types, strict=True)
            if isinstance(p, Along) and isinstance(p.axis.type, ObjectType) and p.axis.type != t
        ]

    # -- when, and what: local tensors ------------------------------------------

    def gate(self, run: Run) -> Tensor:
        """How much it fires ``[state, *axes]``: the logic's *or* over ``extra``."""
        return self._fires(run)

    def value(self, run: Run) -> Tensor:
        """What it writes, if it is the only writer of each entry."""
        assert self._value is not None
        return self._value(run)

    def mixture(self, run: Run) -> tuple[Tensor, Tensor]:
        """``Σcw`` and ``Σc`` over ``extra``, as floats; of truth values, the logic's *or* of each."""
        value = fully_soft(self.value(run), self.type)
        gate = self._gates(run)
        join = self._any if self.type.prim == "bool" else self._sum
        return join(beside(gate, value) * value), join(gate)

    def change(self, run: Run) -> Tensor:
        """What an increase adds, or a scaling multiplies by, minus one; 0 where it does not fire.

        One number may change a vector: then the value's own axes are not there.
        """
        value = numbers(self.value(run), self.type)
        if self.op == "decrease":
            value = saturating.negative(value)
        elif self.op == "scale-down":
            value = 1.0 / value - 1.0
        elif self.op == "scale-up":
            value = saturating.subtract(value, torch.ones_like(value))
        if self.always:
            return value
        gate = self._gates(run)
        if self.crisp and not value.is_floating_point():
            gate = gate.to(value.dtype)
        change = beside(gate, value) * value
        if self.op not in ("scale-up", "scale-down"):
            return self._sum(change)
        one = torch.ones_like(change)
        factor = self._product(saturating.add(change, one))
        return saturating.subtract(factor, torch.ones_like(factor))

    def _gates(self, run: Run) -> Tensor:
        """The gate over ``axes`` and ``extra`` as floats, 0 where there is no object."""
        gate = aligned(self._condition, self._whole)(run).to(torch.float32)
        for i, axis in enumerate(self._whole, start=1):
            if axis not in self.extra:
                continue
            mask, size = run.mask(axis), run.size(axis)
            if mask is not None:
                gate = gate * mask.reshape(
                    mask.shape[0], *(1,) * (i - 1), size, *(1,) * (len(self._whole) - i)
                )
            elif gate.shape[i] != size:
                gate = gate.expand(*gate.shape[:i], size, *gate.shape[i + 1 :])
        return gate

    def _sum(self, tensor: Tensor) -> Tensor:
        dims = self._extra_dims()
        return saturating.total(tensor, dims) if dims else tensor

    def _any(self, truth: Tensor) -> Tensor:
        dims = self._extra_dims()
        if not dims:
            return truth
        if any(truth.shape[dim] == 0 for dim in dims):
            return self._sum(truth)
        return self._soft.some(truth, dims)

    def _product(self, tensor: Tensor) -> Tensor:
        for dim in reversed(self._extra_dims()):
            one = tensor.new_ones(*tensor.shape[:dim], *tensor.shape[dim + 1 :])
            tensor = reduce(saturating.multiply, tensor.unbind(dim), one)
        return tensor

    def _extra_dims(self) -> tuple[int, ...]:
        return tuple(1 + i for i, axis in enumerate(self._whole) if axis in self.extra)

    # -- where: local tensors and tables ----------------------------------------

    def fits(self, run: Run) -> bool:
        """Whether a local tensor is a table but for axes of size 1, so that nothing is scattered."""
        return (
            self._ordered
            and all(run.batch.layout.size(self.types[i]) == 1 for i in self._points)
            and all(run.batch.map(inner, outer) is None for inner, outer in self._casts)
        )

    def local(self, table: Tensor) -> Tensor:
        """A fitting table as a local tensor."""
        for i in reversed(self._points):
            table = table.select(2 + i, 0)
        return table

    def table(self, local: Tensor) -> Tensor:
        """A fitting local tensor as a table."""
        for i in self._points:
            local = local.unsqueeze(2 + i)
        return local

    def index(self, run: Run) -> tuple[Tensor, ...]:
        """The entries it writes, in a table."""
        rest = (1,) * (len(self.axes) - 1)
        device = run.batch.device
        states = torch.arange(run.batch.size, device=device).reshape(-1, 1, *rest)
        instances = torch.arange(run.instances, device=device).reshape(1, -1, *rest)
        found = (index_of(run, p, t, self.axes) for p, t in zip(self.places, self.types, strict=True))
        return (states, instances, *found)

    def real(self, run: Run) -> Tensor | None:
        """Which entries along ``axes`` are objects; None: all are."""
        real: Tensor | None = None
        for i, axis in enumerate(self.axes, start=1):
            mask = run.mask(axis)
            if mask is not None:
                shape = (mask.shape[0], *(1,) * (i - 1), mask.shape[1], *(1,) * (len(self.axes) - i))
                real = mask.reshape(shape) if real is None else real & mask.reshape(shape)
        return real

    def placed(self, local: Tensor, run: Run) -> Tensor:
        """A local tensor as a table, with 0 where it says nothing."""
        if self.fits(run):
            return self.table(local)
        own = local.shape[1 + len(self.axes) :]
        sizes = [run.batch.layout.size(t) for t in self.types]
        zeros = torch.zeros(
            run.batch.size, run.instances, *sizes, *own, dtype=local.dtype, device=local.device
        )
        real = self.real(run)
        if real is None:
            return torch.index_put(zeros, self.index(run), local)
        # Padding may point at an entry that is also written in earnest: it adds nothing to it.
        counted = local.to(torch.float32) if local.dtype == torch.bool else local
        counted = counted * beside(real, counted)
        total = torch.index_put(zeros.to(counted.dtype), self.index(run), counted, accumulate=True)
        return total > 0.5 if local.dtype == torch.bool else total


def soft(logic: FuzzyLogic) -> FuzzyLogic:
    """The logic on floats: Gödel's for a crisp one."""
    return logic_of("godel") if logic.crisp else logic


def beside(gate: Tensor, value: Tensor) -> Tensor:
    """A gate, or one number, with axes of size 1 for the value's own."""
    return gate.reshape(*gate.shape, *(1,) * (value.dim() - gate.dim()))


def _in_order(axes: set[Axis]) -> Axes:
    return tuple(sorted(axes, key=lambda axis: axis.depth))
