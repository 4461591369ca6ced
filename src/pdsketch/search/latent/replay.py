"""A plan is replayed step by step through the model before it is returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, final

import torch
from torch import Tensor

from pdsketch.budget import current
from pdsketch.lang import Expr, ObjectType, Step, ValueType, error, unfold_all
from pdsketch.search.latent.candidates import same_type
from pdsketch.search.latent.instances import as_data, checked_cost
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.margin import GoalTest, Margin
from pdsketch.search.latent.space import fingerprints
from pdsketch.tensor import Model, State, StateBatch, Watch, codes_of, concat, pardoning, spread_of

T = TypeVar("T")

Part = tuple[StateBatch, list[T], list[int]]
"""States, something about each, and the places of the plans that they belong to."""

_MISSED: Final = "the goal does not hold when the plan is replayed step by step"

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


@final
@dataclass(frozen=True, slots=True)
class PlanReplay:
    """Takes the steps of plans in the model, those of many plans side by side.

    With ``snap``, floats are rounded to their codes after each step; what counts as true is said by
    ``margin``.
    """

    model: Model
    snap: bool
    margin: Margin

    def run(
        self,
        states: Sequence[State],
        goals: Sequence[Expr],
        plans: Sequence[Sequence[Step]],
        trail: Trail,
        verdicts: Verdicts,
    ) -> None:
        """Find out why each plan does not reach its goal; None: it does.

        ``states``, ``goals`` and ``plans`` have an entry for each. ``verdicts`` are entered as they are
        known, those about goals when all plans have been followed; the states on the way are left in
        ``trail``.
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
            may, after = self._advanced(batch, steps)
            for i, step, allowed in zip(left, steps, may, strict=True):
                if not allowed:
                    verdicts[i] = f"step {number} of the plan, {step}, is not applicable when it is replayed"
            going = [place for place, allowed in enumerate(may) if allowed]
            left = [left[place] for place in going]
            if after is not None:
                trail.moves.append((_some(batch, going), [steps[place] for place in going], left))
                batch = _snapped(self.model, after) if self.snap else after
        for ends in gathered(trail.ends):
            budget.check()
            there, wanted, done = joined(ends)
            for i, holds in zip(done, hold(self.model, there, wanted, self.margin), strict=True):
                verdicts[i] = None if holds else _MISSED

    def _advanced(self, batch: StateBatch, steps: Sequence[Step]) -> tuple[list[bool], StateBatch | None]:
        """Which of the steps can be taken, and the states after those, in their order; None: none can."""
        model, margin = self.model, self.margin
        clear = None if margin.is_crisp else margin.clear_steps(model, batch, steps)
        may = [False] * batch.size
        parts: list[StateBatch] = []
        places: list[int] = []
        for action, index, run in model.grouped(batch, steps):
            program = model.engine.program(action.name)
            rows = list(range(batch.size)) if index is None else index.tolist()
            able = model.engine.per_instance(run, program.precondition)[:, 0]
            if clear is not None:
                able = able & (clear if index is None else clear[index])
            if not bool(able.all()):  # what effects ask is asked only where the precondition holds
                rows = [row for row, allowed in zip(rows, able.tolist(), strict=True) if allowed]
                if not rows:
                    continue
                ((_, _, own),) = model.grouped(_some(batch, rows), [steps[row] for row in rows])
                parts.append(model.engine.after(own, program))
            else:
                parts.append(model.engine.after(run, program))
            places += rows
        if not places:
            return may, None
        for row in places:
            may[row] = True
        after = concat(parts)
        if len(parts) > 1:
            after = after.select(torch.tensor(places, device=batch.device).argsort())
        model.check_numbers(after)
        return may, after


def hold(model: Model, batch: StateBatch, goals: Sequence[Expr], margin: Margin) -> list[bool]:
    """Which ``goals`` hold, each in its state of ``batch``, as ``model`` says and by the ``margin``."""
    held = model.holds(batch, list(goals), crisp=True) > 0.5
    if not margin.is_crisp:
        held &= margin.clears(model.holds(batch, list(goals), tnorm="godel"))
    found: list[bool] = held.tolist()
    return found


