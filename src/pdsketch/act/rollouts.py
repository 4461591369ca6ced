"""Agents in worlds: episodes in lock-step, what came of each, and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from statistics import fmean
from typing import Any, final, overload

from pdsketch.act.settings import is_count
from pdsketch.act.world import Agent, World, act_some, acts_in_batches, check_agent
from pdsketch.lang import Step, error
from pdsketch.progress import Ticker
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

    def has_ended(self, max_steps: int) -> bool:
        """Whether the episode is over, or has taken so many steps."""
        return self.stopped or len(self.actions) >= max_steps

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

    @staticmethod
    def none() -> Rollouts:
        """No episodes yet."""
        return Rollouts((), (), (), (), 0.0)

    def joined(self, more: Rollouts) -> Rollouts:
        """These and more."""
        return Rollouts(
            self.episodes + more.episodes,
            self.seeds + more.seeds,
            self.success + more.success,
            self.accounts + more.accounts,
            self.seconds + more.seconds,
        )

    def in_order(self) -> Rollouts:
        """The same by their seeds."""
        places = sorted(range(len(self)), key=lambda i: self.seeds[i] or 0)

        def chosen(column: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(column[i] for i in places)

        columns = (self.episodes, self.seeds, self.success, self.accounts)
        episodes, seeds, success, accounts = map(chosen, columns)
        return Rollouts(episodes, seeds, success, accounts, self.seconds)

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
    def told(self) -> str:
        """How many succeeded, in words."""
        known = [success for success in self.success if success is not None]
        return f"{sum(known)} succeeded" if known else "nothing is said of success"

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
        succeeded; ``refused`` how many steps of an episode the world refused. The
        agent's numbers (of a policy: ``planned``, ``replans``, ``expanded``) are means
        over all. ``seconds`` is the time of all episodes together.
        """
        told = [float(success) for success in self.success if success is not None]
        lengths = [steps for steps, success in zip(self.steps, self.success, strict=True) if success]
        names = dict.fromkeys(name for account in self.accounts for name in account)
        return {
            "episodes": len(self),
            "success": fmean(told) if told else None,
            "steps": fmean(lengths) if lengths else 0.0,
            "refused": sum((e.executable or []).count(False) for e in self) / max(1, len(self)),
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
        unsaid = len(self) - failed - sum(map(bool, self.success))
        ends = f"; {failed} failed{late}" if failed else ""
        return f"{len(self)} episodes: {said}{ends}" + (f"; nothing is said of {unsaid}" if unsaid else "")

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
    agent: Agent,
    worlds: Worlds,
    seeds: Iterable[int] | None = None,
    max_steps: int = 50,
    *,
    progress: bool | None = None,
) -> Rollouts:
    """An episode for each seed: until success, until the agent gives None, or for ``max_steps`` actions.

    ``worlds`` are reset with one of the ``seeds`` after the other; a function is called for a world for
    each seed. Where no seeds are given, there is one episode in each world, with seeds 0, 1, 2 …; of a
    function, one with seed 0. The ``agent`` is reset before each batch of episodes. As many episodes as
    there are worlds go on side by side, in lock-step, so that an agent can plan for all of them in one
    batch; an agent that has neither ``act_some`` nor ``act_many`` acts in one episode after the other.
    Success is the world's own word. ``progress`` is whether a line on stderr says how far it is; None: on a
    terminal. Ctrl-C raises `Interrupted`, which has the episodes that have ended.
    """
    check_agent(agent)
    check_steps(max_steps)
    listed = _seeds(range(_count(worlds)) if seeds is None else seeds)
    begun = time.perf_counter()
    done = Rollouts.none()
    with Ticker("acting", progress) as tick:
        try:
            for more in batches(agent, rooms(worlds, len(listed)), listed, max_steps):
                done = done.joined(more)
                tick(f"{len(done)} of {len(listed)} episodes, {done.told}")
        except KeyboardInterrupt:
            raise Interrupted(done, len(listed)) from None
    return replace(done, seconds=time.perf_counter() - begun)


@final
class Interrupted(KeyboardInterrupt):
    """Ctrl-C while agents acted; ``rollouts`` are the episodes that had ended, out of so many ``wanted``."""

    def __init__(self, rollouts: Rollouts, wanted: int) -> None:
        super().__init__(
            f"after {len(rollouts)} of {wanted} episodes, which are in `rollouts` of this exception"
        )
        self.rollouts = rollouts


def batches(
    agent: Agent, worlds: Sequence[World], seeds: Sequence[int], max_steps: int
) -> Iterator[Rollouts]:
    """Episodes for these ``seeds``, as many at a time as can be played side by side.

    The ``agent`` is reset before each batch, and takes at most ``max_steps`` in an episode of the ``worlds``.
    Where somebody interrupts, the episodes that have ended come before the exception.
    """
    at_once = len(worlds) if acts_in_batches(agent) else 1
    for first in range(0, len(seeds), at_once):
        plays: list[Play] = []
        try:
            with Ticker("this batch") as tick:
                for world, seed in zip(worlds, seeds[first : first + at_once], strict=False):
                    plays.append(Play.begin(world, seed))
                play(agent, plays, max_steps, tick)
        except KeyboardInterrupt:
            yield _rollouts(agent, {i: p for i, p in enumerate(plays) if p.has_ended(max_steps)})
            raise
        yield _rollouts(agent, dict(enumerate(plays)))


def _rollouts(agent: Agent, plays: Mapping[int, Play]) -> Rollouts:
    """What came of these episodes, which the agent knows by their numbers."""
    account: Callable[[int], Mapping[str, float]] = getattr(agent, "account", lambda i: {})
    return Rollouts(
        tuple(one.episode(with_executed=True) for one in plays.values()),
        tuple(one.seed for one in plays.values()),
        tuple(one.success[-1] for one in plays.values()),
        tuple(account(i) for i in plays),
        0.0,
    )


def play(
    agent: Agent, plays: list[Play], max_steps: int, tick: Callable[[str], None] = lambda said: None
) -> list[Play]:
    """Act in lock-step until all episodes have ended.

    The ``agent`` acts in all ``plays``, at most ``max_steps`` in each; ``tick`` is told how far it is.
    """
    agent.reset()
    told = _teller(agent)
    active = dict(enumerate(plays))
    while active := {i: p for i, p in active.items() if not p.has_ended(max_steps)}:
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
        steps = max(len(p.actions) for p in plays)
        tick(f"{len(plays) - len(active)} of {len(plays)} episodes ended, {steps} steps")
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


def check_steps(max_steps: Any) -> None:
    """Refuse what is no number of steps."""
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


def makes_worlds(worlds: Any) -> bool:
    """Whether this is a function or a class that makes worlds, and no world."""
    return isinstance(worlds, type) or (callable(worlds) and not hasattr(worlds, "step"))


def rooms(worlds: Any, count: int) -> list[World]:
    """The worlds to act in: no more than there are episodes."""
    if makes_worlds(worlds):
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
