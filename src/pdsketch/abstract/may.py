"""When may a formula hold? Conditions over optimistic facts, for each ground formula of a sketch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import final

from pdsketch.abstract.ground import Grounding, Scope, Thing, reads
from pdsketch.abstract.rules import TRUE, Book, Condition, Operator, both
from pdsketch.lang.data import near
from pdsketch.lang.domain import Action
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


@final
@dataclass(slots=True, eq=False)
class Compiler:
    """What has been compiled so far; each ground expression once."""

    ground: Grounding
    writable: frozenset[str]
    book: Book = field(default_factory=Book)
    _may: dict[tuple[object, ...], Condition] = field(default_factory=dict)
    _given: dict[tuple[int, tuple[Thing, ...]], int] = field(default_factory=dict)
    _optimistic: dict[tuple[str, tuple[Thing, ...]], int] = field(default_factory=dict)
    _recursive: dict[tuple[str, tuple[Thing, ...]], Condition] = field(default_factory=dict)
    _changed: dict[tuple[int, tuple[Thing, ...]], Condition] = field(default_factory=dict)
    _same: dict[Expr, Expr] = field(default_factory=dict)
    _one: dict[int, Expr] = field(default_factory=dict)
    _atoms: dict[str, Expr] = field(default_factory=dict)

    def operators(self, action: Action) -> list[Operator]:
        """One operator for each choice of objects; value parameters stay open."""
        found = []
        names = [p.name for p in action.parameters]
        ranges = [
            self.ground.members(p.type) if isinstance(p.type, ObjectType) else (None,)
            for p in action.parameters
        ]
        for chosen in product(*ranges):
            self.ground.budget.tick()
            scope: Scope = dict(zip(names, chosen, strict=True))
            precondition = self.may(action.precondition, scope, True)
            if precondition is None:
                continue
            step = (f"@{c}" if isinstance(c, int) else n for n, c in scope.items())
            operator = Operator((action.name, *step), 1.0, precondition)
            for update in action.effects:
                for inner in self.ground.scopes(update.variables, scope):
                    self._update(update, inner, operator)
            found.append(operator)
        return found

    def _update(self, update: Update, scope: Scope, operator: Operator) -> None:
        condition = self.may(update.condition, scope, True)
        if condition is None:
            return
        target = update.target
        things = self.ground.things(target, scope)
        assert things is not None, "the checker lets an effect write to variables and objects alone"
        if not target.type.is_bool:
            operator.write(condition, 2 * self._optimistic_fact(target.predicate, things))
        elif update.op == "assign":
            assert update.value is not None
            for sign in (True, False):
                value = self.may(update.value, scope, sign)
                operator.write(both([condition, value]), self._atom(target.predicate, things, sign))
        else:
            operator.write(condition, self._atom(target.predicate, things, update.op == "add"))

    def may(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        """When a Boolean expression (``sign``), or its negation, may hold."""
        key = (id(expr), sign, *[scope[name] for name in self.ground.free(expr)])
        if key not in self._may:
            self._may[key] = self._compute(expr, scope, sign)
        return self._may[key]

    def _compute(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        match expr:
            case Value():
                return TRUE if bool(expr.value) == sign else None
            case Variable():
                chosen = scope[expr.name]
                return TRUE if not isinstance(chosen, Value) or bool(chosen.value) == sign else None
            case Logic(op="not"):
                return self.may(expr.args[0], scope, not sign)
            case Logic(op="implies"):
                parts = [self.may(expr.args[0], scope, not sign), self.may(expr.args[1], scope, sign)]
                return self.book.either(parts) if sign else both(parts)
            case Logic():
                conditions = (self.may(part, scope, sign) for part in expr.args)
                return both(conditions) if (expr.op == "and") == sign else self.book.either(conditions)
            case Quantified():
                scopes = self.ground.scopes(expr.variables, scope)
                conditions = (self.may(expr.body, inner, sign) for inner in scopes)
                return both(conditions) if (expr.op == "forall") == sign else self.book.either(conditions)
            case Apply():
                return self._predicate(expr, scope, sign)
            case Equal():
                return self._equal(expr, scope, sign)
            case BlankCall() | Compare():
                return self._expression(expr, scope, sign)
            case _:
                raise AssertionError(f"{type(expr).__name__} is no formula")

    def _predicate(self, expr: Apply, scope: Scope, sign: bool) -> Condition:
        role = self.ground.domain.predicates[expr.predicate].role
        if role == "external":
            return self._expression(expr, scope, sign)
        things = self.ground.things(expr, scope)
        if role != "derived":
            assert things is not None
            return (self._atom(expr.predicate, things, sign),)
        if expr.predicate in self.ground.domain.recursive:
            return TRUE if things is None else self._recursion(expr, things, sign)
        if things is None:
            return self.may(self.ground.inlined(expr), scope, sign)
        return self.may(*self.ground.called(expr, things), sign)

    def _recursion(self, expr: Apply, things: tuple[Thing, ...], sign: bool) -> Condition:
        """A recursive atom may hold if its body may; its negation, once anything it reads may change."""
        body, scope = self.ground.called(expr, things)
        if not sign:
            return self._expression(self._lifted(expr.predicate), scope, sign)
        key = (expr.predicate, things)
        if key not in self._recursive:
            fact = self.book.fact("derived", _named(expr.predicate, things))
            self.book.rules[fact] = ()
            self._recursive[key] = (2 * fact,)
            condition = self.may(body, scope, True)
            self.book.rules[fact] = () if condition is None else (condition,)
        return self._recursive[key]

    def _equal(self, expr: Equal, scope: Scope, sign: bool) -> Condition:
        """Objects and known values are compared here and now; Booleans are equal if both or neither holds."""
        if expr.left.type == BOOL:
            return self.book.either(
                both([self.may(expr.left, scope, left), self.may(expr.right, scope, left == sign)])
                for left in (True, False)
            )
        if isinstance(expr.left, Variable | Object | Value) and isinstance(
            expr.right, Variable | Object | Value
        ):
            left, right = self.ground.thing(expr.left, scope), self.ground.thing(expr.right, scope)
            if isinstance(left, int):
                return TRUE if (left == right) == sign else None
            if isinstance(left, Value) and isinstance(right, Value):
                return TRUE if near(left.value, right.value, expr.tolerance) == sign else None
        return self._expression(expr, scope, sign)

    def _expression(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        """An expression over values: by its truth in the state, or once anything it reads is optimistic."""
        things = tuple([scope[name] for name in self.ground.free(expr)])
        if None in things:
            return TRUE
        if id(expr) not in self._one:
            self._one[id(expr)] = self._same.setdefault(expr, expr)
        expr = self._one[id(expr)]
        key = (id(expr), things)
        if key not in self._changed:
            read = reads(expr, scope, self.ground)
            self._changed[key] = TRUE if read is None else self.book.either(self._changes(*v) for v in read)
        changed = self._changed[key]
        return TRUE if changed == TRUE else self.book.either([(self._literal(expr, things, sign),), changed])

    def _changes(self, name: str, things: tuple[Thing, ...]) -> Condition:
        """A Boolean variable counts as optimistic once it may be both true and false."""
        if name not in self.writable:
            return None
        if not self.ground.domain.predicates[name].type.is_bool:
            return (2 * self._optimistic_fact(name, things),)
        positive = self._atom(name, things, True)
        return (positive, positive + 1)

    def _atom(self, name: str, things: tuple[Thing, ...], sign: bool) -> int:
        """The literal of a Boolean state variable."""
        return self._literal(self._lifted(name), things, sign)

    def _lifted(self, name: str) -> Expr:
        """A predicate of its own parameters, in an order that `Grounding.free` keeps."""
        if name not in self._atoms:
            predicate = self.ground.domain.predicates[name]
            if predicate.is_state:
                parameters = [replace(p, name=f"?{i:03}@") for i, p in enumerate(predicate.parameters)]
            else:
                parameters = [*predicate.parameters]
            self._atoms[name] = Apply(name, tuple(parameters), predicate.type)
        return self._atoms[name]

    def _literal(self, expr: Expr, things: tuple[Thing, ...], sign: bool) -> int:
        """The literal of an expression whose truth the state gives."""
        key = (id(expr), things)
        if key not in self._given:
            name = expr.predicate if isinstance(expr, Apply) else "holds"
            fact = self.book.fact("given", _named(name, things))
            self._given[key] = fact
            self.book.given[fact] = (expr, things)
        return 2 * self._given[key] + (not sign)

    def _optimistic_fact(self, name: str, things: tuple[Thing, ...]) -> int:
        key = (name, things)
        if key not in self._optimistic:
            self._optimistic[key] = self.book.fact("optimistic", ("optimistic", *_named(name, things)))
        return self._optimistic[key]


def _named(name: str, things: tuple[Thing, ...]) -> tuple[str, ...]:
    return (name, *[f"@{t}" if isinstance(t, int) else str(t.value) if t else "?" for t in things])
