"""The bodies of derived predicates and the actions, checked until inference learns nothing new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import NamedTuple, TypeVar, final

from pdsketch.budget import current
from pdsketch.lang.check.context import BlankUse, Context, Knowledge, Scope
from pdsketch.lang.check.effects import check_effect
from pdsketch.lang.check.expressions import check_condition, check_expr
from pdsketch.lang.check.names import declare_parameters
from pdsketch.lang.check.tables import UNKNOWN, Parameter, PredicateSignature, Tables
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Action
from pdsketch.lang.records import dataclass
from pdsketch.lang.report import CheckReport, duplicate
from pdsketch.lang.syntax import ActionSyntax, DerivedSyntax, DomainSyntax
from pdsketch.lang.terms import TRUE, Apply, Equal, Expr, Logic, Quantified, Variable
from pdsketch.lang.types import OBJECT, ObjectType, ValueType

MAX_ROUNDS = 30
"""More than this only a chain of that many untyped predicates would need."""


@final
@dataclass(slots=True)
class Definitions:
    """What the bodies say. ``bodies`` lacks a predicate whose body is wrong."""

    bodies: dict[str, Expr] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    blanks: list[BlankUse] = field(default_factory=list)


_Found = TypeVar("_Found")


def settled(
    tables: Tables, report: CheckReport, once: Callable[[Knowledge, CheckReport], _Found]
) -> tuple[_Found, Knowledge]:
    """What ``once`` finds when inference has learned all that there is; only the last round reports.

    ``once`` checks with what is known, learns more, and reports; the types that are looked up are those of
    ``tables``, and ``report`` takes over what the last round says.
    """
    knowledge, rounds = Knowledge(), 0
    while True:
        rounds += 1
        knowledge.begin_round()
        inner = report.fresh()
        found = once(knowledge, inner)
        knowledge.settle(tables.hierarchy)
        is_done = not knowledge.changed and not knowledge.settle_rest()
        if is_done or rounds == MAX_ROUNDS:
            report.adopt(inner)
            return found, knowledge
        if rounds == MAX_ROUNDS - 1:
            knowledge.settle_rest()


def check_definitions(
    domain: DomainSyntax, tables: Tables, report: CheckReport
) -> tuple[Definitions, Knowledge]:
    """Every derived predicate and action, with types and dimensions inferred across all of them."""
    return settled(tables, report, partial(_round, domain, tables))


def _round(domain: DomainSyntax, tables: Tables, knowledge: Knowledge, report: CheckReport) -> Definitions:
    found = Definitions()
    budget = current()
    for signature in tables.signatures.values():
        budget.tick()
        if signature.bodies and not signature.is_wrong:
            body = _bodies(signature, Shared(tables, knowledge, report), found)
            if body is not None:
                found.bodies[signature.name] = body
    first: dict[str, ActionSyntax] = {}
    for action in domain.actions:
        budget.tick()
        name = action.name.text
        if name in first:
            duplicate("action", action.name, first[name].name, report)
            continue
        first[name] = action
        checked = _action(action, Shared(tables, knowledge, report), found)
        if checked is not None:
            found.actions[name] = checked
    return found


@final
class Shared(NamedTuple):
    """What all definitions of a domain are checked against."""

    tables: Tables
    knowledge: Knowledge
    report: CheckReport

    def context(self, owner: str) -> Context:
        """A context for one definition."""
        return Context(self.tables, self.knowledge, self.report, owner, check_expr)


def _bodies(signature: PredicateSignature, shared: Shared, found: Definitions) -> Expr | None:
    """The body of a derived predicate; several rules for one are alternatives."""
    parts: list[Expr | None] = []
    for derived, head in zip(signature.bodies, signature.heads, strict=True):
        ctx = shared.context(f"derived::{signature.name}")
        parts.append(_body(ctx, signature, derived, head))
        found.blanks += ctx.blanks
    bodies = tuple(part for part in parts if part is not None)
    if len(bodies) < len(parts):
        return None
    return bodies[0] if len(bodies) == 1 else Logic("or", bodies, bodies[0].span)


def _body(
    ctx: Context, signature: PredicateSignature, derived: DerivedSyntax, head: tuple[Parameter, ...]
) -> Expr | None:
    scope: dict[str, Variable] = {}
    narrowed: list[tuple[Variable, Variable]] = []
    is_right = True
    for position, (own, declared) in enumerate(zip(head, signature.parameters, strict=True)):
        variable = bind_parameter(ctx, declared, ("parameter", signature.name, str(position)))
        variable = replace(variable, span=own.span)
        ctx.report.typed(own.span, variable.type)
        scope[own.name] = variable
        if own.type != declared.type and UNKNOWN not in (own.type, declared.type):
            inner = _narrow(ctx, own, variable, signature)
            if inner is None:
                is_right = False
            elif inner is not variable:
                narrowed.append((variable, inner))
                scope[own.name] = inner
    if not is_right:
        return None
    returns = ctx.knowledge.refine(("predicate", signature.name), signature.returns)
    if returns.is_bool:
        body = check_condition(ctx, derived.body, scope)
    else:
        body = check_expr(ctx, derived.body, scope, returns, Apply(signature.name, (), returns))
    if body is None:
        return None
    if narrowed:
        equal = [Equal(outer, inner, 0.0, body.span) for outer, inner in narrowed]
        inside = Logic("and", (*equal, body), body.span)
        return Quantified("exists", tuple(inner for _, inner in narrowed), inside, body.span)
    return body


def _narrow(
    ctx: Context, own: Parameter, variable: Variable, signature: PredicateSignature
) -> Variable | None:
    """A rule for a subtype of the declared type holds for members of that subtype only."""
    hierarchy = ctx.tables.hierarchy
    if isinstance(own.type, ObjectType) and isinstance(variable.type, ObjectType):
        if hierarchy.is_subtype(variable.type, own.type):
            return variable
        if hierarchy.overlap(own.type, variable.type):
            return Variable(f"{own.name}$0", own.type, own.span)
    ctx.report.error(
        "type-mismatch",
        f"`{own.name}` of `{signature.name}` is declared as {variable.type}, and here as {own.type}",
        own.span,
        notes=[Note(signature.span, "declared here")],
    )
    return None


def bind_parameter(ctx: Context, parameter: Parameter, slot: tuple[str, ...]) -> Variable:
    """The variable of a parameter, its type as far as it is known."""
    type_ = parameter.type
    if parameter.untyped:
        ctx.untyped[parameter.name] = parameter.span.start
        type_ = ctx.knowledge.type_of(parameter.span.start)
    if isinstance(type_, ValueType):
        ctx.slots[parameter.name] = slot
        type_ = ctx.knowledge.refine(slot, type_)
    ctx.report.typed(parameter.span, type_)
    return Variable(parameter.name, type_, parameter.span)


def _action(syntax: ActionSyntax, shared: Shared, found: Definitions) -> Action | None:
    name = syntax.name.text
    ctx = shared.context(f"action::{name}")
    default = OBJECT if ctx.tables.is_untyped else UNKNOWN
    declared = declare_parameters(syntax.parameters, ctx.tables, ctx.report, default=default)
    variables = [bind_parameter(ctx, parameter, ("variable", name, parameter.name)) for parameter in declared]
    scope: Scope = {variable.name: variable for variable in variables}
    precondition = check_condition(ctx, syntax.precondition, scope)
    effects = check_effect(ctx, syntax.effect, scope)
    found.blanks += ctx.blanks
    return Action(
        name,
        tuple(variables),
        precondition or TRUE,
        tuple(effects.updates),
        effects.cost,
        ctx.span(syntax.name),
    )
