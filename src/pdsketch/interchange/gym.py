"""Any Gymnasium environment as a world. Gymnasium itself is not imported: what acts like one will do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.act import has_ended, is_count, is_gymnasium, told_success
from pdsketch.lang import Domain, Step, did_you_mean, error
from pdsketch.tensor import State

ActionMap = Mapping[Any, Any]
"""Actions of the domain (``"left"``, or a step ``("left", "cab")``) to those of the environment.

A value is the environment's action, several of them, None (the controller refuses it), or a function
``fn(env, *arguments)`` that returns one of these or is a generator of actions: a skill (`GymWorld`).
"""


@final
class GymWorld:
    """A Gymnasium environment ``env``, seen through a ``domain``.

    - ``observe(observation, env)`` makes a `State` of what ``reset`` and ``step`` return.
    - ``act`` says what actions are in the environment: a dictionary, ``{"left": 0, "right": 2}``, or a
      function ``act(action, env)`` of ``("forward", "agent")``. None: the controller refuses the action, and
      nothing happens. A list is several of the environment's actions, one after the other. A generator is a
      skill: it yields the environment's actions, and is sent what ``step`` answers; where it returns False,
      it was refused. After ``timeout`` steps of the environment it is cut off, which counts as refused.
    - ``goal`` is a formula, or a function of the environment that returns one after each reset.
    - ``success`` is ``"reward"`` (the last reward was positive), ``"termination"``, a key of ``info``, or a
      function of the environment. Without it, success is what ``info["success"]`` says, or a positive reward
      at termination, and nothing is said of other states.

    ``observation``, ``reward``, ``terminated``, ``truncated`` and ``info`` are the environment's last answer,
    ``steps`` are those that it took in this episode.
    """

    def __init__(
        self,
        env: Any,
        domain: Domain,
        *,
        observe: Callable[[Any, Any], State] | None = None,
        act: ActionMap | Callable[[Step, Any], Any] | None = None,
        goal: str | Callable[[Any], str] | None = None,
        success: str | Callable[[Any], bool | None] | None = None,
        timeout: int = 1000,
    ) -> None:
        for method in ("reset", "step"):
            if not callable(getattr(env, method, None)):
                raise error(
                    "bad-world", f"a Gymnasium environment has `{method}`; a {type(env).__name__} has not"
                )
        if hasattr(env, "num_envs"):
            raise error(
                "bad-world",
                "this is a vector of environments, and a GymWorld is one of them",
                help="pds.GymWorld.each(envs, domain, …) makes a world of each, to be acted in side by side",
            )
        _check(observe, act, goal, success, env, domain)
        if not is_count(timeout) or not timeout:
            raise error(
                "bad-limit",
                f"`timeout` is a number of the environment's steps, above 0; {timeout!r:.40} is given",
            )
        self.env = env
        self.timeout = timeout
        self.domain = domain
        self.success: bool | None = None
        self.executed = True
        self.ended = False
        self.observation: Any = None
        self.reward, self.terminated, self.truncated = 0.0, False, False
        self.info: Mapping[str, Any] = {}
        self.steps = 0
        self.goal = goal if isinstance(goal, str) else ""
        self._observe: Any = observe
        self._act: Any = _by_name(act, domain) if isinstance(act, Mapping) else act
        self._goal, self._success = goal, success
        self._state: State | None = None

    @staticmethod
    def each(envs: Any, domain: Domain, **settings: Any) -> list[GymWorld]:
        """A world of each environment of a list, or of a Gymnasium ``SyncVectorEnv``.

        `pdsketch.rollout` and `pdsketch.record` act in all of them side by side.
        """
        listed = getattr(envs, "envs", envs)
        if not isinstance(listed, Sequence):
            raise error(
                "bad-world",
                f"`each` takes a list of environments or a SyncVectorEnv, and no {type(envs).__name__}",
                help="environments in other processes cannot be observed one by one: make them here",
            )
        return [GymWorld(env, domain, **settings) for env in listed]

    def reset(self, seed: int | None = None) -> State:
        """Begin an episode of the environment."""
        self.observation, self.info = _pair(self.env.reset(seed=seed))
        self.reward, self.terminated, self.truncated = 0.0, False, False
        self.executed, self.ended, self.steps = True, False, 0
        if callable(self._goal):
            self.goal = self._goal(self.env)
        return self._see(None)

    def step(self, action: Step) -> State:
        """Act in the environment, for as many of its steps as the action takes, unless it is refused."""
        if self._state is None:
            raise error("not-reset", "the world has no state yet", help="call world.reset(seed) first")
        wanted = self._act(action, self.env)
        self.executed = wanted is not None
        if not self.executed:
            return self._state
        if not isinstance(wanted, Generator):
            wanted = (one for one in (wanted if self._is_several(wanted) else (wanted,)))
        began, answer = self.steps, None
        self.executed = self._carried_out(wanted, action)
        if self.steps > began:
            answer = (self.observation, self.reward, self.terminated, self.truncated, self.info)
        return self._see(answer)

    def _is_several(self, wanted: Any) -> bool:
        """Whether a list is several actions, and not one that is a list there."""
        space = getattr(self.env, "action_space", None)
        return isinstance(wanted, list) and not (space is not None and space.contains(wanted))

    def _carried_out(self, skill: Generator[Any, Any, Any], action: Step) -> bool:
        """Take the steps that a skill wants, until it or the episode ends; whether it was carried out."""
        answer: Any = None
        last = self.steps + self.timeout
        try:
            while True:
                wanted = skill.send(answer)
                if self.steps == last:
                    return False
                answer = self._stepped(wanted)
                if self.ended:
                    return True
        except StopIteration as done:
            if not isinstance(done.value, bool | None):
                raise error(
                    "bad-controller",
                    f"the skill of `{action[0]}` returned a {type(done.value).__name__}",
                    help="a skill yields actions, and returns nothing, or False where it was refused",
                ) from None
            return done.value is not False
        finally:
            skill.close()

    def _stepped(self, wanted: Any) -> Any:
        """One step of the environment."""
        answer = self.env.step(wanted)
        if not is_gymnasium(answer):
            raise error(
                "bad-world", "`step` of a Gymnasium environment returns five values: observation, reward, …"
            )
        self.observation, self.reward, self.terminated, self.truncated, self.info = answer
        self.steps += 1
        self.ended = has_ended(answer)
        return answer

    def render(self) -> NDArray[Any]:
        """What the environment draws (made with ``render_mode="rgb_array"``)."""
        picture = self.env.render()
        if picture is None:
            raise error(
                "no-picture",
                "the environment draws nothing",
                help='make it with gymnasium.make(name, render_mode="rgb_array")',
            )
        return np.asarray(picture)

    def _see(self, answer: Any) -> State:
        self._state = self._observe(self.observation, self.env)
        self.success = told_success(answer) if self._success is None else self.judged(self._success)
        return self._state

    def judged(self, success: str | Callable[[Any], bool | None]) -> bool | None:
        """What the environment says now, asked as ``success`` asks it; None: nothing."""
        if success == "reward":
            return bool(self.reward > 0)
        if success == "termination":
            return bool(self.terminated)
        said = self.info.get(success) if isinstance(success, str) else success(self.env)
        return None if said is None else bool(said)


def _check(observe: Any, act: Any, goal: Any, success: Any, env: Any, domain: Domain) -> None:
    """Refuse what cannot be acted with; the help shows a whole call."""
    space = getattr(env, "action_space", "its actions")
    names = ", ".join(f'"{name}": {at}' for at, name in enumerate(domain.actions))
    call = (
        f'write pds.GymWorld(env, domain, observe=fn, act={{{names}}}, goal="(…)"), where'
        f" fn(observation, env) returns a State, and the numbers are the environment's actions ({space})"
    )
    wrong = {
        "observe": None if callable(observe) else "a function",
        "act": None if callable(act) or isinstance(act, Mapping) else "a dictionary or a function",
        "goal": None if callable(goal) or isinstance(goal, str) else "a formula or a function",
        "success": None
        if success is None or callable(success) or isinstance(success, str)
        else '"reward", "termination", a key of info, or a function',
    }
    given = {"observe": observe, "act": act, "goal": goal, "success": success}
    for name, wanted in wrong.items():
        if wanted is not None:
            found = "missing" if given[name] is None else f"a {type(given[name]).__name__}"
            raise error("bad-world", f"`{name}` of a GymWorld is {wanted}, and it is {found}", help=call)


def _by_name(given: ActionMap, domain: Domain) -> Callable[[Step, Any], Any]:
    """A dictionary of actions as a function; every action of the domain must have its entry."""
    table = {key.lower() if isinstance(key, str) else tuple(key): value for key, value in given.items()}
    names = {key if isinstance(key, str) else str(key[0]).lower() for key in table}
    for name in names - domain.actions.keys():
        raise error(
            "unknown-action",
            f"`act` has an entry for `{name}`, and the domain has no such action",
            help=did_you_mean(name, domain.actions) or f"its actions: {', '.join(domain.actions)}",
        )
    missing = [name for name in domain.actions if name not in names]
    if missing:
        raise error(
            "no-controller",
            f"`act` has no entry for {', '.join(f'`{name}`' for name in missing)}",
            help=f'add what it is in the environment: "{missing[0]}": 0, or None if it cannot be done there',
        )

    def act(action: Step, env: Any) -> Any:
        key = tuple(action) if tuple(action) in table else action[0]
        if key not in table:
            raise error(
                "no-controller",
                f"`act` has no entry for {tuple(action)!r}",
                help=f'add it, or one for all arguments: "{action[0]}": fn, where fn(env, *arguments)',
            )
        wanted = table[key]
        return wanted(env, *action[1:]) if callable(wanted) else wanted

    return act


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise error(
            "bad-world", "`reset` of a Gymnasium environment returns two values: observation and info"
        )
    return answer
