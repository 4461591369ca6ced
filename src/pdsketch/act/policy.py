"""Plan → policy: execute, watch, replan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from pdsketch.act.deviation import Deviation, Tolerance, deviations
from pdsketch.lang.diagnostics import did_you_mean, error
from pdsketch.lang.domain import Domain
from pdsketch.learn.episodes import Episode
from pdsketch.search.plan import plan
from pdsketch.search.result import Result, Step
from pdsketch.tensor.model import Model
from pdsketch.tensor.state import State


class Environment(Protocol):
    """What `Policy.run` needs of an environment: Gymnasium's ``step``, taking our actions.

    It may return Gymnasium's five values; ``terminated`` or ``truncated`` end the episode.
    """

    def step(self, action: Step, /) -> Any:
        """Carry out an action such as ``("forward", "agent")``."""


Controller = Callable[..., Any]
"""``controller(env, *args)`` runs the primitive policy of an action; returns whether it was executed."""

Observer = Callable[[Any], State]


@final
@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a run: what was done and why, and how the world answered."""

    action: Step
    replanned: bool
    executed: bool
    deviations: tuple[Deviation, ...]


@final
@dataclass(slots=True)
class _Intention:
    """The rest of a plan, and what the world should look like now."""

    goal: str
    rest: list[Step]
    predicted: State | None = None


