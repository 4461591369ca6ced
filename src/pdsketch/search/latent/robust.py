"""Values of plans are moved to where small errors of the world do not matter.

A plan is replayed many times side by side. In each replay the numbers that its actions write come out
otherwise, by up to a margin in their own units. Where some replays fail, values near those of the plan are
tried in their places, and what survives most often is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor

from pdsketch.budget import current
from pdsketch.lang import Expr, ObjectType, Step, ValueType, error
from pdsketch.search.latent.instances import as_data
from pdsketch.search.latent.margin import GoalTest, Margin
from pdsketch.search.latent.proposals import same_type
from pdsketch.tensor import Model, State, StateBatch, spread_of

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
