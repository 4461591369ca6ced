"""A PDDL problem as a Gymnasium environment: ``gymnasium.make("pdsketch/PDDL-v0", domain=…, problem=…)``."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, cast, final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pdsketch.draw import cards_picture
from pdsketch.extras import missing_extra
from pdsketch.interchange.gym import GymWorld
from pdsketch.interchange.traces import state_of_facts
from pdsketch.lang import (
    Apply,
    Domain,
    Error,
    Object,
    Predicate,
    Problem,
    StaticContext,
    Step,
    applicable_steps,
    apply,
    conjuncts,
    encode,
    error,
    formula_text,
    holds,
    load_domain,
    load_problem,
    parse_goal,
    resolve,
    show_atom,
    shown,
)
from pdsketch.tensor import State

_LARGEST = 2**53
"""Ints without choices are drawn from within this when a space is sampled: floats hold them exactly."""


@final
class PDDLEnvironment(gymnasium.Env[dict[str, NDArray[Any]], Any]):  # type: ignore[misc]
    """A problem of a domain without blanks, in Gymnasium's terms, by the reference semantics.

    - An observation has one array a predicate of the state: an axis for each object argument (constants
      first, then the problem's objects of that type), then the value's own axes. A number that the problem
      does not give is 0.
    - An action is a number: of ``env.unwrapped.actions[n]``, such as ``("stack", "a", "b")``;
      ``env.unwrapped.number(step)`` goes the other way. Steps that facts which never change forbid have none.
    - ``env.unwrapped.world(sketch)`` takes steps, and shows states as a sketch of the domain sees them.
    - ``info["action_mask"]`` says which actions are applicable, as ``action_space.sample(mask)`` takes it;
      ``env.unwrapped.action_masks()`` in Booleans. Another action changes nothing (``info["executed"]`` is
      False), nor does one whose effect is undefined (``info["why"]``).
    - The reward is 1 where the goal is reached, which ends the episode, else 0.

    ``domain`` and ``problem`` are files, or what `load_domain` and `load_problem` return: of a loaded problem
    the domain is known. ``render_mode`` is ``"ansi"`` or ``"rgb_array"``.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}

    def __init__(
        self,
        domain: Domain | str | PathLike[str] | None = None,
        problem: Problem | str | PathLike[str] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.problem = _loaded(domain, problem)
        self.domain = self.problem.domain
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise error("bad-world", f"`render_mode` is ansi or rgb_array, and not {render_mode!r}")
        self.render_mode = render_mode
        self._static = StaticContext.of(self.problem)
        self._init = encode(self._static, self.problem.init)
        self._facts = self._before = dict(self._init)
        self._last: Step | None = None
        unchanged = self.domain.predicates.keys() - self.domain.analysis.written
        self.actions: tuple[Step, ...] = tuple(
            step
            for name in self.domain.actions
            for step in applicable_steps(self._static, self._init, name, reading=unchanged)
        )
        if not self.actions:
            raise error("bad-world", f"no action of `{self.domain.name}` can ever be taken in this problem")
        self._numbers = {step: number for number, step in enumerate(self.actions)}
        self.action_space = spaces.Discrete(len(self.actions))
        self.observation_space = spaces.Dict(
            {p.name: self._space(p) for p in self.domain.state_predicates if 0 not in self._shape(p)}
        )

    @property
    def state(self) -> State:
        """The present state as a `pdsketch.State`."""
        return state_of_facts(self.domain, self.problem.universe, self._facts)

    def world(self, sketch: Domain | None = None, goal: str | None = None) -> GymWorld:
        """A world for `pdsketch.record` and agents, seen through a ``sketch`` of the domain if one is given.

        What is not applicable is refused. ``goal`` is a formula of the domain, in place of the problem's.
        """
        seen = self.domain if sketch is None else sketch
        wanted = self.problem.goal if goal is None else parse_goal(goal, self.problem)

        def act(step: Step, _env: Any) -> int | None:
            number = self._numbers.get(resolve(self.domain, self.problem.universe, step))
            return number if number is not None and self._mask[number] else None

        return GymWorld(
            self,
            seen,
            observe=lambda _observation, _env: state_of_facts(seen, self.problem.universe, self._facts),
            act=act,
            goal=formula_text(wanted),
            success=lambda _env: holds(self._static, self._facts, wanted),
        )

    def number(self, step: Step) -> int:
        """The number of an action: ``env.step(env.unwrapped.number(("stack", "a", "b")))``."""
        found = self._numbers.get(resolve(self.domain, self.problem.universe, step))
        if found is None:
            raise error(
                "not-applicable", f"`{show_atom(step)}` has no number: facts that never change forbid it"
            )
        return found

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are applicable now."""
        mask = np.zeros(len(self.actions), np.bool_)
        for name in self.domain.actions:
            for step in applicable_steps(self._static, self._facts, name):
                mask[self._numbers[step]] = True
        return mask

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Back to the problem's initial state. Nothing is random, whatever the ``seed``; no ``options``."""
        super().reset(seed=seed)
        self._facts = self._before = dict(self._init)
        self._last = None
        return self._observed(), self._info(executed=True)

    def step(self, action: Any) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Take the action of this number, if it is applicable."""
        number = int(action)
        if not 0 <= number < len(self.actions):
            raise error(
                "unknown-action", f"there are {len(self.actions)} actions, and {number} is none of them"
            )
        executed = bool(self._mask[number])
        self._before, self._last = self._facts, self.actions[number]
        why: dict[str, Any] = {}
        if executed:
            try:
                self._facts = apply(self._static, self._facts, self._last)
            except Error as undefined:  # a number out of its range, say
                executed, why = False, {"why": undefined.diagnostics[0].message}
        info = self._info(executed=executed) | why
        return self._observed(), float(info["success"]), info["success"], False, info

    def render(self) -> Any:
        """What holds by object, what of it is new, and what is wanted: as text or as a picture."""
        if self.render_mode is None:
            gymnasium.logger.warn('made without `render_mode="ansi"` or `"rgb_array"`, it draws nothing')
            return None
        new = {_words(fact, value) for fact, value in self._facts.items() - self._before.items()}
        lines = [
            f"after {show_atom(self._last)}" if self._last else "the initial state",
            f"goal {formula_text(self.problem.goal)}",
        ]
        cards = self._cards()
        if self.render_mode == "rgb_array":
            try:
                return cards_picture(cards, lines, new, self._wanted)
            except ModuleNotFoundError:
                raise missing_extra("pillow", "gym") from None
        for title, facts in cards.items():
            marked = (f"{'+' * (f in new)}{f}{'!' * (f in self._wanted)}" for f in facts)
            lines.append(f"{title}: {' '.join(marked)}")
        return "\n".join(lines) + "\n"

    def _cards(self) -> dict[str, list[str]]:
        """What holds, by the first object of each fact (else under the domain's name); what changes first."""
        titles = {name: f"{name} - {type_}" for name, type_ in self.problem.universe.items()}
        whole = [self.domain.name] * any(not p.parameters for p in self.domain.state_predicates)
        found: dict[str, list[str]] = {title: [] for title in [*titles.values(), *whole]}
        changing = self.domain.analysis.written
        for fact, value in sorted(self._facts.items(), key=lambda item: item[0][0] not in changing):
            if value is not False:
                title = titles[fact[1]] if len(fact) > 1 else self.domain.name
                found[title].append(_words(fact, value))
        return found

    @cached_property
    def _wanted(self) -> frozenset[str]:
        """The atoms that are parts of the goal."""
        parts = [part for part in conjuncts(self.problem.goal) if isinstance(part, Apply)]
        atoms = [(part.predicate, *(a.name for a in part.args if isinstance(a, Object))) for part in parts]
        return frozenset(show_atom(atom) for atom in atoms)

    def _info(self, *, executed: bool) -> dict[str, Any]:
        self._mask = self.action_masks()
        reached = holds(self._static, self._facts, self.problem.goal)
        return {"action_mask": self._mask.astype(np.int8), "executed": executed, "success": reached}

    def _observed(self) -> dict[str, NDArray[Any]]:
        found = {name: np.zeros(box.shape, box.dtype) for name, box in self.observation_space.spaces.items()}
        for fact, value in self._facts.items():
            if fact[0] in found:
                parameters = self.domain.predicates[fact[0]].parameters
                places = [self._places[p.type][a] for p, a in zip(parameters, fact[1:], strict=True)]
                found[fact[0]][tuple(places)] = value
        return found

    @cached_property
    def _places(self) -> dict[Any, dict[Any, int]]:
        """Where each object stands on the axis of a type."""
        used = {parameter.type for p in self.domain.state_predicates for parameter in p.parameters}
        return {t: {o: at for at, o in enumerate(self._static.members(t))} for t in used}

    def _shape(self, predicate: Predicate) -> tuple[int, ...]:
        own = predicate.type.shape
        if own is None:
            raise error("not-yet", f"`{predicate.name}` has values of open length", predicate.span)
        return (*(len(self._places[p.type]) for p in predicate.parameters), *own)

    def _space(self, predicate: Predicate) -> spaces.Box:
        shape, type_ = self._shape(predicate), predicate.type
        if type_.is_bool or type_.prim == "bool":
            return spaces.Box(0, 1, shape, np.int8)
        if type_.choices is not None:
            return spaces.Box(0, type_.choices - 1, shape, np.int64)
        if type_.prim == "int64":
            return spaces.Box(-_LARGEST, _LARGEST, shape, np.int64)
        return spaces.Box(-np.inf, np.inf, shape, np.float32)


def _loaded(domain: Any, problem: Any) -> Problem:
    """The problem, of a domain that needs no networks."""
    if problem is None or (domain is None and not isinstance(problem, Problem)):
        raise error(
            "bad-world",
            "an environment is made of a domain and a problem",
            help='gymnasium.make("pdsketch/PDDL-v0", domain="domain.pddl", problem="p01.pddl")',
        )
    if not isinstance(problem, Problem):
        problem = load_problem(problem, domain if isinstance(domain, Domain) else load_domain(domain))
    blanks = [*problem.domain.blanks]
    blanks += [p.name for p in problem.domain.predicates.values() if p.role == "external"]
    if blanks:
        raise error(
            "needs-model",
            f"`{problem.domain.name}` leaves `{blanks[0]}` open, and an environment says what happens",
            help="write its body, or act in a world of your own: pds.World",
        )
    return cast(Problem, problem)


def _words(fact: tuple[Any, ...], value: Any) -> str:
    return show_atom(fact) if value is True else f"(= {show_atom(fact)} {shown(value)})"
