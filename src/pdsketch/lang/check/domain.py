"""Syntax → checked domain: the passes in their order."""

from __future__ import annotations

from pdsketch.lang.check.blanks import collect_blanks
from pdsketch.lang.check.context import Knowledge
from pdsketch.lang.check.definitions import Definitions, check_definitions
from pdsketch.lang.check.names import declare
from pdsketch.lang.check.reads import assign_roles, order_bodies
from pdsketch.lang.check.requirements import check_requirements
from pdsketch.lang.check.tables import Parameter, PredicateSignature, Tables
from pdsketch.lang.domain import Domain, Predicate, Role
from pdsketch.lang.report import CheckReport
from pdsketch.lang.source import Source
from pdsketch.lang.syntax import DomainSyntax
from pdsketch.lang.terms import Variable
from pdsketch.lang.types import ValueType


def check_domain(syntax: DomainSyntax, source: Source, report: CheckReport) -> Domain | None:
    """The checked domain; None if anything is wrong with it (then the report says what)."""
    requirements = check_requirements(syntax.requirements, report)
    tables = declare(syntax, report)
    found, knowledge = check_definitions(syntax, tables, report)
    _settle_parameters(tables, knowledge)
    roles = assign_roles(tables, found, report)
    components, recursive = order_bodies(tables.signatures, found.bodies, report)
    blanks = collect_blanks(found.blanks, found.actions.values(), report)
    if report.occurrences is not None:
        report.occurrences.tables, report.occurrences.roles = tables, roles
        report.occurrences.blanks = blanks
    if report.has_errors:
        return None
    return Domain(
        syntax.name.text,
        source,
        requirements,
        tables.hierarchy,
        tables.value_types,
        tables.objects,
        _predicates(tables, found, knowledge, roles),
        found.actions,
        blanks,
        components,
        recursive,
    )


def _settle_parameters(tables: Tables, knowledge: Knowledge) -> None:
    """Write the inferred types and dimensions into the signatures."""
    for signature in tables.signatures.values():
        signature.parameters = tuple(
            _settled(parameter, signature, position, knowledge)
            for position, parameter in enumerate(signature.parameters)
        )
        signature.returns = knowledge.refine(("predicate", signature.name), signature.returns)


def _settled(
    parameter: Parameter, signature: PredicateSignature, position: int, knowledge: Knowledge
) -> Parameter:
    type_ = knowledge.type_of(parameter.span.start) if parameter.untyped else parameter.type
    if isinstance(type_, ValueType):
        type_ = knowledge.refine(("parameter", signature.name, str(position)), type_)
    return Parameter(parameter.name, type_, parameter.span)


def _predicates(
    tables: Tables, found: Definitions, knowledge: Knowledge, roles: dict[str, Role]
) -> dict[str, Predicate]:
    return {
        name: Predicate(
            name,
            tuple(Variable(p.name, p.type, p.span) for p in signature.parameters),
            signature.returns,
            roles[name],
            found.bodies.get(name),
            signature.span,
        )
        for name, signature in tables.signatures.items()
    }
