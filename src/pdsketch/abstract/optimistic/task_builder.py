"""Conditions over what may hold, while a relaxed task is being written.

A *condition* is a conjunction of literals: a sorted tuple, empty if it is true,
None if it can never hold. A disjunction becomes a derived fact with one rule for
each of its parts. Facts are numbered as they are met; `assemble` keeps those
that can matter for the goal, and puts them into the order of a `Task`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Literal, final

import numpy as np

from pdsketch.budget import Budget, current
from pdsketch.kernels import csr_of
from pdsketch.lang import (
    Apply,
    Domain,
    Each,
    Expr,
    Fact,
    Object,
    ObjectType,
    Quantified,
    Type,
    Value,
    Variable,
    children,
    choices_of,
    unfold,
)
from pdsketch.task import Task

# Expressions of a domain over numbered objects.
#
# Expressions are never written out for each object: an expression and a `Scope`,
# which says what its free variables stand for, are one ground expression.

GroundTerm = int | Value | None
"""What a variable stands for: an object by its number, a value, or None: a value yet to be chosen."""

Scope = Mapping[str, GroundTerm]


@final
@dataclass(slots=True, eq=False)
class Instantiation:
    """The objects at hand, the constants first, and what the expressions of a domain mean over them."""

    domain: Domain
    types: tuple[ObjectType, ...]
    _members: dict[Type, tuple[GroundTerm, ...]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _inlined: dict[Apply, Expr] = field(default_factory=dict)
    _fresh: count[int] = field(default_factory=count)
    budget: Budget = field(default_factory=current)

    def __post_init__(self) -> None:
        self._numbers = {name: i for i, name in enumerate(self.domain.constants)}

    def members(self, type_: Type) -> tuple[GroundTerm, ...]:
        """What a variable of a type ranges over."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                fits = self.domain.hierarchy.is_subtype
                below = {own for own in dict.fromkeys(self.types) if fits(own, type_)}
                self._members[type_] = tuple(i for i, own in enumerate(self.types) if own in below)
            else:
                self._members[type_] = tuple(Value(value, type_) for value in choices_of(type_))
        return self._members[type_]

    def scopes(self, variables: tuple[Variable, ...], outer: Scope) -> Iterator[Scope]:
        """The scope with every choice for some more variables."""
        if not variables:
            yield outer
            return
        names = [variable.name for variable in variables]
        for chosen in product(*(self.members(variable.type) for variable in variables)):
            self.budget.tick()
            yield {**outer, **dict(zip(names, chosen, strict=True))}

    def term_of(self, expr: Expr, scope: Scope) -> GroundTerm:
        """What a variable, an object or a value stands for."""
        match expr:
            case Variable():
                return scope[expr.name]
            case Object():
                return self._numbers[expr.name]
            case Value():
                return expr
            case _:
                raise AssertionError(f"{type(expr).__name__} is computed")

    def terms_of(self, atom: Apply, scope: Scope) -> tuple[GroundTerm, ...] | None:
        """What the arguments of an atom stand for; None if one of them is computed."""
        if all(isinstance(a, Variable | Object | Value) for a in atom.args):
            return tuple([self.term_of(a, scope) for a in atom.args])
        return None

    def called(self, atom: Apply, terms: tuple[GroundTerm, ...]) -> tuple[Expr, Scope]:
        """The body of a derived predicate, and the scope in which its parameters stand for terms."""
        predicate = self.domain.predicates[atom.predicate]
        assert predicate.body is not None
        return predicate.body, {p.name: t for p, t in zip(predicate.parameters, terms, strict=True)}

    def inlined(self, atom: Apply) -> Expr:
        """The body of a derived predicate with computed arguments in the place of its parameters."""
        if atom not in self._inlined:
            self._inlined[atom] = unfold(atom, self.domain, self._fresh)
        return self._inlined[atom]


Variables = dict[tuple[str, tuple[GroundTerm, ...]], None]
"""Ground state variables: a predicate and the numbers of its objects."""


def reads(expr: Expr, scope: Scope, instantiation: Instantiation) -> Variables | None:
    """Every state variable on which a ground expression may depend; None if that cannot be told.

    Sets and quantifiers are written out over all objects; derived predicates
    are followed to what they read in turn.
    """
    found: Variables = {}
    seen: set[tuple[str, tuple[GroundTerm, ...]]] = set()
    agenda: list[tuple[Expr, Scope]] = [(expr, scope)]
    while agenda:
        instantiation.budget.tick()
        node, here = agenda.pop()
        match node:
            case Quantified() | Each():
                for inner in instantiation.scopes(node.variables, here):
                    agenda.extend((child, inner) for child in children(node))
            case Apply() if instantiation.domain.predicates[node.predicate].role in (
                "derived",
                "observed",
                "encoded",
            ):
                terms = instantiation.terms_of(node, here)
                if instantiation.domain.predicates[node.predicate].role != "derived":
                    assert terms is not None
                    found[node.predicate, terms] = None
                elif terms is not None and (node.predicate, terms) not in seen:
                    seen.add((node.predicate, terms))
                    agenda.append(instantiation.called(node, terms))
                elif terms is None and node.predicate in instantiation.domain.recursive:
                    return None  # it may be called with ever new values
                elif terms is None:
                    agenda.append((instantiation.inlined(node), here))
            case _:
                agenda.extend((child, here) for child in children(node))
    return found


Condition = tuple[int, ...] | None
"""Literals, ``2 * fact`` or ``2 * fact + 1``, all of which must hold; None: never."""

TRUE: Condition = ()

