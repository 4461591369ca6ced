"""The reference meaning of expressions: what each evaluates to in one state.

Nothing is enumerated that a formula does not ask for, and a derived atom is
computed once a state, so that long plans are replayed quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from operator import ge, gt, le, lt
from typing import Any, final

from pdsketch.budget import current
from pdsketch.lang.data import arithmetic, choices_of, component, near, plain, show_atom
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Data, Domain, Fact, Predicate, Problem
from pdsketch.lang.records import dataclass
from pdsketch.lang.rewrite import conjuncts
from pdsketch.lang.source import Span
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
    Each,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Update,
    Value,
    Variable,
    children,
    free_variables,
)
from pdsketch.lang.types import ObjectType, Type


@final
@dataclass(frozen=True, slots=True, eq=False)
class StaticContext:
    """What stays the same from state to state: the domain, the objects, the users' functions.

    ``functions`` holds a plain Python function for each external predicate, by
    its name, and for each blank, by its full name. It takes and returns plain
    values: Booleans, numbers, tuples of numbers, names of objects. A set is a
    list of pairs (value, weight); crisply, of those elements alone whose
    condition holds, each with weight 1.0.
    """

    domain: Domain
    universe: Mapping[str, ObjectType]
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    _members: dict[Type, tuple[Any, ...]] = field(default_factory=dict, repr=False)
    _frames: dict[str, int] = field(default_factory=dict, repr=False)
    _of_role: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, problem: Problem, functions: Mapping[str, Callable[..., Any]] | None = None) -> StaticContext:
        """What stays the same in a problem."""
        return cls(problem.domain, problem.universe, functions or {})

    def members(self, type_: Type) -> tuple[Any, ...]:
        """What a variable of this type ranges over: objects, or the choices of a value type."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                self._members[type_] = self.domain.hierarchy.members(type_, self.universe)
            else:
                self._members[type_] = choices_of(type_)
        return self._members[type_]

    def of_role(self, role: str) -> frozenset[str]:
        """The predicates of a role."""
        if role not in self._of_role:
            found = (p.name for p in self.domain.predicates.values() if p.role == role)
            self._of_role[role] = frozenset(found)
        return self._of_role[role]

    def frames(self, predicate: Predicate) -> int:
        """How deep Python's stack grows, at most, while the body of a derived predicate is evaluated."""
        if predicate.name not in self._frames:
            assert predicate.body is not None
            self._frames[predicate.name] = 4 + 2 * _depth(predicate.body)
        return self._frames[predicate.name]

    def instances(self, variables: Sequence[Variable]) -> Iterator[tuple[Any, ...]]:
        """Every way to give the variables something to stand for."""
        budget = current()
        for instance in product(*(self.members(variable.type) for variable in variables)):
            budget.tick()
            yield instance


def _depth(expr: Expr) -> int:
    return 1 + max(map(_depth, children(expr)), default=0)


State = Mapping[Fact, Data]

Bindings = Mapping[str, Any]
"""What each variable in scope stands for: an object's name, or a value."""


MOST_FRAMES = 400
"""Bodies within bodies may take so much of Python's stack before the inner ones are evaluated first."""


