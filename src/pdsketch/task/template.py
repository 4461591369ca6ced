"""A task for many initial states and goals: ground once, then narrowed to each of them.

The joins, which cost most, see every fact that can be true in some state. To narrow the task, what cannot
happen from one state, and what does not matter for one goal, is left out, as grounding does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Final, final

import numpy as np

from pdsketch.budget import current
from pdsketch.core import Bools, Ints, PreparedDraft, PreparedGoal
from pdsketch.lang import (
    BOOL,
    Apply,
    Equal,
    Expr,
    Fact,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Problem,
    Quantified,
    Value,
    Variable,
)
from pdsketch.task.grounding import Grounding, task_of
from pdsketch.task.narrowing import narrowed, prepare, prepare_goal
from pdsketch.task.task import Task

KEPT: Final = 256
"""How many goals are kept for a template."""

Condition = tuple[int, ...] | None
"""Literals all of which must hold; None: never."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A goal, and the names of facts, those of the goal behind those of the draft."""

    goal: PreparedGoal
    names: list[Fact]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Narrowing:
    """A draft with a goal, and an initial state to narrow it to; ``operators`` are the draft's.

    ``groups`` are the template's.
    """

    draft: PreparedDraft
    goal: PreparedGoal
    init: Bools
    groups: Ints
    operators: Sequence[tuple[str, ...]]


@final
class Template:
    """A grounded problem whose initial facts of some predicates, ``free``, are left open.

    ``numbers`` are the facts, basic and derived, by their names. At most one fact of each of the ``groups``,
    a number for each, -1 for none, holds in any state.
    """

    def __init__(self, problem: Problem, free: Collection[str]) -> None:
        self.problem = problem
        self._grounding = Grounding(problem, free)
        self._facts = self._grounding.facts()
        self._names = self._grounding.name(range(len(self._facts.init)))
        known = self._names[: self._grounding.database.n_facts]
        self.numbers: dict[Fact, int] = {fact: i for i, fact in enumerate(known)}
        self.groups: Ints = np.full(len(known), -1, np.int32)
        self.fixed: Bools = self._facts.init & ~self._facts.free
        self._operators = self._grounding.operators()
        self._goals: OrderedDict[Expr, _Wanted] = OrderedDict()
        self._members: dict[ObjectType, Sequence[str]] = {}
        draft, facts = self._grounding.draft, self._facts
        self._draft = prepare(draft, facts.derived, facts.layer, current())

    def task(
        self,
        init: Bools,
        goal: Expr,
        relations: Collection[Fact] = (),
        bodies: Mapping[str, Predicate] = MappingProxyType({}),
    ) -> Task:
        """The task from a state to a ``goal`` over the objects of the problem.

        ``init`` is the truth of every fact of ``numbers``. A goal may name predicates that the problem does
        not have: static ``relations`` by their facts, and derived ones by their ``bodies``.
        """
        wanted = self._wanted(goal, relations, bodies)
        small = narrowed(self._draft, wanted.goal, init, init[:0], current())
        facts = map(wanted.names.__getitem__, small.kept.tolist())
        return task_of(small, tuple(facts), [self._operators[i] for i in small.chosen.tolist()])

    def narrowing(
        self,
        init: Bools,
        goal: Expr,
        relations: Collection[Fact] = (),
        bodies: Mapping[str, Predicate] = MappingProxyType({}),
    ) -> Narrowing:
        """What `task` is narrowed from, with the same ``init``, ``goal``, ``relations`` and ``bodies``."""
        wanted = self._wanted(goal, relations, bodies)
        return Narrowing(self._draft, wanted.goal, init, self.groups, self._operators)

    def members(self, type_: ObjectType) -> Sequence[str]:
        """The objects of a type."""
        if type_ not in self._members:
            problem = self.problem
            self._members[type_] = problem.domain.hierarchy.members(type_, problem.universe)
        return self._members[type_]

    def _wanted(self, goal: Expr, relations: Collection[Fact], bodies: Mapping[str, Predicate]) -> _Wanted:
        """The draft with a goal; the goals of problems are often the same."""
        if goal not in self._goals:
            self._goals[goal] = self._with_goal(_Goal(self, len(self._facts.init), relations, bodies), goal)
            if len(self._goals) > KEPT:
                self._goals.popitem(last=False)
        return self._goals[goal]

    def _with_goal(self, compiler: _Goal, goal: Expr) -> _Wanted:
        literals = compiler.condition(goal, {}, True)
        prepared = prepare_goal(
            np.array(literals or (), np.int32),
            [(head, body) for head, bodies in compiler.rules.items() for body in bodies],
            possible=literals is not None,
            n_facts=len(compiler.rules),
            layer=int(self._facts.layer.max(initial=0)) + 1,
        )
        return _Wanted(prepared, [*self._names, *(("goal", str(head)) for head in compiler.rules)])

    def state(self, true: Iterable[Fact]) -> Bools:
        """The initial state in which these of the free facts are true; unknown ones are left out."""
        init = self.fixed[: len(self.numbers)].copy()
        places = [self.numbers[fact] for fact in true if fact in self.numbers]
        init[places] = True
        return init


