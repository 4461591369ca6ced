"""From a problem to a grounded task, in one page."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, final

from pdsketch.budget import DEFAULT_MEGABYTES, UNLIMITED, Budget, OutOfMemoryError, current
from pdsketch.core import GroundDraft, Join, Narrowed, PreparedGoal, Task, WrongCostError, narrow
from pdsketch.lang import LARGEST_COST, Error, Fact, Problem, Span, dataclass, error
from pdsketch.task.bodies import Bodies, bodies_of
from pdsketch.task.compiler import compile_rules
from pdsketch.task.formula import Formula, Test, atoms_of, parts_of
from pdsketch.task.fragment import classify
from pdsketch.task.normal import Vocabulary, normalize
from pdsketch.task.numeric import functions_in
from pdsketch.task.program import JoinRelation, relation_of
from pdsketch.task.residue import too_large
from pdsketch.task.rules import Rules, is_mark

UNREACHABLE: Final[Fact] = ("unreachable-goal",)
"""The one fact of a task whose goal is out of reach."""

_NAME_BYTES = 120
"""About what the name of a fact or an operator takes."""

_NAMED = 1 << 15
"""Facts or operators that are named at a time."""


def ground(problem: Problem) -> Task:
    """The grounded task of a problem: join, draft, simplify, name.

    Raises `Error` where the problem is outside the classical fragment, and `LimitError`
    at the limits of the current budget.
    """
    if diagnostics := classify(problem).beyond:
        raise Error(diagnostics)
    return Grounding(problem).task()


@final
@dataclass(frozen=True, slots=True)
class _Relations:
    """The relations of a problem, and the facts of its initial state; ``values`` are those of static ones."""

    by_name: dict[str, JoinRelation]
    static: list[tuple[str, tuple[int, ...]]]
    values: array[float]
    fluent: list[tuple[str, tuple[int, ...]]]


@final
class Grounding:
    """A problem of the classical fragment, and what grounding finds out about it.

    ``n_init`` facts are those of the initial state, ``n_known`` have a relation of their own; behind them are
    those that stand for disjunctions.
    """

    def __init__(self, problem: Problem, free: Collection[str] = ()) -> None:
        """Ground a problem. Facts of the predicates ``free`` may be true or false in the beginning.

        Those that are true in the problem's initial state are the ones that are possible; the
        task then stands for all initial states in which only such facts are true.
        """
        budget = _allowed()
        self.problem = problem
        self.free = frozenset(free)
        self.words = Vocabulary(problem)
        self.rules, goal = _all_rules(problem, self.words, budget)
        relations = _relations(problem, self.words, self.rules, goal, self.free)
        self._bodies = _bodies(relations, self.words, self.rules)
        self.relations = relations.by_name
        compiled = compile_rules(problem, self.words, relations.by_name, self._bodies, goal, budget)
        self.program = compiled.program
        self._names = compiled.names
        self.n_init = len(relations.static) + len(relations.fluent)
        facts = _rows([*relations.static, *relations.fluent], self.program.relations, self.program.n_args)
        self._join = Join(self.program, facts, len(relations.static), budget)
        with self._named():
            self._saturate(budget)
            self.draft = self._drafted(relations.values, budget)

    def _saturate(self, budget: Budget) -> None:
        """Derive everything that can be derived."""
        self._join.run(budget)

    def _drafted(self, values: array[float], budget: Budget) -> GroundDraft:
        try:
            return self._join.draft(values, LARGEST_COST, budget)
        except WrongCostError as wrong:
            raise self._wrong_cost(wrong) from None

    def _wrong_cost(self, wrong: WrongCostError) -> Error:
        action = self.problem.domain.actions[self._bodies.rules[wrong.rule].name]
        step = " ".join(
            [action.name, *(self.words.names[o] for o in wrong.objects[: len(action.parameters)])]
        )
        span = action.cost.span if action.cost is not None else None
        return error(
            "negative-cost" if wrong.cost < 0 else "cost-too-large",
            f"`({step})` costs {wrong.cost:g}, and costs "
            + ("must not be negative" if wrong.cost < 0 else f"are {LARGEST_COST:g} at most"),
            span or action.span,
            help=f"make every increase of `total-cost` zero or more, and {LARGEST_COST:g} at most",
        )

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Within, memory that does not suffice is told with the schema that takes the most."""
        try:
            yield
        except OutOfMemoryError as limit:
            if limit.args:
                raise
            found: dict[str, int] = {}
            for rule, count in zip(self._bodies.rules, self._join.counts(), strict=True):
                found[rule.name] = found.get(rule.name, 0) + count
            raise too_large(found, _spans(self.problem), _allowed()) from None

    @cached_property
    def small(self) -> Narrowed:
        """What is left of the draft."""
        with self._named():
            goal = PreparedGoal(self.draft.goal, possible=self.draft.possible)
            return narrow(self.draft, goal, self.init, self.free_facts, _allowed())

    @property
    def init(self) -> array[int]:
        """The truth of the first facts in the beginning; all others are false."""
        return array("B", b"\1" * self.n_init)

    @property
    def free_facts(self) -> array[int]:
        """Which of the first facts may as well be false in the beginning."""
        if not self.free:
            return array("B")
        rows = self._join.facts(array("i", range(self.n_init)))
        return array("B", [self._names[row[0]] in self.free for row in rows])

    @property
    def n_known(self) -> int:
        """How many facts have a relation of their own."""
        return self._join.n_facts

    def name(self, facts: Sequence[int]) -> list[Fact]:
        """The names of facts of the draft."""
        objects, names = (*self.words.names, ""), self._names
        found: list[Fact] = []
        for first in range(0, len(facts), _NAMED):
            current().check()
            for number, *row in self._join.facts(array("i", facts[first : first + _NAMED])):
                end = row.index(-1) if row and row[-1] < 0 else len(row)
                found.append((names[number], *(objects[o] for o in row[:end])))
        return found

    def facts_of(self, predicate: str) -> dict[int, tuple[int, ...]]:
        """The facts of a relation by number, each with its objects."""
        if predicate not in self._rows_of:
            return {}
        return self._rows_of[predicate]

    @cached_property
    def _rows_of(self) -> dict[str, dict[int, tuple[int, ...]]]:
        found: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in self.relations}
        for fact, (number, *row) in enumerate(self._join.facts(array("i", range(self.n_known)))):
            name = self._names[number]
            found[name][fact] = tuple(row[: self.relations[name].arity])
        return found

    @property
    def solvable(self) -> bool:
        """Whether the goal is within reach of the relaxed task; if not, `explain` says why."""
        return self.small.solvable

    def task(self) -> Task:
        """The task with its names."""
        with self._named():
            small = self.small
            # Names take more than what they name.
            _allowed().reserve(_NAME_BYTES * (len(small.kept) + len(small.chosen)))
            return task_of(small, tuple(self.name(small.kept)), self.operators(small.chosen))

    def operators(self, chosen: Sequence[int] | None = None) -> list[tuple[str, ...]]:
        """The names of operators of the draft, in their order; of all of them if none are chosen."""
        chosen = range(self.draft.n_operators) if chosen is None else chosen
        objects, rules = self.words.names, self._bodies.rules
        found: list[tuple[str, ...]] = []
        for first in range(0, len(chosen), _NAMED):
            current().check()
            for number, *row in self._join.operators(array("i", chosen[first : first + _NAMED])):
                rule = rules[number]
                found.append((rule.name, *(objects[o] for o in row[: rule.n_named])))
        return found


