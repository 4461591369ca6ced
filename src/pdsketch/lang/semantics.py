"""The reference meaning of a domain: crisp, on plain dictionaries.

A state maps ground atoms to values: ``("on", "a", "b"): True``. A Boolean atom
that is not there is false. Every other engine (the tensor program, the grounded
task, the kernels) is tested against this module, and the validator
judges plans by it; so it is written to be read, not to be fast. It is still quick enough to
replay long plans: nothing is enumerated that a formula does not ask for, and a
derived atom is computed once a state.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import add, ge, gt, le, lt, mul, sub, truediv
from typing import Any, final

from pdsketch.lang.data import arithmetic, choices_of, elementwise, flat, ground, near, plain, shown
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Data, Domain, Fact, Problem
from pdsketch.lang.source import Span
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
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
)
from pdsketch.lang.types import ObjectType, Type

State = Mapping[Fact, Data]
Step = tuple[Any, ...]
"""An action's name, then its arguments: names of objects, or numbers and tuples of numbers."""

Bindings = Mapping[str, Any]
"""What each variable in scope stands for: an object's name, or a value."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class World:
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

    def __post_init__(self) -> None:
        # A chain of derived predicates is evaluated by recursion, at most six Python frames a level.
        bodies = (p.body for p in self.domain.predicates.values() if p.body is not None)
        needed = 6 * sum(map(_depth, bodies)) + 3000
        if sys.getrecursionlimit() < needed:
            sys.setrecursionlimit(needed)

    @classmethod
    def of(cls, problem: Problem, functions: Mapping[str, Callable[..., Any]] | None = None) -> World:
        """The world of a problem."""
        return cls(problem.domain, problem.universe, functions or {})

    def members(self, type_: Type) -> tuple[Any, ...]:
        """What a variable of this type ranges over: objects, or the choices of a value type."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                self._members[type_] = self.domain.hierarchy.members(type_, self.universe)
            else:
                self._members[type_] = choices_of(type_)
        return self._members[type_]

    def instances(self, variables: Sequence[Variable]) -> Iterator[tuple[Any, ...]]:
        """Every way to give the variables something to stand for."""
        return product(*(self.members(variable.type) for variable in variables))


def _depth(expr: Expr) -> int:
    return 1 + max(map(_depth, children(expr)), default=0)


@final
class Moment:
    """A state together with what has been derived from it so far."""

    def __init__(self, world: World, state: State) -> None:
        self.world = world
        self.state = state
        encoded = {p.name for p in world.domain.predicates.values() if p.role == "encoded"}
        self._to_encode = encoded - {fact[0] for fact in state} if encoded else encoded
        self._known: dict[Fact, Data] = {}
        self._fixpoint: _Fixpoint | None = None

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
        predicate = self.world.domain.predicates[fact[0]]
        if predicate.role == "external":
            return self._call(predicate.name, fact[1:], predicate)
        if predicate.role == "derived" or predicate.name in self._to_encode:
            return self._derived(fact)
        if fact in self.state:
            return self.state[fact]
        absent = predicate.role == "raw" and not self._to_encode
        if predicate.type.is_bool and not absent:
            return False
        words = ground(fact)
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
            for predicate in self.world.domain.predicates.values():
                raw = predicate.role == "raw" and predicate.type.is_bool
                if raw or predicate.name in self._to_encode:
                    for args in self.world.instances(predicate.parameters):
                        fact = (predicate.name, *args)
                        state[fact] = self.atom(fact)
        return state

    def updates(self, effects: Iterable[Update], bindings: Bindings) -> Iterator[tuple[Update, Fact, Any]]:
        """The ground updates that fire here, with the values they write."""
        for update in effects:
            for inner in self._extended(update.variables, bindings):
                if self.value(update.condition, inner):
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
        for instance in self.world.instances(variables):
            yield {**bindings, **dict(zip(names, instance, strict=True))}

    def _derived(self, fact: Fact) -> Data:
        if fact not in self._known:
            if fact[0] not in self.world.domain.recursive:
                self._known[fact] = self._body(fact)
            elif self._fixpoint is not None and fact[0] in self._fixpoint.component:
                return self._fixpoint.read(fact)
            else:
                outer, self._fixpoint = self._fixpoint, _Fixpoint(self.world.domain, fact)
                try:
                    self._known.update(self._fixpoint.solve(self._body))
                finally:
                    self._fixpoint = outer
        return self._known[fact]

    def _body(self, fact: Fact) -> Any:
        predicate = self.world.domain.predicates[fact[0]]
        assert predicate.body is not None
        return self.value(
            predicate.body, {p.name: a for p, a in zip(predicate.parameters, fact[1:], strict=True)}
        )

    def _call(self, name: str, args: Sequence[Any], used: Any) -> Any:
        if name not in self.world.functions:
            raise error("no-function", f"`{name}` needs a function, and none was given", used.span)
        value = plain(self.world.functions[name](*args))
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
        while self._agenda:
            self._reader = self._agenda.pop()
            if not self._truth[self._reader] and body(self._reader):
                self._truth[self._reader] = True
                self._agenda.extend(self._readers.pop(self._reader, ()))
        return self._truth


