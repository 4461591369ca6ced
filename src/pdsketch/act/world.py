"""What a world is, by what name it is made, what an agent is, and how agents act for many episodes at once.

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

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, getdoc, signature
from typing import Any, Protocol

from numpy.typing import NDArray

from pdsketch.extras import WORLDS, missing, not_installed, offered
from pdsketch.lang import Domain, Error, Step, did_you_mean, error
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


# Worlds by name: what there is, what each can be given, and new ones of one's own.

Maker = Callable[..., World]

_REGISTERED: dict[str, tuple[Maker, str]] = {}


def world_names() -> list[str]:
    """The names that `make_world` knows; nothing is imported for them."""
    return [*offered(WORLDS), *_REGISTERED]


def worlds() -> dict[str, str]:
    """The worlds that `make_world` knows, each with a line about it.

    Those of other packages (entry points of the group ``pdsketch.worlds``) say it in their docstring.
    """
    return {name: _REGISTERED[name][1] if name in _REGISTERED else _line(name) for name in world_names()}


def make_world(name: str, /, **options: Any) -> World:
    """A world by its name; ``make_world("babyai", objects=4, doors=4)``."""
    maker = _maker(name)
    known = options_of(name)
    for option in options:
        if option not in known:
            takes = ", ".join(known) or "none"
            raise error(
                "unknown-option",
                f"the world `{name}` has no option `{option}`",
                help=did_you_mean(option, known) or f"its options: {takes}",
            )
    for key, parameter in known.items():
        if parameter.default is Parameter.empty and key not in options:
            raise error("missing-option", f"the world `{name}` needs the option `{key}`")
    return maker(**options)


def register_world(name: str, maker: Maker, description: str = "") -> None:
    """Make a world of one's own known under a name; ``maker(**options)`` makes it."""
    if not name:
        raise error("bad-world", "a world needs a name")
    if not callable(maker):
        raise error(
            "bad-world", f"`{name}` needs a function that makes the world, not a {type(maker).__name__}"
        )
    if name in offered(WORLDS):
        raise error("bad-world", f"there is a world `{name}` already", help="choose another name")
    _REGISTERED[name] = (maker, description)


def options_of(name: str) -> Mapping[str, Parameter]:
    """The options of a world, with their defaults, as its maker declares them."""
    parameters = signature(_maker(name)).parameters
    return {key: p for key, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def check_name(name: object) -> str:
    """The name of a world that there is."""
    known = world_names()
    if isinstance(name, str) and name in known:
        return name
    if name in missing(WORLDS):
        raise not_installed(f"the world `{name}`")
    listed = f"the worlds: {', '.join(known)}" if known else "none is installed; pds.register_world adds one"
    raise error(
        "unknown-world",
        f"there is no world `{name!s:.80}`",
        help=did_you_mean(str(name), [*known, *missing(WORLDS)]) or listed,
    )


def _maker(name: str) -> Maker:
    check_name(name)
    maker: Maker = _REGISTERED[name][0] if name in _REGISTERED else offered(WORLDS)[name].load()
    return maker


def _line(name: str) -> str:
    """What the docstring of another package's world begins with, or what it lacks to be loaded."""
    try:
        return (getdoc(_maker(name)) or "").partition("\n")[0]
    except Error as why:  # an extra is not installed
        return why.diagnostics[0].message