def gathered(parts: Sequence[Part[T]]) -> Iterator[list[Part[T]]]:
    """States of plans in groups of not too many; a goal is asked about all that it is the goal of at once."""
    group: list[Part[T]] = []
    size = 0
    for part in parts:
        own = sum(tensor.nbytes for tensor in part[0].tensors.values())
        if group and size + own > current().at_once:
            yield group
            group, size = [], 0
        group.append(part)
        size += own
    if group:
        yield group


def joined(parts: Sequence[Part[T]]) -> Part[T]:
    """Parts as one."""
    batch = parts[0][0] if len(parts) == 1 else concat([states for states, _, _ in parts])
    return batch, [one for _, some, _ in parts for one in some], [i for _, _, some in parts for i in some]


def _some(batch: StateBatch, places: list[int]) -> StateBatch:
    return batch if len(places) == batch.size else batch.select(torch.tensor(places, device=batch.device))


def _snapped(model: Model, batch: StateBatch) -> StateBatch:
    """The states with their floats rounded to their codes."""
    prints = fingerprints(model.domain.state_predicates, codes_of(model.notes), batch.device)
    tensors = {
        name: prints[name].snap(tensor) if name in prints else tensor
        for name, tensor in batch.tensors.items()
    }
    return batch.with_tensors(tensors)


def paid_for(model: Model, trail: Trail) -> dict[int, float]:
    """What each of the replayed plans costs, by its place, as the model's actions say."""
    found: dict[int, float] = {}
    for batch, steps, places in trail.moves:
        for action, index, run in model.grouped(batch, steps):
            own = places if index is None else [places[i] for i in index.tolist()]
            cost = model.engine.cost(run, action.name)
            amounts = [0.0] * len(own) if cost is None else checked_cost(action, cost[:, 0]).tolist()
            for place, amount in zip(own, amounts, strict=True):
                found[place] = found.get(place, 0.0) + amount
    return found


# Where plans rest on what blanks do not know.

_NOT_LOOKED_AT: Final = (
    "a limit was reached before it was seen whether the plan rests on what the model knows"
)


def looked_at(
    model: Model,
    states: Sequence[State],
    goals: Sequence[Expr],
    plans: Sequence[Sequence[Step]],
    *,
    snap: bool,
    trail: Trail,
    margin: Margin,
) -> tuple[Verdicts, dict[int, tuple[str, ...]]]:
    """Why each plan fails when it is replayed (None: it does not), and what is to be said of it.

    The ``plans`` lead from ``states`` to ``goals``, and are followed side by side in ``model``; what counts
    as true is said by ``margin``, and with ``snap`` floats are rounded after each step. States on the way are
    left in ``trail``. A plan that no time was left for has no verdict.
    """
    verdicts = Verdicts()
    said: dict[int, tuple[str, ...]] = dict.fromkeys(range(len(plans)), (_NOT_LOOKED_AT,))
    with suppress_limits(), pardoning():
        PlanReplay(model, snap, margin).run(states, goals, plans, trail, verdicts)
        watch = doubts_of(model, trail)
        said = {n: watch.sentences(n) for n in range(len(plans))}
    return verdicts, said


def doubts_of(model: Model, trail: Trail) -> Watch:
    """What to say of each plan of a trail: its steps, and its goal at the end."""
    watch = Watch(model)
    if not model.notes.get("trained"):
        return watch
    with model.blanks.watched(watch):
        for moves in gathered(trail.moves):
            batch, steps, owners = joined(moves)
            for schema, rows, run in model.grouped(batch, steps):
                watch.owners = owners if rows is None else [owners[row] for row in rows.tolist()]
                model.ask(run, schema)
        watch.untrained = False  # of goals, that was said before the search
        for ends in gathered(trail.ends):
            batch, goals, plans = joined(ends)
            groups: dict[Expr, list[int]] = {}
            for place, goal in enumerate(goals):
                groups.setdefault(goal, []).append(place)
            for goal, places in groups.items():
                watch.owners = [plans[place] for place in places]
                some = batch.select(torch.tensor(places, device=batch.device))
                model.engine.truth(model.engine.open(some), unfold_all(goal, model.domain))
    return watch


