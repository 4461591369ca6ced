"""BabyAI without demonstrations: success on held-out problems by the number of episodes acted in."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from pdsketch.act import learn, rollout
from pdsketch.extras import missing_extra
from pdsketch.search import UntrainedWarning
from pdsketch.tensor import Model
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.data import ACTION_NAMES
from pdsketch_paper.babyai.goals import COLOURS, mission_goal
from pdsketch_paper.babyai.modules import SketchName, rob_functions
from pdsketch_paper.babyai.observation import Scene, load_sketch, look, observe
from pdsketch_paper.babyai.world import ActionObjDoor, problem_seed
from pdsketch_paper.experiments.babyai import (
    MOST_REPLANS,
    MOST_STEPS,
    TOLERANCE,
    SearchConfig,
    TrainConfig,
    both_loops,
    held_out,
    new_model,
    planner,
    worlds_for,
)
from pdsketch_paper.experiments.methods import MEASURED, OURS, PAPER, Method, fit_model
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import (
    Curves,
    Records,
    ResultTable,
    made_by,
    plot_lines,
    seeds_of,
    spread,
    values_at,
)

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
LAYER: Final = 128
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
        policy_kwargs={"features_extractor_class": _extractor(), "net_arch": [LAYER]},
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
            super().__init__(observed, LAYER)
            around = ROBOT + len(WORDS)
            self.item = nn.Sequential(
                *(nn.Linear(ITEM + 2 + around, LAYER), nn.ReLU()),
                *(nn.Linear(LAYER, LAYER), nn.ReLU()),
            )
            self.whole = nn.Sequential(nn.Linear(LAYER + around, LAYER), nn.ReLU())

        def forward(self, seen: Tensor) -> Tensor:
            own = ROBOT + len(WORDS)
            around, items = seen[:, :own], seen[:, own:]
            items = items.reshape(len(items), -1, ITEM)
            apart = items[..., :2] - around[:, None, :2]
            beside = torch.cat([items, apart, around[:, None].expand(-1, items.shape[1], -1)], -1)
            found: Tensor = self.whole(torch.cat([self.item(beside).amax(1), around], 1))
            return found

    return SetOfItems


WIDTH = 16
"""Nodes expanded together while learning: plans stay optimal for the model, and searches take less time."""


@final
@dataclass(frozen=True, slots=True)
class OnPolicyConfig:
    """One run. ``problems`` judge the last model, ``watched`` of them the model of each round.

    Without ``replay`` it is the paper's: the agent follows its plans and does not explore, and each round
    of ``first`` episodes trains on its own episodes alone, from the weights of the round before.
    """

    sketch: SketchName = "abs"
    seed: int = 0
    episodes: int = 480
    first: int = 60
    fit_steps: int = 1200
    batch: int = 256
    warm: bool = False
    subgoals: bool = True
    replay: bool = True
    method: Method = OURS
    max_expansions: int = 500
    watched: int = 200
    problems: int = 500
    objects: int = 4
    doors: int = 4


def measure_onpolicy(config: OnPolicyConfig, folder: Path | None = None) -> dict[str, Any]:
    """Learn by acting; the curve, and what the last model does on all held-out problems.

    ``folder`` keeps the rounds of a run that is not finished.
    """
    if not config.replay:
        return _without_replay(config)
    domain, snap = load_sketch(config.sketch), config.sketch == "base"
    learned = learn(
        partial(BabyAIWorld, config.objects, config.doors, domain),
        domain,
        folder,
        modules=rob_functions() if config.sketch == "rob" else {},
        episodes=config.episodes,
        first=config.first,
        max_steps=MOST_STEPS,
        fit_steps=config.fit_steps,
        fit={"batch": config.batch, "forms": config.fit_steps >= MEASURED},  # a smoke run has none
        warm=config.warm,
        subgoals=config.subgoals,
        evaluate=held_out(config.watched, config.seed),
        max_expansions=config.max_expansions,
        max_replans=MOST_REPLANS,
        tolerance=TOLERANCE,
        plan={"k": WIDTH, "snap": snap},
        seed=config.seed,
    )
    search = SearchConfig(max_expansions=config.max_expansions, snap=snap)
    return {"curve": learned.curve, "final": _last(learned.model, search, config)}


def _last(model: Model, search: SearchConfig, config: OnPolicyConfig) -> dict[str, dict[str, float]]:
    problems = held_out(config.problems, config.seed)
    return both_loops(model, problems, search, objects=config.objects, doors=config.doors)


def _without_replay(config: OnPolicyConfig) -> dict[str, Any]:
    """Plan, follow the plan, train on what came of it, again."""
    model, curve, steps = new_model(config.sketch, config.seed, config.method), [], 0
    search = SearchConfig(max_expansions=config.max_expansions, k=WIDTH)
    rooms = worlds_for(model, max(config.first, config.watched), objects=config.objects, doors=config.doors)
    training = TrainConfig(
        config.sketch, seed=config.seed, steps=config.fit_steps, batch=config.batch, method=config.method
    )
    for begin in range(0, config.episodes, config.first):
        seeds = [problem_seed(config.seed, begin + i, "collect") for i in range(config.first)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrainedWarning)
            done = rollout(planner(model, search), rooms[: len(seeds)], seeds, MOST_STEPS)
        fit_model(model, done, training)
        steps += sum(done.steps)
        watched = held_out(config.watched, config.seed)
        found = rollout(planner(model, search, "closed"), rooms[: len(watched)], watched, MOST_STEPS)
        at = {"all_episodes": begin + len(seeds), "all_steps": steps}
        curve.append({**at, "held_out": found.summary["success"]})
    return {"curve": curve, "final": _last(model, search, config)}


ROWS: dict[str, tuple[str, str]] = {
    "rob": ("PDS-Rob", "0.99 within 10,000"),
    "abs": ("PDS-Abs", "0.06"),
    "abs-warm": ("PDS-Abs, warm starts", "0.06"),
    "abs-walks": ("PDS-Abs, no subgoals", "0.06"),
    "base": ("PDS-Base, no subgoals", "0.06"),
    "rob-papers": ("PDS-Rob, paper's method", "0.99 within 10,000"),
    "abs-papers": ("PDS-Abs, paper's method", "0.06"),
    "ppo": ("PPO", "0.99 within 200,000"),
}
"""The rows with what the paper reports of them, in episodes."""

_PAPERS: dict[str, Any] = {
    **{"episodes": 960, "fit_steps": 200, "replay": False, "method": replace(PAPER, schedule=True)},
    **{"watched": 50, "problems": 200},
}
"""The paper's method, with so many training steps a round."""

