"""Episodes to learn from: random walks, or what a controller does, with the world's word on goals."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast, final

from numpy.typing import NDArray

from pdsketch.act.rollouts import (
    Interrupted,
    Rollouts,
    Worlds,
    batches,
    check_steps,
    makes_worlds,
    rooms,
)
from pdsketch.act.settings import is_count
from pdsketch.act.world import Agent, World, acts_in_batches, check_agent
from pdsketch.files import make_folder, read_json
from pdsketch.lang import Action, Domain, ObjectType, Step, ValueType, error
from pdsketch.progress import Ticker
from pdsketch.search import Generator, Proposals, Sampler
from pdsketch.tensor import State
from pdsketch.training import MANIFEST, load_episodes, save_episodes

Judge = str | Callable[[Any], bool | None]
"""What the world says of a further goal now, as ``success`` of a `GymWorld` may be; None: nothing."""


def record(  # noqa: PLR0913 (by keyword)
    worlds: Worlds,
    controller: Agent | Callable[[State, str], Step | None] | None = None,
    *,
    episodes: int = 100,
    max_steps: int = 50,
    seed: int = 0,
    goals: Mapping[str, Judge] | None = None,
    samplers: Mapping[str, Sampler] | None = None,
    generators: Mapping[str, Generator] | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Rollouts:
    """Act, and keep what happens as episodes that `pdsketch.fit` takes.

    ``worlds`` are one, several (in which episodes go on side by side) or a function that makes one.
    ``controller`` is an agent, a function ``fn(state, goal)`` to an action (None ends the episode), or None:
    actions are drawn at random, each with objects and values that fit. Numbers are drawn from what
    ``samplers`` or ``generators`` propose, functions as `pdsketch.plan` takes them; their model is None. The
    i-th of the ``episodes`` begins with ``reset(seed + i)`` and ends at success, where the world says so, or
    after ``max_steps`` actions; ``seed`` also decides random actions. ``goals`` maps further formulas to what
    ``success`` of a `GymWorld` may be, such as functions ``fn(env)`` that say whether they hold now, so that
    one walk teaches several goals; a world that wraps no ``env`` is given itself.

    ``folder`` keeps the episodes as they come, every few seconds: the same call again goes on, also with more
    ``episodes``. ``progress`` is whether a line on stderr says how far it is; None: on a terminal. Ctrl-C
    raises `Interrupted`, which has the episodes that have ended; they are in the folder, too.
    """
    for name, value in (("episodes", episodes), ("seed", seed)):
        if not is_count(value):
            raise error("bad-limit", f"`{name}` is a whole number and not negative; {value!r:.40} is given")
    check_steps(max_steps)
    judges = _checked(goals)
    random_walks = controller is None
    # An agent that plans acts side by side; others, one episode after the other, in one world at a time.
    at_once = not random_walks and acts_in_batches(cast(Agent, controller))
    makes = makes_worlds(worlds) and not at_once
    places = [_Judged(world, judges) for world in rooms(worlds, min(1, episodes) if makes else episodes)]
    width = len(places) if at_once else 1
    if not places:
        return Rollouts.none()
    if not random_walks and (samplers or generators):
        raise error(
            "bad-option", "`samplers` and `generators` are for random actions, and a controller is given"
        )
    agent: Any = controller
    if random_walks:
        agent = RandomAgent(places[0].domain, seed, samplers, generators)
    elif callable(controller) and not hasattr(controller, "act"):
        agent = _Reflex(controller)
    check_agent(agent)
    kept = _Kept(folder, {"seed": seed, "max_steps": max_steps, "goals": [*judges], "random": random_walks})
    done = kept.read(places[0].domain)
    left = [s for s in range(seed, seed + episodes) if s not in done.seeds]
    with Ticker("recording", progress) as tick:
        try:
            for _, some in groupby(left, lambda s: (s - seed) // width):
                seeds = list(some)
                here = [places[(s - seed) % len(places)] for s in seeds]
                if random_walks:
                    agent.begin(seeds)
                began = time.perf_counter()
                for more in batches(agent, here, seeds, max_steps):
                    done = done.joined(_labelled(more, here, judges))
                done = replace(done, seconds=done.seconds + time.perf_counter() - began)
                tick(f"{len(done)} of {episodes} episodes, {done.told}")
                kept.note(done)
                if makes and len(done) < episodes:
                    places = [_Judged(world, judges) for world in rooms(worlds, 1)]
        except KeyboardInterrupt:
            raise Interrupted(done, episodes) from None
        finally:
            if left:
                kept.write(done)
    return done.in_order()


SAVED: Final = 5.0
"""Seconds between two times that episodes are saved."""


@final
class _Kept:
    """A folder of the episodes so far (None: none is wanted), with how they were recorded: ``setup``."""

    def __init__(self, folder: str | PathLike[str] | None, setup: Mapping[str, Any]) -> None:
        self._folder = None if folder is None else Path(folder)
        self._setup = dict(setup)
        self._next = time.monotonic() + SAVED

    def read(self, domain: Domain) -> Rollouts:
        """What is there already; an `Error` where it was recorded otherwise."""
        if self._folder is None or not os.path.lexists(self._folder / MANIFEST):
            return Rollouts.none()
        arrays = load_episodes(self._folder, domain)
        options = read_json(self._folder / MANIFEST, "bad-data")["options"]
        if options.get("record") != self._setup:
            raise error(
                "folder-exists",
                f"the episodes in this folder were recorded otherwise: {options.get('record')!s:.200}",
                file=str(self._folder),
                help="name another folder, or record with the same seed, max_steps and goals",
            )
        seeds, success, accounts = (tuple(options[name]) for name in ("seeds", "success", "accounts"))
        return Rollouts(tuple(arrays), seeds, success, accounts, options["seconds"])

    def note(self, done: Rollouts) -> None:
        """Write what there is by now, every few seconds and for a twentieth of the time at most."""
        began = time.monotonic()
        if began >= self._next:
            self.write(done)
            ended = time.monotonic()
            self._next = ended + max(SAVED, 20 * (ended - began))

    def write(self, done: Rollouts) -> None:
        """Write what there is."""
        if self._folder is None or not done:
            return
        options = {
            "record": self._setup,
            "seeds": done.seeds,
            "success": done.success,
            "accounts": [dict(account) for account in done.accounts],
            "seconds": done.seconds,
        }
        make_folder(self._folder)
        save_episodes(done.episodes, self._folder, options=options)


def _labelled(done: Rollouts, places: Sequence[_Judged], judges: Mapping[str, Judge]) -> Rollouts:
    """The episodes with what the worlds said of further goals."""
    if not judges:
        return done
    said = {place.seed: place.said for place in places}
    return replace(
        done,
        episodes=tuple(
            replace(one, goal=None, success=None, goals={**one.goals, **_columns(judges, said[seed])})
            for one, seed in zip(done.episodes, done.seeds, strict=True)
        ),
    )


def _checked(goals: Any) -> dict[str, Judge]:
    if not isinstance(goals, Mapping | None):
        found = type(goals).__name__
        raise error("bad-goals", f"`goals` maps formulas to functions of the world, and is a {found}")
    for goal, judge in (goals or {}).items():
        if not callable(judge) and not isinstance(judge, str):
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
    """A world, and what it says of further goals in each state of the episode that began with ``seed``."""

    def __init__(self, world: World, judges: Mapping[str, Judge]) -> None:
        self._world = world
        self._judges = judges
        self._asked: Any = getattr(world, "judged", None) or self._ask
        self.seed: int | None = None
        self.said: list[list[bool | None]] = []

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
        self.seed, self.said = seed, [self._judge()]
        return state

    def step(self, action: Step) -> State:
        state = self._world.step(action)
        self.said.append(self._judge())
        return state

    def render(self) -> NDArray[Any]:
        return self._world.render()

    def _judge(self) -> list[bool | None]:
        return [self._asked(judge) for judge in self._judges.values()]

    def _ask(self, judge: Judge) -> bool | None:
        if isinstance(judge, str):
            raise error("bad-goals", f"`{judge}` is for a GymWorld: give a function of the world")
        return judge(getattr(self._world, "env", self._world))


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
    """Draws an action, then objects and values that fit its parameters, each with the same probability.

    The actions are those of the ``domain``; ``seed`` decides what is drawn. Values of types without choices
    are drawn from what ``samplers`` and ``generators`` propose.
    """

    def __init__(
        self,
        domain: Domain,
        seed: int = 0,
        samplers: Mapping[str, Sampler] | None = None,
        generators: Mapping[str, Generator] | None = None,
    ) -> None:
        self._domain = domain
        self._seed = seed
        self._random = random.Random(seed)
        self._own: dict[int, random.Random] = {}
        self._proposals = Proposals(domain, samplers or {}, generators or {})
        for action in domain.actions.values():
            for parameter in action.parameters:
                if not self._proposals.knows(action, parameter):
                    name = f"{action.name}.{parameter.name}"
                    raise error(
                        "no-choices",
                        f"`{parameter.name}` of `{action.name}` has no choices to draw from at random",
                        action.span,
                        help=f'say what to try: samplers={{"{name}": fn}}, where fn(None, state, *objects)'
                        " returns values; or give a controller, fn(state, goal)",
                    )

    def begin(self, seeds: Sequence[int]) -> None:
        """Episodes with these seeds begin: what is drawn in each depends on its seed alone."""
        self._own = {i: random.Random(f"{self._seed} {seed}") for i, seed in enumerate(seeds)}

    def reset(self) -> None:
        """Walks go on with other random numbers."""

    def act(self, state: State, goal: str) -> Step | None:
        """Any action that the objects allow; None where there is none."""
        return self._drawn(state, self._random)

    def act_some(self, states: Mapping[int, State], goals: Mapping[int, str]) -> dict[int, Step | None]:
        """An action for each state."""
        return {i: self._drawn(state, self._own.get(i, self._random)) for i, state in states.items()}

    def _drawn(self, state: State, chance: random.Random) -> Step | None:
        actions = list(self._domain.actions.values())
        chance.shuffle(actions)
        for action in actions:
            step = self._step(action, state, chance)
            if step is not None:
                return step
        return None

    def _step(self, action: Action, state: State, chance: random.Random) -> Step | None:
        """A ground action; None where there is nothing for one of its parameters."""
        universe, members = state.batch.universe(0).types, self._domain.hierarchy.members
        drawn: dict[str, Any] = {}
        for parameter in sorted(action.parameters, key=lambda p: isinstance(p.type, ValueType)):
            if isinstance(parameter.type, ObjectType):
                some: Sequence[Any] = members(parameter.type, universe)
            else:
                objects = [drawn[p.name] for p in action.parameters if isinstance(p.type, ObjectType)]
                some = self._proposals.of(action, parameter, state, objects)
            if not len(some):
                return None
            drawn[parameter.name] = some[chance.randrange(len(some))]
        return (action.name, *(drawn[p.name] for p in action.parameters))
