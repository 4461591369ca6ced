"""Actions: many ground instances in many states at once.

All right-hand sides read the old state. Of several writers of one variable,
with gates cᵢ and values wᵢ: v′ = (1 − C)·v + C·Σcᵢwᵢ/Σcᵢ, where C is the
logic's *or* of the gates. Of truth values, true wins, as adds do: their *or* takes the place of
the two sums. Literal Boolean effects: v′ = a + (1 − a)(1 − d)·v;
Boolean assignments come between deletes and adds. Increases add up, scalings
multiply. What no effect mentions is not touched at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import torch
from torch import Tensor

from pdsketch.lang import FLOAT, INT, Action, ObjectType, Predicate, ValueType
from pdsketch.tensor.compile.logic import FuzzyLogic
from pdsketch.tensor.compile.lower import Lowering
from pdsketch.tensor.compile.node import INSTANCE, Node, Run
from pdsketch.tensor.compile.read import ActionParameter, Binding
from pdsketch.tensor.compile.writer import Writer, beside, soft
from pdsketch.tensor.states import saturating
from pdsketch.tensor.states.values import convert, fully_soft, harden, is_categorical, numbers, soften


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A predicate that an action writes, its table before, and its writers by kind."""

    predicate: Predicate
    before: Node
    deletes: tuple[Writer, ...]
    assigns: tuple[Writer, ...]
    adds: tuple[Writer, ...]
    increases: tuple[Writer, ...]
    scalings: tuple[Writer, ...]

    @property
    def writers(self) -> tuple[Writer, ...]:
        """All of them."""
        return (*self.deletes, *self.assigns, *self.adds, *self.increases, *self.scalings)


@final
@dataclass(frozen=True, slots=True)
class Assigned:
    """How far each entry of a predicate is written, ``gate [row, *objects]``, and what would be written:
    ``values [writer, row, *objects, *value]``, of which each counts for ``shares [writer, row, *objects]``.
    """

    gate: Tensor
    shares: Tensor
    values: Tensor

    @property
    def value(self) -> Tensor:
        """The mean of what would be written."""
        return (beside(self.shares, self.values) * self.values).sum(0)


@final
@dataclass(frozen=True, slots=True)
class CompiledAction:
    """An action under one logic: its precondition and cost ``[state, instance]``, and its targets."""

    action: Action
    logic: FuzzyLogic
    precondition: Node
    cost: Node | None
    targets: tuple[Target, ...]

    def written(self, run: Run) -> dict[str, Tensor]:
        """The new tables of what an action writes, ``[state · instance, *objects, *value]``."""
        after = {}
        for target in self.targets:
            new = _after(target, run, self.logic)
            sizes = [run.batch.layout.size(t) for t in target.writers[0].types]
            own = new.shape[2 + len(sizes) :]
            full = new.expand(run.batch.size, run.instances, *sizes, *own)
            after[target.predicate.name] = full.reshape(run.batch.size * run.instances, *sizes, *own)
        return after

    def assigned(self, run: Run) -> dict[str, Assigned]:
        """What is written, and how far, for the predicates to which an action assigns under conditions and
        does nothing else. Truths that several write are one: true wins.
        """
        found = {}
        for target in self.targets:
            if target.writers != target.assigns or all(writer.always for writer in target.writers):
                continue
            writers, logic = target.assigns, self.logic
            groups = [writers] if target.predicate.type.prim == "bool" else [[one] for one in writers]
            sizes = [run.batch.layout.size(t) for t in writers[0].types]

            def whole(table: Tensor, sizes: list[int] = sizes) -> Tensor:
                own = table.shape[2 + len(sizes) :]
                full = table.expand(run.batch.size, run.instances, *sizes, *own)
                return full.reshape(run.batch.size * run.instances, *sizes, *own)

            gate = whole(_any(writers, run, logic))
            values = torch.stack([whole(_mean(group, run, logic)) for group in groups])
            shares = torch.ones(1, *gate.shape, device=gate.device)
            if len(groups) > 1:
                gates = torch.stack([whole(_any(group, run, logic)).to(torch.float32) for group in groups])
                total = gates.sum(0)
                shares = gates / torch.where(total > 0, total, 1.0)
            found[target.predicate.name] = Assigned(gate, shares, values)
        return found

    def decided(self, run: Run) -> Tensor:
        """How surely the least sure gate is open or closed, ``[state, instance]``; 1 without any."""
        least = torch.ones(1, 1, device=run.batch.device)
        for writer in (w for target in self.targets for w in target.writers if not w.always):
            gate = writer.gate(run).to(torch.float32)
            sure, real = torch.maximum(gate, 1.0 - gate), writer.real(run)
            if real is not None:
                sure = torch.where(real, sure, 1.0)
            if sure.numel():
                least = torch.minimum(least, sure.flatten(2).amin(-1) if sure.dim() > 2 else sure)
        return least

    def known(self, run: Run) -> Tensor:
        """How sure a step is, ``[state, instance]``: of its precondition, of its gates, and of the truths and
        ints that are written where these may be open.
        """
        truth = self.precondition(run)
        least = torch.minimum(truth.unsqueeze(1) if truth.dim() == 1 else truth, self.decided(run))
        for writer in (writer for target in self.targets for writer in target.assigns):
            value = writer.value(run)
            if writer.type.prim == "bool":
                sure = torch.maximum(value, 1.0 - value)
            elif is_categorical(writer.type) and value.is_floating_point():
                sure = value.amax(-1)
            else:
                continue
            if not writer.extra:
                sure = torch.maximum(sure, 1.0 - beside(writer.gate(run).to(torch.float32), sure))
                real = writer.real(run)
                sure = sure if real is None else torch.where(beside(real, sure), sure, 1.0)
            if sure.numel():
                least = torch.minimum(least, sure.flatten(2).amin(-1) if sure.dim() > 2 else sure)
        return least


