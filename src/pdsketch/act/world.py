"""What a world is, what an agent is, and how agents act for many episodes at once.

``reset`` and ``act`` are all that an agent needs. Two more methods are for
speed, and `pdsketch.rollout` uses what is there:

- ``act_many(states, goals) -> actions``: one action for each state. An agent
  whose actions depend on nothing but the state and the goal can answer a whole
  batch at once.
- ``act_some(states, goals) -> actions``, dictionaries keyed by the number of the
  episode: an agent with a memory knows by it whose state it sees. It answers for
  at least one of them, and is asked about the others again; thus an agent that
  plans lets the others go on until all of them need a plan.

Further optional methods: ``told(success, executed)`` is called after each step with the
world's word on the goal and whether the controller accepted the action, and where an agent
that was told nothing yet stops in a state that is no success, which it may take back; agents
that act for several episodes are told the episode's number, too. ``account(episode)`` returns
numbers to keep of an episode (how often it planned, say).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from pdsketch.lang import Domain, Step, error
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


class Agent(Protocol):
    """Something that chooses actions."""

    def reset(self) -> None:
        """Forget everything about the episodes so far: others begin."""

    def act(self, state: State, goal: str) -> Step | None:
        """The next action towards the goal; None ends the episode."""


def act_many(agent: Agent, states: Sequence[State], goals: Sequence[str] | str) -> list[Step | None]:
    """An action for each state; ``goals`` is one goal for all, or one for each.

    The agent's own ``act_many`` is used where it has one, else ``act``, one state after the other.
    """
    each = [goals] * len(states) if isinstance(goals, str) else list(goals)
    if len(each) != len(states):
        raise error("bad-goals", f"{len(each)} goals were given for {len(states)} states")
    own = getattr(agent, "act_many", None)
    if own is None:
        return [agent.act(state, goal) for state, goal in zip(states, each, strict=True)]
    actions = list(own(states, each))
    if len(actions) != len(states):
        raise error(
            "bad-agent", f"the agent's `act_many` gave {len(actions)} actions for {len(states)} states"
        )
    return actions


def act_some(
    agent: Agent, states: Mapping[int, State], goals: Mapping[int, str]
) -> Mapping[int, Step | None]:
    """Actions for some of the episodes, by the agent's best method: at least one of them."""
    own = getattr(agent, "act_some", None)
    if own is None:
        actions = act_many(agent, list(states.values()), [goals[i] for i in states])
        return dict(zip(states, actions, strict=True))
    chosen: Mapping[int, Step | None] = own(states, goals)
    if not chosen or not chosen.keys() <= states.keys():
        raise error(
            "bad-agent", "the agent's `act_some` answers for one or more of the episodes it was given"
        )
    return chosen


def acts_in_batches(agent: Agent) -> bool:
    """Whether an agent can act in several episodes by turns: else they come one after the other."""
    return hasattr(agent, "act_some") or hasattr(agent, "act_many")


def check_agent(agent: Any) -> None:
    """Refuse what is no agent."""
    for method in ("reset", "act"):
        if not callable(getattr(agent, method, None)):
            raise error(
                "bad-agent",
                f"an agent has the methods `reset()` and `act(state, goal)`; "
                f"a {type(agent).__name__} has no `{method}`",
            )
