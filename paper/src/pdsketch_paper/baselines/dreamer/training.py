"""The training of a Dreamer: its options, demonstrations first, then practice in a world."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.act import World, Worlds, is_count, rollout, rooms
from pdsketch.lang import error
from pdsketch.training import Array, Episode, FitOptions, Options, clip, learning_rate, make_optimiser
from pdsketch_paper.baselines.dreamer.agent import Dreamer
from pdsketch_paper.baselines.network import Demonstrations, open_demonstrations

BATCH: Final = 16
"""Sequences in a batch where nobody says otherwise; DreamerV2 has 50. Set by hand, for the CPU's sake."""


class BaselineOptions(FitOptions, total=False):
    """What `train_baseline` takes beside the settings of a fit; all of it is for a ``dreamer`` alone.

    After the demonstrations it acts in ``world`` (as `pdsketch.rollout` takes it) for ``environment_steps``
    steps in all (0). ``cloning`` is the weight of demonstrated actions (1); 0 learns in imagination alone.
    """

    world: Worlds | None
    environment_steps: int
    cloning: float


OWN: Final[BaselineOptions] = {"world": None, "environment_steps": 0, "cloning": 1.0}


def with_dreamer(kind: str, settings: BaselineOptions) -> tuple[FitOptions, BaselineOptions]:
    """The settings of a fit, and those of a `Dreamer`, checked, which other baselines refuse."""
    fit = cast("FitOptions", {name: value for name, value in settings.items() if name not in OWN})
    if kind != "dreamer":
        for name in settings.keys() & OWN.keys():
            raise error("unknown-option", f"`{name}` is for the baseline `dreamer`, and not for `{kind}`")
        return fit, OWN
    own: BaselineOptions = {**OWN, **settings}
    steps, weight = own["environment_steps"], cast("Any", own["cloning"])
    if not is_count(steps):
        raise error(
            "bad-setting",
            f"`environment_steps` is a whole number and not negative; {steps!r:.40} is given",
        )
    if steps and own["world"] is None:
        raise error(
            "bad-setting",
            "there are environment steps to take, and no world to take them in",
            help='name it: world=lambda: pds.make_world("babyai", sketch=domain)',
        )
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
        raise error("bad-setting", f"`cloning` is a number and not negative; {weight!r:.40} is given")
    return {"batch": BATCH, **fit}, own


MOST_NORM: Final = 1.0
"""Gradients of a larger norm are scaled down to it, of every baseline."""

SIDE_BY_SIDE: Final = 16
"""Episodes that are acted in at a time while data is collected; set by hand."""

LONGEST: Final = 64
"""Steps of an episode that is collected: as many as BabyAI's tables allow."""

STEPS_PER_UPDATE: Final = 4
"""Environment steps for each training step after the demonstrations: DreamerV2's for Atari."""

SLOW: Final = 0.02
"""The part of the critic that its slow copy takes over at a step; DreamerV2 copies all every 100 steps."""

AWAKE: Final = 0.3
"""The part of the steps on demonstrations before the actor learns in imagination: else it settles on an
action while rewards and critic are still noise, and stays there. Set by hand, on a corridor of five cells."""

SAMPLED: Final = 20
"""Training steps over which the curves of the notes are averaged."""


@final
@dataclass(eq=False)
class DreamerTraining:
    """The network, its optimisers (one for each loss), and what it has seen.

    ``steps`` are those of all training, practice included, by which the learning rate falls.
    """

    network: Dreamer
    options: Options
    steps: int
    sources: list[tuple[Demonstrations, Array]]
    returns: list[Tensor] = field(default_factory=list)
    curve: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        network = self.network
        groups = ([network.encoder, network.world, network.direct], [network.actor], [network.critic])
        self.weights = [list(nn.ModuleList(group).parameters()) for group in groups]
        self.optimisers = [make_optimiser(group, self.options) for group in self.weights]
        self.draw = np.random.default_rng([self.options.seed, 1])

    def train(self, steps: int) -> None:
        """So many steps, each on a batch of one of the sources, in equal shares.

        The first source are the demonstrations; what the agent did itself is not cloned.
        """
        self.network.train()
        for _ in range(steps):
            source = int(self.draw.integers(len(self.sources)))
            demonstrations, begins = self.sources[source]
            some = self.draw.choice(begins, min(self.options.batch, len(begins)), replace=False)
            losses = self.network.losses(demonstrations, demonstrations.dataset.place(some))
            for optimiser in self.optimisers:
                optimiser.zero_grad(set_to_none=True)
            cloning = 0.0 if source else self.network.cloning
            dreaming = float(len(self.returns) >= AWAKE * self.options.steps)
            losses.total(cloning, dreaming).backward()  # type: ignore[no-untyped-call]
            rate = learning_rate(len(self.returns), self.steps)
            for weights, optimiser in zip(self.weights, self.optimisers, strict=True):
                clip(weights, MOST_NORM)
                for group in optimiser.param_groups:
                    group["lr"] = self.options.learning_rate * rate
                optimiser.step()
            self._follow_critic()
            self.returns.append(losses.dream.imagined_return)
        self.network.eval()

    def practise(self, worlds: list[World], environment_steps: int) -> None:
        """Act, add what happened to the sources, train, and again, until the steps are used up.

        It ends early where no action is taken at all.
        """
        own: list[Episode] = []
        left = environment_steps
        device = self.network.device
        while left:
            done = self._collected(worlds, left)
            taken = sum(len(episode.actions) for episode in done)
            if not taken:
                return
            left -= taken
            own += done
            demonstrations = open_demonstrations(own, self.network.domain, device)
            begins = self.network.examples(demonstrations)
            self.sources = [self.sources[0], *([(demonstrations, begins)] if len(begins) else [])]
            self.train(taken // STEPS_PER_UPDATE)

    def _collected(self, worlds: list[World], left: int) -> list[Episode]:
        """Some episodes, of no more steps in all than are left."""
        count = max(1, min(len(worlds), left // LONGEST))
        seeds = self.draw.integers(1 << 31, size=count).tolist()
        self.network.exploring = True
        done = rollout(self.network, worlds[:count], seeds, min(LONGEST, left))
        self.network.exploring = False
        success = done.summary["success"] or 0.0
        self.curve.append({"episodes": len(done), "steps": sum(done.steps), "success": success})
        return [*done]

    @torch.no_grad()
    def _follow_critic(self) -> None:
        slow, fast = self.network.slow_critic, self.network.critic
        torch._foreach_lerp_([*slow.parameters()], [*fast.parameters()], SLOW)


def train_dreamer(
    network: Dreamer,
    demonstrations: Demonstrations,
    options: Options,
    examples: Array,
    own: BaselineOptions,
) -> dict[str, Any]:
    """Train from the sequences that begin at some examples, then from practice; notes on how it went."""
    network.cloning, practised = float(own["cloning"]), own["environment_steps"]
    world = own["world"]
    worlds = rooms(world, SIDE_BY_SIDE) if practised and world is not None else []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        steps = options.steps + practised // STEPS_PER_UPDATE
        training = DreamerTraining(network, options, steps, [(demonstrations, examples)])
        training.train(options.steps)
        training.practise(worlds, practised)
    parts = [training.returns[:SAMPLED], training.returns[-SAMPLED:]]
    return {
        "cloning": network.cloning,
        "imagined_return": [float(torch.stack(part).mean()) for part in parts if part],
        "environment_steps": sum(entry["steps"] for entry in training.curve),
        "practice": training.curve,
    }
