"""Agents in worlds: episodes in lock-step, what came of each, and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from statistics import fmean
from typing import Any, final, overload

from pdsketch.act.settings import is_count
from pdsketch.act.world import Agent, World, act_some, acts_in_batches, check_agent
from pdsketch.lang import Step, error
from pdsketch.tensor import State
from pdsketch.training import Episode, arrays_of, save_episodes


@final
@dataclass(slots=True, eq=False)
class Play:
    """One episode under way: a world, what was seen and done in it, and the world's word on each state."""

    world: World
    seed: int | None
    goal: str
    states: list[State]
    success: list[bool | None]
    actions: list[Step] = field(default_factory=list)
    executed: list[bool] = field(default_factory=list)
    stopped: bool = False
    account: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def begin(world: World, seed: int | None) -> Play:
        """Reset the world."""
        state = _seen(world.reset(seed), world)
        return Play(world, seed, world.goal, [state], [world.success], stopped=_over(world))

    def take(self, action: Step | None) -> None:
        """Carry out what the agent chose; None ends the episode."""
        if action is None:
            self.stopped = True
            return
        self.states.append(_seen(self.world.step(action), self.world))
        self.actions.append(tuple(action))
        self.executed.append(bool(self.world.executed))
        self.success.append(self.world.success)
        self.stopped = _over(self.world)

    def episode(self, *, with_executed: bool) -> Episode:
        """What happened, to learn from.

        A world that ends at success, and says nothing before, has not succeeded before.
        """
        labels: list[float | None] | None = [None if s is None else int(s) for s in self.success]
        if all(said is None for said in self.success):
            labels = None
        elif self.success[-1] and not any(s is not None for s in self.success[:-1]) and _ended(self.world):
            labels = [*[0] * (len(self.success) - 1), 1]
        executable = self.executed if with_executed else None
        return Episode(self.states, self.actions, self.goal, labels, executable)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rollouts(Sequence[Episode]):
    """Episodes in the order of their seeds: to be learned from (`pdsketch.fit`), saved, or summed up.

    ``success`` holds the world's last word on each episode, ``accounts`` the
    numbers that the agent keeps of it; ``seconds`` is the time of all of them.
    """

    episodes: tuple[Episode, ...]
    seeds: tuple[int | None, ...]
    success: tuple[bool | None, ...]
    accounts: tuple[Mapping[str, float], ...]
    seconds: float

    def __len__(self) -> int:
        return len(self.episodes)

    @overload
    def __getitem__(self, at: int) -> Episode: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Episode]: ...
    def __getitem__(self, at: int | slice) -> Episode | Sequence[Episode]:
        return self.episodes[at]

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    @property
    def steps(self) -> tuple[int, ...]:
        """How many actions were taken in each episode."""
        return tuple(len(episode.actions) for episode in self.episodes)

    @property
    def out_of_time(self) -> int:
        """How many episodes failed whose last plan was not found within the time limit."""
        ends = zip(self.success, self.accounts, strict=True)
        return sum(not success and account.get("out-of-time", 0) > 0 for success, account in ends)

    @property
    def summary(self) -> dict[str, float | None]:
        """Means over the episodes.

        ``success`` is the part that succeeded of those of which the world says
        something (None: it says nothing); ``steps`` the mean length of those that
        succeeded. The agent's numbers (of a policy: ``planned``, ``replans``,
        ``expanded``) are means over all. ``seconds`` is the time of all episodes together.
        """
        told = [float(success) for success in self.success if success is not None]
        lengths = [steps for steps, success in zip(self.steps, self.success, strict=True) if success]
        names = dict.fromkeys(name for account in self.accounts for name in account)
        return {
            "episodes": len(self),
            "success": fmean(told) if told else None,
            "steps": fmean(lengths) if lengths else 0.0,
            **{name: fmean(account.get(name, 0.0) for account in self.accounts) for name in names},
            "seconds": self.seconds,
        }

    def replaced(self, places: Sequence[int], others: Rollouts) -> Rollouts:
        """The same with other episodes at these places, in their order."""
        source = dict(zip(places, range(len(others)), strict=True))

        def chosen(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(theirs[source[i]] if i in source else one for i, one in enumerate(mine))

        return Rollouts(
            chosen(self.episodes, others.episodes),
            chosen(self.seeds, others.seeds),
            chosen(self.success, others.success),
            chosen(self.accounts, others.accounts),
            self.seconds + others.seconds,
        )

    def __str__(self) -> str:
        numbers = self.summary
        said = ", ".join(
            f"{name} {value:.3g}"
            for name, value in numbers.items()
            if value is not None and name != "episodes"
        )
        late = f" ({self.out_of_time} of them out of time)" if self.out_of_time else ""
        failed = sum(success is False for success in self.success)
        return f"{len(self)} episodes: {said}" + (f"; {failed} failed{late}" if failed else "")

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the episodes into a folder, as `pdsketch data` does."""
        if not self.episodes:
            raise error("no-episodes", "there are no episodes to save")
        save_episodes(arrays_of(self.episodes, self.episodes[0].states[0].domain), folder)


HOW_TO_WRAP = (
    'wrap a Gymnasium environment: pds.GymWorld(env, domain, observe=fn, act={"left": 0, …}, goal="(…)"),'
    " where fn(observation, env) returns a State and `act` says what each action of the domain is there"
)
"""What to write where a bare environment is given."""

Worlds = World | Sequence[World] | Callable[[], World]
"""One world, several of one domain, or a function that makes them."""


def rollout(
    agent: Agent, worlds: Worlds, seeds: Iterable[int] | None = None, max_steps: int = 50
) -> Rollouts:
    """An episode for each seed: until success, until the agent gives None, or for ``max_steps`` actions.

    ``worlds`` are reset with one of the ``seeds`` after the other; a function is called for a world for
    each seed. Where no seeds are given, there is one episode in each world, with seeds 0, 1, 2 …; of a
    function, one with seed 0. The ``agent`` is reset before each batch of episodes. As many episodes as
    there are worlds go on side by side, in lock-step, so that an agent can plan for all of them in one
    batch; an agent that has neither ``act_some`` nor ``act_many`` acts in one episode after the other.
    Success is the world's own word.
    """
    check_agent(agent)
    _check_steps(max_steps)
    listed = _seeds(range(_count(worlds)) if seeds is None else seeds)
    open_ = rooms(worlds, len(listed))
    begun = time.perf_counter()
    at_once = len(open_) if acts_in_batches(agent) else 1
    plays: list[Play] = []
    for first in range(0, len(listed), at_once):
        some = zip(open_, listed[first : first + at_once], strict=False)
        plays += play(agent, [Play.begin(world, seed) for world, seed in some], max_steps)
    return Rollouts(
        tuple(one.episode(with_executed=True) for one in plays),
        tuple(listed),
        tuple(one.success[-1] for one in plays),
        tuple(one.account for one in plays),
        time.perf_counter() - begun,
    )


def play(agent: Agent, plays: list[Play], max_steps: int) -> list[Play]:
    """Act in lock-step until all episodes have ended."""
    agent.reset()
    told = _teller(agent)
    active = dict(enumerate(plays))
    while active := {i: p for i, p in active.items() if not p.stopped and len(p.actions) < max_steps}:
        states = {i: p.states[-1] for i, p in active.items()}
        # An agent that plans answers for some episodes alone, and plans once all of them need it.
        for i, action in act_some(agent, states, {i: p.goal for i, p in active.items()}).items():
            active[i].take(action)
            if told is not None and action is not None:
                told(active[i].success[-1], active[i].executed[-1], i)
            elif told is not None and not active[i].actions and active[i].success[-1] is False:
                # It stops before it was told anything.
                told(False, True, i)
                active[i].take(act_some(agent, {i: states[i]}, {i: active[i].goal})[i])
    account = getattr(agent, "account", None)
    for i, one in enumerate(plays):
        one.account = account(i) if account is not None else {}
    return plays


def _teller(agent: Agent) -> Callable[[bool | None, bool, int], None] | None:
    """What is called with the world's word; an agent that acts in one episode at a time is told no number."""
    told: Any = getattr(agent, "told", None)
    if told is None or acts_in_batches(agent):
        return told  # type: ignore[no-any-return]
    return lambda success, executed, _: told(success, executed)


def _over(world: World) -> bool:
    return bool(world.success) or _ended(world)


def _ended(world: World) -> bool:
    return bool(getattr(world, "ended", False))


def _seen(state: Any, world: World) -> State:
    if not isinstance(state, State):
        found, kind = type(state).__name__, type(world).__name__
        raise error("bad-world", f"`reset` and `step` of a world return a State; those of `{kind}` a {found}")
    return state


def _check_steps(max_steps: Any) -> None:
    if not is_count(max_steps):
        raise error(
            "bad-limit", f"`max_steps` is a whole number and not negative; {max_steps!r:.40} is given"
        )


def _count(worlds: Any) -> int:
    """How many worlds there are; a function makes one."""
    return len(worlds) if isinstance(worlds, Sequence) and not isinstance(worlds, str) else 1


def _seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise error(
            "bad-seeds",
            f"`seeds` is a list of whole numbers, and a {type(seeds).__name__} is given",
            help="an episode for each seed: seeds=range(100)",
        )
    listed = list(seeds)
    for seed in listed:
        if not is_count(seed):
            raise error("bad-seeds", f"a seed is a whole number and not negative; {seed!r:.40} is given")
    return listed


def rooms(worlds: Any, count: int) -> list[World]:
    """The worlds to act in: no more than there are episodes."""
    if isinstance(worlds, type) or (callable(worlds) and not hasattr(worlds, "step")):
        found = [worlds() for _ in range(count)]
    elif isinstance(worlds, Sequence) and not isinstance(worlds, str):
        found = list(worlds)
    else:
        found = [worlds]
    if not found and count:
        raise error("bad-world", "there is no world to act in")
    for world in found:
        for method in ("reset", "step"):
            if not callable(getattr(world, method, None)):
                kind = type(world).__name__
                raise error(
                    "bad-world",
                    f"a world has the methods `reset(seed)` and `step(action)`; a {kind} has no `{method}`",
                    help='pds.make_world("babyai") makes one; pds.GymWorld takes a Gymnasium environment',
                )
        if hasattr(world, "num_envs"):
            raise error(
                "bad-world",
                f"a {type(world).__name__} is a vector of environments, and no world yet",
                help="make a world of each: pds.GymWorld.each(envs, domain, observe=fn, act={…}, goal=…)",
            )
        if not hasattr(world, "goal") or not hasattr(world, "domain"):
            raise error(
                "bad-world",
                f"a {type(world).__name__} has neither a domain nor a goal, and is no world yet",
                help=f"{HOW_TO_WRAP}; or give it `domain`, `goal`, `success` and `executed`",
            )
    if len(set(map(id, found))) < len(found):
        raise error("bad-world", "one world is given twice: episodes side by side need a world each")
    return found
