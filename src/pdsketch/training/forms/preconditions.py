"""What tries leave open of a precondition: the version space of conjunctions (Mitchell, 1982), kept exactly.

What does not hold in an executed try is not needed. Of what held in all executions, something is needed that
a refused try lacks. All of it together is the safe end (Stern and Juba, 2017). The other end lets through
whatever may be allowed: what has something of all that each refused try lacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch

from pdsketch.lang import effect_expressions
from pdsketch.nets import (
    Argument,
    BlankForm,
    ClauseForm,
    Condition,
    Signature,
    Spec,
    always,
    readings_of,
)
from pdsketch.tensor import CRISP
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.forms.answers import Slot, recording
from pdsketch.training.forms.propose import read_all
from pdsketch.training.losses import Losses
from pdsketch.training.time_slice import TimeSlice
from pdsketch.training.training_set import TrainingSet


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """What a truth was asked where it alone decided, ``[n, *axes]``, and whether it was true, ``[n]``.

    ``told``: the data say so of some, and not only that the action was taken.
    """

    args: list[Argument]
    could: Array
    told: bool = True


@final
@dataclass(frozen=True, slots=True)
class VersionSpace:
    """The conjunctions that tries leave: the shortest that was found, what is true by all of them (``safe``),
    and what is true by some of them (``loose``).
    """

    form: BlankForm
    safe: BlankForm
    loose: BlankForm

    @property
    def rivals(self) -> tuple[BlankForm, ...]:
        """The ends, unless they are the form."""
        return tuple(end for end in (self.safe, self.loose) if str(end) != str(self.form))


def conjunctions(signature: Signature, tries: Tries) -> VersionSpace | None:
    """The conjunctions of codes and comparisons that ``tries`` leave; None where none explains them.

    Of numbers, ranges are not looked for: where the ``signature`` has any, there must be no refusals.
    """
    readings = readings_of(signature)
    values = read_all(readings, tries.args, signature)
    done = values[tries.could]
    same = (done == done[:1]).all(0) if len(done) else np.zeros(len(readings), dtype=np.bool_)
    places = [at for at, one in enumerate(readings) if one.is_discrete and same[at]]
    held = [Condition(readings[at], float(done[0, at])) for at in places]
    whole = ClauseForm(signature, [[one] for one in held])
    if tries.could.all():
        return VersionSpace(whole, whole, ClauseForm(signature, []))
    if not len(done) or not all(one.is_discrete for one in readings):
        return None
    lacking = np.unique(values[~tries.could][:, places] != done[0, places], axis=0)
    if not lacking.any(1).all():
        return None
    lacking = _least(lacking)
    return VersionSpace(
        ClauseForm(signature, [[held[at]] for at in _shortest(lacking)]),
        whole,
        ClauseForm(signature, [[held[at] for at in np.flatnonzero(row)] for row in lacking]),
    )


def _least(rows: Array) -> Array:
    """The sets among ``rows`` that contain no other, the smallest first, then by their first places."""
    kept: list[Array] = []
    for row in sorted(rows, key=lambda one: (one.sum(), one.argmax())):
        if not any((row >= one).all() for one in kept):
            kept.append(row)
    return np.stack(kept)


def _shortest(lacking: Array) -> list[int]:
    """A few columns of which each row has one: those that are in most rows first."""
    found: list[int] = []
    left = lacking
    while len(left):
        at = int(left.sum(0).argmax()) if left.sum(1).min() > 1 else int(left[left.sum(1) == 1][0].argmax())
        found.append(at)
        left = left[~left[:, at]]
    return sorted(found)


@torch.no_grad()
def tries_of(losses: Losses, slots: Mapping[str, Slot], states: Array) -> dict[str, Tries]:
    """The tries among ``states`` by which truths are known that only stand in preconditions.

    ``slots`` are all functions. Where several are in one precondition, a refusal does not say which is false:
    then none of them is among what is returned.
    """
    training = losses.training
    left = _alone(losses, slots)
    found: dict[str, list[Tries]] = {}
    current = TimeSlice(training, CRISP, training.dataset.place(states))
    known = training.dataset.examples.executable.index_select(0, current.states)
    for at in training.guarded:
        own = slots.keys() & set(training.reads.blanks(training.actions[at].precondition))
        rows = ((current.action == at) & ((known >= 0) | current.moving)).nonzero().squeeze(1)
        word = known.index_select(0, rows).cpu().numpy()
        could = word != 0
        if len(own) > 1 and not could.all():
            left -= own
        if len(rows) and left & own:
            precondition = _Precondition(training, current, at, rows)
            for name, tries in precondition.tries({n: slots[n] for n in own}, left, could):
                if tries is None:
                    left.discard(name)
                else:
                    found.setdefault(name, []).append(replace(tries, told=bool((word >= 0).any())))
    return {name: _joined(parts) for name, parts in found.items() if name in left}


@final
class _Precondition:
    """That of action number ``at``, in the states of the ``rows`` where it was taken."""

    def __init__(self, training: TrainingSet, current: TimeSlice, at: int, rows: torch.Tensor) -> None:
        self._engine, self._count = training.engine, len(rows)
        self._action = training.actions[at]
        self._batch = current.batch(rows, sorted(training.reads.reads(self._action.precondition)))
        self._places = training.parameters(at, current.states.index_select(0, rows))

    def tries(
        self, slots: Mapping[str, Slot], wanted: Set[str], could: Array
    ) -> Iterator[tuple[str, Tries | None]]:
        """The tries that decide each of the ``wanted`` among its functions, in ``slots``: where all others
        are true, and it is true where this one is, and not where it is not. ``could``: what was executed.
        """
        inner = {name: slot.inner for name, slot in slots.items()}
        for slot in slots.values():
            slot.inner = always(slot.signature, True)
        for name in sorted(wanted & slots.keys()):
            slot = slots[name]
            with recording({name: slot}, None):
                may = self._truth()
            args = _each(slot, self._count)
            slot.inner = always(slot.signature, False)
            decides = may & ~self._truth()
            slot.inner = always(slot.signature, True)
            some = torch.from_numpy(np.flatnonzero(decides)).to(self._batch.device)
            known: list[Argument] = [value.index_select(0, some) for value in args or ()]
            yield name, None if args is None else Tries(known, could[decides])
        for name, slot in slots.items():
            slot.inner = inner[name]

    def _truth(self) -> Array:
        ground = self._engine.open(self._batch, checked=False).ground(self._places, 1)
        program = self._engine.plain_program(self._action.name)
        held = self._engine.per_instance(ground, program.precondition)[:, 0]
        found: Array = held.expand(self._count).cpu().numpy()
        return found


def _alone(losses: Losses, slots: Mapping[str, Slot]) -> set[str]:
    """The truths over single values that stand in preconditions alone."""
    training = losses.training
    other = {blank for goal in training.goals for blank in training.reads.blanks(goal)}
    for action in training.actions:
        for one in effect_expressions(action.effects):
            other |= set(training.reads.blanks(one))
    return {
        name
        for name, slot in slots.items()
        if name not in other
        and slot.signature.output == Spec("bool")
        and slot.signature.inputs
        and not any(one.is_set for one in slot.signature.inputs)
    }


def _each(slot: Slot, count: int) -> list[torch.Tensor] | None:
    """What a function was asked, if that was once for each of so many states."""
    if len(slot.calls) != 1:
        return None
    ((args, leaf, _),) = slot.calls
    if leaf.numel() != count:
        return None
    return [
        value.reshape(count, *one.spec.axes)
        for value, one in zip(args, slot.signature.inputs, strict=True)
        if isinstance(value, torch.Tensor)
    ]


def _joined(parts: list[Tries]) -> Tries:
    args = [torch.cat(own) for own in zip(*(part.args for part in parts), strict=True)]
    could = np.concatenate([part.could for part in parts])
    return Tries([*args], could, any(part.told for part in parts))
