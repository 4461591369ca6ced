"""Actions, effects and derived predicates become rules over conjunctions.

A rule's conditions are literals, which joins can use, and *residues*
(universal and disjunctive conditions), which are ground afterwards. Existential
quantifiers become variables of the rule, small disjunctions several rules;
where that would multiply operators, a new derived predicate is invented.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import product
from math import prod
from typing import Literal as OneOf, final

from pdsketch.lang import TRUE as ALWAYS, Action, Expr, Logic, Problem, Update, Value, dataclass
from pdsketch.task.formula import (
    Atom,
    Conjunction,
    Disjunction,
    Every,
    Formula,
    Literal,
    Same,
    Some,
    Test,
    both,
    either,
    variables_of,
)
from pdsketch.task.normal import Scope, Vocabulary, normalize

SPLIT_ACTIONS = 8
"""An action is split into at most so many operators for its disjunctions."""

SPLIT_AXIOMS = 64
"""A derived predicate is split into at most so many rules."""

SPLIT_EXISTS = 256
"""An existential quantifier over more combinations becomes a derived predicate."""

Item = Literal | Every
"""A condition of a rule. ``Every((), φ)`` keeps φ whole: it is not split."""


@final
@dataclass(frozen=True, slots=True)
class Clause:
    """A conjunction under existentially quantified variables."""

    variables: tuple[str, ...]
    items: tuple[Item, ...]


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """If the conditions hold for the variables, so may the heads.

    - ``action``: an operator; ``heads`` are what it adds unconditionally, then
      the mark of the action if it has other effects; ``deletes`` what it deletes.
    - ``effect``: a conditional or quantified effect; its first condition is the
      mark of its action.
    - ``axiom``: one way to derive its head.
    - ``part``: some conditions of a wide rule together, for the joins alone (see `bodies`).

    ``name`` is that of the action or predicate, ``n_named`` how many variables
    are its own parameters.
    """

    kind: OneOf["action", "effect", "axiom", "part"]
    name: str
    variables: tuple[str, ...]
    n_named: int
    items: tuple[Item, ...]
    heads: tuple[Atom, ...]
    deletes: tuple[Atom, ...] = ()


def mark(action: str) -> str:
    """The relation of the applicable instances of an action."""
    return f"@{action}"


def is_mark(relation: str) -> bool:
    """Whether this is the relation of the applicable instances of an action, whose name is the rest."""
    return relation.startswith("@")


@final
@dataclass(slots=True)
class Rules:
    """All rules of a problem, and the predicates that were invented on the way."""

    words: Vocabulary
    rules: list[Rule] = field(default_factory=list)
    invented: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add_action(self, action: Action) -> None:
        """An action's rules: one for each way to meet its precondition, and for each conditional effect."""
        params, scope = self.words.bind(action.parameters, {})
        condition = normalize(action.precondition, scope, self.words)
        adds, deletes, conditional = self._effects(action.effects, scope)
        if conditional:
            adds.append(Atom(mark(action.name), params))
        ways = self.clauses(condition, SPLIT_ACTIONS, SPLIT_EXISTS)
        for clause in ways:
            variables = params + clause.variables
            self.rules.append(
                Rule("action", action.name, variables, len(params), clause.items, tuple(adds), tuple(deletes))
            )
        for names, when, group in conditional if ways else ():
            for clause in self.clauses(when, SPLIT_AXIOMS):
                items = (Atom(mark(action.name), params), *clause.items)
                variables = params + names + clause.variables
                plus = tuple(a for a in group if a.positive)
                minus = tuple(Atom(a.predicate, a.args) for a in group if not a.positive)
                self.rules.append(Rule("effect", action.name, variables, len(params), items, plus, minus))

    def _effects(
        self, effects: Sequence[Update], scope: Scope
    ) -> tuple[list[Atom], list[Atom], list[tuple[tuple[str, ...], Formula, list[Atom]]]]:
        """Unconditional adds and deletes, and the other effects, grouped by variables and condition."""
        adds: list[Atom] = []
        deletes: list[Atom] = []
        groups: dict[tuple[object, ...], list[Update]] = {}
        for update in (simple for effect in effects for simple in _simple(effect)):
            if not update.variables and update.condition == ALWAYS:
                atom = self._target(update, scope)
                (adds if atom.positive else deletes).append(Atom(atom.predicate, atom.args))
            else:
                groups.setdefault((update.variables, update.condition), []).append(update)
        conditional = []
        for updates in groups.values():
            names, inner = self.words.bind(updates[0].variables, scope)
            when = normalize(updates[0].condition, inner, self.words)
            conditional.append((names, when, [self._target(u, inner) for u in updates]))
        return adds, deletes, conditional

    def _target(self, update: Update, scope: Scope) -> Atom:
        atom = normalize(update.target, scope, self.words, update.op == "add")
        assert isinstance(atom, Atom)
        return atom

    def add_derived(self, problem: Problem, name: str) -> None:
        """The rules of a derived predicate."""
        predicate = problem.domain.predicates[name]
        assert predicate.body is not None
        params, scope = self.words.bind(predicate.parameters, {})
        self._define(name, params, normalize(predicate.body, scope, self.words))

    def _define(self, name: str, params: tuple[str, ...], body: Formula) -> None:
        for part in body.parts if isinstance(body, Disjunction) else (body,):
            for clause in self.clauses(part, SPLIT_AXIOMS):
                head = Atom(name, params)
                variables = params + clause.variables
                self.rules.append(Rule("axiom", name, variables, len(params), clause.items, (head,)))

    def clauses(self, formula: Formula, budget: int, free_exists: int = 0) -> list[Clause]:
        """The formula as a disjunction of at most ``budget`` clauses.

        An existential quantifier over more than ``free_exists`` combinations of
        objects, if that is given, is not opened.
        """
        match formula:
            case Conjunction():
                parts = list(formula.parts)
                ways = [_ways(part) for part in parts]
                # The widest first; of equals, the one that is written first.
                for widest in sorted(range(len(parts)), key=lambda i: -ways[i]):
                    if prod(ways) <= budget:
                        break
                    parts[widest] = self.opaque(parts[widest])
                    ways[widest] = 1
                choices = product(*(self.clauses(part, budget, free_exists) for part in parts))
                return [
                    Clause(
                        tuple(v for clause in choice for v in clause.variables),
                        tuple(item for clause in choice for item in clause.items),
                    )
                    for choice in choices
                ]
            case Disjunction():
                if _ways(formula) > budget:
                    return self.clauses(self.opaque(formula), budget)
                return [c for part in formula.parts for c in self.clauses(part, budget, free_exists)]
            case Some():
                sizes = prod(len(self.words.members(self.words.types[v])) for v in formula.variables)
                if 0 < free_exists < sizes:
                    return [Clause((), (self.invent(formula),))]
                inner = self.clauses(formula.body, budget, free_exists)
                return [Clause(formula.variables + c.variables, c.items) for c in inner]
            case Every():
                return [Clause((), (Every(formula.variables, self.residual(formula.body)),))]
            case Atom() | Same() | Test():
                return [Clause((), (formula,))]

    def opaque(self, formula: Formula) -> Formula:
        """A formula as one condition: an invented atom where joins can find its instances, else a residue."""
        free = set(variables_of(formula))
        parts = formula.parts if isinstance(formula, Disjunction) else (formula,)
        if all(free <= _bound(part) for part in parts):
            return self.invent(formula)
        return Every((), self.residual(formula))

    def invent(self, formula: Formula) -> Atom:
        """An atom of a new derived predicate that holds exactly when the formula does."""
        free = variables_of(formula)
        word = "exists" if isinstance(formula, Some) else "or"
        name = f"{word}#{len(self.invented)}"
        self.invented[name] = free
        self._define(name, free, formula)
        return Atom(name, free)

    def residual(self, formula: Formula) -> Formula:
        """The formula with every existential quantifier in it replaced by an invented atom."""
        match formula:
            case Conjunction():
                return both(self.residual(part) for part in formula.parts)
            case Disjunction():
                return either(self.residual(part) for part in formula.parts)
            case Every():
                return Every(formula.variables, self.residual(formula.body))
            case Some():
                return self.invent(formula)
            case _:
                return formula


