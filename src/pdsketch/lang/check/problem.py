"""A problem, checked against its domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pdsketch.lang.analysis import action_reads
from pdsketch.lang.check.context import Context, Knowledge
from pdsketch.lang.check.definitions import settled
from pdsketch.lang.check.domain import check_requirements
from pdsketch.lang.check.expressions import check_condition, check_expr
from pdsketch.lang.check.init import check_init
from pdsketch.lang.check.tables import UNKNOWN, tables_of
from pdsketch.lang.check.typenames import resolve_type
from pdsketch.lang.diagnostics import nearest
from pdsketch.lang.domain import LARGEST_COST, Data, Domain, Fact, Problem
from pdsketch.lang.lists import parse_typed
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import CheckReport, duplicate
from pdsketch.lang.source import Source
from pdsketch.lang.syntax import ProblemSyntax, TypeSyntax
from pdsketch.lang.terms import Apply, Expr
from pdsketch.lang.types import OBJECT, ObjectType, Type, ValueType


def check_problem(
    syntax: ProblemSyntax, domain: Domain, source: Source, report: CheckReport
) -> Problem | None:
    """The checked problem; None if anything is wrong with it (then the report says what).

    ``syntax`` is the parsed file, ``domain`` the checked domain that it must name, ``source`` the text that
    the problem keeps for later messages; all slips of the file go to ``report``.
    """
    check_requirements(syntax.requirements, report)
    if not _is_for(domain, syntax, report):
        return None
    own = declared_objects(syntax.objects, domain, report)
    universe = {**domain.constants, **own}
    init, places = check_init(syntax.init, domain, universe, report)
    goal = _goal(syntax, domain, own, report)
    metric = _metric(syntax.metric, domain, report)
    if metric == "cost":
        _check_costs(domain, init, places, report)
    if report.has_errors or goal is None:
        return None
    _warn_of_undefined(syntax, domain, universe, init, report)
    groups: dict[str, list[str]] = {}
    for name, type_ in own.items():
        groups.setdefault(str(type_), []).append(name)
    return Problem(
        syntax.name.text,
        domain,
        source,
        {type_: tuple(names) for type_, names in groups.items()},
        universe,
        init,
        goal,
        metric,
    )


def _warn_of_undefined(
    syntax: ProblemSyntax,
    domain: Domain,
    universe: Mapping[str, ObjectType],
    init: Mapping[Fact, Data],
    report: CheckReport,
) -> None:
    """A number that some action reads and that has no value for any objects: the action is never taken."""
    given = {fact[0] for fact in init}
    read = {name for action in domain.actions.values() for name in action_reads(action)}
    for predicate in domain.predicates.values():
        if predicate.role != "observed" or not predicate.type.is_number or predicate.name in given:
            continue
        members = [domain.hierarchy.members(type_, universe) for type_ in predicate.object_types]
        if predicate.name in read and all(members):
            example = " ".join((predicate.name, *(names[0] for names in members)))
            report.warning(
                "undefined-value",
                f"`:init` gives no value of `{predicate.name}`, and actions that read it cannot be taken",
                syntax.name,
                help=f"add `(= ({example}) …)` for the objects that have one",
            )


def check_goal(
    node: Node, domain: Domain, objects: Mapping[str, ObjectType], report: CheckReport
) -> Expr | None:
    """A formula over the domain's predicates, its constants and the given objects.

    ``node`` is the formula as read, ``domain`` what its names are looked up in, ``objects`` those beside the
    domain's constants, with their types. None where something is wrong, which goes to ``report``.
    """
    tables = tables_of(domain, objects)

    def once(knowledge: Knowledge, report: CheckReport) -> Expr | None:
        return check_condition(Context(tables, knowledge, report, None, check_expr), node, {})

    return settled(tables, report, once)[0]


def _is_for(domain: Domain, syntax: ProblemSyntax, report: CheckReport) -> bool:
    """Whether the problem can be checked against this domain: of another, every name would be wrong."""
    if syntax.domain is None:
        report.error(
            "missing-section",
            f"problem `{syntax.name.text}` does not name its domain",
            syntax.name,
            help=f"add (:domain {domain.name})",
        )
    elif syntax.domain.text != domain.name and syntax.domain.text:
        report.error(
            "wrong-domain",
            f"this problem is for domain `{syntax.domain.text}`, and the domain is `{domain.name}`",
            syntax.domain,
        )
        return nearest(syntax.domain.text, [domain.name]) is not None
    return True


def declared_objects(sections: Iterable[Group], domain: Domain, report: CheckReport) -> dict[str, ObjectType]:
    """The objects of ``:objects`` lists, with their types."""
    found: dict[str, ObjectType] = {}
    for section in sections:
        _declare_objects(section, domain, found, report)
    return found


def _declare_objects(
    section: Group, domain: Domain, found: dict[str, ObjectType], report: CheckReport
) -> None:
    """Those of one section."""
    first: dict[str, Token] = {}
    value_types = dict(domain.value_types)
    last: TypeSyntax | None = None
    type_: Type | None = OBJECT
    for entry in parse_typed(section.items[1:], report):
        name = entry.name.text
        if entry.type is None:
            type_, last = OBJECT, None
        elif entry.type is not last:
            last = entry.type
            type_ = resolve_type(last, domain.hierarchy, value_types, report)
            if isinstance(type_, ValueType):
                report.error(
                    "type-mismatch", f"an object is not a value, and `{type_}` is a value type", last
                )
                type_ = None
        if name in first:
            duplicate("object", entry.name, first[name], report)
        elif name in found or name in domain.constants:
            whose = "is already a constant of the domain" if name in domain.constants else "is declared twice"
            report.error("duplicate-name", f"object `{name}` {whose}", entry.name)
        else:
            found[name] = type_ if isinstance(type_, ObjectType) else UNKNOWN
            first[name] = entry.name


def _goal(
    syntax: ProblemSyntax, domain: Domain, objects: Mapping[str, ObjectType], report: CheckReport
) -> Expr | None:
    if syntax.goal is None:
        if not any(d.code == "bad-section" for d in report.diagnostics):
            report.error(
                "missing-section",
                f"problem `{syntax.name.text}` has no goal",
                syntax.name,
                help="add (:goal …)",
            )
        return None
    return check_goal(syntax.goal, domain, objects, report)


def _check_costs(
    domain: Domain, init: Mapping[Fact, Data], places: Mapping[Fact, Node], report: CheckReport
) -> None:
    """A function that is an action's cost has no values that are negative or too large."""
    costs = {a.cost.predicate for a in domain.actions.values() if isinstance(a.cost, Apply)}
    for fact, value in init.items():
        if fact[0] in costs and isinstance(value, float) and not 0 <= value <= LARGEST_COST:
            report.error(
                "negative-cost" if value < 0 else "cost-too-large",
                f"`({' '.join(fact)})` is the cost of an action, so it cannot be {value:g}",
                places[fact],
                help="costs are 0 or more" if value < 0 else f"costs are {LARGEST_COST:g} at most",
            )


def _metric(section: Group | None, domain: Domain, report: CheckReport) -> Literal["cost", "unit"]:
    """Only ``(:metric minimize (total-cost))``, or nothing."""
    if section is None:
        return "unit"
    parts = section.items[1:]
    if len(parts) == 2 and isinstance(parts[0], Token) and parts[0].text == "minimize":
        of = parts[1]
        name = of.items[0] if isinstance(of, Group) and len(of.items) == 1 else of
        if isinstance(name, Token) and name.text == "total-cost":
            predicate = domain.predicates.get("total-cost")
            if predicate is None or predicate.role != "cost":
                report.error(
                    "unknown-predicate",
                    "the domain has no `total-cost`",
                    name,
                    help=report.near("total-cost", domain.predicates)
                    or "declare it: (:functions (total-cost))",
                )
                return "unit"
            return "cost"
    report.error(
        "unsupported-metric",
        "this metric is not yet supported",
        section,
        help="(:metric minimize (total-cost)) is",
    )
    return "unit"
