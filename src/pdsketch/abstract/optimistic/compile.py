"""OPT, the optimistic compilation: a sketch becomes a delete-relaxed task over what may hold.

Each ground state variable that is not Boolean has one fact, "it is optimistic":
some action wrote it, and it may have any value. A Boolean state variable is a
fact whose two literals say that it may be true and that it may be false. A
Boolean expression over values (a blank, an external predicate, a comparison) is
a fact, too, with its truth in the state at hand; it, and its negation, may hold
as soon as anything it reads is optimistic. All else is put together from
these: connectives, quantifiers, derived predicates.

Optimistic effects take nothing away, so that where even the relaxed task has no plan, the model has none.

The compilation depends on the domain, the types of the objects and the goal
alone, and is kept: problems that differ in the names of their objects share it.
A state only says which of the facts hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import product
from typing import Final, final

import numpy as np

from pdsketch.abstract.abstraction import Abstraction
from pdsketch.abstract.optimistic.task_builder import (
    TRUE,
    BuiltTask,
    Condition,
    GroundTerm,
    Instantiation,
    Operator,
    Scope,
    TaskBuilder,
    assemble,
    conjunction,
    reads,
)
from pdsketch.heuristics import KernelEvaluator
from pdsketch.kernels import Bools
from pdsketch.lang import (
    BOOL,
    Action,
    Apply,
    BlankCall,
    Compare,
    Component,
    Domain,
    Equal,
    Expr,
    Form,
    Logic,
    Object,
    ObjectType,
    Quantified,
    Update,
    Value,
    Variable,
    conjuncts,
    free_variables,
    lift_objects,
    located,
    near,
    quote,
    substitute,
    walk,
)
from pdsketch.task import Task

# When may a formula hold? Conditions over optimistic facts, for each ground formula of a sketch.

_UNKNOWN: Final[Condition] = (-1,)
"""In the place of a condition that was not computed yet; no literal is negative."""


@final
@dataclass(slots=True, eq=False)
class ConditionCompiler:
    """What has been compiled so far; each ground expression once."""

    instantiation: Instantiation
    writable: frozenset[str]
    builder: TaskBuilder = field(default_factory=TaskBuilder)
    _possible: dict[tuple[object, ...], Condition] = field(default_factory=dict)
    _given: dict[tuple[Expr, tuple[GroundTerm, ...]], int] = field(default_factory=dict)
    _optimistic: dict[tuple[str, tuple[GroundTerm, ...]], int] = field(default_factory=dict)
    _recursive: dict[tuple[str, tuple[GroundTerm, ...]], Condition] = field(default_factory=dict)
    _changed: dict[tuple[Expr, tuple[GroundTerm, ...]], Condition] = field(default_factory=dict)
    _atoms: dict[str, Expr] = field(default_factory=dict)

    def operators(self, action: Action) -> list[Operator]:
        """One operator for each choice of objects; value parameters stay open."""
        found = []
        names = [p.name for p in action.parameters]
        ranges = [
            self.instantiation.members(p.type) if isinstance(p.type, ObjectType) else (None,)
            for p in action.parameters
        ]
        for chosen in product(*ranges):
            self.instantiation.budget.tick()
            scope: Scope = dict(zip(names, chosen, strict=True))
            precondition = self.possible(action.precondition, scope, True)
            if precondition is None:
                continue
            step = (f"@{c}" if isinstance(c, int) else n for n, c in scope.items())
            operator = Operator((action.name, *step), 1.0, precondition)
            for update in action.effects:
                for inner in self.instantiation.scopes(update.variables, scope):
                    self._update(update, inner, operator)
            found.append(operator)
        return found

    def _update(self, update: Update, scope: Scope, operator: Operator) -> None:
        condition = self.possible(update.condition, scope, True)
        if condition is None:
            return
        target = update.target
        terms = self.instantiation.terms_of(target, scope)
        assert terms is not None, "the checker lets an effect write to variables and objects alone"
        if not target.type.is_bool:
            operator.write(condition, 2 * self._optimistic_fact(target.predicate, terms))
        elif update.op == "assign":
            assert update.value is not None
            for sign in (True, False):
                value = self.possible(update.value, scope, sign)
                operator.write(conjunction([condition, value]), self._atom(target.predicate, terms, sign))
        else:
            operator.write(condition, self._atom(target.predicate, terms, update.op == "add"))

    def possible(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        """When a Boolean expression (``sign``), or its negation, may hold."""
        key = (expr, sign, *[scope[name] for name in free_variables(expr)])
        found = self._possible.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._possible[key] = self._compute(expr, scope, sign)
        return found

    def _compute(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        match expr:
            case Value():
                return TRUE if bool(expr.value) == sign else None
            case Variable():
                chosen = scope[expr.name]
                return TRUE if not isinstance(chosen, Value) or bool(chosen.value) == sign else None
            case Logic(op="not"):
                return self.possible(expr.args[0], scope, not sign)
            case Logic(op="implies"):
                parts = [
                    self.possible(expr.args[0], scope, not sign),
                    self.possible(expr.args[1], scope, sign),
                ]
                return self.builder.disjunction(parts) if sign else conjunction(parts)
            case Logic():
                conditions = (self.possible(part, scope, sign) for part in expr.args)
                join = conjunction if (expr.op == "and") == sign else self.builder.disjunction
                return join(conditions)
            case Quantified():
                scopes = self.instantiation.scopes(expr.variables, scope)
                conditions = (self.possible(expr.body, inner, sign) for inner in scopes)
                join = conjunction if (expr.op == "forall") == sign else self.builder.disjunction
                return join(conditions)
            case Apply():
                return self._predicate(expr, scope, sign)
            case Equal():
                return self._equal(expr, scope, sign)
            case BlankCall() | Compare() | Component():
                return self._expression(expr, scope, sign)
            case _:
                raise AssertionError(f"{type(expr).__name__} is no formula")

    def _predicate(self, expr: Apply, scope: Scope, sign: bool) -> Condition:
        role = self.instantiation.domain.predicates[expr.predicate].role
        if role == "external":
            return self._expression(expr, scope, sign)
        terms = self.instantiation.terms_of(expr, scope)
        if role != "derived":
            assert terms is not None
            return (self._atom(expr.predicate, terms, sign),)
        if expr.predicate in self.instantiation.domain.recursive:
            return TRUE if terms is None else self._recursion(expr, terms, sign)
        if terms is None:
            return self.possible(self.instantiation.inlined(expr), scope, sign)
        return self.possible(*self.instantiation.called(expr, terms), sign)

    def _recursion(self, expr: Apply, terms: tuple[GroundTerm, ...], sign: bool) -> Condition:
        """A recursive atom may hold if its body may; its negation, once anything it reads may change."""
        body, scope = self.instantiation.called(expr, terms)
        if not sign:
            return self._expression(self._lifted(expr.predicate), scope, sign)
        key = (expr.predicate, terms)
        if key not in self._recursive:
            fact = self.builder.fact("derived", _named(expr.predicate, terms))
            self.builder.rules[fact] = ()
            self._recursive[key] = (2 * fact,)
            condition = self.possible(body, scope, True)
            self.builder.rules[fact] = () if condition is None else (condition,)
        return self._recursive[key]

    def _equal(self, expr: Equal, scope: Scope, sign: bool) -> Condition:
        """Objects and known values are compared here and now; Booleans are equal if both or neither holds."""
        if expr.left.type == BOOL:
            return self.builder.disjunction(
                conjunction(
                    [self.possible(expr.left, scope, left), self.possible(expr.right, scope, left == sign)]
                )
                for left in (True, False)
            )
        if isinstance(expr.left, Variable | Object | Value) and isinstance(
            expr.right, Variable | Object | Value
        ):
            left, right = (
                self.instantiation.term_of(expr.left, scope),
                self.instantiation.term_of(expr.right, scope),
            )
            if isinstance(left, int):
                return TRUE if (left == right) == sign else None
            if isinstance(left, Value) and isinstance(right, Value):
                return TRUE if near(left.value, right.value, expr.tolerance) == sign else None
        return self._expression(expr, scope, sign)

    def _expression(self, expr: Expr, scope: Scope, sign: bool) -> Condition:
        """An expression over values: by its truth in the state, or once anything it reads is optimistic."""
        terms = tuple([scope[name] for name in free_variables(expr)])
        if None in terms:
            return TRUE
        key = (expr, terms)
        if key not in self._changed:
            read = reads(expr, scope, self.instantiation)
            self._changed[key] = (
                TRUE if read is None else self.builder.disjunction(self._changes(*v) for v in read)
            )
        changed = self._changed[key]
        if changed == TRUE:
            return TRUE
        return self.builder.disjunction([(self._literal(expr, terms, sign),), changed])

    def _changes(self, name: str, terms: tuple[GroundTerm, ...]) -> Condition:
        """A Boolean variable counts as optimistic once it may be both true and false."""
        if name not in self.writable:
            return None
        if not self.instantiation.domain.predicates[name].type.is_bool:
            return (2 * self._optimistic_fact(name, terms),)
        positive = self._atom(name, terms, True)
        return (positive, positive + 1)

    def _atom(self, name: str, terms: tuple[GroundTerm, ...], sign: bool) -> int:
        """The literal of a Boolean state variable."""
        return self._literal(self._lifted(name), terms, sign)

    def _lifted(self, name: str) -> Expr:
        """A predicate of its own parameters, in an order that `free_variables` keeps."""
        if name not in self._atoms:
            predicate = self.instantiation.domain.predicates[name]
            if predicate.is_state:
                parameters = [replace(p, name=f"?{i:03}@") for i, p in enumerate(predicate.parameters)]
            else:
                parameters = [*predicate.parameters]
            self._atoms[name] = Apply(name, tuple(parameters), predicate.type)
        return self._atoms[name]

    def _literal(self, expr: Expr, terms: tuple[GroundTerm, ...], sign: bool) -> int:
        """The literal of an expression whose truth the state gives."""
        key = (expr, terms)
        fact = self._given.get(key)
        if fact is None:
            name = expr.predicate if isinstance(expr, Apply) else "holds"
            fact = self._given[key] = self.builder.fact("given", _named(name, terms))
            self.builder.given[fact] = (expr, terms)
        return 2 * fact + (not sign)

    def _optimistic_fact(self, name: str, terms: tuple[GroundTerm, ...]) -> int:
        key = (name, terms)
        if key not in self._optimistic:
            self._optimistic[key] = self.builder.fact("optimistic", ("optimistic", *_named(name, terms)))
        return self._optimistic[key]


def _named(name: str, terms: tuple[GroundTerm, ...]) -> tuple[str, ...]:
    return (name, *[f"@{t}" if isinstance(t, int) else str(t.value) if t else "?" for t in terms])


KEPT: Final = 256
"""How many compilations are kept."""

_Part = tuple[Expr, tuple[int, ...] | None]
"""A conjunct of the goal, and the literals that it needs; None if it can never hold."""


def compile_optimistic(domain: Domain, objects: Mapping[str, ObjectType], goal: Expr) -> Abstraction:
    """Compile a goal for given objects, the domain's constants first. Every action costs 1."""
    (form,) = lift_objects([goal], domain)
    numbers = {name: i for i, name in enumerate(objects)}
    named = tuple((v.name, numbers[o]) for v, o in zip(form.variables, form.rows[0], strict=True))
    compiled = _compiled(domain, tuple(objects.values()), form.expr, named)
    names = {f"@{i}": name for i, name in enumerate(objects)}
    readings = tuple(
        replace(form, rows=tuple(tuple([names[o] for o in row]) for row in form.rows))
        for form in compiled.forms
    )
    parts = tuple(zip(conjuncts(goal), compiled.parts, strict=True))
    explain = partial(_explain, compiled.task, parts)
    return Abstraction(compiled.task, readings, infinity_is_proof=True, explain=explain, objects=objects)