def task_of(small: Narrowed, facts: tuple[Fact, ...], operators: Sequence[tuple[str, ...]]) -> Task:
    """A simplified draft with the names of its facts and operators."""
    if small.solvable:
        return replace(small.task, facts=facts, operators=tuple(operators))
    import numpy as np

    # One fact that nothing makes true stands for whatever part of the goal is out of reach.
    init, goal = np.zeros(1, np.bool_), np.zeros(1, np.int32)
    return replace(small.task, facts=(UNREACHABLE,), n_basic=1, init=init, goal=goal)


def _rows(
    facts: Sequence[tuple[str, tuple[int, ...]]], addresses: Mapping[str, int], n_args: int
) -> array[int]:
    """Facts as the joins begin with them."""
    rows = array("i")
    for name, args in facts:
        rows.append(addresses[name])
        rows.extend(args)
        rows.extend([-1] * (n_args - len(args)))
    return rows


def _allowed() -> Budget:
    """The budget of the call that goes on. None is kept: a grounding may serve many calls."""
    budget = current()
    return Budget(megabytes=DEFAULT_MEGABYTES) if budget is UNLIMITED else budget


def _all_rules(problem: Problem, words: Vocabulary, budget: Budget) -> tuple[Rules, Formula]:
    rules = Rules(words)
    for action in problem.domain.actions.values():
        budget.tick()
        rules.add_action(action)
    for component in problem.domain.components:
        for name in component:
            budget.tick()
            rules.add_derived(problem, name)
    goal = rules.residual(normalize(problem.goal, {}, words))
    return rules, goal


