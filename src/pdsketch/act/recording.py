"""Episodes to learn from: random walks, or what a controller does, with the world's word on goals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, final

from numpy.typing import NDArray

from pdsketch.act.rollouts import Rollouts, Worlds, rollout, rooms
from pdsketch.act.settings import is_count
from pdsketch.act.world import Agent, World, acts_in_batches
from pdsketch.lang import Action, Domain, ObjectType, Step, choices_of, error
from pdsketch.tensor import State

Judge = Callable[[Any], bool | None]
"""What the world says of a further goal in its present state; None: nothing."""


def record(
    worlds: Worlds,
    controller: Agent | Callable[[State, str], Step | None] | None = None,
    *,
    episodes: int = 100,
    max_steps: int = 50,
    seed: int = 0,
    goals: Mapping[str, Judge] | None = None,
) -> Rollouts:
    """Act, and keep what happens as episodes that `pdsketch.fit` takes.

    ``worlds`` are one, several (in which episodes go on side by side) or a function that makes one.
    ``controller`` is an agent, a function ``fn(state, goal)`` to an action (None ends the episode), or None:
    actions are drawn at random, each with objects and values that fit. The i-th of the ``episodes`` begins
    with ``reset(seed + i)`` and ends at success, where the world says so, or after ``max_steps`` actions;
    ``seed`` also decides random actions. ``goals`` maps further formulas to functions ``fn(world)`` that say
    whether they hold now, so that one walk teaches several goals.
    """
    for name, value in (("episodes", episodes), ("seed", seed)):
        if not is_count(value):
            raise error("bad-limit", f"`{name}` is a whole number and not negative; {value!r:.40} is given")
    judges = _checked(goals)
    judged = [_Judged(world, judges) for world in rooms(worlds, episodes)]
    agent: Any = RandomAgent(judged[0].domain, seed) if controller is None and judged else controller
    if callable(agent) and not hasattr(agent, "act"):
        agent = _Reflex(agent)
    done = rollout(agent, judged, range(seed, seed + episodes), max_steps)
    if not judges:
        return done
    width = len(judged) if acts_in_batches(agent) else 1  # as `rollout` deals episodes out to worlds
    said = [judged[i % width].said[i // width] for i in range(len(done))]
    return replace(
        done,
        episodes=tuple(
            replace(one, goal=None, success=None, goals={**one.goals, **_columns(judges, rows)})
            for one, rows in zip(done, said, strict=True)
        ),
    )


def _checked(goals: Any) -> dict[str, Judge]:
    if not isinstance(goals, Mapping | None):
        found = type(goals).__name__
        raise error("bad-goals", f"`goals` maps formulas to functions of the world, and is a {found}")
    for goal, judge in (goals or {}).items():
        if not callable(judge):
            found = type(judge).__name__
            raise error("bad-goals", f"`{goal!s:.60}` goes with a function of the world, and not a {found}")
    return dict(goals or {})


def _columns(judges: Mapping[str, Judge], rows: list[list[bool | None]]) -> dict[str, list[int | None]]:
    return {
        goal: [None if row[at] is None else int(bool(row[at])) for row in rows]
        for at, goal in enumerate(judges)
    }


@final
class _Judged:
    """A world, and what it says of further goals in each state of each episode."""

    def __init__(self, world: World, judges: Mapping[str, Judge]) -> None:
        self._world = world
        self._judges = judges
        self.said: list[list[list[bool | None]]] = []

    @property
    def domain(self) -> Domain:
        return self._world.domain

    @property
    def goal(self) -> str:
        return self._world.goal

    @property
    def success(self) -> bool | None:
        return self._world.success

    @property
    def executed(self) -> bool:
        return self._world.executed

    @property
    def ended(self) -> bool:
        return bool(getattr(self._world, "ended", False))

    def reset(self, seed: int | None = None) -> State:
        state = self._world.reset(seed)
        self.said.append([self._judge()])
        return state

    def step(self, action: Step) -> State:
        state = self._world.step(action)
        self.said[-1].append(self._judge())
        return state

    def render(self) -> NDArray[Any]:
        return self._world.render()

    def _judge(self) -> list[bool | None]:
        return [judge(self._world) for judge in self._judges.values()]


@final
class _Reflex:
    """A function from a state and a goal to an action, as an agent."""

    def __init__(self, function: Callable[[State, str], Step | None]) -> None:
        self._function = function

    def reset(self) -> None:
        """There is nothing to forget."""

    def act(self, state: State, goal: str) -> Step | None:
        return self._function(state, goal)


@final
class RandomAgent:
    """Draws an action, then objects and values that fit its parameters, each with the same probability."""

    def __init__(self, domain: Domain, seed: int = 0) -> None:
        self._domain = domain
        self._random = random.Random(seed)
        for action in domain.actions.values():
            for parameter in action.parameters:
                type_ = parameter.type
                if not isinstance(type_, ObjectType) and type_.prim != "bool" and type_.choices is None:
                    raise error(
                        "no-choices",
                        f"`{parameter.name}` of `{action.name}` has no choices to draw from at random",
                        action.span,
                        help="give a controller: record(world, fn), where fn(state, goal) returns an action",
                    )

    def reset(self) -> None:
        """Walks go on with other random numbers."""

    def act(self, state: State, goal: str) -> Step | None:
        """Any action that the objects allow; None where there is none."""
        actions = list(self._domain.actions.values())
        self._random.shuffle(actions)
        for action in actions:
            steps = self._steps(action, state)
            if steps:
                return (action.name, *self._random.choice(steps))
        return None

    def act_many(self, states: list[State], goals: list[str]) -> list[Step | None]:
        """An action for each state."""
        return [self.act(state, goal) for state, goal in zip(states, goals, strict=True)]

    def _steps(self, action: Action, state: State) -> list[tuple[Any, ...]]:
        universe = state.batch.universe(0).types
        members = self._domain.hierarchy.members
        return list(
            product(
                *(
                    members(p.type, universe) if isinstance(p.type, ObjectType) else choices_of(p.type)
                    for p in action.parameters
                )
            )
        )