def _explain(task: Task, parts: tuple[_Part, ...], state: Bools) -> list[str]:
    """The parts of the goal that no actions from a state can bring about, in words."""
    found = []
    for part, literals in parts:
        if literals is not None:
            alone = replace(task, goal=np.array(literals, dtype=np.int32))
            if np.isfinite(KernelEvaluator(alone, "max").values(state[None])[0]):
                continue
        words = f"no actions can make {quote(part.span, 'the goal')} true, even optimistically"
        found.append(words + located(part.span))
    return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Compiled:
    """What problems with the same types of objects, and goals over the same of them, share."""

    task: Task
    forms: tuple[Form, ...]
    parts: tuple[tuple[int, ...] | None, ...]


@lru_cache(maxsize=KEPT)
def _compiled(
    domain: Domain, types: tuple[ObjectType, ...], goal: Expr, named: tuple[tuple[str, int], ...]
) -> _Compiled:
    compiler = ConditionCompiler(Instantiation(domain, types), domain.analysis.written)
    operators = [operator for action in domain.actions.values() for operator in compiler.operators(action)]
    parts = [compiler.possible(part, dict(named), True) for part in conjuncts(goal)]
    whole = conjunction(part for part in parts if part is not None)
    assert whole is not None
    if None in parts:
        # No action helps: a goal fact that nothing makes true.
        whole = (*whole, 2 * compiler.builder.fact("optimistic", ("never",)))
    built = assemble(compiler.builder, operators, whole)
    numbered = tuple(
        None if part is None else tuple(2 * built.numbers[x >> 1] | (x & 1) for x in part) for part in parts
    )
    return _Compiled(built.task, _forms(built), numbered)


def _forms(built: BuiltTask) -> tuple[Form, ...]:
    """The given facts by the expressions they come from. Values stand in the expression, objects in rows."""
    found: dict[tuple[Expr, tuple[Value | None, ...]], list[tuple[tuple[str, ...], int]]] = {}
    for place, (expr, terms) in enumerate(built.given):
        values = tuple([t if isinstance(t, Value) else None for t in terms])
        row = tuple([f"@{t}" for t in terms if isinstance(t, int)])
        found.setdefault((expr, values), []).append((row, place))
    forms = []
    for (expr, values), members in found.items():
        names = free_variables(expr)
        types = {v.name: v.type for v in walk(expr) if isinstance(v, Variable)}
        variables = [Variable(n, types[n]) for n, v in zip(names, values, strict=True) if v is None]
        filled = {n: v for n, v in zip(names, values, strict=True) if v is not None}
        rows, places = zip(*members, strict=True)
        forms.append(Form(substitute(expr, filled) if filled else expr, tuple(variables), rows, places))
    return tuple(forms)