@final
@dataclass(slots=True)
class Policy:
    """A model and a planner as a goal-conditioned policy, with replanning.

    The policy follows its plan as long as each observation agrees with what the
    model predicted, up to ``tolerance``, and plans anew when it does not. That is
    one number, or numbers by predicate; else the tolerance of each variable's
    type or, of encoded ones, the noise that `fit` recorded, whichever is larger.
    ``options`` go to `pdsketch.plan`; unless they say otherwise, 16 nodes are expanded together.
    ``result`` is the outcome of the latest planning, ``trace`` the steps of the
    latest run.
    """

    model: Model
    search: str = "astar"
    heuristic: str = "opt"
    controllers: Mapping[str, Controller] = field(default_factory=dict)
    generators: Mapping[str, Any] = field(default_factory=dict)
    tolerance: Tolerance = None
    options: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    trace: list[Moment] = field(default_factory=list)
    _intention: _Intention | None = None
    _replanned: bool = False
    _deviations: tuple[Deviation, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            found = type(self.model).__name__
            raise error("bad-model", f"a Policy takes a Model, and a {found} was given")
        self.controllers = _controllers(self.controllers, self.model.domain.actions)
        self.tolerance = _tolerance(self.tolerance, self.model.domain)

    def act(self, state: State, goal: str, *, refused: frozenset[Step] = frozenset()) -> Step | None:
        """The next action towards the goal; None when it holds or no plan was found (see ``result``).

        ``refused`` are actions that a controller would not execute in this very state.
        """
        state = self.model.encode(state, crisp=True)
        intention = self._intention
        self._deviations = ()
        if intention is not None and intention.predicted is not None:
            self._deviations = deviations(intention.predicted, state, self.tolerance, self.model.notes)
        follows = intention is not None and intention.goal == goal and not refused
        self._replanned = not follows or bool(self._deviations) or not (intention and intention.rest)
        if self._replanned:
            self.result = plan(
                self.model,
                state,
                goal,
                search=self.search,
                heuristic=self.heuristic,
                generators=self.generators,
                refused=refused,
                **{"k": 16, **self.options},
            )
            intention = self._intention = _Intention(goal, list(self.result.plan or ()))
        if intention is None or not intention.rest:
            self._intention = None
            return None
        action = intention.rest.pop(0)
        intention.predicted = self.model.step(state, action, crisp=True)
        return action

    def reset(self) -> None:
        """Forget the current plan."""
        self._intention = None

    def run(
        self,
        env: Environment,
        goal: str,
        *,
        observe: Observer,
        max_steps: int = 50,
        success: Callable[[Any], bool] | None = None,
    ) -> Episode:
        """Act in an environment, as it stands, until success, a dead end or ``max_steps``.

        ``observe(env)`` returns the state. Success is what ``success(env)`` says; else
        what ``info["success"]`` says, or a positive reward at termination; else it is
        None: nobody said. The run also ends where the model believes that the goal
        holds, but that is no success for a model to learn from. Steps that a
        controller refused are kept in the episode, marked in ``executable``.
        """
        _check_run(observe, max_steps)
        self.reset()
        self.trace = []
        states = [observe(env)]
        labels = [_judge(env, None, success)]
        actions: list[Step] = []
        executed: list[bool] = []
        answer: Any = None
        refused: frozenset[Step] = frozenset()
        while len(actions) < max_steps and not self._arrived(states[-1], goal, labels[-1]):
            action = self.act(states[-1], goal, refused=refused)
            if action is None and refused:
                # Nothing else leads to the goal: what was refused once may be accepted later.
                action = self.act(states[-1], goal)
            if action is None:
                break
            replanned, deviated = self._replanned, self._deviations
            done, answer = self._execute(env, action)
            refused = frozenset() if done else refused | {action}
            if not done:
                self.reset()
            actions.append(action)
            executed.append(done)
            states.append(observe(env))
            labels.append(_judge(env, answer, success))
            self.trace.append(Moment(action, replanned, done, deviated))
            if _ended(answer):
                break
        return Episode(
            states=states,
            actions=actions,
            goal=goal,
            success=_told_of(labels, answer),
            executable=executed if self.controllers else None,
        )

    def _execute(self, env: Environment, action: Step) -> tuple[bool, Any]:
        """Whether the action was executed, and what the environment returned."""
        controller = self.controllers.get(action[0])
        if controller is None:
            if not hasattr(env, "step"):
                raise error(
                    "no-controller",
                    f"`{action[0]}` has no controller, and the environment has no `step`",
                    help=f'give one: Policy(model, controllers={{"{action[0]}": fn}})',
                )
            return True, env.step(action)
        return bool(controller(env, *action[1:])), None

    def _arrived(self, state: State, goal: str, label: int | None) -> bool:
        """Whether there is nothing left to do, by the environment's word or else by the model's belief."""
        if label is not None:
            return bool(label)
        return bool(self.model.holds(state, goal, crisp=True) > 0.5)


def _controllers(given: Any, actions: Mapping[str, Any]) -> dict[str, Controller]:
    """The controllers by their action's name, in lower case as the domain has it."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-controller", f"`controllers` maps actions to functions, and is a {found}")
    named = {str(name).lower(): controller for name, controller in given.items()}
    for name, controller in named.items():
        if name not in actions:
            raise error(
                "unknown-action",
                f"a controller is given for `{name}`, and the domain has no such action",
                help=did_you_mean(name, actions),
            )
        if not callable(controller):
            found = type(controller).__name__
            raise error("bad-controller", f"the controller of `{name}` is a {found}, and no function")
    return named


def _tolerance(given: Any, domain: Domain) -> Tolerance:
    """A tolerance as it was given, checked; predicates in lower case as the domain has them."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return _not_negative(given, "`tolerance`")
    floats = [p.name for p in domain.state_predicates if p.type.prim == "float32"]
    named = {str(name).lower(): value for name, value in given.items()}
    for name in named:
        if name not in floats:
            known = f"its float variables: {', '.join(floats)}" if floats else "it has no float variables"
            raise error(
                "unknown-predicate",
                f"a tolerance is given for `{name}`, and the domain has no such float variable",
                help=did_you_mean(name, floats) or known,
            )
    return {name: _not_negative(value, f"the tolerance of `{name}`") for name, value in named.items()}


def _not_negative(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise error(
            "bad-tolerance",
            f"{what} is a number and not negative; {value!r:.40} is given",
            help='give one number, or numbers by predicate: tolerance={"item-pose": 0.1}',
        )
    return float(value)


def _check_run(observe: Any, max_steps: Any) -> None:
    if not callable(observe):
        found = type(observe).__name__
        raise error("bad-observer", f"`observe` is a function from the environment to a State, not a {found}")
    if not isinstance(max_steps, int) or max_steps < 0:
        raise error(
            "bad-limit", f"`max_steps` is a whole number and not negative; {max_steps!r:.40} is given"
        )


def _judge(env: Environment, answer: Any, success: Callable[[Any], bool] | None) -> int | None:
    """Whether the goal holds now, as far as anybody but the model says."""
    if success is not None:
        return int(bool(success(env)))
    told = _told_success(answer)
    return None if told is None else int(told)


def _told_of(labels: list[int | None], answer: Any) -> list[int | None] | None:
    """The labels of an episode; None where nobody said anything.

    An environment that ends at success, and says so by its reward, has not
    succeeded before.
    """
    if all(label is None for label in labels):
        return None
    if _ended(answer) and labels[-1] and all(label is None for label in labels[:-1]):
        return [0] * (len(labels) - 1) + labels[-1:]
    return labels


def _is_gymnasium(answer: Any) -> bool:
    return isinstance(answer, tuple) and len(answer) == 5


def _told_success(answer: Any) -> bool | None:
    """What the environment says of success, if it says anything."""
    if not _is_gymnasium(answer):
        return None
    _, reward, terminated, _, info = answer
    if isinstance(info, Mapping) and "success" in info:
        return bool(info["success"])
    return True if terminated and reward > 0 else None


def _ended(answer: Any) -> bool:
    return _is_gymnasium(answer) and bool(answer[2] or answer[3])