def encoded(model: Model, states: list[State]) -> tuple[StateBatch, Watch]:
    """The states with their encoded variables, and what to say of how each was encoded."""
    watch = Watch(model, range(len(states)))
    with model.blanks.watched(watch):
        return model.encode(StateBatch.of(states), crisp=True).crisp(), watch


# Values of plans are moved to where small errors of the world do not matter. A plan is replayed many times
# side by side. In each replay the numbers that its actions write come out otherwise, by up to a margin in
# their own units. Where some replays fail, values near those of the plan are tried in their places, and what
# survives most often is kept.

COPIES: Final = 16
"""Replays of a plan, each with other errors. Set by hand."""

ROUNDS: Final = 4
"""How often values are tried around the best so far. Set by hand."""

FARTHEST: Final = 4.0
"""Values are tried up to so many margins away. Set by hand."""

Slack = Mapping[str, Tensor]
"""How far each number of a predicate may come out from what was predicted, ``[*value]``."""


def slack_of(model: Model, margin: float | Mapping[str, float] | None) -> Slack:
    """What a margin says of the float variables that actions write; None: what training measured of them."""
    found: dict[str, Tensor] = {}
    floats = [p for p in model.domain.state_predicates if p.type.prim == "float32"]
    if isinstance(margin, Mapping):
        for name in margin:
            if name not in {p.name for p in floats}:
                known = ", ".join(p.name for p in floats) or "it has none"
                raise error(
                    "unknown-predicate",
                    f"a margin is given for `{name}`, and the domain has no such float variable",
                    help=f"its float variables: {known}",
                )
    for predicate in floats:
        if predicate.name not in model.domain.analysis.written:
            continue
        given = margin.get(predicate.name, 0.0) if isinstance(margin, Mapping) else margin
        own = spread_of(model.notes, predicate) if given is None else [float(given)]
        slack = torch.tensor(own, device=model.device)
        if predicate.type.shape and slack.numel() > 1:
            slack = slack.reshape(predicate.type.shape)
        if bool((slack > 0).any()):
            found[predicate.name] = slack
    return found


