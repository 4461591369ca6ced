"""OPT, the optimistic compilation: a sketch as an ordinary domain over what may hold.

Each state variable that is not Boolean has one predicate, "it is optimistic": some action wrote it, and it
may have any value. A Boolean one that actions write has two: that it may be true, and that it may be false.
A Boolean expression over values (a blank, an external predicate, a comparison) is a predicate, too, with its
truth in the state at hand; it, and its negation, may hold as soon as anything it reads is optimistic. All
else is put together from these: connectives, quantifiers, derived predicates.

Optimistic effects take nothing away, so that where even the relaxed task has no plan, the model has none.

The task depends on the domain, the types of the objects and the goal alone, and is kept: problems that differ
in the names of their objects share it. A state only says which of the facts hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count, product
from typing import final

import numpy as np

from pdsketch.abstract.abstraction import Abstraction, numbered, with_names
from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.budget import current
from pdsketch.core import Bools, Task
from pdsketch.heuristics import EngineEvaluator
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Action,
    Apply,
    Domain,
    Each,
    Equal,
    Expr,
    Form,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Problem,
    Quantified,
    Source,
    Update,
    Value,
    ValueType,
    Variable,
    children,
    choices_of,
    components,
    conjuncts,
    free_variables,
    lift_objects,
    located,
    names_in,
    near,
    quote,
    substitute,
    unfold,
    walk,
)
from pdsketch.task import UNREACHABLE, Grounding


def compile_optimistic(domain: Domain, objects: Mapping[str, ObjectType], goal: Expr) -> Abstraction:
    """Compile a goal for given objects, the domain's constants first. Every action costs 1."""
    names = numbered(domain, objects)
    own = {number: name for name, number in names.items()}
    types = tuple(objects.values())
    task, forms = _compiled(domain, types, with_names(goal, names))
    readings = tuple(
        replace(form, rows=tuple(tuple([own[o] for o in row]) for row in form.rows)) for form in forms
    )
    alone = [(part, _compiled(domain, types, with_names(part, names))[0]) for part in conjuncts(goal)]
    explain = partial(_explain, task, alone)
    return Abstraction(task, readings, infinity_is_proof=True, explain=explain, objects=objects)


def _explain(task: Task, alone: Sequence[tuple[Expr, Task]], state: Bools) -> list[str]:
    """The parts of the goal that no actions from a state can bring about, in words."""
    known = dict(zip(task.facts, state.tolist(), strict=False))
    found = []
    for part, own in alone:
        here = np.array([known.get(fact, False) for fact in own.facts[: own.n_basic]], np.bool_)
        is_told = own.facts == (UNREACHABLE,) or known.keys() >= {*own.facts[: own.n_basic]}
        if is_told and not np.isfinite(EngineEvaluator(own, "max").values(here[None])[0]):
            words = f"no actions can make {quote(part.span, 'the goal')} true, even optimistically"
            found.append(words + located(part.span))
    return found


@lru_cache
def _compiled(domain: Domain, types: tuple[ObjectType, ...], goal: Expr) -> tuple[Task, tuple[Form, ...]]:
    """The task of a goal over numbered objects, and what is read to know its facts."""
    optimism = _Optimism(domain)
    actions = {action.name: optimism.action(action) for action in domain.actions.values()}
    wanted = optimism.possible(goal, True)
    constants = [*domain.constants]
    universe = {constants[i] if i < len(constants) else f"@{i}": type_ for i, type_ in enumerate(types)}
    every = {}
    for name, (_, variables) in optimism.read.items():
        current().check()
        members = [
            domain.hierarchy.members(v.type, universe) for v in variables if isinstance(v.type, ObjectType)
        ]
        every.update({(name, *row): True for row in product(*members)})
    source = Source("<optimism>", "")
    problem = Problem("optimism", optimism.domain(actions), source, {}, universe, every, wanted)
    task = Grounding(problem, optimism.read.keys()).task()
    operators = tuple(_with_values(domain.actions[name], row) for name, *row in task.operators)
    return replace(task, operators=operators), tuple(_forms(task, optimism.read))


def _with_values(action: Action, row: Iterable[str]) -> tuple[str, ...]:
    """The name of an operator, with the parameters in the places of values."""
    objects = iter(row)
    return (
        action.name,
        *(next(objects) if isinstance(p.type, ObjectType) else p.name for p in action.parameters),
    )


def _forms(task: Task, read: Mapping[str, tuple[Expr, tuple[Variable, ...]]]) -> Iterator[Form]:
    """The facts of a task that a state says, by the expressions that they come from."""
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for place, (name, *row) in enumerate(task.facts[: task.n_basic]):
        if name in read:
            found.setdefault(name, []).append((tuple(row), place))
    for name, members in found.items():
        expr, variables = read[name]
        rows, places = zip(*members, strict=True)
        yield Form(expr, variables, rows, places)


