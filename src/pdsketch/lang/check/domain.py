"""Syntax → checked domain: the passes in their order."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang.check.blanks import collect_blanks
from pdsketch.lang.check.context import Knowledge
from pdsketch.lang.check.definitions import Definitions, check_definitions
from pdsketch.lang.check.names import declare
from pdsketch.lang.check.reads import assign_roles, order_bodies
from pdsketch.lang.check.tables import Parameter, PredicateSignature, Tables
from pdsketch.lang.domain import Domain, Predicate, Role
from pdsketch.lang.reader import Token
from pdsketch.lang.report import CheckReport
from pdsketch.lang.source import Source
from pdsketch.lang.syntax import DomainSyntax
from pdsketch.lang.terms import Variable
from pdsketch.lang.types import ValueType

# PDDL's requirements: what is supported, and what is refused by its name.

SUPPORTED = (
    ":strips",
    ":typing",
    ":equality",
    ":negation",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":adl",
    ":derived-predicates",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
    ":pdsketch",
)
UNSUPPORTED = {
    ":durative-actions": "durative actions",
    ":duration-inequalities": "durative actions",
    ":continuous-effects": "continuous effects",
    ":time": "processes and events",
    ":timed-initial-literals": "timed initial literals",
    ":timed-effects": "timed effects",
    ":preferences": "preferences",
    ":constraints": "trajectory constraints",
    ":object-fluents": "functions that return objects",
    ":goal-utilities": "goal utilities",
    ":hierarchy": "task networks",
    ":htn": "task networks",
    ":multi-agent": "several agents",
    ":unfactored-privacy": "several agents",
    ":factored-privacy": "several agents",
    ":probabilistic-effects": "probabilistic effects",
    ":rewards": "rewards",
    ":mdp": "rewards",
    ":non-deterministic": "non-deterministic effects",
    ":partial-observability": "partial observability",
    ":open-world": "open worlds",
    ":true-negation": "open worlds",
    ":ucpop": "the extensions of UCPOP",
    ":action-expansions": "action expansions",
    ":foreach-expansions": "action expansions",
    ":dag-expansions": "action expansions",
    ":subgoal-through-axioms": "the axioms of PDDL 1.2",
    ":safety-constraints": "safety constraints",
    ":expression-evaluation": "expression evaluation",
    ":domain-axioms": "the axioms of PDDL 1.2",
}


def check_requirements(requirements: Iterable[Token], report: CheckReport) -> tuple[str, ...]:
    """The requirements, each one supported; the others are reported."""
    for atom in requirements:
        if atom.text in UNSUPPORTED:
            report.error(
                "unsupported-requirement", f"`{atom.text}`: {UNSUPPORTED[atom.text]} are not supported", atom
            )
        elif atom.text not in SUPPORTED:
            report.error(
                "unsupported-requirement",
                f"there is no requirement `{atom.text}`",
                atom,
                help=report.near(atom.text, [*SUPPORTED, *UNSUPPORTED]),
            )
    return tuple(dict.fromkeys(atom.text for atom in requirements))


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
