"""Any Gymnasium environment as a world. Gymnasium itself is not imported: what acts like one will do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.act.environment import has_ended, is_gymnasium, told_success
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Domain
from pdsketch.lang.steps import Step
from pdsketch.tensor.states.state import State


@final
class GymWorld:
    """A Gymnasium environment, seen through a domain.

    - ``observe(observation, env)`` makes a `State` of what ``reset`` and ``step`` return.
    - ``act(action, env)`` turns ``("forward", "agent")`` into an action of the
      environment; None: the controller refuses it, and nothing happens.
    - ``goal`` is a formula, or a function of the environment that returns one after each reset.
    - ``success(env)`` is the environment's word. Without it, success is what
      ``info["success"]`` says, or a positive reward at termination.
    """

    def __init__(
        self,
        env: Any,
        domain: Domain,
        *,
        observe: Callable[[Any, Any], State],
        act: Callable[[Step, Any], Any],
        goal: str | Callable[[Any], str],
        success: Callable[[Any], bool | None] | None = None,
    ) -> None:
        for method in ("reset", "step"):
            if not callable(getattr(env, method, None)):
                raise error(
                    "bad-world", f"a Gymnasium environment has `{method}`; a {type(env).__name__} has not"
                )
        for name, function in (("observe", observe), ("act", act), ("success", success)):
            if not callable(function) and not (name == "success" and function is None):
                raise error(
                    "bad-world", f"`{name}` of a GymWorld is a function, not a {type(function).__name__}"
                )
        if not callable(goal) and not isinstance(goal, str):
            raise error("bad-world", f"`goal` is a formula or a function, not a {type(goal).__name__}")
        self.env = env
        self.domain = domain
        self.success: bool | None = None
        self.executed = True
        self.ended = False
        self.goal = goal if isinstance(goal, str) else ""
        self._observe, self._act, self._goal, self._success = observe, act, goal, success
        self._state: State | None = None

    def reset(self, seed: int | None = None) -> State:
        """Begin an episode of the environment."""
        observation, _ = _pair(self.env.reset(seed=seed))
        self.executed, self.ended = True, False
        if callable(self._goal):
            self.goal = self._goal(self.env)
        return self._see(observation, None)

    def step(self, action: Step) -> State:
        """Act in the environment, unless the controller refuses."""
        if self._state is None:
            raise error("not-reset", "the world has no state yet", help="call world.reset(seed) first")
        wanted = self._act(action, self.env)
        self.executed = wanted is not None
        if not self.executed:
            return self._state
        answer = self.env.step(wanted)
        if not is_gymnasium(answer):
            raise error(
                "bad-world", "`step` of a Gymnasium environment returns five values: observation, reward, …"
            )
        self.ended = has_ended(answer)
        return self._see(answer[0], answer)

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

    def _see(self, observation: Any, answer: Any) -> State:
        self._state = self._observe(observation, self.env)
        if self._success is not None:
            said = self._success(self.env)
            self.success = None if said is None else bool(said)
        else:
            self.success = told_success(answer)
        return self._state


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise error(
            "bad-world", "`reset` of a Gymnasium environment returns two values: observation and info"
        )
    return answer