_OWN: dict[str, dict[str, Any]] = {
    "rob": {"sketch": "rob"},
    "abs": {"sketch": "abs"},
    "abs-warm": {"sketch": "abs", "warm": True},
    "abs-walks": {"sketch": "abs", "subgoals": False},
    "base": {
        **{"sketch": "base", "subgoals": False, "episodes": 240, "fit_steps": 600},
        **{"max_expansions": 200, "watched": 50, "problems": 200},
    },
    "rob-papers": {"sketch": "rob", **_PAPERS},
    "abs-papers": {"sketch": "abs", **_PAPERS},
}
"""What tells the rows apart. The searches of PDS-Base fail and take long (an episode with subgoals more than
five seconds), so that it has less of everything."""


QUICK_PPO: dict[str, Any] = {
    **{"steps": 64, "worlds": 4, "rollout": 8, "batch": 16},
    **{"measurements": 2, "watched": 4, "problems": 4},
}
"""A smoke run of PPO."""


def onpolicy_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per row and seed."""
    own_seeds = seeds_for(seeds, FRESH[:3], quick)
    small = {"episodes": 8, "first": 4, "fit_steps": 10, "max_expansions": 20, "watched": 4, "problems": 4}
    models = {
        f"onpolicy-{row}-seed{seed}": OnPolicyConfig(**{**own, "seed": seed})
        for row, own in _OWN.items()
        for seed in own_seeds
    }
    others = {f"onpolicy-ppo-seed{seed}": PPOConfig(seed) for seed in own_seeds}
    return [
        *runs_of(measure_onpolicy, models, quick, resumes=True, **small),
        *runs_of(measure_ppo, others, quick, **QUICK_PPO),
    ]


def _of(records: Records, row: str) -> list[dict[str, Any]]:
    return [record for record in records if record["name"].startswith(f"onpolicy-{row}-seed")]


def _curve(records: Records, row: str) -> dict[float, list[float]]:
    """The held-out success of the seeds by the number of episodes."""
    found: dict[float, list[float]] = {}
    for record in _of(records, row):
        for point in record["result"]["curve"]:
            found.setdefault(point["all_episodes"], []).append(point["held_out"])
    return found


def onpolicy_table(records: Records) -> ResultTable:
    """Success by the number of episodes, and of the last model in both loops."""
    curves = {row: _curve(records, row) for row in _OWN}
    sizes = sorted({size for curve in curves.values() for size in curve})
    rows = []
    for row, (title, paper) in ROWS.items():
        own = _of(records, row)
        last = [points[-1] for points in values_at(own, "curve")]
        rows.append(
            (
                title,
                *(spread(curves.get(row, {}).get(size, [])) for size in sizes),
                *(spread(values_at(own, "final", loop, "success")) for loop in ("open", "closed")),
                *(spread([point[name] for point in last], 0) for name in ("all_episodes", "all_steps")),
                paper,
            )
        )
    head = (
        *("model", *map(str, sizes), "last, open loop", "last, closed loop"),
        *("episodes", "environment steps", "paper"),
    )
    return ResultTable("BabyAI: on-policy learning", _note(records), head, tuple(rows))


def _note(records: Records) -> str:
    """How the runs were made that are there."""
    shown = [
        "Success on held-out problems after so many episodes of learning by acting, without demonstrations, "
        f"in rooms of {records[0]['config']['objects']} objects and {records[0]['config']['doors']} doors; "
        f"{seeds_of(records).lower()}."
    ]
    alike: dict[str, list[str]] = {}
    for row, (title, _) in ROWS.items():
        for record in _of(records, row)[:1]:
            alike.setdefault(_how(row, record["config"]), []).append(title)
    shown += [f"{'; '.join(titles)}: {how}." for how, titles in alike.items()]
    return " ".join([*shown, made_by(records)])


def _how(row: str, config: Mapping[str, Any]) -> str:
    """How the runs of a row were made."""
    tried = (
        f"{config['watched']} problems for the curve (closed loop), {config['problems']} for the last model"
    )
    if row == "ppo":
        return f"actions are drawn, closed loop, {tried}"
    if not config.get("replay", True):
        return (
            f"the agent follows its plans, rounds of {config['first']} episodes that are not kept, "
            f"{config['fit_steps']} training steps a round, {tried}"
        )
    return (
        f"{config['first']} random walks first, {config['fit_steps']} training steps a round, at most "
        f"{config['max_expansions']} expansions a plan, {tried}"
    )


def onpolicy_plot(records: Records, path: Path) -> None:
    """The held-out success over the number of episodes, a line for each seed."""
    series: dict[str, Curves] = {
        title: [
            {point["all_episodes"]: point["held_out"] for point in record["result"]["curve"]}
            for record in _of(records, row)
        ]
        for row, (title, _) in ROWS.items()
    }
    plot_lines({"BabyAI: on-policy learning": series}, path, x="episodes", y="held-out success")