def _relations(
    problem: Problem, words: Vocabulary, rules: Rules, goal: Formula, free: Collection[str]
) -> _Relations:
    """The predicates that rules mention; static are those that no rule changes, and that are not free."""
    domain = problem.domain
    functions = dict.fromkeys(_functions(problem, rules, goal))
    changed = {a.predicate for rule in rules.rules for a in (*rule.heads, *rule.deletes)} | set(free)
    changed |= {name for component in domain.components for name in component} | set(rules.invented)
    mentioned = dict.fromkeys([*(a.predicate for a in atoms_of(goal)), *sorted(free)])
    for rule in rules.rules:
        for item in rule.items:
            mentioned.update(dict.fromkeys(a.predicate for a in atoms_of(item)))
        mentioned.update(dict.fromkeys(a.predicate for a in (*rule.heads, *rule.deletes)))
    mentioned.update(dict.fromkeys(functions))
    init: dict[str, dict[tuple[int, ...], Any]] = {name: {} for name in mentioned}
    for (name, *args), value in problem.init.items():
        if name in init and (value is True or name in functions):
            init[name][tuple(words.objects[a] for a in args)] = value
    by_name = {}
    for number, name in enumerate(mentioned):
        sizes = _sizes(problem, words, rules, name)
        by_name[name] = relation_of(number, len(sizes), name not in changed, [*init[name]], sizes)
    static = [(n, f) for n, facts in init.items() if n not in changed for f in facts]
    values = array("d", [init[name][fact] for name, fact in static])
    fluent = [(n, f) for n, facts in init.items() if n in changed for f in facts]
    return _Relations(by_name, static, values, fluent)


def _functions(problem: Problem, rules: Rules, goal: Formula) -> Iterator[str]:
    """The functions whose values conditions and costs read."""
    for formula in (goal, *(item for rule in rules.rules for item in rule.items)):
        for part in parts_of(formula):
            if isinstance(part, Test):
                yield from functions_in(part.expr)
    if problem.metric == "cost":
        for action in problem.domain.actions.values():
            if action.cost is not None:
                yield from functions_in(action.cost)


def _bodies(relations: _Relations, words: Vocabulary, rules: Rules) -> Bodies:
    """What the joins match; the relations of parts are added to the others."""
    bodies = bodies_of(rules.rules, {name: relation.static for name, relation in relations.by_name.items()})
    for name, variables in bodies.relations.items():
        sizes = [len(words.members(words.types[v])) for v in variables]
        relations.by_name[name] = relation_of(len(relations.by_name), len(sizes), False, (), sizes)
    return bodies


def _sizes(problem: Problem, words: Vocabulary, rules: Rules, name: str) -> list[int]:
    """How many objects each argument of a relation ranges over."""
    if name in rules.invented:
        types = [words.types[v] for v in rules.invented[name]]
    elif is_mark(name):
        types = [p.type for p in problem.domain.actions[name[1:]].parameters]  # type: ignore[misc]
    else:
        types = [p.type for p in problem.domain.predicates[name].parameters]  # type: ignore[misc]
    return [len(words.members(t)) for t in types]


def _spans(problem: Problem) -> Mapping[str, Span | None]:
    domain = problem.domain
    spans: dict[str, Span | None] = {name: p.span for name, p in domain.predicates.items()}
    return {**spans, **{name: action.span for name, action in domain.actions.items()}}