@final
class _Deeper(BaseException):
    """An atom to be derived before the one at hand, whose derivation would take too much stack."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact


@final
class EvaluationContext:
    """A state together with what has been derived from it so far."""

    def __init__(self, static: StaticContext, state: State) -> None:
        self.static = static
        self.state = state
        encoded = static.of_role("encoded")
        self._to_encode = encoded - {fact[0] for fact in state} if encoded else encoded
        self._known: dict[Fact, Data] = {}
        self._fixpoint: _Fixpoint | None = None
        self._frames = 0

    def value(self, expr: Expr, bindings: Bindings) -> Any:
        """What an expression evaluates to here."""
        match expr:
            case Variable():
                return bindings[expr.name]
            case Object():
                return expr.name
            case Value():
                return expr.value
            case Apply():
                return self.atom((expr.predicate, *[self.value(a, bindings) for a in expr.args]), expr.span)
            case Logic():
                return self._logic(expr, bindings)
            case Quantified():
                for inner in self._extended(expr.variables, bindings):
                    if self.value(expr.body, inner) == (expr.op == "exists"):
                        return expr.op == "exists"
                return expr.op == "forall"
            case Equal():
                left, right = self.value(expr.left, bindings), self.value(expr.right, bindings)
                floats = any(getattr(e.type, "prim", None) == "float32" for e in (expr.left, expr.right))
                return near(left, right, expr.tolerance) if floats else left == right
            case Compare():
                return _COMPARE[expr.op](self.value(expr.left, bindings), self.value(expr.right, bindings))
            case Arithmetic():
                args = [self.value(a, bindings) for a in expr.args]
                return arithmetic(expr.op, args, whole=expr.type.prim == "int64", span=expr.span)
            case Component():
                return component(self.value(expr.vector, bindings), expr.place, expr.span)
            case BlankCall():
                return self._call(expr.blank, [self.value(a, bindings) for a in expr.args], expr)
            case Each():
                chosen = []
                for inner in self._extended(expr.variables, bindings):
                    if self.value(expr.condition, inner):
                        chosen.append((self.value(expr.body, inner), 1.0))
                return chosen

    def atom(self, fact: Fact, span: Span | None = None) -> Any:
        """The value of a ground atom: carried by the state, derived, or asked of a function."""
        predicate = self.static.domain.predicates[fact[0]]
        if predicate.role == "external":
            return self._call(predicate.name, fact[1:], predicate)
        if predicate.role == "derived" or predicate.name in self._to_encode:
            return self._derived(fact)
        if fact in self.state:
            return self.state[fact]
        absent = predicate.role == "raw" and not self._to_encode
        if predicate.type.is_bool and not absent:
            return False
        words = show_atom(fact)
        if absent:
            raise error(
                "absent-predicate",
                f"`{words}` is absent: only the encoder reads `{fact[0]}`, and the state is encoded",
                span,
                help="read an encoded predicate instead",
            )
        raise error("undefined-value", f"`{words}` has no value in this state", span)

    def encoded(self) -> dict[Fact, Data]:
        """The state, encoded.

        What only the encoder reads is kept, and its Booleans are made explicit,
        so that a state that has it can be told from one in which it is absent.
        """
        state = dict(self.state)
        if self._to_encode:
            for predicate in self.static.domain.predicates.values():
                raw = predicate.role == "raw" and predicate.type.is_bool
                if raw or predicate.name in self._to_encode:
                    for args in self.static.instances(predicate.parameters):
                        fact = (predicate.name, *args)
                        state[fact] = self.atom(fact)
        return state

    def updates(self, effects: Iterable[Update], bindings: Bindings) -> Iterator[tuple[Update, Fact, Any]]:
        """The ground updates that fire here, with the values they write."""
        for update in effects:
            parts = conjuncts(update.condition)
            for inner in self.satisfying(update.variables, parts, bindings):
                fact = (update.target.predicate, *[self.value(a, inner) for a in update.target.args])
                yield update, fact, None if update.value is None else self.value(update.value, inner)

    def _logic(self, expr: Logic, bindings: Bindings) -> bool:
        if expr.op == "not":
            return not self.value(expr.args[0], bindings)
        if expr.op == "implies":
            return bool(not self.value(expr.args[0], bindings) or self.value(expr.args[1], bindings))
        for part in expr.args:
            if self.value(part, bindings) == (expr.op == "or"):
                return expr.op == "or"
        return expr.op == "and"

    def _extended(self, variables: tuple[Variable, ...], bindings: Bindings) -> Iterator[Bindings]:
        if not variables:
            yield bindings
            return
        names = [variable.name for variable in variables]
        for instance in self.static.instances(variables):
            yield {**bindings, **dict(zip(names, instance, strict=True))}

    def satisfying(
        self,
        variables: tuple[Variable, ...],
        parts: list[Expr],
        bindings: Bindings,
    ) -> Iterator[Bindings]:
        """The bindings under which the parts of a conjunction hold.

        Variables are bound one after the other, and the parts asked in their order, each as soon as its
        variables and those of all before it are bound: where one fails, the rest is not enumerated.
        """
        asked = 0
        unbound = {variable.name for variable in variables}
        while asked < len(parts) and unbound.isdisjoint(free_variables(parts[asked])):
            if not self.value(parts[asked], bindings):
                return
            asked += 1
        if not variables:
            yield bindings
            return
        first, *rest = variables
        for (chosen,) in self.static.instances([first]):
            yield from self.satisfying(tuple(rest), parts[asked:], {**bindings, first.name: chosen})

    def _derived(self, fact: Fact) -> Data:
        if fact in self._known:
            return self._known[fact]
        if self._fixpoint is not None and fact[0] in self._fixpoint.component:
            return self._fixpoint.read(fact)
        if self._frames:
            self._derive(fact)
            return self._known[fact]
        # The outermost derivation: where an inner one would take too much of the stack, it unwinds to here,
        # and the atom it wanted is derived first. Each atom is unwound for once, since what was derived is
        # kept.
        agenda = [fact]
        while agenda:
            try:
                self._derive(agenda[-1])
                agenda.pop()
            except _Deeper as first:
                agenda.append(first.fact)
        return self._known[fact]

    def _derive(self, fact: Fact) -> None:
        if fact[0] not in self.static.domain.recursive:
            self._known[fact] = self._body(fact)
            return
        outer, self._fixpoint = self._fixpoint, _Fixpoint(self.static.domain, fact)
        try:
            self._known.update(self._fixpoint.solve(self._body))
        finally:
            self._fixpoint = outer

    def _body(self, fact: Fact) -> Any:
        predicate = self.static.domain.predicates[fact[0]]
        assert predicate.body is not None
        frames = self.static.frames(predicate)
        if self._frames and self._frames + frames > MOST_FRAMES:
            raise _Deeper(fact)
        bindings = {p.name: a for p, a in zip(predicate.parameters, fact[1:], strict=True)}
        self._frames += frames
        try:
            return self.value(predicate.body, bindings)
        finally:
            self._frames -= frames

    def _call(self, name: str, args: Sequence[Any], used: Any) -> Any:
        if name not in self.static.functions:
            raise error("no-function", f"`{name}` needs a function, and none was given", used.span)
        value = plain(self.static.functions[name](*args))
        return bool(value) if used.type.is_bool else value


@final
class _Fixpoint:
    """The least fixpoint of one component of recursive predicates, as far as one atom asks for it.

    Atoms are false until a rule makes them true. An atom that turns true
    wakes those that read it while it was still false.
    """

    def __init__(self, domain: Domain, fact: Fact) -> None:
        self.component = next(c for c in domain.components if fact[0] in c)
        self._truth: dict[Fact, Data] = {}
        self._readers: dict[Fact, set[Fact]] = {}
        self._agenda: list[Fact] = []
        self._reader = fact
        self.read(fact)

    def read(self, fact: Fact) -> Data:
        """The truth of an atom so far; it is put on the agenda when it is met for the first time."""
        if fact not in self._truth:
            self._truth[fact] = False
            self._agenda.append(fact)
        if not self._truth[fact]:
            self._readers.setdefault(fact, set()).add(self._reader)
        return self._truth[fact]

    def solve(self, body: Callable[[Fact], Any]) -> Mapping[Fact, Data]:
        """The truth of every atom that was met."""
        budget = current()
        while self._agenda:
            budget.tick()
            self._reader = self._agenda.pop()
            # The check refuses recursion through `not`, so that bodies only ever turn true: whatever the
            # order, the agenda runs empty at the least fixpoint (Knaster and Tarski).
            if not self._truth[self._reader] and body(self._reader):
                self._truth[self._reader] = True
                self._agenda.extend(self._readers.pop(self._reader, ()))
        return self._truth


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
