"""A task for many initial states and goals: ground once, then narrowed to each of them.

The joins, which cost most, see every fact that can be true in some state. A goal is ground over these facts,
as a problem of its own without actions. To narrow the task, what cannot happen from one state, and what does
not matter for one goal, is left out, as grounding does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np

from pdsketch.budget import current
from pdsketch.core import CSR, Bools, GroundDraft, Ints, PreparedGoal, Task, gather, narrow
from pdsketch.lang import Domain, Expr, Fact, Hierarchy, ObjectType, Predicate, Problem, components, names_in
from pdsketch.task.grounding import Grounding, task_of

KEPT: Final = 32
"""How many goals are kept for a template."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class GoalFormula:
    """A goal over the objects of a template, and what it is said in beside the template's own predicates.

    ``predicates`` are static relations, with their ``facts``, and derived predicates, none of them recursive;
    ``constants`` are objects that these are about.
    """

    formula: Expr
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    facts: Collection[Fact] = ()
    constants: Mapping[str, ObjectType] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A goal, and the names of facts, those of the goal behind those of the draft."""

    goal: PreparedGoal
    names: list[Fact]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Narrowing:
    """A draft with a goal, and an initial state to narrow it to; ``operators`` are the draft's."""

    draft: GroundDraft
    goal: PreparedGoal
    init: Bools
    operators: Sequence[tuple[str, ...]]


@final
class Template:
    """A grounded problem whose initial facts of some predicates, ``free``, are left open.

    ``numbers`` are the facts, basic and derived, by their names.
    """

    def __init__(self, problem: Problem, free: Collection[str]) -> None:
        self.problem = problem
        self._grounding = Grounding(problem, free)
        self._draft = self._grounding.draft
        self._names = self._grounding.name(range(self._draft.n_facts))
        known = self._names[: self._grounding.n_known]
        self.numbers: dict[Fact, int] = {fact: i for i, fact in enumerate(known)}
        self._by_predicate: dict[str, list[Fact]] = {}
        for fact in known:
            self._by_predicate.setdefault(fact[0], []).append(fact)
        self.fixed: Bools = np.zeros(len(known), np.bool_)
        self.fixed[: self._grounding.n_init] = True
        free = np.array(self._grounding.free_facts, np.bool_)
        self.fixed[: len(free)] &= ~free
        self._operators = self._grounding.operators()
        self._goals: OrderedDict[GoalFormula, _Wanted] = OrderedDict()
        self._layer = max(self._draft.layers, default=0) + 1  # above all

    def task(self, init: Bools, goal: GoalFormula) -> Task:
        """The task from a state to a ``goal``; ``init`` is the truth of every fact of ``numbers``."""
        wanted = self._wanted(goal)
        small = narrow(self._draft, wanted.goal, init, init[:0], current())
        facts = map(wanted.names.__getitem__, small.kept)
        return task_of(small, tuple(facts), [self._operators[i] for i in small.chosen])

    def narrowing(self, init: Bools, goal: GoalFormula) -> Narrowing:
        """What `task` is narrowed from, with the same ``init`` and ``goal``."""
        wanted = self._wanted(goal)
        return Narrowing(self._draft, wanted.goal, init, self._operators)

    def _wanted(self, goal: GoalFormula) -> _Wanted:
        """The draft with a goal; the goals of problems are often the same."""
        if goal not in self._goals:
            self._goals[goal] = self._ground(goal)
            if len(self._goals) > KEPT:
                self._goals.popitem(last=False)
        return self._goals[goal]

    def _ground(self, goal: GoalFormula) -> _Wanted:
        """A goal over the facts of the template, each of which may be true or false."""
        bodies = [p.body for p in goal.predicates.values() if p.body is not None]
        mentioned = {name for body in (goal.formula, *bodies) for name in names_in(body)}
        given = mentioned - goal.predicates.keys()
        facts = [fact for name in sorted(given) for fact in self._by_predicate.get(name, ())]
        init = {fact: self.problem.init.get(fact, True) for fact in facts}
        static = {name for name, predicate in goal.predicates.items() if predicate.body is None}
        predicates = self.problem.domain.predicates
        static |= {name for name, p in predicates.items() if name in given and not p.type.is_bool}
        problem = Problem(
            "goal",
            _without_actions(self.problem.domain, given, goal),
            self.problem.source,
            {},
            {**self.problem.universe, **goal.constants},
            {**init, **dict.fromkeys(goal.facts, True)},
            goal.formula,
        )
        return self._renumbered(Grounding(problem, mentioned - static))

    def _renumbered(self, grounding: Grounding) -> _Wanted:
        """A goal that is ground, over the numbers of the template's facts and those behind them."""
        draft, n = grounding.draft, self._draft.n_facts
        given, layers = grounding.n_init, np.array(draft.layers)
        derived = np.flatnonzero(np.frombuffer(draft.derived, np.bool_))
        # Each behind those that its axioms read: none of them is recursive.
        derived = derived[np.argsort(layers[derived], kind="stable")]
        places = np.full(draft.n_facts, -1, np.int32)
        places[:given] = [self.numbers.get(name, -1) for name in grounding.name(range(given))]
        places[derived] = np.arange(n, n + len(derived))
        of, starts, items = (np.array(part, np.int32) for part in draft.axioms)
        heads = places[of]
        order = np.argsort(heads, kind="stable")
        bodies = gather(CSR(starts, items), order)
        goal = PreparedGoal(
            _renamed(np.array(draft.goal, np.int32), places),
            heads[order],
            CSR(bodies.starts, _renamed(bodies.items, places)),
            possible=draft.possible,
            n_facts=len(derived),
            layer=self._layer,
        )
        return _Wanted(goal, [*self._names, *(("goal", str(number)) for number in range(len(derived)))])

    def state(self, true: Iterable[Fact]) -> Bools:
        """The initial state in which these of the free facts are true; unknown ones are left out."""
        init = self.fixed.copy()
        places = [self.numbers[fact] for fact in true if fact in self.numbers]
        init[places] = True
        return init


def _renamed(literals: Ints, places: Ints) -> Ints:
    found: Ints = 2 * places[literals >> 1] + (literals & 1)
    return found


def _without_actions(domain: Domain, given: Collection[str], goal: GoalFormula) -> Domain:
    """A domain of the predicates whose facts are ``given``, as they are, and those of the goal."""
    own = {
        name: replace(predicate, role="observed", body=None)
        for name, predicate in domain.predicates.items()
        if name in given
    }
    bodies = {name: p.body for name, p in goal.predicates.items() if p.body is not None}
    reads = {name: [other for other in bodies if other in names_in(body)] for name, body in bodies.items()}
    hierarchy, types = domain.hierarchy, {name for type_ in goal.constants.values() for name in type_.names}
    if types - hierarchy.parents.keys():
        hierarchy = Hierarchy({**hierarchy.parents, **dict.fromkeys(sorted(types), ("object",))})
    return replace(
        domain,
        hierarchy=hierarchy,
        predicates={**own, **goal.predicates},
        actions={},
        components=tuple(components(reads)),
        recursive=frozenset(),
    )