def _simple(update: Update) -> Iterable[Update]:
    """A Boolean assignment adds where its value is true and deletes where it is false.

    Where two of them disagree about a fact, true wins, as adds win over deletes.
    """
    if update.op != "assign":
        return [update]
    assert update.value is not None
    if isinstance(update.value, Value):
        op: OneOf["add", "delete"] = "add" if update.value.value else "delete"
        return [Update(op, update.target, None, update.variables, update.condition, update.span)]
    negated: Expr = Logic("not", (update.value,))
    return [
        Update("add", update.target, None, update.variables, _conjoin(update.condition, update.value)),
        Update("delete", update.target, None, update.variables, _conjoin(update.condition, negated)),
    ]


def _conjoin(left: Expr, right: Expr) -> Expr:
    return right if left == ALWAYS else Logic("and", (left, right))


def _ways(formula: Formula) -> int:
    """How many clauses the formula would be split into."""
    match formula:
        case Conjunction():
            return prod(_ways(part) for part in formula.parts)
        case Disjunction():
            return sum(_ways(part) for part in formula.parts)
        case Some():
            return _ways(formula.body)
        case _:
            return 1


def _bound(formula: Formula) -> set[str]:
    """Variables that a join over the formula's positive atoms binds."""
    match formula:
        case Atom(positive=True):
            return set(variables_of(formula))
        case Conjunction():
            return set().union(*(_bound(part) for part in formula.parts))
        case Disjunction():
            return set.intersection(*(_bound(part) for part in formula.parts)) if formula.parts else set()
        case Some():
            return _bound(formula.body) - set(formula.variables)
        case _:
            return set()
