"""What a world is: something to act in, observed as states of a domain."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from pdsketch.lang import Domain, Step
from pdsketch.tensor import State


class World(Protocol):
    """An environment with a goal, seen through the predicates of a domain.

    A world whose episodes can end without success also has ``ended``, true from
    that step on: nothing more can be done then.
    """

    @property
    def domain(self) -> Domain:
        """The domain whose states are observed."""

    @property
    def goal(self) -> str:
        """The formula to be made true, of the present episode."""

    @property
    def success(self) -> bool | None:
        """The environment's own word on whether the goal was reached; None where it says nothing."""

    @property
    def executed(self) -> bool:
        """Whether the controller accepted the last action."""

    def reset(self, seed: int | None = None) -> State:
        """Begin an episode; the same seed, the same episode."""

    def step(self, action: Step) -> State:
        """Carry out an action such as ``("forward", "agent")``; the state observed after it."""

    def render(self) -> NDArray[Any]:
        """The present picture, ``[height, width, 3]`` bytes."""
