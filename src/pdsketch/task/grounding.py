"""From a problem to a grounded task, in one page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Final, final

import numpy as np

from pdsketch.budget import DEFAULT_MEGABYTES, UNLIMITED, Budget, OutOfMemoryError, current
from pdsketch.core import Bools, Draft, Ints, Longs, Narrowed, PreparedDraft, PreparedGoal, Task, narrow
from pdsketch.lang import Error, Fact, Problem, Span, components, dataclass
from pdsketch.task.bodies import Bodies, bodies_of
from pdsketch.task.compiler import compile_rules
from pdsketch.task.database import Database, too_large
from pdsketch.task.draft import Drafter
from pdsketch.task.formula import Atom, Formula, atoms_of, parts_of
from pdsketch.task.fragment import classify
from pdsketch.task.normal import Vocabulary, normalize
from pdsketch.task.numeric import Numbers
from pdsketch.task.program import JoinRelation, relation_of
from pdsketch.task.residue import Bindings, Residues
from pdsketch.task.rules import Rule, Rules, is_mark

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
class Facts:
    """What is known of each fact of a draft: its initial truth, whether it is derived, and its layer.

    ``free``: it may as well be false in the beginning.
    """

    init: Bools
    free: Bools
    derived: Bools
    layer: Ints


def simplify(draft: Draft, facts: Facts, budget: Budget) -> Narrowed:
    """A draft from its initial state to its own goal."""
    goal = PreparedGoal(draft.goal, possible=draft.possible)
    return narrow(
        PreparedDraft(draft, facts.derived, facts.layer, budget), goal, facts.init, facts.free, budget
    )


@final
@dataclass(frozen=True, slots=True)
class _Relations:
    """The relations of a problem, and the facts of its initial state."""

    by_name: dict[str, JoinRelation]
    static: list[tuple[str, tuple[int, ...]]]
    fluent: list[tuple[str, tuple[int, ...]]]


@final
class Grounding:
    """A problem of the classical fragment, and what grounding finds out about it."""

    def __init__(self, problem: Problem, free: Collection[str] = ()) -> None:
        """Ground a problem. Facts of the predicates ``free`` may be true or false in the beginning.

        Those that are true in the problem's initial state are the ones that are possible; the
        task then stands for all initial states in which only such facts are true.
        """
        budget = _allowed()
        self.problem = problem
        self.free = frozenset(free)
        self.words = Vocabulary(problem)
        self.rules, self.goal = _all_rules(problem, self.words, budget)
        relations = _relations(problem, self.words, self.rules, self.goal, self.free)
        bodies = _bodies(relations, self.words, self.rules)
        program = compile_rules(self.words, relations.by_name, bodies.rules, bodies.bodies, budget)
        self.database = Database(program, relations.by_name, relations.static, relations.fluent)
        self.database.saturate(bodies.rules, budget, _spans(problem))
        self._counts = self.database.counts(bodies.rules)
        numbers = Numbers(problem, self.words)
        self.residues = Residues(self.words, self.database, numbers, budget)
        with self._named():
            goal = self.residues.ground(self.goal, Bindings({}, 1))
            drafter = Drafter(problem, bodies, self.residues, numbers, budget)
            self.draft: Draft = drafter.draft(goal)
            self._tables = drafter.tables

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Within, memory that does not suffice is told with the schema that takes the most."""
        try:
            yield
        except OutOfMemoryError as limit:
            if limit.args:
                raise
            raise too_large(self._counts, _spans(self.problem), _allowed()) from None

    @cached_property
    def small(self) -> Narrowed:
        """What is left of the draft."""
        with self._named():
            return simplify(self.draft, self.facts(), _allowed())

    def order(self) -> Longs:
        """The derived facts, each behind those that its axioms read: none of them is recursive."""
        facts = self.facts()
        derived = np.flatnonzero(facts.derived)
        return derived[np.argsort(facts.layer[derived], kind="stable")]

    def facts(self) -> Facts:
        """Initial truth, derivedness and layer of every fact of the draft."""
        n_known, n_new = self.database.n_facts, len(self.residues.facts)
        layers = _layers(self.rules.rules, self.residues.parents)
        names = self.database.names
        layer = np.array([layers.get(name, 0) for name in names], np.int32)[self.database.relation]
        derived = np.array([name in layers for name in names], np.bool_)[self.database.relation]
        new = np.array([layers[name] for name in self.residues.owners], np.int32)
        init = np.zeros(n_known + n_new, np.bool_)
        init[: self.database.n_init] = True
        free = np.zeros(n_known + n_new, np.bool_)
        if self.free:
            of_free = np.array([name in self.free for name in names], np.bool_)[self.database.relation]
            free[:n_known] = of_free & init[:n_known]
        return Facts(
            init, free, np.concatenate([derived, np.ones(n_new, np.bool_)]), np.concatenate([layer, new])
        )

    def name(self, facts: Sequence[int]) -> list[Fact]:
        """The names of facts of the draft."""
        objects, names, n = self.words.names, self.database.names, self.database.n_facts
        arity = [self.database.relations[name].arity for name in names]
        relations, arguments = self.database.relation, self.database.args
        found: list[Fact] = []
        for first in range(0, len(facts), _NAMED):
            current().check()
            some = facts[first : first + _NAMED]
            known = [f for f in some if f < n]
            rows = zip(relations[known].tolist(), arguments[known].tolist(), strict=True)
            named = iter([(names[r], *(objects[o] for o in args[: arity[r]])) for r, args in rows])
            found += [next(named) if f < n else self.residues.facts[f - n] for f in some]
        return found

    @property
    def solvable(self) -> bool:
        """Whether the goal is within reach of the relaxed task; if not, `explain` says why."""
        return self.small.solvable

    def task(self) -> Task:
        """The task with its names."""
        with self._named():
            return self.named(self.small)

    def named(self, small: Narrowed) -> Task:
        """A simplified draft with its names."""
        # Names take more than what they name.
        _allowed().reserve(_NAME_BYTES * (len(small.kept) + len(small.chosen)))
        return task_of(small, tuple(self.name(small.kept.tolist())), self.operators(small.chosen))

    def operators(self, chosen: Ints | None = None) -> list[tuple[str, ...]]:
        """The names of operators of the draft, in their order; of all of them if none are chosen."""
        found: list[tuple[str, ...]] = []
        chosen = np.arange(len(self.draft.rules), dtype=np.int32) if chosen is None else chosen
        rules, origins = self.draft.rules[chosen], self.draft.origins[chosen]
        objects = np.array([*self.words.names, ""], object)
        numbers, starts = np.unique(rules, return_index=True)  # operators stand in the order of their rules
        ends = np.append(starts, len(rules)).tolist()
        for number, (first, last) in zip(numbers.tolist(), pairwise(ends), strict=True):
            rule = self.rules.rules[number]
            for at in range(first, last, _NAMED):
                current().check()
                own = self._tables[number][origins[at : min(at + _NAMED, last)], : rule.n_named]
                columns = [objects[own[:, i]].tolist() for i in range(rule.n_named)]
                found += zip([rule.name] * len(own), *columns, strict=True)
        return found