@final
class _Optimism:
    """Writes what may hold in a domain. ``read`` are the predicates whose facts states say, and by what."""

    def __init__(self, domain: Domain) -> None:
        self._sketch = domain
        self._written = domain.analysis.written
        self._fresh = count()
        self._predicates: dict[str, Predicate] = {}
        self._given: dict[tuple[Expr, tuple[Variable, ...]], str] = {}
        self.read: dict[str, tuple[Expr, tuple[Variable, ...]]] = {}

    def domain(self, actions: Mapping[str, Action]) -> Domain:
        """All that was written, with some actions."""
        bodies = {p.name: p.body for p in self._predicates.values() if p.body is not None}
        reads = {name: [n for n in names_in(body) if n in bodies] for name, body in bodies.items()}
        groups = tuple(components(reads))
        recursive = {n for group in groups for n in group if len(group) > 1 or n in reads[n]}
        return replace(
            self._sketch,
            value_types={},
            predicates=self._predicates,
            actions=actions,
            blanks={},
            components=groups,
            recursive=frozenset(recursive),
        )

    def action(self, action: Action) -> Action:
        """An action over objects; values stay open."""
        parameters = tuple(p for p in action.parameters if isinstance(p.type, ObjectType))
        effects = tuple(own for update in action.effects for own in self._updates(update))
        return Action(action.name, parameters, self.possible(action.precondition, True), effects)

    def _updates(self, update: Update) -> Iterator[Update]:
        """What an effect makes possible."""
        over = tuple(v for v in update.variables if isinstance(v.type, ObjectType))
        target = update.target
        for by in _choices(update.variables):
            condition = self.possible(substitute(update.condition, by), True)
            if not target.type.is_bool:
                ways: list[tuple[Expr, Expr]] = [(TRUE, self._optimistic(target))]
            elif update.op == "assign":
                assert update.value is not None
                value = substitute(update.value, by)
                ways = [(self.possible(value, sign), self._atom(target, sign)) for sign in (True, False)]
            else:
                ways = [(TRUE, self._atom(target, update.op == "add"))]
            for when, atom in ways:
                both = conjoined([condition, when])
                if both != FALSE:
                    assert isinstance(atom, Apply)
                    yield Update("add", atom, None, over, both)

    # -- when may a formula hold? ----------------------------------------------------

    def possible(self, expr: Expr, sign: bool) -> Expr:
        """When a Boolean expression (``sign``), or its negation, may hold."""
        match expr:
            case Value():
                return TRUE if bool(expr.value) == sign else FALSE
            case Logic(op="not"):
                return self.possible(expr.args[0], not sign)
            case Logic():
                signs = [not sign, sign] if expr.op == "implies" else [sign] * len(expr.args)
                parts = [self.possible(part, own) for part, own in zip(expr.args, signs, strict=True)]
                return conjoined(parts) if (expr.op == "and") == sign else disjoined(parts)
            case Quantified():
                some = (expr.op == "exists") == sign
                parts = [self.possible(substitute(expr.body, by), sign) for by in _choices(expr.variables)]
                over = tuple(v for v in expr.variables if isinstance(v.type, ObjectType))
                body = disjoined(parts) if some else conjoined(parts)
                return Quantified("exists" if some else "forall", over, body) if over else body
            case Apply():
                return self._predicate(expr, sign)
            case Equal() if isinstance(expr.left.type, ObjectType):
                return expr if sign else negated(expr)
            case Equal() if expr.left.type == BOOL:
                return disjoined(
                    conjoined([self.possible(expr.left, own), self.possible(expr.right, own == sign)])
                    for own in (True, False)
                )
            case Equal(left=Value() as left, right=Value() as right):
                return TRUE if near(left.value, right.value, expr.tolerance) == sign else FALSE
            case _:
                return self._expression(expr, sign)

    def _predicate(self, atom: Apply, sign: bool) -> Expr:
        predicate = self._sketch.predicates[atom.predicate]
        if predicate.is_state:
            return self._atom(atom, sign)
        if predicate.role != "derived":
            return self._expression(atom, sign)
        if not _is_over_objects(atom):
            # Recursion may call it with ever new values.
            is_recursive = atom.predicate in self._sketch.recursive
            return TRUE if is_recursive else self.possible(unfold(atom, self._sketch, self._fresh), sign)
        if atom.predicate in self._sketch.recursive and not sign:
            return self._expression(atom, sign)  # it may fail once anything it reads may change
        name = f"{'may' if sign else 'may-not'}@{atom.predicate}"
        if name not in self._predicates:
            assert predicate.body is not None
            self._predicates[name] = Predicate(name, predicate.parameters, BOOL, "derived", TRUE)
            self._define(name, self.possible(predicate.body, sign))
        return Apply(name, atom.args, BOOL)

    def _define(self, name: str, body: Expr) -> None:
        self._predicates[name] = replace(self._predicates[name], body=body)

    def _atom(self, atom: Apply, sign: bool) -> Expr:
        """A Boolean state variable may be true, or false. What no action writes is as it is."""
        predicate = self._sketch.predicates[atom.predicate]
        is_written = predicate.name in self._written
        name = predicate.name if sign or not is_written else f"not@{predicate.name}"
        if name not in self._predicates:
            lifted: Expr = Apply(predicate.name, predicate.parameters, BOOL)
            read = lifted if name == predicate.name else negated(lifted)
            self._declare(name, read, predicate.parameters)
        own = Apply(name, atom.args, BOOL)
        return own if sign or is_written else negated(own)

    def _declare(self, name: str, expr: Expr, variables: tuple[Variable, ...]) -> None:
        """A predicate whose facts a state says."""
        self._predicates[name] = Predicate(name, variables, BOOL, "observed")
        self.read[name] = (expr, variables)

    def _optimistic(self, atom: Apply) -> Apply:
        name = f"optimistic@{atom.predicate}"
        parameters = self._sketch.predicates[atom.predicate].parameters
        self._predicates.setdefault(name, Predicate(name, parameters, BOOL, "observed"))
        return Apply(name, atom.args, BOOL)

    def _expression(self, expr: Expr, sign: bool) -> Expr:
        """An expression over values: by its truth in the state, or once anything it reads is optimistic."""
        types = {v.name: v for v in walk(expr) if isinstance(v, Variable)}
        free = [types[name] for name in free_variables(expr)]
        changed = self.changed(expr)
        if changed == TRUE or not all(isinstance(v.type, ObjectType) for v in free):
            return TRUE  # a value is yet to be chosen
        (form,) = lift_objects([expr], self._sketch)
        key = (form.expr, (*form.variables, *free))
        if key not in self._given:
            self._given[key] = name = f"given@{len(self._given)}"
            self._declare(name, *key)
        (row,) = form.rows
        objects = {node.name: node for node in walk(expr) if isinstance(node, Object)}
        given = Apply(self._given[key], (*(objects[name] for name in row), *free), BOOL)
        return disjoined([given if sign else negated(given), changed])

    # -- when may the value of an expression have changed? -----------------------------

    def changed(self, expr: Expr) -> Expr:
        """Once something that an expression may read is optimistic; a truth, once it may be both."""
        match expr:
            case Quantified() | Each():
                parts = disjoined(map(self.changed, children(expr)))
                over = tuple(v for v in expr.variables if isinstance(v.type, ObjectType))
                return Quantified("exists", over, parts) if over and parts not in (TRUE, FALSE) else parts
            case Apply() if self._sketch.predicates[expr.predicate].is_state:
                if expr.predicate not in self._written:
                    return FALSE
                if expr.type.is_bool:
                    return conjoined([self._atom(expr, True), self._atom(expr, False)])
                return self._optimistic(expr)
            case Apply() if self._sketch.predicates[expr.predicate].role == "derived":
                if _is_over_objects(expr):
                    return self._changed_predicate(expr)
                if expr.predicate in self._sketch.recursive:
                    return TRUE
                return self.changed(unfold(expr, self._sketch, self._fresh))
            case _:
                return disjoined(map(self.changed, children(expr)))

    def _changed_predicate(self, atom: Apply) -> Expr:
        name, predicate = f"changed@{atom.predicate}", self._sketch.predicates[atom.predicate]
        if name not in self._predicates:
            assert predicate.body is not None
            self._predicates[name] = Predicate(name, predicate.parameters, BOOL, "derived", FALSE)
            self._define(name, self.changed(predicate.body))
        body = self._predicates[name].body
        is_settled = body in (TRUE, FALSE) and atom.predicate not in self._sketch.recursive
        return body if is_settled and body is not None else Apply(name, atom.args, BOOL)


def _choices(variables: Iterable[Variable]) -> Iterator[dict[str, Expr]]:
    """All values of the variables that range over values."""
    own = [(v.name, v.type) for v in variables if isinstance(v.type, ValueType)]
    for row in product(*(choices_of(type_) for _, type_ in own)):
        current().tick()
        yield {name: Value(value, type_) for (name, type_), value in zip(own, row, strict=True)}


def _is_over_objects(atom: Apply) -> bool:
    return all(isinstance(arg.type, ObjectType) for arg in atom.args)
