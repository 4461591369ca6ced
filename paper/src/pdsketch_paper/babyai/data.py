"""An expert that knows Minigrid's rules, and the demonstrations that it gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

from pdsketch.lang import Domain
from pdsketch.training import EpisodeArrays, Recorder
from pdsketch_paper.babyai.goals import mission_goal
from pdsketch_paper.babyai.observation import Observation, look, objects_of, read, values_of
from pdsketch_paper.babyai.world import ActionObjDoor, problem_seed

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
"""Minigrid's actions in the order of its enumeration; `done` is never used."""

ACTION_NAMES = ("lturn", "rturn", "forward", "pickup", "drop", "toggle")
"""The same in the sketches' words."""

_STEP_X, _STEP_Y = (1, 0, -1, 0), (0, 1, 0, -1)


def path_to_face(env: Any, targets: Collection[tuple[int, int]]) -> list[int] | None:
    """A shortest list of turns and moves after which the agent faces one of these cells, or None.

    Breadth first over (cell, direction); open doors can be crossed, nothing
    else that stands on a cell can.
    """
    side = env.grid.width
    free = [cell is None or cell.can_overlap() for cell in env.grid.grid]
    ahead = (1, side, -1, -side)
    goal = frozenset(y * side + x for x, y in targets)
    x, y = env.agent_pos
    start = (int(y) * side + int(x)) * 4 + int(env.agent_dir)
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        cell, direction = node >> 2, node & 3
        front = cell + ahead[direction]
        if front in goal:
            return _trace(came, node)
        base = cell << 2
        following = [(LEFT, base | (direction - 1 & 3)), (RIGHT, base | (direction + 1 & 3))]
        if free[front]:
            following.append((FORWARD, front << 2 | direction))
        for action, after in following:
            if after not in came:
                came[after] = (node, action)
                queue.append(after)
    return None


def _trace(came: dict[int, tuple[int, int]], node: int) -> list[int]:
    actions: list[int] = []
    while (step := came[node])[0] >= 0:
        node, action = step
        actions.append(action)
    return actions[::-1]


def solve(env: Any) -> list[int] | None:
    """A shortest plan for the mission of an environment that was just reset, or None.

    The mission is a `GoToInstr`, a `PickupInstr` or an `OpenInstr`.
    """
    instruction = env.instrs
    path = path_to_face(env, [(int(x), int(y)) for x, y in instruction.desc.obj_poss])
    if path is None:
        return None
    return path + _HAND[type(instruction).__name__]


_HAND: dict[str, list[int]] = {"GoToInstr": [], "PickupInstr": [PICKUP], "OpenInstr": [TOGGLE]}


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


def record(episodes: Iterable[Demonstration], domain: Domain) -> EpisodeArrays:
    """The demonstrations as episodes of a sketch.

    ``executable`` is left open: Minigrid takes every action, and a step into a
    wall is an outcome to learn from. PDS-Rob's own precondition excludes it.
    """
    recorder = Recorder(domain)
    for episode in episodes:
        recorder.add(
            objects_of(domain, episode.states),
            values_of(domain, episode.states),
            [(name, "agent") for name in episode.action_names],
            episode.goal,
            episode.success,
        )
    return recorder.arrays()


def generate(config: DataConfig, domain: Domain) -> EpisodeArrays:
    """A data set of a sketch."""
    return record(demonstrations(config), domain)
