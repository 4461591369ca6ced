"""A plan is replayed step by step through the model before it is returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, final

import torch

from pdsketch.budget import current
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr
from pdsketch.search.latent.fingerprint import fingerprints
from pdsketch.search.latent.margin import Margin
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.codes import codes_of
from pdsketch.tensor.states.state import State, StateBatch, concat

T = TypeVar("T")

Part = tuple[StateBatch, list[T], list[int]]
"""States, something about each, and the places of the plans that they belong to."""

MOST_STATES: Final = 4096
"""States of plans that are looked at together, to bound memory."""


Verdicts = dict[int, str | None]
"""What came of plans, by their places."""


@final
@dataclass(slots=True)
class Trail:
    """What plans passed through: states with the step taken there, and states with the goal that holds.

    Each comes with the places of the plans that its states belong to.
    """

    moves: list[Part[Step]] = field(default_factory=list)
    ends: list[Part[Expr]] = field(default_factory=list)


def replay(
    model: Model,
    states: Sequence[State],
    goals: Sequence[Expr],
    plans: Sequence[Sequence[Step]],
    *,
    snap: bool,
    trail: Trail,
    verdicts: Verdicts,
    margin: Margin,
) -> None:
    """Find out why each plan does not reach its goal; None: it does. Plans are replayed side by side.

    ``verdicts`` are entered as they are known, those about goals when all plans have been followed; the
    states on the way are left in ``trail``.
    """
    left = list(range(len(plans)))
    number = 0
    batch = StateBatch.of(states) if states else None
    budget = current()
    while left and batch is not None:
        budget.check()
        arrived = [place for place, i in enumerate(left) if len(plans[i]) == number]
        if arrived:
            done = [left[place] for place in arrived]
            trail.ends.append((_some(batch, arrived), [goals[i] for i in done], done))
        moving = [place for place, i in enumerate(left) if len(plans[i]) > number]
        left = [left[place] for place in moving]
        if not left:
            break
        batch = _some(batch, moving)
        steps = [plans[i][number] for i in left]
        number += 1
        able = model.applicable(batch, steps, crisp=True) > 0.5
        if not margin.is_crisp:
            able &= margin.clear_steps(model, batch, steps)
        may = able.tolist()
        for i, step, allowed in zip(left, steps, may, strict=True):
            if not allowed:
                verdicts[i] = f"step {number} of the plan, {step}, is not applicable when it is replayed"
        going = [place for place, allowed in enumerate(may) if allowed]
        left = [left[place] for place in going]
        if left:
            batch, taken = _some(batch, going), [steps[place] for place in going]
            trail.moves.append((batch, taken, left))
            batch = model.step(batch, taken, crisp=True)
            batch = _snapped(model, batch) if snap else batch
    for ends in gathered(trail.ends):
        budget.check()
        there, wanted, done = joined(ends)
        held = model.holds(there, wanted, crisp=True) > 0.5
        if not margin.is_crisp:
            held &= margin.clears(model.holds(there, wanted, tnorm="godel"))
        for i, holds in zip(done, held.tolist(), strict=True):
            verdicts[i] = None if holds else "the goal does not hold when the plan is replayed step by step"


def gathered(parts: Sequence[Part[T]]) -> Iterator[list[Part[T]]]:
    """States of plans in groups of not too many; a goal is asked about all that it is the goal of at once."""
    group: list[Part[T]] = []
    size = 0
    for part in parts:
        if group and size + part[0].size > MOST_STATES:
            yield group
            group, size = [], 0
        group.append(part)
        size += part[0].size
    if group:
        yield group


def joined(parts: Sequence[Part[T]]) -> Part[T]:
    """Parts as one."""
    batch = parts[0][0] if len(parts) == 1 else concat([states for states, _, _ in parts])
    return batch, [one for _, some, _ in parts for one in some], [i for _, _, some in parts for i in some]


def _some(batch: StateBatch, places: list[int]) -> StateBatch:
    return batch if len(places) == batch.size else batch.select(torch.tensor(places, device=batch.device))


def follow(
    model: Model, state: State, plan: Sequence[Step], trail: Trail, *, snap: bool = False
) -> State | str:
    """The state after a sequence of actions, or which of them could not be applied."""
    for number, step in enumerate(plan, start=1):
        if not bool(model.applicable(state, step, crisp=True) > 0.5):
            return f"step {number} of the plan, {step}, is not applicable when it is replayed"
        trail.moves.append((state.batch, [step], [0]))
        state = model.step(state, step, crisp=True)
        if snap:
            state = _snapped(model, state.batch)[0]
    return state


def _snapped(model: Model, batch: StateBatch) -> StateBatch:
    """The states with their floats rounded to their codes."""
    prints = fingerprints(model.domain.state_predicates, codes_of(model.notes), batch.device)
    tensors = {
        name: prints[name].snap(tensor) if name in prints else tensor
        for name, tensor in batch.tensors.items()
    }
    return batch.with_tensors(tensors)
