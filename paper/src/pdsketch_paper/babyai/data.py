"""Demonstrations as the paper has them: shortest paths that succeed, and wrong approaches that do not.

A failure goes to something that the mission does not mean and then takes five
random steps. Minigrid's verifier decides, step by step; an episode ends at its
first success, a random step's included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from pdsketch_paper.babyai.expert import ACTION_NAMES, path_to_face, solve
from pdsketch_paper.babyai.goals import mission_goal
from pdsketch_paper.babyai.observation import Observation, look, read
from pdsketch_paper.babyai.world import ActionObjDoor, problem_seed

RANDOM_STEPS = 5
"""The length of the random walk after a wrong approach."""


@final
@dataclass(frozen=True, slots=True)
class DataConfig:
    """Which demonstrations: how many, in which setting, and the part of them that fail."""

    episodes: int
    objects: int = 4
    doors: int = 4
    seed: int = 0
    failures: float = 0.5
    split: str = "train"


@final
@dataclass(frozen=True, slots=True)
class Demonstration:
    """One episode: states along a first axis, the actions between them, and the verifier's word on each."""

    states: Observation
    actions: tuple[int, ...]
    goal: str
    success: tuple[bool, ...]

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions in the sketches' words."""
        return tuple(ACTION_NAMES[action] for action in self.actions)


def demonstrations(config: DataConfig) -> Iterator[Demonstration]:
    """The episodes of a data set, each from a seed of its own."""
    env = ActionObjDoor(config.objects, config.doors)
    for index in range(config.episodes):
        yield demonstrate(env, problem_seed(config.seed, index, config.split), config.failures)


def demonstrate(env: Any, seed: int, failures: float) -> Demonstration:
    """One episode from one seed."""
    env.reset(seed=seed)
    scene = look(env)
    rng = env.np_random
    wrong = rng.random() < failures
    actions = _wrong_approach(env, scene.items) if wrong else solve(env)
    if actions is None:  # nothing else to approach: succeed
        actions = solve(env) or []
    elif wrong:
        actions += rng.integers(len(ACTION_NAMES), size=RANDOM_STEPS).tolist()
    goal = mission_goal(env, scene)
    rows, success = [read(env, scene)], [False]
    for taken, action in enumerate(actions):
        _, _, done, _, _ = env.step(action)
        rows.append(read(env, scene))
        success.append(done)
        if done:
            actions = actions[: taken + 1]
            break
    return Demonstration(Observation.of(rows, scene), tuple(actions), goal, tuple(success))


def _wrong_approach(env: Any, items: tuple[Any, ...]) -> list[int] | None:
    """A shortest path to face a thing that the mission does not mean, or None where there is none."""
    meant = env.instrs.desc.obj_set
    others = [item for item in items if not any(item is target for target in meant)]
    for i in env.np_random.permutation(len(others)).tolist():
        x, y = others[i].cur_pos
        path = path_to_face(env, [(int(x), int(y))])
        if path is not None:
            return path
    return None
