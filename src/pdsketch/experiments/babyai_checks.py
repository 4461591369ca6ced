"""What else a trained BabyAI model can do: unseen goals, Minigrid's own levels, and single steps."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdsketch.envs.babyai.data import DataConfig
from pdsketch.envs.babyai.goals import mission_goal
from pdsketch.envs.babyai.modules import exact_modules
from pdsketch.envs.babyai.observation import look, observe
from pdsketch.envs.babyai.record import generate
from pdsketch.envs.babyai.states import load_sketch, to_state
from pdsketch.envs.babyai.unseen import UNSEEN, things_of
from pdsketch.envs.babyai.world import ActionObjDoor, make, problem_seed
from pdsketch.experiments.babyai import (
    MOST_STEPS,
    SearchConfig,
    Trial,
    both_loops,
    plans_for,
)

STOCK_LEVELS = (
    "ActionObjDoor",
    "GoToObj",
    "GoToRedBall",
    "GoToRedBallGrey",
    "GoToLocal",
    "GoToDoor",
    "GoToObjDoor",
    "PickupDist",
    "OpenDoor",
    "OpenDoorColor",
    "OpenDoorLoc",
    "OpenRedDoor",
)
"""Minigrid's levels whose missions can be carried out in the room where they start."""


def exact_model() -> Any:
    """PDS-Abs with exact modules: the judge of unseen goals, and the source of optimal plans."""
    import pdsketch as pds

    return pds.Model(load_sketch("abs"), modules=exact_modules("abs"))


def unseen_trials(kind: str, count: int, seed: int, judge: Any) -> list[Trial]:
    """Rooms in which a goal of this kind makes sense and does not hold at the start."""
    trials: list[Trial] = []
    for index in range(20 * count):
        if len(trials) == count:
            break
        env = ActionObjDoor(max_steps=10 * MOST_STEPS)
        env.reset(seed=problem_seed(seed, index, f"unseen {kind}"))
        scene = look(env)
        seen = observe(env, scene)
        goal = UNSEEN[kind](things_of(seen), env.np_random)
        if goal is not None and not holds(judge, Trial(env, scene, goal)):
            trials.append(Trial(env, scene, goal))
    return trials


def holds(judge: Any, trial: Trial) -> bool:
    """Whether the state of Minigrid satisfies the goal, by exact modules."""
    state = to_state(judge.domain, observe(trial.env, trial.scene))
    return bool(judge.holds(state, trial.goal, crisp=True) > 0.5)


def measure_unseen(model: Any, count: int, seed: int, search: SearchConfig) -> dict[str, dict[str, float]]:
    """By kind: how often Minigrid's state satisfies the goal after the plan, and the plan's length.

    The same formula with exact modules judges; the optimum is the length of the
    plan that blind A* finds with exact modules.
    """
    judge = exact_model()
    measured = {}
    for kind in UNSEEN:
        trials = unseen_trials(kind, count, seed, judge)
        best = plans_for(judge, trials, search)
        found = plans_for(model, trials, search)
        solved, ratios = [], []
        for trial, result, optimum in zip(trials, found, best, strict=True):
            for name, *_ in result.plan or ():
                trial.act(name)
            solved.append(bool(result.plan) and holds(judge, trial))
            if solved[-1] and optimum.plan:
                ratios.append(len(result.plan) / len(optimum.plan))
        measured[kind] = {
            "problems": len(trials),
            "success": float(np.mean(solved)),
            "length_over_optimum": float(np.mean(ratios or [0])),
            "optimum": float(np.mean([len(result.plan or ()) for result in best])),
            "expanded": float(np.mean([result.expanded for result in found])),
        }
    return measured


def stock_trials(level: str, count: int, seed: int) -> list[Trial]:
    """Problems of one of Minigrid's own levels; starts that satisfy the mission already are left out."""
    judge = exact_model()
    trials: list[Trial] = []
    index = 0
    while len(trials) < count:
        env = make(f"BabyAI-{level}-v0")
        with contextlib.redirect_stdout(io.StringIO()):  # Minigrid prints what it rejects
            env.reset(seed=problem_seed(seed, index, level))
        index += 1
        scene = look(env)
        trial = Trial(env, scene, mission_goal(env, scene))
        if not holds(judge, trial):
            trials.append(trial)
    return trials


def measure_stock(model: Any, count: int, seed: int, search: SearchConfig) -> dict[str, dict[str, float]]:
    """By level: the success of acting blindly and of acting with replanning."""
    measured = {}
    for level in STOCK_LEVELS:
        loops = both_loops(model, partial(stock_trials, level, count, seed), search)
        measured[level] = {name: loop["success"] for name, loop in loops.items()}
    return measured


def measure_transitions(model: Any, steps: int, seed: int) -> dict[str, dict[str, Any]]:
    """By action: the part of held-out steps after which each predicate is as predicted.

    The steps are those of fresh demonstrations, random walks included, and of
    the actions whose precondition holds.
    """
    import pdsketch as pds

    columns = generate(DataConfig(max(8, steps // 6), seed=seed, split="steps"), model.domain)
    before: dict[str, list[Any]] = {}
    after: dict[str, list[Any]] = {}
    taken = 0
    for episode in columns:
        for state, action, following in zip(
            episode.states, episode.actions, episode.states[1:], strict=False
        ):
            before.setdefault(action[0], []).append(state)
            after.setdefault(action[0], []).append(following)
            taken += 1
        if taken >= steps:
            break
    return {
        name: _compare(model, name, pds.StateBatch.of(before[name]), pds.StateBatch.of(after[name]))
        for name in sorted(before)
    }


def _numbers(states: Any, name: str) -> NDArray[Any]:
    return np.asarray(states[name].detach(), dtype=np.float32)


def _compare(model: Any, name: str, before: Any, after: Any) -> dict[str, Any]:
    could = np.asarray(model.applicable(before, (name, "agent"), crisp=True).detach()).reshape(-1) > 0.5
    predicted = model.step(before, (name, "agent"), crisp=True)
    agreement = {}
    for predicate in model.domain.state_predicates:
        found = _numbers(predicted, predicate.name)[could]
        wanted = _numbers(after, predicate.name)[could]
        near = (np.abs(found - wanted) < 0.3).reshape(len(found), -1).all(1)
        agreement[predicate.name] = float(near.mean()) if len(near) else 1.0
    return {"steps": int(could.sum()), "agreement": agreement}


def total_agreement(measured: Sequence[dict[str, Any]]) -> float:
    """The part of steps on which a predicate agrees, over actions."""
    weights = [one["steps"] for one in measured]
    values = [min(one["agreement"].values()) for one in measured]
    return float(np.average(values, weights=weights))