@final
@dataclass(slots=True)
class _Goal:
    """Writes a formula out over the objects of a template; a disjunction becomes a derived fact."""

    template: Template
    first: int
    relations: Collection[Fact]
    bodies: Mapping[str, Predicate]
    rules: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    _known: dict[tuple[tuple[int, ...], ...], int] = field(default_factory=dict)

    def condition(self, expr: Expr, scope: Mapping[str, str], positive: bool) -> Condition:
        """What makes an expression true, or false if not ``positive``."""
        current().tick()
        match expr:
            case Value():
                return () if bool(expr.value) == positive else None
            case Apply():
                return self._atom(expr, scope, positive)
            case Logic(op="not"):
                return self.condition(expr.args[0], scope, not positive)
            case Logic(op="implies"):
                left, right = expr.args
                parts = [self.condition(left, scope, not positive), self.condition(right, scope, positive)]
                return self._some(parts) if positive else _all(parts)
            case Logic():
                parts = [self.condition(a, scope, positive) for a in expr.args]
                return _all(parts) if (expr.op == "and") == positive else self._some(parts)
            case Quantified():
                members = [self._members(v) for v in expr.variables]
                names = [v.name for v in expr.variables]
                parts = [
                    self.condition(expr.body, {**scope, **dict(zip(names, row, strict=True))}, positive)
                    for row in product(*members)
                ]
                return _all(parts) if (expr.op == "forall") == positive else self._some(parts)
            case Equal() if isinstance(expr.left.type, ObjectType):
                same = _name(expr.left, scope) == _name(expr.right, scope)
                return () if same == positive else None
            case Equal() if expr.left.type == BOOL:
                ways = [
                    _all(
                        [
                            self.condition(expr.left, scope, s),
                            self.condition(expr.right, scope, s == positive),
                        ]
                    )
                    for s in (True, False)
                ]
                return self._some(ways)
            case _:
                raise AssertionError(f"{type(expr).__name__} is no formula over objects")

    def _members(self, variable: Variable) -> Sequence[str]:
        assert isinstance(variable.type, ObjectType)
        return self.template.members(variable.type)

    def _atom(self, atom: Apply, scope: Mapping[str, str], positive: bool) -> Condition:
        name, row = atom.predicate, [_name(a, scope) for a in atom.args]
        fact = self.template.numbers.get((name, *row))
        if fact is None and name not in self.template.problem.domain.predicates:
            own = self.bodies.get(name)
            if own is None or own.body is None:
                return () if ((name, *row) in self.relations) == positive else None
            inner = {p.name: o for p, o in zip(own.parameters, row, strict=True)}
            return self.condition(own.body, inner, positive)
        if fact is None:
            held = (name, *row) in self.relations
            return () if held == positive else None
        return (2 * fact + (not positive),)

    def _some(self, parts: Iterable[Condition]) -> Condition:
        ways = tuple(sorted({part for part in parts if part is not None}))
        if not ways:
            return None
        if len(ways) == 1 or ways[0] == ():
            return ways[0]
        if ways not in self._known:
            fact = self.first + len(self.rules)
            self._known[ways] = fact
            self.rules[fact] = ways
        return (2 * self._known[ways],)


def _all(parts: Iterable[Condition]) -> Condition:
    literals: set[int] = set()
    for part in parts:
        if part is None:
            return None
        literals.update(part)
    return tuple(sorted(literals))


def _name(expr: Expr, scope: Mapping[str, str]) -> str:
    if isinstance(expr, Variable):
        return scope[expr.name]
    assert isinstance(expr, Object)
    return expr.name