def compile_action(action: Action, lowering: Lowering) -> CompiledAction:
    """The program of an action schema."""
    env = {p.name: _parameter(p.name, p.type, lowering.logic) for p in action.parameters}
    by_predicate: dict[str, list[Writer]] = {}
    for update in action.effects:
        predicate = lowering.domain.predicates[update.target.predicate]
        by_predicate.setdefault(predicate.name, []).append(Writer(update, predicate, lowering, env))
    kinds = [("delete",), ("assign",), ("add",), ("increase", "decrease"), ("scale-up", "scale-down")]
    targets = []
    for name, writers in by_predicate.items():
        predicate = lowering.domain.predicates[name]
        grouped = [tuple(w for w in writers if w.op in kind) for kind in kinds]
        targets.append(Target(predicate, lowering.table(predicate), *grouped))
    cost = None if action.cost is None else lowering.as_type(action.cost, FLOAT, env)
    precondition = lowering.lower(action.precondition, env)
    return CompiledAction(action, lowering.logic, precondition, cost, tuple(targets))


def _parameter(name: str, type_: ObjectType | ValueType, logic: FuzzyLogic) -> Binding:
    if isinstance(type_, ObjectType):
        return ActionParameter(name, type_)
    form = harden if logic.crisp else soften
    return Node((INSTANCE,), lambda run: form(run.parameters[name], type_))


def _mean(writers: Sequence[Writer], run: Run, logic: FuzzyLogic) -> Tensor:
    """What the writers of each entry write, weighted by their gates, over the whole table."""
    if len(writers) == 1 and not writers[0].extra:
        return writers[0].placed(fully_soft(writers[0].value(run), writers[0].type), run)
    return _ratio(*_joined(writers, run, logic), writers[0].type)


def _joined(writers: Sequence[Writer], run: Run, logic: FuzzyLogic) -> tuple[Tensor, Tensor]:
    """``Σcw`` and ``Σc`` over the whole table; of truth values, the logic's *or* of each."""
    parts = [(w, *w.mixture(run)) for w in writers]
    totals = [w.placed(total, run) for w, total, _ in parts]
    weights = [w.placed(weight, run) for w, _, weight in parts]
    join = soft(logic).disj if writers[0].type.prim == "bool" else torch.add
    return reduce(join, totals), reduce(join, weights)


def _ratio(total: Tensor, weight: Tensor, type_: ValueType) -> Tensor:
    """``Σcw/Σc``, and 0 where nothing is written."""
    found = total / beside(torch.where(weight > 0, weight, torch.ones_like(weight)), total)
    return found.clamp(0.0, 1.0) if type_.prim == "bool" else found


def _after(target: Target, run: Run, logic: FuzzyLogic) -> Tensor:
    """The new table of one predicate, ``[state, instance, *objects, *value]``."""
    before = target.before(run).unsqueeze(1)
    writers = target.writers
    if len(writers) == 1 and writers[0].fits(run):
        writer = writers[0]
        return writer.table(_changed(writer, writer.local(before), run))
    if any(writer.real(run) is not None for writer in writers):
        return _after_many(target, before, run, logic)
    if len(writers) == 1:
        return _put(writers[0], _whole(before, run), run)
    literal = not (target.assigns or target.increases or target.scalings)
    if literal and (logic.crisp or all(writer.always for writer in writers)):
        return reduce(lambda table, writer: _put(writer, table, run), writers, _whole(before, run))
    return _after_many(target, before, run, logic)


def _whole(before: Tensor, run: Run) -> Tensor:
    return before.expand(run.batch.size, run.instances, *before.shape[2:])


