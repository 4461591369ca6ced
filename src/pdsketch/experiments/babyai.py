"""BabyAI: train a sketch, then plan and act in Minigrid on held-out problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from pdsketch.envs.babyai.data import DataConfig
from pdsketch.envs.babyai.expert import ACTION_NAMES
from pdsketch.envs.babyai.goals import mission_goal
from pdsketch.envs.babyai.modules import SketchName, rob_functions
from pdsketch.envs.babyai.observation import Scene, look, observe
from pdsketch.envs.babyai.record import generate
from pdsketch.envs.babyai.states import load_sketch, to_state, values_of
from pdsketch.envs.babyai.world import ActionObjDoor, problem_seed

MOST_STEPS = 64
"""An episode that acts longer than this has failed."""

MOST_ROUNDS = 4
"""How often closed-loop acting may plan anew."""


@final
@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One trained model: which sketch, how many demonstrations, the seed of data and weights."""

    sketch: SketchName = "abs"
    episodes: int = 1000
    seed: int = 0
    steps: int = 1200
    batch: int = 256
    learning_rate: float = 3e-3
    trial: float = 0.4
    objects: int = 4
    doors: int = 4


@final
@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How plans are found. The limit is on expansions, never on time."""

    search: str = "astar"
    heuristic: str = "blind"
    max_expansions: int = 500
    snap: bool = False
    k: int = 1


@final
@dataclass(slots=True, eq=False)
class Trial:
    """One problem under way: an environment, the scene at its start, the goal, and what was done."""

    env: Any
    scene: Scene
    goal: str
    taken: list[str] = field(default_factory=list)
    solved: bool = False
    failed: bool = False

    @property
    def active(self) -> bool:
        """Whether there is still something to try."""
        return not (self.solved or self.failed or len(self.taken) >= MOST_STEPS)

    def act(self, name: str) -> None:
        """Take one step in Minigrid; its verifier says whether the mission is accomplished."""
        _, _, done, _, _ = self.env.step(ACTION_NAMES.index(name))
        self.taken.append(name)
        self.solved = bool(done)


def train(config: TrainConfig) -> tuple[Any, Any]:
    """A model trained on fresh demonstrations, and the report of its fit."""
    import pdsketch as pds

    domain = load_sketch(config.sketch)
    data = generate(DataConfig(config.episodes, config.objects, config.doors, config.seed), domain)
    model = new_model(config.sketch, config.seed)
    report = pds.fit(
        model,
        data,
        steps=config.steps,
        batch=config.batch,
        learning_rate=config.learning_rate,
        trial=config.trial,
        seed=config.seed,
    )
    return model, report


def new_model(sketch: SketchName, seed: int) -> Any:
    """An untrained model: default networks in every blank, and PDS-Rob's functions where it names them."""
    import pdsketch as pds

    domain = load_sketch(sketch)
    return pds.Model(domain, modules=rob_functions() if sketch == "rob" else {}, seed=seed)


def held_out(objects: int, doors: int, problems: int, seed: int = 0) -> list[Trial]:
    """Problems that no training set holds."""
    trials = []
    for index in range(problems):
        env = ActionObjDoor(objects, doors, max_steps=MOST_STEPS + 1)
        env.reset(seed=problem_seed(seed, index, "test"))
        scene = look(env)
        trials.append(Trial(env, scene, mission_goal(env, scene)))
    return trials


def plans_for(model: Any, trials: Sequence[Trial], search: SearchConfig) -> list[Any]:
    """A search result for each trial, from the state it is in."""
    import pdsketch as pds

    states = [to_state(model.domain, observe(trial.env, trial.scene)) for trial in trials]
    return list(
        pds.plan_many(
            model,
            states,
            [trial.goal for trial in trials],
            search=search.search,
            heuristic=search.heuristic,
            max_expansions=search.max_expansions,
            time_limit=None,
            snap=search.snap,
            k=search.k,
        )
    )


def open_loop(trials: Sequence[Trial], plans: Sequence[Any]) -> dict[str, float]:
    """Act blindly on a plan each; the part of problems that Minigrid calls solved."""
    for trial, result in zip(trials, plans, strict=True):
        for name, *_ in result.plan or ():
            if trial.active:
                trial.act(name)
    return _summary(trials, plans)


def closed_loop(
    model: Any, trials: Sequence[Trial], plans: Sequence[Any], search: SearchConfig
) -> dict[str, float]:
    """Act on a plan each while the world does as predicted, then plan anew from what is seen."""
    waiting, results = list(trials), list(plans)
    for _ in range(MOST_ROUNDS):
        for trial, result in zip(waiting, results, strict=True):
            follow(model, trial, result.plan or ())
        waiting = [trial for trial in waiting if trial.active]
        if not waiting:
            break
        results = plans_for(model, waiting, search)
    return _summary(trials, plans)


def both_loops(
    model: Any, make: Callable[[], list[Trial]], search: SearchConfig
) -> dict[str, dict[str, float]]:
    """Acting blindly and with replanning, on the same problems (made twice) and the same first plans."""
    trials = make()
    plans = plans_for(model, trials, search)
    return {"open": open_loop(trials, plans), "closed": closed_loop(model, make(), plans, search)}


def follow(model: Any, trial: Trial, plan: Sequence[tuple[Any, ...]]) -> None:
    """Act until the plan ends, the mission is accomplished, or the world deviates from the model."""
    if not plan:
        trial.failed = True
        return
    state = to_state(model.domain, observe(trial.env, trial.scene))
    for action in plan:
        if not trial.active:
            return
        state = model.step(state, action, crisp=True)
        trial.act(action[0])
        seen = values_of(model.domain, observe(trial.env, trial.scene))
        if not agrees(state, seen):
            return


def agrees(predicted: Any, seen: Mapping[str, Any], tolerance: float = 0.3) -> bool:
    """Whether a predicted state is what is seen, predicate by predicate."""
    return all(
        bool((np.abs(np.asarray(predicted[name].detach(), dtype=np.float32) - value) < tolerance).all())
        for name, value in seen.items()
    )


def _summary(trials: Sequence[Trial], results: Sequence[Any]) -> dict[str, float]:
    return {
        "success": float(np.mean([trial.solved for trial in trials])),
        "planned": float(np.mean([result.status == "solved" for result in results])),
        "expanded": float(np.mean([result.expanded for result in results])),
        "steps": float(np.mean([len(trial.taken) for trial in trials if trial.solved] or [0])),
    }