Kind = Literal["given", "optimistic", "derived"]


def conjunction(conditions: Iterable[Condition]) -> Condition:
    """All of the conditions hold."""
    literals: set[int] = set()
    for condition in conditions:
        if condition is None:
            return None
        literals.update(condition)
    return tuple(sorted(literals))


@final
@dataclass(slots=True)
class Operator:
    """An operator being written: its name, what it needs, and its effects (condition, literal)."""

    name: tuple[str, ...]
    cost: float
    precondition: tuple[int, ...]
    effects: dict[tuple[tuple[int, ...], int], None] = field(default_factory=dict)

    def write(self, condition: Condition, literal: int) -> None:
        """The effect that makes a literal possible, under a condition."""
        if condition is not None:
            self.effects[condition, literal] = None


@final
@dataclass(slots=True)
class TaskBuilder:
    """The facts and rules met so far."""

    names: list[Fact] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    given: dict[int, tuple[Expr, tuple[GroundTerm, ...]]] = field(default_factory=dict)
    rules: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    _disjunctions: dict[tuple[tuple[int, ...], ...], int] = field(default_factory=dict)

    def fact(self, kind: Kind, name: Fact) -> int:
        """A new fact."""
        self.names.append(name)
        self.kinds.append(kind)
        return len(self.names) - 1

    def disjunction(self, conditions: Iterable[Condition]) -> Condition:
        """Some of the conditions hold."""
        parts = sorted({condition for condition in conditions if condition is not None})
        if not parts:
            return None
        if len(parts) == 1 or parts[0] == TRUE:
            return parts[0]
        key = tuple(parts)
        if key not in self._disjunctions:
            fact = self.fact("derived", ("some", str(len(self.names))))
            self._disjunctions[key] = fact
            self.rules[fact] = key
        return (2 * self._disjunctions[key],)


@final
@dataclass(frozen=True, slots=True)
class BuiltTask:
    """A task, and for its first facts the ground expressions whose truth a state gives them."""

    task: Task
    given: tuple[tuple[Expr, tuple[GroundTerm, ...]], ...]
    numbers: dict[int, int]


def assemble(builder: TaskBuilder, operators: Sequence[Operator], goal: tuple[int, ...]) -> BuiltTask:
    """The task that is left when all that cannot matter for the goal is taken away."""
    needed, kept = _relevant(builder, operators, goal)
    budget = current()
    budget.check()
    order = [
        fact for kind in ("given", "optimistic", "derived") for fact in needed if builder.kinds[fact] == kind
    ]
    numbers = {fact: i for i, fact in enumerate(order)}
    n_basic = sum(builder.kinds[fact] != "derived" for fact in order)

    def literal(old: int) -> int:
        return 2 * numbers[old >> 1] | (old & 1)

    def literals(old: Iterable[int]) -> list[int]:
        return sorted(map(literal, old))

    effects = [(i, effect) for i, (_, chosen) in enumerate(kept) for effect in chosen]
    axioms = [
        (fact, body) for fact in order if builder.kinds[fact] == "derived" for body in builder.rules[fact]
    ]
    budget.check()
    by_operator: list[list[int]] = [[] for _ in kept]
    for number, (owner, _) in enumerate(effects):
        by_operator[owner].append(number)
    task = Task(
        facts=tuple(builder.names[fact] for fact in order),
        n_basic=n_basic,
        init=np.zeros(n_basic, np.bool_),
        goal=np.array(literals(goal), np.int32),
        operators=tuple(operator.name for operator, _ in kept),
        costs=np.array([operator.cost for operator, _ in kept], np.float64),
        preconditions=csr_of([literals(operator.precondition) for operator, _ in kept]),
        effects=csr_of(by_operator),
        conditions=csr_of([literals(condition) for _, (condition, _) in effects]),
        heads=csr_of([[literal(head)] for _, (_, head) in effects]),
        axiom_heads=np.array([numbers[fact] for fact, _ in axioms], np.int32),
        axiom_bodies=csr_of([literals(body) for _, body in axioms]),
        axiom_layers=np.zeros(len(axioms), np.int32),
    )
    return BuiltTask(task, tuple(builder.given[f] for f in order if builder.kinds[f] == "given"), numbers)


Effect = tuple[tuple[int, ...], int]


def _relevant(
    builder: TaskBuilder, operators: Sequence[Operator], goal: tuple[int, ...]
) -> tuple[list[int], list[tuple[Operator, list[Effect]]]]:
    """The facts that can matter for the goal, and the operators with those of their effects that can."""
    writers: dict[int, list[tuple[int, Effect]]] = {}
    for i, operator in enumerate(operators):
        for effect in operator.effects:
            writers.setdefault(effect[1], []).append((i, effect))
    kept: dict[int, dict[Effect, None]] = {}
    seen = set(goal)
    agenda = list(goal)
    budget = current()
    while agenda:
        budget.tick()
        literal = agenda.pop()
        wanted = [x for body in builder.rules.get(literal >> 1, ()) for x in body]
        for i, effect in writers.get(literal, ()):
            if i not in kept:
                wanted.extend(operators[i].precondition)
            kept.setdefault(i, {})[effect] = None
            wanted.extend(effect[0])
        fresh = [x for x in dict.fromkeys(wanted) if x not in seen]
        seen.update(fresh)
        agenda.extend(fresh)
    facts = sorted({literal >> 1 for literal in seen})
    chosen = [
        (operators[i], [effect for effect in operators[i].effects if effect in kept[i]]) for i in sorted(kept)
    ]
    return facts, chosen
