"""Relabelling in hindsight: one trajectory says of many goals whether they held on its way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from pdsketch.lang import error
from pdsketch.tensor import Model, State, StateBatch
from pdsketch.training.data.device_dataset import ROWS
from pdsketch.training.data.episode import Episode, Success, domain_of

Label = Callable[[State], Any] | None
"""A function from a state to 1, 0 or None (not known); None: the formula itself says it, exactly."""


def hindsight(
    episodes: Iterable[Episode],
    goals: Mapping[str, Label] | Callable[[Episode], Mapping[str, Label]],
    *,
    model: Model | None = None,
) -> list[Episode]:
    """The same episodes, judged by more goals; the trajectories are not copied.

    ``goals`` maps each goal to a function ``fn(state)`` that says whether it holds,
    or to None: then the goal is evaluated on each state, which a goal that reads
    blanks cannot be. A function from an episode to such a mapping gives every
    episode goals of its own. What an episode already says of a goal stays.
    ``model`` gives external functions, and blanks filled with functions of your own.
    """
    listed = list(episodes)
    for at, episode in enumerate(listed):
        if not isinstance(episode, Episode):
            raise error("bad-episode", f"episode {at} is a {type(episode).__name__}, not an Episode")
    if not listed:
        return []
    asked = [_asked(goals, episode) for episode in listed]
    found: list[dict[str, Success]] = [
        {goal: _told(label, goal, episode) for goal, label in wanted.items() if label is not None}
        for episode, wanted in zip(listed, asked, strict=True)
    ]
    if any(label is None for wanted in asked for label in wanted.values()):
        _evaluate(listed, asked, found, model or Model(domain_of(listed), seed=0))
    return [
        replace(episode, goal=None, success=None, goals=_joined(episode.goals, {g: new[g] for g in wanted}))
        for episode, wanted, new in zip(listed, asked, found, strict=True)
    ]


def _asked(goals: Any, episode: Episode) -> Mapping[str, Label]:
    wanted = goals(episode) if callable(goals) else goals
    if not isinstance(wanted, Mapping):
        kind = type(wanted).__name__
        raise error(
            "bad-hindsight",
            f"`goals` maps goals to functions or None, and is a {kind}",
            help='write {"(…)": fn}, or {"(…)": None} to evaluate the goal itself',
        )
    for goal, label in wanted.items():
        if label is not None and not callable(label):
            kind = type(label).__name__
            raise error("bad-hindsight", f"the label of `{goal!s:.80}` is a {kind}, and no function")
    return wanted


def _told(label: Callable[[State], Any], goal: str, episode: Episode) -> list[float | None]:
    """What a user's function says of each state."""
    return [_word(label(state), goal) for state in episode.states]


def _word(said: Any, goal: str) -> float | None:
    if said is None:
        return None
    try:
        number = float(said)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if number in (0.0, 1.0):
        return number
    raise error(
        "bad-hindsight",
        f"the function of `{goal:.80}` returned {said!r:.60}; true, false or None (not known) was wanted",
    )


@torch.no_grad()
def _evaluate(
    episodes: list[Episode], asked: list[Mapping[str, Label]], found: list[dict[str, Success]], model: Model
) -> None:
    """Fill in the goals without a function: each goal on all states that it is asked of."""
    users: dict[str, list[int]] = {}
    for at, wanted in enumerate(asked):
        for goal, label in wanted.items():
            if label is None:
                users.setdefault(goal, []).append(at)
    for goal, chosen in users.items():
        _check_exact(goal, episodes[chosen[0]].states[0], model)
        states = [state for at in chosen for state in episodes[at].states]
        truths: list[int] = []
        for first in range(0, len(states), ROWS):
            batch = StateBatch.of(states[first : first + ROWS])
            truths += (model.holds(batch, goal, crisp=True) > 0.5).int().tolist()
        for at in chosen:
            length = len(episodes[at].states)
            found[at][goal], truths = truths[:length], truths[length:]


def _check_exact(goal: Any, state: State, model: Model) -> None:
    """Refuse to evaluate a goal whose meaning is yet to be learned."""
    if not isinstance(goal, str):
        raise error("bad-episode", f"a goal is written as text, not as {type(goal).__name__}")
    formula = state.batch.layout.universes[0].formula(goal)
    learned = set(model.domain.analysis.blanks(formula)) - model.blanks.given.keys()
    if learned:
        raise error(
            "bad-hindsight",
            f"`{goal:.80}` reads the blank `{min(learned)}`: its truth is yet to be learned",
            help="give a function that says where the goal holds, or a model with a function for the blank",
        )


def _joined(before: Mapping[str, Success], new: Mapping[str, Success]) -> dict[str, Success]:
    """What was known stays; what was not is filled in."""
    joined = dict(before)
    for goal, labels in new.items():
        known = joined.get(goal)
        if known is None or labels is None:
            joined[goal] = labels if known is None else known
        else:
            joined[goal] = [b if a is None else a for a, b in zip(known, labels, strict=True)]
    return joined
