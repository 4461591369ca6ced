"""Demonstrations as the paper has them: an oracle paints two blocks and places them in a relation.

It paints one of two blocks and puts it into the middle of the box, then paints the
other and puts it beside or on the first. Only episodes that succeed are kept.

Each episode is judged by its goal and, by the simulator too, by others: near misses,
goals of the same form that differ in one part; milestones, whether a block of a colour
lies in a container; and whether there is a block of a colour at all. Successes alone
cannot tell a goal from its parts: that two blocks stand beside each other would
explain every success, whatever their colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from pdsketch.lang import Step, error
from pdsketch.training import EpisodeArrays, Recorder
from pdsketch_paper.painting.goals import PAIRS, RELATIONS, judge_states, names_of, pair_goal, true_state
from pdsketch_paper.painting.layout import COLOUR_NAMES, SIDE, Array, point, to_pose

if TYPE_CHECKING:
    from pdsketch_paper.painting.adapter import PaintingWorld

BESIDE = 0.075
"""Metres between the centres of blocks that the oracle puts beside each other."""

SPREAD = 0.008
"""Metres: the oracle's places differ so much from episode to episode (standard deviation, x and y)."""

STACK_SPREAD = 0.002
"""The same where a block is put on another."""

MOST_FAILURES = 20
"""How many tables are tried for one success."""

_OFFSETS: dict[str, Array] = {
    "left-of": point(-BESIDE, 0.0, 0.0),
    "right-of": point(BESIDE, 0.0, 0.0),
    "on": point(0.0, 0.0, SIDE),
}


@final
@dataclass(frozen=True, slots=True)
class OracleEpisode:
    """One episode: values with an axis of time first, actions, and whether each goal held in each state."""

    objects: Mapping[str, list[str]]
    values: Mapping[str, Array]
    actions: tuple[Step, ...]
    goals: Mapping[str, tuple[bool, ...]]


def generate(
    world: PaintingWorld,
    episodes: int,
    seed: int,
    split: str = "train",
    *,
    judged: bool = True,
    brightness: float = 0.0,
) -> EpisodeArrays:
    """A data set of the world's sketch; without being ``judged``, episodes have their own goal alone.

    The ``brightness`` of all pictures of an episode is changed by a part that is drawn up to this one.
    """
    recorder, rng = Recorder(world.domain), np.random.default_rng([seed, 2])
    for one in demonstrations(world, episodes, seed, split):
        own, factor = next(iter(one.goals)), 1 + rng.uniform(-brightness, brightness)
        values = {n: np.clip(v * factor, 0, 255) if "image" in n else v for n, v in one.values.items()}
        goals = one.goals if judged else {own: one.goals[own]}
        recorder.add(one.objects, values if brightness else one.values, one.actions, goals=goals)
    return recorder.arrays()


def demonstrations(
    world: PaintingWorld, episodes: int, seed: int, split: str = "train"
) -> Iterator[OracleEpisode]:
    """Successes, each from a seed of its own."""
    for index in range(episodes):
        for again in range(MOST_FAILURES):
            one = demonstrate(world, table_seed(seed, index, split, again))
            if one is not None:
                yield one
                break
        else:
            raise error(
                "no-demonstrations",
                f"the oracle failed {MOST_FAILURES} times in a row",
                help="with less noise it succeeds more often",
            )


def table_seed(seed: int, index: int, split: str = "train", again: int = 0) -> int:
    """The seed of one episode: streams of different seeds and splits do not meet."""
    return int(np.random.SeedSequence([seed, index, again, *split.encode()]).generate_state(1)[0])


def demonstrate(world: PaintingWorld, seed: int) -> OracleEpisode | None:
    """The oracle's episode on one table, or None where it fails."""
    world.reset(seed)
    rng = np.random.default_rng([seed, 1])
    below, above, relation = PAIRS[world.goal]
    first, second = (f"block#{i + 1}" for i in rng.permutation(len(world.simulation.colours))[:2])
    asked = [world.goal, *other_goals(world, rng)]
    seen, true, actions = [world.observation], [true_state(world.simulation)], list[Step]()
    choices: list[Callable[[], Step]] = [
        lambda: ("move-into", first, _bowl_of(world, below)),
        lambda: ("move-into", first, "box"),
        lambda: ("move-into", second, _bowl_of(world, above)),
        lambda: ("move-to", second, _place_by(world, first, relation, rng)),
    ]
    for choose in choices:
        actions.append(choose())
        world.step(actions[-1])
        if not world.executed or world.ended:
            return None
        seen.append(world.observation)
        true.append(true_state(world.simulation))
    if not world.success:
        return None
    values = {name: np.stack([one[name] for one in seen]) for name in seen[0]}
    return OracleEpisode(names_of(world.simulation), values, tuple(actions), judge_states(true, asked))


def other_goals(world: PaintingWorld, rng: np.random.Generator) -> list[str]:
    """Near misses, with one part of the goal changed; milestones, some of a wrong colour; colours alone."""
    first, second, relation = PAIRS[world.goal]
    wrong, other = _another(COLOUR_NAMES, first, rng), _another(COLOUR_NAMES, second, rng)
    bowl = _bowl_of(world, first)
    milestones = [
        (first, bowl),
        (first, "box"),
        (second, _bowl_of(world, second)),
        (wrong, bowl),
        (other, "box"),
    ]
    return [
        pair_goal(wrong, second, relation),
        pair_goal(first, other, relation),
        pair_goal(first, second, _another(RELATIONS, relation, rng)),
        *(f"(exists (?a - item) (and (is-{colour} ?a) (inside ?a {place})))" for colour, place in milestones),
        *(
            f"(exists (?a - item) (is-{colour} ?a))"
            for colour in dict.fromkeys((first, second, wrong, other))
        ),
    ]


def _another(among: Sequence[str], one: str, rng: np.random.Generator) -> str:
    others = [name for name in among if name != one]
    return others[int(rng.integers(len(others)))]


def _bowl_of(world: PaintingWorld, colour: str) -> str:
    """The bowl with this paint."""
    return f"bowl#{world.simulation.paints.tolist().index(COLOUR_NAMES.index(colour)) + 1}"


def _place_by(world: PaintingWorld, first: str, relation: str, rng: np.random.Generator) -> tuple[float, ...]:
    """A pose in this relation to a block."""
    there = world.simulation.positions[int(first.removeprefix("block#")) - 1]
    spread = STACK_SPREAD if relation == "on" else SPREAD
    place = there + _OFFSETS[relation] + point(*rng.normal(0.0, spread, 2), 0.0)
    return tuple(to_pose(place).tolist())
