"""An environment of any kind with an observer and controllers, as a world: what `Policy.run` acts in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.act.settings import Controller
from pdsketch.lang import Domain, Step, error
from pdsketch.tensor import State


class Environment(Protocol):
    """What `Policy.run` needs of an environment: Gymnasium's ``step``, taking our actions.

    It may return Gymnasium's five values; ``terminated`` or ``truncated`` end the episode.
    """

    def step(self, action: Step, /) -> Any:
        """Carry out an action such as ``("forward", "agent")``."""


Observer = Callable[[Any], State]


@final
@dataclass(slots=True, eq=False)
class ControlledWorld:
    """An environment as it stands: `reset` observes it and changes nothing.

    Success is what ``judge(env)`` says; else what ``info["success"]`` says, or a
    positive reward at termination; else None. Where nobody says anything, the
    episode also ends where ``believed`` says that the goal holds.
    """

    env: Environment
    domain: Domain
    goal: str
    observe: Observer
    controllers: Mapping[str, Controller]
    judge: Callable[[Any], bool] | None
    believed: Callable[[State], bool]
    success: bool | None = None
    executed: bool = True
    ended: bool = False
    _answer: Any = field(default=None, repr=False)

    def reset(self, seed: int | None = None) -> State:
        """The present state; the environment is not reset."""
        return self._see(None)

    def step(self, action: Step) -> State:
        """By the action's controller; without one, by the environment's own ``step``."""
        controller = self.controllers.get(action[0])
        if controller is not None:
            said = controller(self.env, *action[1:])
            if said is None:
                raise error(
                    "bad-controller",
                    f"the controller of `{action[0]}` returned None",
                    help="return True where the action was carried out, and False where it was refused",
                )
            self.executed = bool(said)
            return self._see(None)
        if not hasattr(self.env, "step"):
            raise error(
                "no-controller",
                f"`{action[0]}` has no controller, and the environment has no `step`",
                help=f'give one: Policy(model, controllers={{"{action[0]}": fn}})',
            )
        self.executed = True
        try:
            answer = self.env.step(action)
        except Exception as refused:
            raise error(
                "no-controller",
                f"the environment's `step` does not take {action!r:.60}:"
                f" {type(refused).__name__}: {refused!s:.120}",
                help=f'say what the action is there: Policy(model, controllers={{"{action[0]}": fn}}), where'
                " fn(env, …) acts and returns True; or wrap a Gymnasium environment as pds.GymWorld",
            ) from refused
        return self._see(answer)

    def render(self) -> NDArray[Any]:
        """What the environment draws."""
        return np.asarray(self.env.render())  # type: ignore[attr-defined]

    def _see(self, answer: Any) -> State:
        state = self.observe(self.env)
        self.success = bool(self.judge(self.env)) if self.judge is not None else told_success(answer)
        self.ended = has_ended(answer) or (self.success is None and self.believed(state))
        return state


def is_gymnasium(answer: Any) -> bool:
    """Whether this is what Gymnasium's ``step`` returns."""
    return isinstance(answer, tuple) and len(answer) == 5


def told_success(answer: Any) -> bool | None:
    """What the environment says of success, if it says anything."""
    if not is_gymnasium(answer):
        return None
    _, reward, terminated, _, info = answer
    if isinstance(info, Mapping) and "success" in info:
        return bool(info["success"])
    return True if terminated and reward > 0 else None


def has_ended(answer: Any) -> bool:
    """Whether the environment says that the episode is over."""
    return is_gymnasium(answer) and bool(answer[2] or answer[3])
