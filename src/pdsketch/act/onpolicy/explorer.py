"""The agent that collects: it plans for the world's goal and, where that leads nowhere, tries its parts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import final

from pdsketch.act.policy import Policy
from pdsketch.act.recording import RandomAgent
from pdsketch.lang import (
    Apply,
    Domain,
    Expr,
    Object,
    ObjectType,
    Step,
    Variable,
    names_in,
    plain,
    short,
    shown,
    substitute,
    walk,
)
from pdsketch.tensor import State

# What there is to try on the way to a goal that cannot be planned for yet.
#
# The success of a goal such as *face a red ball* teaches what red is, if the robot happens to face one. So
# the parts of the goal are pursued one by one, of every object that they could be about: its atoms are made
# true (*face item#3*), and the state variables on which it depends are changed (*move item#3*). The model
# knows how to do that as soon as it knows its transitions, which any walk teaches; what the parts have to do
# with the goal is the world's word in the states that they lead to.

MOST_NUMBERS = 16
"""A variable of more numbers (a picture) is not asked to change: any noise would do. Set by hand."""


@final
@dataclass(frozen=True, slots=True)
class Subgoal:
    """A predicate of certain objects: to be made true, or to be given another value than it has."""

    predicate: str
    objects: tuple[str, ...]

    def formula(self, state: State) -> str | None:
        """The subgoal as a goal for this state; None where it cannot be put as one."""
        predicate = state.domain.predicates[self.predicate]
        atom = f"({' '.join((self.predicate, *self.objects))})"
        if predicate.role == "derived":
            return atom
        members = map(state.members, predicate.object_types)
        at = tuple(names.index(name) for names, name in zip(members, self.objects, strict=True))
        value = state[self.predicate][at]
        if predicate.type.is_bool:
            return f"(not {atom})" if bool(value) else atom
        if value.numel() > MOST_NUMBERS:
            return None
        return f"(not (= {atom} {shown(short(plain(value.tolist())))}))"


def subgoals(goal: Expr, state: State) -> dict[str, tuple[Subgoal, ...]]:
    """By predicate, what can be tried of the atoms of a goal and of the variables that they depend on."""
    found: dict[str, dict[tuple[str, ...], Subgoal]] = {}
    for atom in _read(goal, state.domain):
        for objects in product(*(_named(argument, state) for argument in atom.args)):
            found.setdefault(atom.predicate, {}).setdefault(objects, Subgoal(atom.predicate, objects))
    return {name: tuple(ground.values()) for name, ground in found.items()}


def _read(goal: Expr, domain: Domain) -> Iterator[Apply]:
    """The predicates that a goal names and that some action can change, through bodies too, each once."""
    agenda, seen = [goal], set[Apply]()
    while agenda:
        for node in walk(agenda.pop()):
            if not isinstance(node, Apply) or node in seen:
                continue
            seen.add(node)
            predicate = domain.predicates[node.predicate]
            if predicate.role == "derived" and predicate.body is not None:
                names = (parameter.name for parameter in predicate.parameters)
                agenda.append(substitute(predicate.body, dict(zip(names, node.args, strict=True))))
            if _can_change(domain, node):
                yield node


def _can_change(domain: Domain, atom: Apply) -> bool:
    """Whether this is about objects, and a truth or an observed variable that the actions write."""
    predicate, written = domain.predicates[atom.predicate], domain.analysis.written
    if not all(isinstance(a, Object) or isinstance(a.type, ObjectType) for a in atom.args):
        return False
    if predicate.role == "derived":
        return predicate.type.is_bool and not written.isdisjoint(
            domain.analysis.predicate_reads(atom.predicate)
        )
    return predicate.role == "observed" and atom.predicate in written


def _named(argument: Expr, state: State) -> tuple[str, ...]:
    """The objects that an argument can stand for."""
    if isinstance(argument, Object):
        return (argument.name,)
    assert isinstance(argument, Variable)
    assert isinstance(argument.type, ObjectType)
    return state.members(argument.type)


MOST_IDLE = 3
"""After so many subgoals in a row without a plan, a random action is taken; set by hand."""


DEEPER = 1 / 8
"""The weight of a variable that a goal depends on, beside that of an atom that it names; set by hand."""


@final
@dataclass(slots=True)
class _Course:
    """One episode: the subgoal that is pursued (None: the world's goal), and those tried before.

    ``planned`` says whether there was a plan for what is pursued, ``idle`` how many subgoals in a row had
    none, ``own`` whether the last action was the policy's, ``stray`` whether the next is to be a random one,
    ``walks`` whether all are, to the end.
    """

    stray: bool
    aim: str | None = None
    subgoal: Subgoal | None = None
    tried: set[Subgoal] = field(default_factory=set)
    planned: bool = False
    own: bool = False
    idle: int = 0
    walks: bool = False


@final
class Explorer:
    """A ``policy`` that does not give up.

    An episode begins with the policy's plan for the world's goal. Where there is none, or the plan has been
    carried out and the world does not call it a success, subgoals are pursued until the episode ends.
    Predicates are drawn by how often there was a plan for a subgoal of theirs (after Laplace), so that what
    the model thinks unchangeable is tried now and then, and those that the goal names before those that they
    depend on: to change a variable in whatever way may put the goal out of reach (a box that is broken open).
    No subgoal is tried twice before all others. A part ``stray`` of the actions, from 0 to 1, is random;
    ``seed`` decides all that is drawn. Without ``subgoals`` the rest of the episode is a random walk.
    """

    def __init__(self, policy: Policy, seed: int, stray: float, *, subgoals: bool = True) -> None:
        self._policy = policy
        self._walk = RandomAgent(policy.model.domain, seed)
        self._random = random.Random(seed)
        self._stray = stray
        self._subgoals = subgoals
        self._courses: dict[int, _Course] = {}
        self._tried: Counter[str] = Counter()
        self._planned: Counter[str] = Counter()

    def reset(self) -> None:
        """Other episodes begin; what was found about subgoals stays."""
        self._policy.reset()
        self._courses = {}

    def act(self, state: State, goal: str) -> Step | None:
        """The next action in the one episode that there is."""
        return self.act_some({0: state}, {0: goal})[0]

    def told(self, success: bool | None, executed: bool, episode: int = 0) -> None:
        """The policy hears of the actions that it chose; the world's success is not that of a subgoal."""
        course = self._courses[episode]
        if course.own:
            self._policy.told(success if course.aim is None else None, executed, episode)

    def act_some(self, states: Mapping[int, State], goals: Mapping[int, str]) -> dict[int, Step | None]:
        """Actions of the episodes that can go on without planning; where there is none, of some others."""
        for i in states:
            self._courses.setdefault(i, _Course(self._draws_stray()))
        chosen = {i: self._astray(i, states[i]) for i in states if self._courses[i].stray}
        while not chosen:
            aims = {i: self._courses[i].aim or goals[i] for i in states}
            for i, action in self._policy.act_some(states, aims).items():
                course = self._courses[i]
                if action is not None:
                    self._note_plan(course)
                    course.stray = self._draws_stray()
                    chosen[i] = action
                elif course.idle >= MOST_IDLE or not self._next(course, states[i], goals[i]):
                    course.walks = not self._subgoals
                    chosen[i] = self._astray(i, states[i])
        return chosen

    def _note_plan(self, course: _Course) -> None:
        """There is a plan for what is pursued."""
        if course.subgoal is not None and not course.planned:
            self._planned[course.subgoal.predicate] += 1
        course.planned, course.own, course.idle = True, True, 0

    def _draws_stray(self) -> bool:
        return self._random.random() < self._stray

    def _astray(self, episode: int, state: State) -> Step | None:
        course = self._courses[episode]
        if course.own:
            self._policy.interrupted(episode)
        course.stray, course.idle, course.own = course.walks or self._draws_stray(), 0, False
        return self._walk.act(state, "")

    def _next(self, course: _Course, state: State, goal: str) -> bool:
        """Go on to another subgoal; whether there is one."""
        course.idle += not course.planned
        course.planned = False
        formula = state.batch.universe(0).formula(goal)
        named, known = names_in(formula), subgoals(formula, state) if self._subgoals else {}
        fresh = {
            name: left
            for name, every in known.items()
            if (left := [s for s in every if s not in course.tried])
        }
        if not fresh:
            course.tried.clear()
            fresh = {name: list(every) for name, every in known.items()}
        while fresh:
            weights = [
                (1.0 if name in named else DEEPER) * (self._planned[name] + 1) / (self._tried[name] + 2)
                for name in fresh
            ]
            (name,) = self._random.choices(list(fresh), weights)
            course.subgoal = self._random.choice(fresh[name])
            course.tried.add(course.subgoal)
            self._tried[name] += 1
            course.aim = course.subgoal.formula(state)
            if course.aim is not None:
                return True
            del fresh[name]
        course.aim = course.subgoal = None
        return False
