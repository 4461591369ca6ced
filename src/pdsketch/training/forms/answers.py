"""What the functions of a model are asked on examples, what they should say, and how much it matters.

All answers are hardened, and the whole model is asked how wrong it is. The gradient of that with respect to
an answer says what would become wrong if the answer were another: its weight. Truths that others make up
for (one wall of two that are in the way) have no such weight: in further rounds truths are dropped at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any, Final, cast, final

import torch
from torch import Tensor, nn

from pdsketch.nets import Argument, Signature, Spec
from pdsketch.tensor import Assigned, fully_soft, is_categorical
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.forms.errors import PARTS
from pdsketch.training.forms.propose import Answers
from pdsketch.training.likelihoods import differs
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.time_slice import TimeSlice, Transition

LEAST_WEIGHT: Final = 0.05
"""Answers that matter less are left out; set by hand."""

DROPPED: Final = 0.6
"""The part of the truths that are dropped at a time; set by hand."""


@final
class Slot(nn.Module):
    """The place of a function in a model: what stands there now, and a record of its hardened answers."""

    def __init__(self, inner: nn.Module, signature: Signature) -> None:
        super().__init__()
        self.inner, self.signature = inner, signature
        self.network = inner
        gate = getattr(inner, "gate", None)
        self.gate = None if gate is None else Slot(gate, Signature(signature.inputs, Spec("bool")))
        self.recording, self.dropped = False, 0.0
        self.calls: list[tuple[tuple[Argument, ...], Tensor, Tensor]] = []

    def forward(self, *args: Argument) -> Tensor:
        """The answer; while recording a hardened one, with a gradient of its own."""
        found = cast(Tensor, self.inner(*args))
        if not self.recording:
            return found
        output = self.signature.output
        if output.prim == "float":
            hard = given = leaf = found.detach().clone().requires_grad_()
        elif output.is_categorical:
            hard = nn.functional.one_hot(found.argmax(-1), found.shape[-1]).to(found.dtype)
            leaf = hard.clone().requires_grad_()
            given = (leaf + 1e-4).log()
        else:
            hard = (found > 0.5).to(torch.float32)
            kept = torch.rand(hard.shape, device=hard.device) >= self.dropped if self.dropped else 1.0
            given = leaf = (hard * kept).requires_grad_()
        self.calls.append((args, leaf, hard.detach()))
        return given


@contextmanager
def recording(slots: Mapping[str, Slot], dropped: str | None) -> Iterator[None]:
    """Within, answers are recorded; truths of one function are dropped at random."""
    for name, slot in slots.items():
        slot.recording, slot.calls, slot.dropped = True, [], DROPPED if name == dropped else 0.0
    try:
        yield
    finally:
        for slot in slots.values():
            slot.recording, slot.dropped = False, 0.0


def answers(
    losses: Losses, slots: Mapping[str, Slot], states: Array, *, mended: bool, dropping: bool = True
) -> dict[str, Answers]:
    """By function, of those in ``slots``: what it was asked in some ``states``, what it says, and the weights
    of that, by the errors that ``losses`` see.

    ``mended``: also on examples that are wrong, with what would have been right there; the blame is shared
    among all answers that might be meant. ``dropping``: truths are dropped, too.
    """
    found: dict[str, list[Answers]] = {}
    truths = [name for name, slot in slots.items() if dropping and slot.signature.output.prim == "bool"]
    generator_state = torch.random.get_rng_state()
    torch.manual_seed(0)
    for part, dropped in product(
        losses.training.dataset.parts(states, losses.options.batch), [None, *truths]
    ):
        with recording(slots, dropped), torch.enable_grad():
            sums = _sums(losses, part, everything=mended or dropped is not None)
        asked = [name for name in slots if dropped in (None, name)]
        calls = [(name, call) for name in asked for call in slots[name].calls]
        leaves = [leaf for _, (_, leaf, _) in calls]
        if not leaves:
            continue
        gradients = [_gradients(total, leaves) for total in sums]
        for at, (name, (args, leaf, hard)) in enumerate(calls):
            signature, own = slots[name].signature, [g[at] for g in gradients]
            wanted, weight = _weighed(signature, leaf, hard, own, mended, dropped is not None)
            blamed = float(((wanted - hard).abs() * weight).sum()) if mended else 0.0
            found.setdefault(name, []).append(_flat(signature, args, wanted, weight, blamed))
    torch.random.set_rng_state(generator_state)
    return {name: _joined(parts) for name, parts in found.items()}


def asked(losses: Losses, slots: Mapping[str, Slot], states: Array) -> dict[str, list[Argument]]:
    """Everything that functions were asked on some examples, whether it mattered or not."""
    with recording(slots, None), torch.no_grad():
        _sums(losses, states, everything=True)
    found = {}
    for name, slot in slots.items():
        parts = [_flat(slot.signature, args, hard, torch.ones_like(hard)) for args, _, hard in slot.calls]
        if parts:
            found[name] = _joined(parts).args
    return found


def _gradients(total: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    if not total.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    found: tuple[Tensor | None, ...] = torch.autograd.grad(
        total, leaves, allow_unused=True, retain_graph=True
    )
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def _weighed(
    signature: Signature, leaf: Tensor, hard: Tensor, gradients: list[Tensor], mended: bool, dropped: bool
) -> tuple[Tensor, Tensor]:
    """What should be said, and how much that matters, in the shape of the answers."""
    wrong, by, error = gradients
    spec = signature.output
    if spec.prim == "float":
        return torch.where(by > 1e-6, leaf - error / by.clamp_min(1e-6), leaf).detach(), by.clamp(0.0, 1.0)
    if spec.is_categorical:
        weight = (wrong.amax(-1) - wrong.amin(-1)).unsqueeze(-1)
        wanted = nn.functional.one_hot(wrong.argmin(-1), wrong.shape[-1]).to(hard.dtype)
        differ = (wanted != hard).any(-1, keepdim=True)
    else:
        weight, wanted = wrong.abs(), (wrong < 0).to(hard.dtype)
        differ = wanted != hard
    if dropped:
        return hard, (weight * ((wrong < 0).to(hard.dtype) == hard) * (hard > 0.5)).clamp(0.0, 1.0)
    if not mended:
        return hard, weight.clamp(0.0, 1.0)
    flipped = differ & (weight > LEAST_WEIGHT)
    leading = leaf.dim() - len(spec.axes)
    if leading:
        share = (weight * flipped).reshape(len(weight), -1).sum(1).clamp_min(1.0)
        share = share.reshape(-1, *(1,) * (weight.dim() - 1))
        weight = torch.where(flipped, (weight / share).clamp_min(1.02 * LEAST_WEIGHT), weight)
    return torch.where(flipped, wanted, hard), weight.clamp(0.0, 1.0)


def _flat(
    signature: Signature, args: tuple[Argument, ...], wanted: Tensor, weight: Tensor, blamed: float = 0.0
) -> Answers:
    """The answers that matter, one behind the other."""
    spec = signature.output
    leading = wanted.shape[: wanted.dim() - len(spec.axes)]
    count = prod(leading)
    if spec.is_categorical:
        wanted, weight = wanted.argmax(-1).to(torch.float32), weight.squeeze(-1)
    values, weights = wanted.reshape(count, -1), weight.reshape(count, -1)
    kept = weights.amax(1) > LEAST_WEIGHT
    given: list[Argument] = []
    for value, one in zip(args, signature.inputs, strict=True):
        if isinstance(value, tuple):
            rows, size = value
            given.append(
                (
                    rows.reshape(count, size.shape[-1], *one.spec.axes)[kept].detach(),
                    size.reshape(count, -1)[kept].detach(),
                )
            )
        else:
            given.append(value.reshape(count, *one.spec.axes)[kept].detach())
    return Answers(given, values[kept].detach(), weights[kept].detach(), blamed)


def _joined(parts: list[Answers]) -> Answers:
    args: list[Argument] = []
    for own in zip(*(part.args for part in parts), strict=True):
        if isinstance(own[0], tuple):
            most = max(weights.shape[1] for _, weights in own)
            args.append(
                (torch.cat([_padded(v, most) for v, _ in own]), torch.cat([_padded(w, most) for _, w in own]))
            )
        else:
            args.append(torch.cat(own))
    values, weights = torch.cat([p.values for p in parts]), torch.cat([p.weights for p in parts])
    return Answers(args, values, weights, sum(p.blamed for p in parts))


def _padded(x: Tensor, most: int) -> Tensor:
    missing = most - x.shape[1]
    return x if not missing else torch.cat([x, x.new_zeros(len(x), missing, *x.shape[2:])], 1)


def _sums(losses: Losses, states: Array, *, everything: bool) -> tuple[Tensor, Tensor, Tensor]:
    """How wrong the model is, of examples that it has right or of ``everything``; how much written numbers
    count, and their half squared errors: two functionals from which numbers get the targets that data say.
    """
    training = losses.training
    current = TimeSlice(training, losses.logic, training.dataset.place(states))
    current.prepare(goals=True, step=True)
    zero = torch.zeros((), device=training.dataset.device)
    wrong, counted, squares = [zero], [zero], [zero]

    def take(right: Tensor, real: Tensor | float = 1.0) -> None:
        wrong.append((real * (1.0 - right) * (everything | (right > 0.5))).sum())

    if len(current.judged):
        truth = current.truth()
        take(torch.where(current.outcomes, truth, 1.0 - truth))
    for _, _, truth, label in current.preconditions():
        take(torch.where(label, truth, 1.0 - truth))
    after = current.step()
    for transition in after.transitions:
        targets = losses.targets(after, transition)
        for name in transition.new:
            right, real, numbers = _written(losses, current, transition, name, targets[name])
            take(right, real)
            for value, by, target in numbers:
                counted.append((by * value).sum())
                squares.append((0.5 * by * (value - target) ** 2).sum())
    return torch.stack(wrong).sum(), torch.stack(counted).sum(), torch.stack(squares).sum()


def _written(
    losses: Losses, current: TimeSlice, transition: Transition, name: str, target: Tensor
) -> tuple[Tensor, Tensor | float, list[Any]]:
    """Which variables of a predicate are right, which are real, and the numbers that were written."""
    training = losses.training
    predicate = training.domain.predicates[name]
    before, objects = current.value(name, transition.rows), 1 + len(predicate.parameters)
    changed = differs(before, target, predicate)
    found = real_entries(training, current.states.index_select(0, transition.rows), predicate)
    real = 1.0 if found is None else found
    writes = transition.writes.get(name)
    if writes is None:
        one = torch.ones_like(changed, dtype=torch.float32)
        writes = Assigned(one, one[None], transition.new[name][None])
    wanted, scale = fully_soft(target, predicate.type), losses.scale(transition, predicate, target)
    parts, numbers = [], []
    for share, value in zip(writes.shares, writes.values, strict=True):
        said = fully_soft(value, predicate.type)
        if is_categorical(predicate.type):
            right = (said * wanted).sum(-1)
        elif predicate.type.prim == "bool":
            right = said * wanted + (1.0 - said) * (1.0 - wanted)
        else:
            far = max(PARTS) * (1.0 if scale is None else scale.max())
            right = ((said - wanted).abs().detach() < far).to(torch.float32)
            by = ((writes.gate * share).detach() * real).reshape(*share.shape, *(1,) * (said.dim() - objects))
            numbers.append((said, by, wanted))
        parts.append(share * (right.flatten(objects).amin(-1) if right.dim() > objects else right))
    kept = (~changed).to(torch.float32)
    return writes.gate * torch.stack(parts).sum(0) + (1.0 - writes.gate) * kept, real, numbers
