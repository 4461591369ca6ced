"""BabyAI by PPO (Schulman et al., 2017) of stable-baselines3, on what the sketches observe."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, final

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from pdsketch.extras import missing_extra
from pdsketch_paper.babyai.expert import ACTION_NAMES
from pdsketch_paper.babyai.goals import COLOURS, mission_goal
from pdsketch_paper.babyai.observation import Scene, look, observe
from pdsketch_paper.babyai.world import ActionObjDoor, problem_seed
from pdsketch_paper.experiments.babyai import MOST_STEPS, held_out

WORDS: Final = (
    *("robot-facing", "robot-holding", "is-open"),
    *(f"is-{colour}" for colour in COLOURS),
    *(f"is-{kind}" for kind in ("key", "ball", "box", "door")),
)
"""The predicates of missions: which of them a goal names says all of it."""

SIDE: Final = 7.0
"""Cells along a wall of the room, by which poses are divided."""

CODES: Final = (11, 6, 3)
"""How many types, colours and states Minigrid has."""

_ONE_HOT: Final = tuple(np.eye(n, dtype=np.float32) for n in CODES)
_FACING: Final = np.eye(4, dtype=np.float32)

ROBOT: Final = 2 + 4
ITEM: Final = 2 + sum(CODES)
WIDTH: Final = 128
"""As wide as the encoder of the other baselines."""


@final
@dataclass(frozen=True, slots=True)
class PPOConfig:
    """One run of so many environment steps; of the settings, those of the library that are not its defaults.

    ``watched`` held-out problems are acted on after each of ``measurements`` equal parts, ``problems`` at
    the end.
    """

    seed: int = 0
    steps: int = 1_600_000
    worlds: int = 64
    rollout: int = 64
    batch: int = 1024
    epochs: int = 4
    learning_rate: float = 1e-3
    entropy: float = 0.01
    discount: float = 0.97
    measurements: int = 10
    watched: int = 200
    problems: int = 500
    objects: int = 4
    doors: int = 4
    split: str = "test"

    def in_world(self, **options: Any) -> PPOConfig:
        """The same in other rooms."""
        return replace(self, **options)


@final
class MissionEnv(gymnasium.Env):  # type: ignore[misc]
    """A room as PPO sees it: numbers of robot, items and goal in one vector, and a reward of 1 at success.

    Rooms are drawn from the seeds of a split, one after the other; `reset` with a seed takes that very room.
    """

    def __init__(self, objects: int, doors: int, seeds: Callable[[int], int]) -> None:
        self.room = ActionObjDoor(objects, doors, max_steps=MOST_STEPS)
        self.seeds, self.rooms = seeds, 0
        size = ROBOT + len(WORDS) + (objects + doors) * ITEM
        self.observation_space = spaces.Box(-1.0, 1.0, (size,), np.float32)
        self.action_space = spaces.Discrete(len(ACTION_NAMES))
        self._goal: NDArray[np.float32] = np.zeros(len(WORDS), np.float32)
        self._scene: Scene | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The next room, or that of a seed."""
        del options
        with contextlib.redirect_stdout(io.StringIO()):  # Minigrid prints what it rejects
            self.room.reset(seed=self.seeds(self.rooms) if seed is None else seed)
        self.rooms += seed is None
        self._scene = look(self.room)
        named = mission_goal(self.room, self._scene).replace("(", " ").replace(")", " ").split()
        self._goal = np.array([word in named for word in WORDS], np.float32)
        return self._seen(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Minigrid's step; what it calls a success is rewarded."""
        _, reward, terminated, truncated, _ = self.room.step(int(action))
        success = bool(terminated and reward > 0)
        return self._seen(), float(success), bool(terminated), bool(truncated and not terminated), {}

    def _seen(self) -> NDArray[np.float32]:
        assert self._scene is not None
        seen = observe(self.room, self._scene)
        items = np.concatenate(
            [seen.item_pose / SIDE, *(rows[seen.item_code[:, i]] for i, rows in enumerate(_ONE_HOT))], 1
        )
        facing = _FACING[seen.robot_direction]
        found: NDArray[np.float32] = np.concatenate(
            [seen.robot_pose / SIDE, facing, self._goal, items.ravel()], dtype=np.float32
        )
        return found


def measure_ppo(config: PPOConfig) -> dict[str, Any]:
    """Learn by acting, without a model; success on held-out problems in the course of it, and at its end."""
    learner = make_learner(config)
    curve = []
    part = config.steps // config.measurements
    for at in range(config.measurements):
        learner.learn(part, reset_num_timesteps=at == 0)
        done = sum(env.rooms for env in learner.get_env().envs)
        found = success(learner, config, held_out(config.watched, config.seed, config.split))
        curve.append({"all_episodes": done, "all_steps": learner.num_timesteps, "held_out": found})
    last = success(learner, config, held_out(config.problems, config.seed, config.split))
    return {"curve": curve, "final": {"closed": {"success": last}}}


def make_learner(config: PPOConfig) -> Any:
    """The library's learner with rooms side by side and a network over sets of items."""
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import DummyVecEnv
    except ImportError as problem:
        raise missing_extra("stable-baselines3", "ppo", "pdsketch-paper") from problem
    envs = DummyVecEnv(
        [
            partial(MissionEnv, config.objects, config.doors, partial(_room, config.seed, config.worlds, at))
            for at in range(config.worlds)
        ]
    )
    return PPO(
        "MlpPolicy",
        envs,
        n_steps=config.rollout,
        batch_size=config.batch,
        n_epochs=config.epochs,
        learning_rate=config.learning_rate,
        ent_coef=config.entropy,
        gamma=config.discount,
        seed=config.seed,
        device="cpu",
        policy_kwargs={"features_extractor_class": _extractor(), "net_arch": [WIDTH]},
    )


def _room(seed: int, worlds: int, at: int, room: int) -> int:
    """Rooms are dealt out to the worlds in turn."""
    return problem_seed(seed, room * worlds + at, "collect")


def success(learner: Any, config: PPOConfig, problems: Sequence[int]) -> float:
    """The part of some problems that the agent solves, drawing actions with their probabilities."""
    envs = [MissionEnv(config.objects, config.doors, lambda room: room) for _ in problems]
    seen = {i: env.reset(seed=seed)[0] for i, (env, seed) in enumerate(zip(envs, problems, strict=True))}
    solved = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        while seen:
            actions, _ = learner.predict(np.stack([*seen.values()]), deterministic=False)
            for i, action in zip([*seen], actions, strict=True):
                seen[i], reward, terminated, truncated, _ = envs[i].step(action)
                solved += reward > 0
                if terminated or truncated:
                    del seen[i]
    return solved / len(problems)


def _extractor() -> type[nn.Module]:
    """The library's base class, filled in: items are a set, each looked at beside robot and goal."""
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class SetOfItems(BaseFeaturesExtractor):  # type: ignore[misc]
        def __init__(self, observed: Any) -> None:
            super().__init__(observed, WIDTH)
            around = ROBOT + len(WORDS)
            self.item = nn.Sequential(
                *(nn.Linear(ITEM + 2 + around, WIDTH), nn.ReLU()),
                *(nn.Linear(WIDTH, WIDTH), nn.ReLU()),
            )
            self.whole = nn.Sequential(nn.Linear(WIDTH + around, WIDTH), nn.ReLU())

        def forward(self, seen: Tensor) -> Tensor:
            own = ROBOT + len(WORDS)
            around, items = seen[:, :own], seen[:, own:]
            items = items.reshape(len(items), -1, ITEM)
            apart = items[..., :2] - around[:, None, :2]
            beside = torch.cat([items, apart, around[:, None].expand(-1, items.shape[1], -1)], -1)
            found: Tensor = self.whole(torch.cat([self.item(beside).amax(1), around], 1))
            return found

    return SetOfItems