def _put(writer: Writer, table: Tensor, run: Run) -> Tensor:
    """The table with the entries of one writer changed, and all others as they are."""
    index = writer.index(run)
    constant = writer.always and writer.op in ("add", "delete", "assign")
    new = _changed(writer, None if constant else table[index], run)
    if new.dtype != table.dtype:
        new, table = fully_soft(new, writer.type), fully_soft(table, writer.type)
    return torch.index_put(table, index, new)


def _changed(writer: Writer, old: Tensor | None, run: Run) -> Tensor:
    """The new value of a writer's entries from the old one, which a constant needs not."""
    type_ = writer.type
    if writer.op in ("add", "delete"):
        return _literal(writer, old, run)
    if writer.op != "assign":
        assert old is not None
        number = numbers(old, type_)
        change = beside(writer.change(run), number)
        additive = writer.op in ("increase", "decrease")
        return _retyped(
            saturating.add(number, change) if additive else saturating.multiply(number, _factor(change)),
            type_,
            writer.crisp,
        )
    if writer.extra:
        assert old is not None
        total, weight = writer.mixture(run)
        return _mixed(old, total, weight, writer.gate(run), type_, crisp=writer.crisp)
    value = writer.value(run)
    if not writer.crisp and (type_.prim == "bool" or is_categorical(type_)):
        value = fully_soft(value, type_)
    if writer.always:
        return value
    assert old is not None
    return blended(old, value, writer.gate(run), type_, crisp=writer.crisp)


def _literal(writer: Writer, old: Tensor | None, run: Run) -> Tensor:
    adds = writer.op == "add"
    if writer.always:
        dtype = torch.bool if writer.crisp else torch.float32
        shape = (1,) * (1 + len(writer.axes))
        return torch.full(shape, adds, dtype=dtype, device=run.batch.device)
    assert old is not None
    gate = writer.gate(run)
    if writer.crisp:
        return old | gate if adds else old & ~gate
    return gate + (1.0 - gate) * old if adds else (1.0 - gate) * old


def blended(old: Tensor, new: Tensor, gate: Tensor, type_: ValueType, *, crisp: bool) -> Tensor:
    """``c·new + (1 − c)·old``, exactly ``old`` where c is 0 and ``new`` where it is 1.

    ``gate`` is c, with the leading axes of both alone; ``type_`` is the type of the values: softly, ints with
    choices are mixed as distributions. ``crisp``: c is 0 or 1, and nothing is mixed.
    """
    if crisp:
        return torch.where(beside(gate, new), new, old)
    new, old = fully_soft(new, type_), fully_soft(old, type_)
    # `lerp` and not the formula: that one need not give `old` or `new` to the last bit at its ends.
    return torch.lerp(old, new, beside(gate, new))


def _mixed(
    old: Tensor, total: Tensor, weight: Tensor, gate: Tensor, type_: ValueType, *, crisp: bool
) -> Tensor:
    """The mean of several writers, ``Σcw/Σc``, blended with the old value."""
    mean = _ratio(total, weight, type_)
    return blended(old, harden(mean, type_) if crisp else mean, gate, type_, crisp=crisp)


def _retyped(number: Tensor, type_: ValueType, crisp: bool) -> Tensor:
    """A number as a value of the type: an int with choices stays within them."""
    if type_.prim != "int64":
        return number
    if crisp and number.is_floating_point():
        number = saturating.rounded(number)
    if not is_categorical(type_):
        return number
    return convert(number, INT, type_) if crisp else fully_soft(convert(number, INT, type_), type_)


def _after_many(target: Target, before: Tensor, run: Run, logic: FuzzyLogic) -> Tensor:
    """Several writers: gates and values are laid out over the whole table, then combined."""
    type_, crisp = target.predicate.type, logic.crisp
    value = before
    if target.deletes:
        gate = _any(target.deletes, run, logic)
        value = value & ~gate if crisp else (1.0 - gate) * value
    if target.assigns:
        total, weight = _joined(target.assigns, run, logic)
        value = _mixed(value, total, weight, _any(target.assigns, run, logic), type_, crisp=crisp)
    if target.adds:
        gate = _any(target.adds, run, logic)
        value = value | gate if crisp else gate + (1.0 - gate) * value
    if target.increases or target.scalings:
        number = numbers(value, type_)
        for writer in target.increases:
            number = saturating.add(number, beside(writer.placed(writer.change(run), run), number))
        for writer in target.scalings:
            change = beside(writer.placed(writer.change(run), run), number)
            number = saturating.multiply(number, _factor(change))
        value = _retyped(number, type_, crisp)
    return value


def _factor(change: Tensor) -> Tensor:
    return saturating.add(change, torch.ones_like(change))


def _any(writers: Sequence[Writer], run: Run, logic: FuzzyLogic) -> Tensor:
    """The logic's *or* of the gates of several writers, over the whole table."""
    return reduce(logic.disj, [w.placed(w.gate(run), run) for w in writers])
