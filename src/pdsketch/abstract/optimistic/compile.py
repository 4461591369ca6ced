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
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, final

import numpy as np

from pdsketch.abstract.abstraction import Abstraction
from pdsketch.abstract.optimistic.conditions import ConditionCompiler
from pdsketch.abstract.optimistic.instantiation import Instantiation
from pdsketch.abstract.optimistic.task_builder import BuiltTask, assemble, conjunction
from pdsketch.heuristics import KernelEvaluator
from pdsketch.kernels import Bools
from pdsketch.lang import (
    Domain,
    Expr,
    Form,
    ObjectType,
    Value,
    Variable,
    conjuncts,
    free_variables,
    lift_objects,
    located,
    quote,
    substitute,
    walk,
)
from pdsketch.task import Task

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
