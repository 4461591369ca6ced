"""Episodes: what happened, and where each of some goals held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from torch import Tensor

from pdsketch.lang import Domain, Error, error, resolve
from pdsketch.tensor import State, Universe

ActionTuple = tuple[Any, ...]
"""``("forward", "agent")``: the action's name, then its objects and values, as plans hold them."""

Success = Sequence[float | None] | None
"""Whether a goal held in each state: 1, 0, or None where nobody said; None: nobody said anything."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Episode:
    """States, the actions between them, goals, and whether each goal held in each state.

    ``len(actions) == len(states) − 1``. ``goals`` maps any number of goals to their
    success, ``len(success) == len(states)``: 1 or 0, None where it is not known,
    or None for all of it, and then nothing is learned from that goal. ``goal`` and
    ``success`` are the goal that was pursued; without them, the first of ``goals``.
    An episode without any goal is learned from by its transitions alone.
    ``executable``, where given, says of each action whether its controller
    could run; the state after an action that could not is not learned from.
    """

    states: Sequence[State]
    actions: Sequence[ActionTuple]
    goal: str | None = None
    success: Success = None
    executable: Sequence[bool] | None = None
    goals: Mapping[str, Success] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Its domain, length and goals; whether the pursued one held in the end, where that is known."""
        end = None if self.success is None else self.success[-1]
        word = "" if end is None else (": reached" if end > 0.5 else ": not reached")
        more = f" and {len(self.goals) - 1} more" if len(self.goals) > 1 else ""
        about = f"; {self.goal:.80}{word}{more}" if self.goal is not None else ""
        steps = len(self.actions)
        return f"Episode({self.states[0].domain.name}: {steps} step{'s' * (steps != 1)}{about})"

    def __post_init__(self) -> None:
        """Refuse what cannot be an episode."""
        _check_lists(self.states, self.actions, self.executable)
        goals = judged(self.goal, self.success, self.goals)
        _check_lengths(len(self.states), len(self.actions), self.executable)
        check_success(goals, len(self.states))
        object.__setattr__(self, "goals", goals)
        if self.goal is None and goals:
            object.__setattr__(self, "goal", next(iter(goals)))
            object.__setattr__(self, "success", goals[next(iter(goals))])
        domain = self.states[0].domain
        objects = _listed(self.states[0])
        same = self.states[0].batch.layout
        for at, state in enumerate(self.states):
            if state.domain is not domain:
                raise error("bad-episode", f"state {at} belongs to another domain than state 0")
            if state.batch.layout is not same and _listed(state) != objects:
                raise error("bad-episode", f"state {at} holds other objects than state 0")
        universe = Universe.of(domain, objects)
        object.__setattr__(self, "actions", check_actions(universe, self.actions))
        for goal in goals:
            check_goal(universe, goal)


def _listed(state: State) -> Mapping[str, tuple[str, ...]]:
    return {type_: tuple(names) for type_, names in state.objects.items() if names}


def judged(goal: Any, success: Success, goals: Any) -> dict[str, Success]:
    """All goals of an episode with their success, the pursued one first."""
    if not isinstance(goals, Mapping):
        found = type(goals).__name__
        raise error(
            "bad-episode",
            f"`goals` maps goals to their success, and is a {found}",
            help='write goals={"(…)": [0, 0, 1]}',
        )
    if goal is None:
        if success is not None:
            raise error("bad-episode", "there is a `success`, and no `goal` that it is about")
        return dict(goals)
    if goal in goals:
        raise error("bad-episode", f"`{goal:.80}` is given both as `goal` and in `goals`")
    return {goal: success, **goals}


def _check_lists(states: Any, actions: Any, executable: Any) -> None:
    """Refuse what is no list, and states that are none."""
    given = {"states": states, "actions": actions, "executable": executable}
    for what, values in given.items():
        if not hasattr(values, "__len__") and not (what == "executable" and values is None):
            raise error("bad-episode", f"`{what}` is a list, and a {type(values).__name__} was given")
    if not len(states):
        raise error("bad-episode", "an episode needs at least one state")
    for at, state in enumerate(states):
        if not isinstance(state, State):
            raise error("bad-episode", f"state {at} is no State, but a {type(state).__name__}")


def _check_lengths(states: int, actions: int, executable: Sequence[bool] | None) -> None:
    if actions != states - 1:
        raise error(
            "bad-episode", f"{states} states need {states - 1} actions between them, and there are {actions}"
        )
    if executable is None:
        return
    if len(executable) != actions:
        raise error(
            "bad-episode",
            f"{actions} actions need {actions} executable values, and there are {len(executable)}",
        )
    check_bits("executable", executable)


def check_success(goals: Mapping[str, Any], states: int) -> None:
    """Refuse success that is not one of 0, 1 and None for each state."""
    for success in goals.values():
        if success is None:
            continue
        if not hasattr(success, "__len__"):
            raise error("bad-episode", f"`success` is a list, and a {type(success).__name__} was given")
        if len(success) != states:
            raise error(
                "bad-episode", f"{states} states need {states} success values, and there are {len(success)}"
            )
        known = success if isinstance(success, np.ndarray) else [0 if s is None else s for s in success]
        check_bits("success", known)


def check_bits(what: str, values: Any) -> None:
    """Refuse values other than 0, 1, true and false."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error("bad-episode", f"`{what}` must hold 0 and 1, not {values!r:.80}") from None
    wrong = np.flatnonzero((numbers != 0) & (numbers != 1)) if numbers.ndim == 1 else np.array([0])
    if len(wrong):
        at = int(wrong[0])
        raise error("bad-episode", f"`{what}` must hold 0 and 1; at step {at} it holds {values[at]!r:.40}")


def check_goal(universe: Universe, goal: Any) -> None:
    """Refuse a goal that does not fit the domain and the objects of its episode."""
    if not isinstance(goal, str):
        raise error("bad-episode", f"a goal is written as text, not as {type(goal).__name__}")
    universe.formula(goal)


def check_actions(universe: Universe, actions: Sequence[Any]) -> tuple[ActionTuple, ...]:
    """The actions in lower case; refuses unknown names, wrong arities and unfit arguments."""
    known: dict[Any, ActionTuple] = {}
    checked = []
    for at, action in enumerate(actions):
        try:
            if action not in known:
                known[action] = _check_action(universe, action)
            checked.append(known[action])
        except TypeError:  # unhashable: lists as value arguments
            checked.append(_check_action(universe, action))
        except Error as problem:
            first = problem.diagnostics[0]
            raise error(first.code, f"action {at}: {first.message}", first.span, help=first.help) from None
    return tuple(checked)


def _check_action(universe: Universe, action: Any) -> ActionTuple:
    return resolve(universe.domain, universe.types, _plain(action))


def _plain(action: Any) -> Any:
    """The action with plain numbers for arrays."""
    if not isinstance(action, tuple | list):
        return action
    return tuple(a.tolist() if isinstance(a, np.ndarray | np.generic | Tensor) else a for a in action)


def domain_of(episodes: Sequence[Episode]) -> Domain:
    """The one domain of all the episodes."""
    if not len(episodes):
        raise error("no-episodes", "there are no episodes to learn from")
    domain = episodes[0].states[0].domain
    for at, episode in enumerate(episodes):
        if episode.states[0].domain is not domain:
            raise error("bad-episode", f"episode {at} belongs to another domain than episode 0")
    return domain