@final
class ShakenPlan:
    """A plan for a problem, as a function of those of its values that may be moved.

    The ``plan`` leads from ``state`` to ``goal`` in ``model``; what actions write comes out otherwise by up
    to ``slack``, and what counts as true is said by ``margin``.
    """

    def __init__(
        self, model: Model, state: State, goal: Expr, plan: Sequence[Step], slack: Slack, margin: Margin
    ) -> None:
        self._model = model
        self._plan = plan
        self._slack = slack
        self._batch = state.batch
        self._universe = state.batch.universe(0)
        self._goal = GoalTest(model, [goal], [self._universe], margin)
        self._chance = torch.Generator().manual_seed(0)
        self._errors = [self._drawn() for _ in plan]
        self._moved = self._movable()

    def _movable(self) -> list[tuple[int, int, Tensor]]:
        """The value arguments that may be moved, by step and place, and how far errors of such values go."""
        domain, found = self._model.domain, []
        for number, step in enumerate(self._plan):
            for place, parameter in enumerate(domain.actions[step[0]].parameters):
                type_ = parameter.type
                if not isinstance(type_, ValueType) or type_.prim != "float32":
                    continue
                like = [s for n, s in self._slack.items() if same_type(domain.predicates[n].type, type_)]
                if like:
                    found.append((number, place, torch.stack(like).amax(0)))
        return found

    def _drawn(self) -> dict[str, Tensor]:
        """Errors of one step in each replay, ``[replay, …]``: the first has none, the others are as large
        as may be in one number at least."""
        found = {}
        for name, slack in self._slack.items():
            shape = self._batch.tensor(name).shape[1:]
            axes = len(self._model.domain.predicates[name].parameters)
            noise = 2 * torch.rand(COPIES, *shape, generator=self._chance) - 1
            flat = noise.flatten(1 + axes) if len(shape) > axes else noise.unsqueeze(-1)
            flat = flat / flat.abs().amax(-1, keepdim=True).clamp_min(1e-6)
            errors = flat.reshape(noise.shape).to(slack) * slack
            found[name] = torch.cat([torch.zeros_like(errors[:1]), errors])
        return found

    def steadied(self) -> tuple[list[Step], float]:
        """The plan with the values that survive most often, and the share of replays that do."""
        values = [
            torch.as_tensor(self._plan[number][1 + place], dtype=torch.float32, device=self._batch.device)
            for number, place, _ in self._moved
        ]
        (best,) = self._survivors([value.unsqueeze(0) for value in values]).tolist()
        for _ in range(ROUNDS if self._moved else 0):
            if best == 1.0:
                break
            current().check()
            variants = self._variants(values)
            shares = self._survivors(variants)
            at = int(shares.argmax())
            if float(shares[at]) > best:
                best, values = float(shares[at]), [value[at] for value in variants]
        found = [list(step) for step in self._plan]
        for (number, place, _), value in zip(self._moved, values, strict=True):
            found[number][1 + place] = as_data(value)
        return [tuple(step) for step in found], max(best, 0.0)

    def _variants(self, values: Sequence[Tensor]) -> list[Tensor]:
        """Values near these: in half of the variants all are moved alike, in the others one alone."""

        def random(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=self._chance)

        count = 2 * COPIES
        scale = FARTHEST * random(count)
        alone = torch.randint(len(values), (count,), generator=self._chance)
        together = torch.arange(count) % 2 == 0
        alike = torch.randn(count, max(value.numel() for value in values), generator=self._chance)
        found = []
        for i, (value, (_, _, slack)) in enumerate(zip(values, self._moved, strict=True)):
            step = (scale * (together | (alone == i))).unsqueeze(-1) * alike[:, : value.numel()]
            found.append(
                value + (step.reshape(count, *value.shape).to(value) * slack).reshape(-1, *value.shape)
            )
        return found

    @torch.inference_mode()
    def _survivors(self, values: Sequence[Tensor]) -> Tensor:
        """The share of replays that reach the goal, ``[variant]``; -1 where the plan itself does not."""
        model, copies = self._model, COPIES + 1
        count = values[0].shape[0] if values else 1
        batch = self._batch.select(torch.zeros(count * copies, dtype=torch.int64, device=self._batch.device))
        alive = torch.ones(batch.size, dtype=torch.bool, device=batch.device)
        given = {(n, place): value for (n, place, _), value in zip(self._moved, values, strict=True)}
        for number, step in enumerate(self._plan):
            program = model.engine.program(step[0])
            run = model.engine.open(batch).ground(self._arguments(number, given, count), 1)
            alive &= model.engine.per_instance(run, program.precondition)[:, 0].bool()
            batch = self._erring(batch, model.engine.after(run, program), self._errors[number], count)
        owners = torch.zeros(batch.size, dtype=torch.int64, device=batch.device)
        reached = (alive & self._goal.truth(batch, owners)).reshape(count, copies)
        return torch.where(reached[:, 0], reached[:, 1:].double().mean(1), -1.0)

    def _arguments(
        self, number: int, given: Mapping[tuple[int, int], Tensor], count: int
    ) -> dict[str, Tensor]:
        """The arguments of a step in all replays of all variants, ``[row, 1, *value]``."""
        name, *written = self._plan[number]
        found: dict[str, Any] = {}
        for place, parameter in enumerate(self._model.domain.actions[name].parameters):
            type_ = parameter.type
            if isinstance(type_, ObjectType):
                value = torch.tensor(self._universe.at(written[place], type_))
            elif (number, place) in given:
                own = given[number, place].repeat_interleave(COPIES + 1, 0)
                found[parameter.name] = own.unsqueeze(1)
                continue
            else:
                value = torch.as_tensor(written[place])
                value = value.float() if type_.prim == "float32" else value
            value = value.to(self._batch.device)
            found[parameter.name] = value.expand(count * (COPIES + 1), 1, *value.shape)
        return found

    def _erring(
        self, before: StateBatch, after: StateBatch, errors: Mapping[str, Tensor], count: int
    ) -> StateBatch:
        """What a step wrote, with the errors of each replay."""
        tensors = dict(after.tensors)
        for name, error_ in errors.items():
            table = tensors[name]
            written = table != before.tensor(name)
            tensors[name] = table + written * error_.repeat(count, *[1] * (error_.dim() - 1)).to(table)
        return after.with_tensors(tensors)
