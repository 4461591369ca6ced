"""OPT, the optimistic compilation: a sketch becomes a delete-relaxed task over what may hold.

Each ground state variable that is not Boolean has one fact, "it is optimistic":
some action wrote it, and it may have any value. A Boolean state variable is a
fact whose two literals say that it may be true and that it may be false. A
Boolean expression over values (a blank, an external predicate, a comparison) is
a fact, too, with its truth in the state at hand; it, and its negation, may hold
as soon as anything it reads is optimistic. All else is put together from
these: connectives, quantifiers, derived predicates.

The compilation depends on the domain, the objects and the goal alone. A state
only says which of the facts hold: `Optimistic.expressions`, one a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import final

from pdsketch.abstract.ground import Scope, Universe, atom_of, in_words, reads, substitute
from pdsketch.abstract.rules import TRUE, Book, Condition, Operator, assemble, both
from pdsketch.lang.data import near
from pdsketch.lang.domain import Action, Domain, Fact
from pdsketch.lang.terms import (
    Apply,
    BlankCall,
    Compare,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Update,
    Value,
    Variable,
)
from pdsketch.lang.types import BOOL, ObjectType
from pdsketch.task.task import Task

Cost = Callable[[tuple[str, ...]], float]
"""What a ground action costs; a value parameter stands in it by its name, ``?p``."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Optimistic:
    """A compiled goal.

    Fact ``i`` of the task, for ``i < len(expressions)``, holds where
    ``expressions[i]`` is true; the other basic facts, "this variable is
    optimistic", are false in every state. ``goal_parts`` are the conjuncts of
    the goal with the literals each needs, None if it cannot hold at all.
    """

    task: Task
    expressions: tuple[Expr, ...]
    goal_parts: tuple[tuple[Expr, tuple[int, ...] | None], ...]


def compile_optimistic(
    domain: Domain, objects: Mapping[str, ObjectType], goal: Expr, cost: Cost | None = None
) -> Optimistic:
    """Compile a goal for given objects, the domain's constants included.

    Every action costs 1 unless ``cost`` says otherwise.
    """
    writable = {update.target.predicate for action in domain.actions.values() for update in action.effects}
    compiler = _Compiler(Universe(domain, objects), writable)
    operators = [
        operator for action in domain.actions.values() for operator in compiler.operators(action, cost)
    ]
    parts = [(part, compiler.may(part, {}, True)) for part in _conjuncts(goal)]
    whole = both(condition for _, condition in parts)
    if whole is None:
        # No action helps: a goal fact that nothing makes true.
        never = compiler.book.fact("optimistic", ("never",))
        whole = both([(2 * never,), *(condition for _, condition in parts if condition is not None)])
        assert whole is not None
    written = assemble(compiler.book, operators, whole)
    numbered = tuple(
        (part, None if c is None else tuple(2 * written.numbers[x >> 1] | (x & 1) for x in c))
        for part, c in parts
    )
    return Optimistic(written.task, written.given, numbered)


def _conjuncts(goal: Expr) -> list[Expr]:
    if isinstance(goal, Logic) and goal.op == "and":
        return [part for argument in goal.args for part in _conjuncts(argument)]
    return [goal]


