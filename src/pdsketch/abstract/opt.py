"""OPT, the optimistic compilation: a sketch becomes a delete-relaxed task over what may hold.

Each ground state variable that is not Boolean has one fact, "it is optimistic":
some action wrote it, and it may have any value. A Boolean state variable is a
fact whose two literals say that it may be true and that it may be false. A
Boolean expression over values (a blank, an external predicate, a comparison) is
a fact, too, with its truth in the state at hand; it, and its negation, may hold
as soon as anything it reads is optimistic. All else is put together from
these: connectives, quantifiers, derived predicates.

The compilation depends on the domain, the types of the objects and the goal
alone, and is kept: problems that differ in the names of their objects share it.
A state only says which of the facts hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from pdsketch.abstract.facts import Form, by_form
from pdsketch.abstract.ground import Grounding
from pdsketch.abstract.may import Compiler
from pdsketch.abstract.rules import Written, assemble, both
from pdsketch.lang.domain import Domain
from pdsketch.lang.substitute import substitute
from pdsketch.lang.terms import (
    TRUE,
    Expr,
    Logic,
    Object,
    Value,
    Variable,
    walk,
)
from pdsketch.lang.types import ObjectType
from pdsketch.task.task import Floats, Task

KEPT = 256
"""How many compilations are kept."""


@final
@dataclass(frozen=True, eq=False)
class Optimistic:
    """A compiled goal.

    The first ``n_given`` facts of the task are Boolean expressions, by
    ``forms``: fact ``places[i]`` of a form holds where its expression is true of
    the objects ``rows[i]``. The other basic facts, "this variable is
    optimistic", are false in every state. ``goal_parts`` are the conjuncts of
    the goal with the literals each needs, None if it can never hold.

    Problems with the same types of objects share ``task``, so that objects
    stand in its names by their numbers, ``@0``, ``@1`` …
    """

    task: Task
    n_given: int
    objects: Mapping[str, ObjectType]
    goal_parts: tuple[tuple[Expr, tuple[int, ...] | None], ...]
    _forms: tuple[Form, ...]

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The expressions of the given facts, those of one form together."""
        names = {f"@{i}": name for i, name in enumerate(self.objects)}
        return tuple(
            replace(form, rows=tuple(tuple([names[o] for o in row]) for row in form.rows))
            for form in self._forms
        )

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions of the given facts, written out, in the order of the facts."""
        found: list[Expr] = [TRUE] * self.n_given
        for form in self.forms:
            for row, place in zip(form.rows, form.places, strict=True):
                things = {
                    v.name: Object(o, self.objects[o]) for v, o in zip(form.variables, row, strict=True)
                }
                found[place] = substitute(form.expr, things)
        return tuple(found)

    @cached_property
    def steps(self) -> list[tuple[str, ...]]:
        """The ground action of each operator; a value parameter stands in it by its name, ``?p``."""
        names = [*self.objects]
        return [tuple(names[int(o[1:])] if o[0] == "@" else o for o in step) for step in self.task.operators]

    def priced(self, costs: Sequence[float]) -> Optimistic:
        """The same where the operators cost so much; problems with the same costs share a task, too."""
        return replace(self, task=_priced(self.task, tuple(costs)))


def compile_optimistic(domain: Domain, objects: Mapping[str, ObjectType], goal: Expr) -> Optimistic:
    """Compile a goal for given objects, the domain's constants first. Every action costs 1."""
    (form,) = by_form([goal], domain)
    numbers = {name: i for i, name in enumerate(objects)}
    named = tuple((v.name, numbers[o]) for v, o in zip(form.variables, form.rows[0], strict=True))
    compiled = _compiled(domain, tuple(objects.values()), form.expr, named)
    parts = tuple(zip(_conjuncts(goal), compiled.parts, strict=True))
    return Optimistic(compiled.task, len(compiled.given), objects, parts, compiled.forms)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Compiled:
    """What problems with the same types of objects, and goals over the same of them, share."""

    task: Task
    given: tuple[object, ...]
    forms: tuple[Form, ...]
    parts: tuple[tuple[int, ...] | None, ...]


@lru_cache(maxsize=KEPT)
def _priced(task: Task, costs: tuple[float, ...]) -> Task:
    prices: Floats = np.array(costs, np.float64)
    return replace(task, costs=prices)


@lru_cache(maxsize=KEPT)
def _compiled(
    domain: Domain, types: tuple[ObjectType, ...], goal: Expr, named: tuple[tuple[str, int], ...]
) -> _Compiled:
    writable = frozenset(u.target.predicate for action in domain.actions.values() for u in action.effects)
    compiler = Compiler(Grounding(domain, types), writable)
    operators = [operator for action in domain.actions.values() for operator in compiler.operators(action)]
    parts = [compiler.may(part, dict(named), True) for part in _conjuncts(goal)]
    whole = both(part for part in parts if part is not None)
    assert whole is not None
    if None in parts:
        # No action helps: a goal fact that nothing makes true.
        whole = (*whole, 2 * compiler.book.fact("optimistic", ("never",)))
    written = assemble(compiler.book, operators, whole)
    numbered = tuple(
        None if part is None else tuple(2 * written.numbers[x >> 1] | (x & 1) for x in part) for part in parts
    )
    return _Compiled(written.task, written.given, _forms(written, compiler.ground), numbered)


def _conjuncts(goal: Expr) -> list[Expr]:
    if isinstance(goal, Logic) and goal.op == "and":
        return [part for argument in goal.args for part in _conjuncts(argument)]
    return [goal]


def _forms(written: Written, ground: Grounding) -> tuple[Form, ...]:
    """The given facts by the expressions they come from. Values stand in the expression, objects in rows."""
    found: dict[tuple[int, tuple[Value | None, ...]], list[tuple[tuple[str, ...], int]]] = {}
    expressions: dict[int, Expr] = {}
    for place, (expr, things) in enumerate(written.given):
        values = tuple([t if isinstance(t, Value) else None for t in things])
        row = tuple([f"@{t}" for t in things if isinstance(t, int)])
        expressions[id(expr)] = expr
        found.setdefault((id(expr), values), []).append((row, place))
    forms = []
    for (number, values), members in found.items():
        expr = expressions[number]
        names = ground.free(expr)
        types = {v.name: v.type for v in walk(expr) if isinstance(v, Variable)}
        variables = [Variable(n, types[n]) for n, v in zip(names, values, strict=True) if v is None]
        filled = {n: v for n, v in zip(names, values, strict=True) if v is not None}
        rows, places = zip(*members, strict=True)
        forms.append(Form(substitute(expr, filled) if filled else expr, tuple(variables), rows, places))
    return tuple(forms)