def evaluate(world: World, state: State, expr: Expr, bindings: Bindings | None = None) -> Any:
    """The value of an expression in a state."""
    return Moment(world, state).value(expr, bindings or {})


def holds(world: World, state: State, expr: Expr) -> bool:
    """Whether a closed formula is true in a state."""
    return bool(evaluate(world, state, expr))


def encode(world: World, state: State) -> dict[Fact, Data]:
    """The state with every encoded predicate that it does not hold yet."""
    return Moment(world, state).encoded()


def bind(world: World, step: Step) -> dict[str, Any]:
    """What the parameters of an action stand for in a step."""
    parameters = world.domain.actions[step[0]].parameters
    return {p.name: argument for p, argument in zip(parameters, step[1:], strict=True)}


def applicable(world: World, state: State, step: Step) -> bool:
    """Whether the precondition of a ground action holds."""
    return bool(evaluate(world, state, world.domain.actions[step[0]].precondition, bind(world, step)))


def cost(world: World, state: State, step: Step) -> float:
    """What a step costs where the metric is ``total-cost``: 0 unless the action says so."""
    stated = world.domain.actions[step[0]].cost
    return 0 if stated is None else evaluate(world, state, stated, bind(world, step))


def apply(world: World, state: State, step: Step) -> dict[Fact, Data]:
    """The state after a ground action. Its precondition is not asked for.

    All effects happen at once: conditions and values are read from the old
    state. Deletes come first, then Boolean assigns, then adds. What only the
    encoder reads is absent afterwards.
    """
    return apply_at(Moment(world, state), step)


def apply_at(moment: Moment, step: Step) -> dict[Fact, Data]:
    """`apply`, in a state from which something may have been derived already."""
    predicates = moment.world.domain.predicates
    new = {f: value for f, value in moment.encoded().items() if predicates[f[0]].role != "raw"}
    action = moment.world.domain.actions[step[0]]
    fired = list(moment.updates(action.effects, bind(moment.world, step)))
    writers: dict[Fact, list[tuple[Update, Any]]] = {}
    for update, fact, value in fired:
        if update.op not in ("add", "delete"):
            writers.setdefault(fact, []).append((update, value))
    changes: dict[Fact, Any] = {fact: False for update, fact, _ in fired if update.op == "delete"}
    changes |= {fact: _written(fact, writes, moment) for fact, writes in writers.items()}
    changes |= {fact: True for update, fact, _ in fired if update.op == "add"}
    for fact, value in changes.items():
        if value is False and predicates[fact[0]].role == "observed":
            new.pop(fact, None)
        else:
            new[fact] = value
    return new


def _written(fact: Fact, writes: list[tuple[Update, Any]], moment: Moment) -> Any:
    """The value that several writers give one variable.

    Assigns must agree; increases and decreases add up, scalings multiply, and
    the three kinds do not mix, as in PDDL 2.1.
    """
    words = ground(fact)
    first, value = writes[0]
    if len({_KINDS[update.op] for update, _ in writes}) > 1:
        raise error("conflicting-effects", f"`{words}` is assigned and changed in one step", first.span)
    if first.op == "assign":
        for update, other in writes:
            if not near(value, other, 1e-6):
                raise error(
                    "conflicting-effects",
                    f"`{words}` is assigned {shown(value)} and {shown(other)} in one step",
                    update.span,
                )
    else:
        old = moment.atom(fact, first.span)
        for update, change in writes:
            old = elementwise(_CHANGE[update.op], old, change)
        value = old
    return _within_choices(fact, value, first, moment)


def _within_choices(fact: Fact, value: Any, update: Update, moment: Moment) -> Any:
    choices = moment.world.domain.predicates[fact[0]].type.choices
    if choices is not None and not all(0 <= v < choices for v in flat(value)):
        raise error(
            "value-out-of-range",
            f"`{ground(fact)}` is given {shown(value)}, and has the choices 0 to {choices - 1}",
            update.span,
        )
    return value


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_KINDS = {"assign": "=", "increase": "+", "decrease": "+", "scale-up": "*", "scale-down": "*"}
_CHANGE: Mapping[str, Callable[[Any, Any], Any]] = {
    "increase": add,
    "decrease": sub,
    "scale-up": mul,
    "scale-down": truediv,
}