@final
@dataclass(slots=True, eq=False)
class _Compiler:
    """What has been compiled so far; each ground expression once."""

    universe: Universe
    writable: set[str]
    book: Book = field(default_factory=Book)
    _given: dict[Expr, int] = field(default_factory=dict)
    _optimistic: dict[Fact, int] = field(default_factory=dict)
    _derived: dict[tuple[Apply, bool], Condition] = field(default_factory=dict)
    _changed: dict[Expr, Condition] = field(default_factory=dict)

    def operators(self, action: Action, cost: Cost | None) -> list[Operator]:
        """One operator for each choice of objects; value parameters stay open."""
        found = []
        ranges = [self._range(parameter) for parameter in action.parameters]
        for chosen in product(*ranges):
            scope = {p.name: c for p, c in zip(action.parameters, chosen, strict=True)}
            precondition = self.may(action.precondition, scope, True)
            if precondition is None:
                continue
            pairs = zip(action.parameters, chosen, strict=True)
            name = (action.name, *(c.name if isinstance(c, Object) else p.name for p, c in pairs))
            operator = Operator(name, 1.0 if cost is None else cost(name), precondition)
            for update in action.effects:
                self._update(update, scope, operator)
            found.append(operator)
        return found

    def _range(self, parameter: Variable) -> tuple[Expr, ...]:
        if isinstance(parameter.type, ObjectType):
            return self.universe.members(parameter.type)
        # The name is one that no author can write, so that nothing captures it.
        return (Variable(f"{parameter.name}@", parameter.type),)

    def _update(self, update: Update, scope: Scope, operator: Operator) -> None:
        for chosen in self.universe.instances(update.variables):
            inner = {**scope, **chosen}
            condition = self.may(update.condition, inner, True)
            target = substitute(update.target, inner)
            assert isinstance(target, Apply)
            if not target.type.is_bool:
                operator.write(condition, 2 * self._optimistic_fact(atom_of(target)))
            elif update.op == "assign":
                assert update.value is not None
                for sign in (True, False):
                    value = self.may(update.value, inner, sign)
                    operator.write(both([condition, value]), self._literal(target, sign))
            else:
                operator.write(condition, self._literal(target, update.op == "add"))

    def may(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        """When a Boolean expression (``sign``), or its negation, may hold."""
        match expr:
            case Value():
                return TRUE if bool(expr.value) == sign else None
            case Variable():
                chosen = scope[expr.name]
                return TRUE if isinstance(chosen, Variable) else self.may(chosen, {}, sign)
            case Logic(op="not"):
                return self.may(expr.args[0], scope, not sign)
            case Logic(op="implies"):
                parts = [self.may(expr.args[0], scope, not sign), self.may(expr.args[1], scope, sign)]
                return self.book.either(parts) if sign else both(parts)
            case Logic():
                conditions = (self.may(part, scope, sign) for part in expr.args)
                return both(conditions) if (expr.op == "and") == sign else self.book.either(conditions)
            case Quantified():
                instances = self.universe.instances(expr.variables)
                conditions = (self.may(expr.body, {**scope, **chosen}, sign) for chosen in instances)
                return both(conditions) if (expr.op == "forall") == sign else self.book.either(conditions)
            case Apply():
                return self._atom(expr, scope, sign)
            case Equal():
                return self._equal(expr, scope, sign)
            case BlankCall() | Compare():
                return self._expression(substitute(expr, scope), sign)
            case _:
                raise AssertionError(f"{type(expr).__name__} is no formula")

    def _atom(self, expr: Apply, scope: Scope, sign: bool) -> Condition:
        atom = substitute(expr, scope)
        assert isinstance(atom, Apply)
        role = self.universe.domain.predicates[atom.predicate].role
        if role == "derived":
            return self._derivation(atom, sign)
        if role == "external":
            return self._expression(atom, sign)
        return (self._literal(atom, sign),)

    def _equal(self, expr: Equal, scope: Scope, sign: bool) -> Condition:
        """Objects are compared here and now; Booleans are equal if both or neither holds."""
        if expr.left.type == BOOL:
            return self.book.either(
                both([self.may(expr.left, scope, left), self.may(expr.right, scope, left == sign)])
                for left in (True, False)
            )
        equal = substitute(expr, scope)
        assert isinstance(equal, Equal)
        match equal.left, equal.right:
            case Object(), Object():
                return TRUE if (equal.left.name == equal.right.name) == sign else None
            case Value(), Value():
                return TRUE if near(equal.left.value, equal.right.value, equal.tolerance) == sign else None
            case _:
                return self._expression(equal, sign)

    def _derivation(self, atom: Apply, sign: bool) -> Condition:
        """A derived atom may hold if its body may; a negated recursive one, once its reads may change."""
        key = (atom, sign)
        if key not in self._derived:
            if atom.predicate not in self.universe.domain.recursive:
                self._derived[key] = self.may(self.universe.body(atom), {}, sign)
            elif sign and self.universe.unfolds(atom):
                fact = self.book.fact("derived", atom_of(atom))
                self.book.rules[fact] = ()
                self._derived[key] = (2 * fact,)
                body = self.may(self.universe.body(atom), {}, True)
                self.book.rules[fact] = () if body is None else (body,)
            else:
                self._derived[key] = self._expression(atom, sign)
        return self._derived[key]

    def _expression(self, expr: Expr, sign: bool) -> Condition:
        """An expression over values: by its truth in the state, or once anything it reads is optimistic."""
        changed = self._may_change(expr)
        if changed == TRUE:
            return TRUE
        literal = self._literal(expr, sign)
        return self.book.either([(literal,), changed])

    def _may_change(self, expr: Expr) -> Condition:
        if expr not in self._changed:
            read = reads(expr, self.universe)
            parts = [TRUE] if read.chosen else [self._variable_changes(fact) for fact in read.variables]
            self._changed[expr] = self.book.either(parts)
        return self._changed[expr]

    def _variable_changes(self, fact: Fact) -> Condition:
        """A Boolean variable counts as optimistic once it may be both true and false."""
        predicate = self.universe.domain.predicates[fact[0]]
        if predicate.name not in self.writable:
            return None
        if not predicate.type.is_bool:
            return (2 * self._optimistic_fact(fact),)
        objects = tuple(Object(name, self.universe.objects[name]) for name in fact[1:])
        atom = Apply(predicate.name, objects, predicate.type)
        return (self._literal(atom, True), self._literal(atom, False))

    def _literal(self, expr: Expr, sign: bool) -> int:
        """The literal of an expression whose truth the state gives."""
        if expr not in self._given:
            name = atom_of(expr) if isinstance(expr, Apply) else (in_words(expr),)
            fact = self.book.fact("given", name)
            self._given[expr] = fact
            self.book.given[fact] = expr
        return 2 * self._given[expr] + (not sign)

    def _optimistic_fact(self, fact: Fact) -> int:
        if fact not in self._optimistic:
            self._optimistic[fact] = self.book.fact("optimistic", ("optimistic", *fact))
        return self._optimistic[fact]