def task_of(small: Narrowed, facts: tuple[Fact, ...], operators: Sequence[tuple[str, ...]]) -> Task:
    """A simplified draft with the names of its facts and operators."""
    if small.solvable:
        return replace(small.task, facts=facts, operators=tuple(operators))
    # One fact that nothing makes true stands for whatever part of the goal is out of reach.
    init, goal = np.zeros(1, np.bool_), np.zeros(1, np.int32)
    return replace(small.task, facts=(UNREACHABLE,), n_basic=1, init=init, goal=goal)


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
    changed = {a.predicate for rule in rules.rules for a in (*rule.heads, *rule.deletes)} | set(free)
    changed |= {name for component in domain.components for name in component} | set(rules.invented)
    mentioned = dict.fromkeys([*(a.predicate for a in atoms_of(goal)), *sorted(free)])
    for rule in rules.rules:
        for item in rule.items:
            mentioned.update(dict.fromkeys(a.predicate for a in atoms_of(item)))
        mentioned.update(dict.fromkeys(a.predicate for a in (*rule.heads, *rule.deletes)))
    init: dict[str, list[tuple[int, ...]]] = {name: [] for name in mentioned}
    for (name, *args), value in problem.init.items():
        if value is True and name in init:
            init[name].append(tuple(words.objects[a] for a in args))
    by_name = {}
    for number, name in enumerate(mentioned):
        sizes = _sizes(problem, words, rules, name)
        by_name[name] = relation_of(number, len(sizes), name not in changed, init[name], sizes)
    static = [(n, f) for n, facts in init.items() if n not in changed for f in facts]
    fluent = [(n, f) for n, facts in init.items() if n in changed for f in facts]
    return _Relations(by_name, static, fluent)


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


def _layers(rules: Sequence[Rule], parents: Mapping[str, Formula]) -> dict[str, int]:
    """A layer for each derived relation: above those that it reads, but for those that read it in turn.

    ``parents`` are the disjunctions that became relations, by name.
    """
    bodies: dict[str, list[Formula]] = {name: [formula] for name, formula in parents.items()}
    for rule in rules:
        if rule.kind == "axiom":
            bodies.setdefault(rule.name, []).extend(rule.items)
    names: dict[Formula, list[str]] = {}
    for name, formula in parents.items():
        names.setdefault(formula, []).append(name)
    reads: dict[str, set[str]] = {name: set() for name in bodies}
    for name, formulas in bodies.items():
        for part in (part for formula in formulas for part in parts_of(formula)):
            found = [part.predicate] if isinstance(part, Atom) else names.get(part, ())
            reads[name].update(found)
    derived = {name: sorted(found & bodies.keys()) for name, found in reads.items()}
    return {name: layer for layer, own in enumerate(components(derived)) for name in own}
