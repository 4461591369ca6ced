"""Declarations → tables: types, constants and predicates, each name once."""

from __future__ import annotations

from collections.abc import Sequence

from pdsketch.lang.check.tables import NUMBER, UNKNOWN, Parameter, PredicateSignature, Tables
from pdsketch.lang.check.typedecls import declare_types
from pdsketch.lang.check.typenames import RESERVED, resolve_type
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.lists import is_name
from pdsketch.lang.reader import Token
from pdsketch.lang.report import CheckReport, count, duplicate
from pdsketch.lang.syntax import (
    DerivedSyntax,
    DomainSyntax,
    PredicateSyntax,
    Setting,
    Typed,
    TypeName,
    TypeSyntax,
)
from pdsketch.lang.types import BOOL, OBJECT, ObjectType, Type, ValueType


def declare(domain: DomainSyntax, report: CheckReport) -> Tables:
    """The tables of a domain."""
    tables = declare_types(domain.types, report)
    tables.objects.update(_constants(domain.constants, tables, report))
    for predicate in domain.predicates:
        _declare_predicate(predicate, tables, report)
    for derived in domain.derived:
        _declare_derived(derived, tables, report)
    for signature in tables.signatures.values():
        _check_parameters(signature, report)
    return tables


def _constants(entries: Sequence[Typed], tables: Tables, report: CheckReport) -> dict[str, ObjectType]:
    found: dict[str, ObjectType] = {}
    first: dict[str, Token] = {}
    for entry in entries:
        name = entry.name.text
        if name in first:
            duplicate("constant", entry.name, first[name], report)
            continue
        first[name] = entry.name
        type_ = (
            OBJECT
            if entry.type is None
            else resolve_type(entry.type, tables.hierarchy, tables.value_types, report)
        )
        if isinstance(type_, ValueType):
            report.error(
                "type-mismatch", f"a constant is an object, and `{type_}` is a value type", entry.name
            )
            type_ = None
        found[name] = type_ or UNKNOWN
    return found


def _declare_predicate(syntax: PredicateSyntax, tables: Tables, report: CheckReport) -> None:
    name = syntax.name.text
    if (name in RESERVED and name not in ("eq", "equal")) or "::" in name:
        report.error("reserved-name", f"`{name}` is a word of the language", syntax.name)
        return
    if name in tables.signatures:
        duplicate("predicate", syntax.name, tables.signatures[name].span, report)
        return
    before = len(report.diagnostics)
    parameters = declare_parameters(syntax.parameters, tables, report, default=OBJECT)
    returns = _returns(syntax, tables, report) or BOOL
    is_wrong = syntax.is_wrong or len(report.diagnostics) > before
    tables.signatures[name] = PredicateSignature(
        name, report.span(syntax.name), parameters, returns, is_wrong=is_wrong
    )


def _declare_derived(derived: DerivedSyntax, tables: Tables, report: CheckReport) -> None:
    """Either a new predicate, as in the paper, or one more rule for a declared one, as in PDDL."""
    head = derived.head
    name = head.name.text
    if (name in RESERVED and name not in ("eq", "equal")) or "::" in name:
        report.error("reserved-name", f"`{name}` is a word of the language", head.name)
        return
    known = tables.signatures.get(name)
    if known is not None and (not known.is_declared or (known.bodies and not known.returns.is_bool)):
        duplicate("derived predicate", head.name, known.bodies[0].head.name, report)
        return
    default = UNKNOWN if known is None and not tables.is_untyped else OBJECT
    before = len(report.diagnostics)
    parameters = declare_parameters(head.parameters, tables, report, default=default)
    returns = _returns(head, tables, report)
    if known is None:
        tables.signatures[name] = PredicateSignature(
            name,
            report.span(head.name),
            parameters,
            returns or BOOL,
            [derived],
            [parameters],
            is_declared=False,
            has_body=True,
            is_wrong=head.is_wrong or len(report.diagnostics) > before,
        )
        return
    if known.is_wrong or head.is_wrong:
        known.has_body = known.is_wrong = True
        return
    if len(parameters) != len(known.parameters):
        report.error(
            "arity-mismatch",
            f"`{name}` is declared with {count(len(known.parameters), 'parameter')},"
            f" and derived with {len(parameters)}",
            head.name,
            notes=[Note(report.span(known.span), "declared here")],
        )
        return
    if returns is not None and returns != known.returns:
        report.error(
            "type-mismatch",
            f"`{name}` is declared to return {known.returns}, and derived to return {returns}",
            head.name,
            notes=[Note(report.span(known.span), "declared here")],
        )
        return
    known.bodies.append(derived)
    known.has_body = True
    known.heads.append(
        tuple(
            Parameter(own.name, declared.type, own.span) if typed.type is None else own
            for own, declared, typed in zip(parameters, known.parameters, head.parameters, strict=True)
        )
    )


def declare_parameters(
    entries: Sequence[Typed], tables: Tables, report: CheckReport, *, default: ObjectType
) -> tuple[Parameter, ...]:
    """Parameters with their types; one that stands twice is reported.

    ``entries`` are the parsed list; types are looked up in ``tables``, and what is not found goes to
    ``report``. An entry without a type has the ``default``; where that is `UNKNOWN`, its uses decide.
    """
    found: dict[str, Parameter] = {}
    for at, entry in enumerate(entries):
        name, span = entry.name.text, report.span(entry.name)
        if name in found:
            duplicate("parameter", entry.name, found[name].span, report)
            name = f"{name}${at}"
        if entry.type is None:
            found[name] = Parameter(name, default, span, untyped=default == UNKNOWN)
        else:
            type_ = resolve_type(entry.type, tables.hierarchy, tables.value_types, report)
            found[name] = Parameter(name, type_ or UNKNOWN, span)
    return tuple(found.values())


def _returns(syntax: PredicateSyntax, tables: Tables, report: CheckReport) -> ValueType | None:
    """The declared type of the value; a number for functions; None where nothing is said."""
    written: TypeSyntax | None = syntax.returns
    for setting in syntax.settings:
        if setting.key.text == "return_type":
            written = setting_type(setting, report) or written
        else:
            report.error(
                "unknown-setting",
                f"a predicate has no setting `{setting.key.text}`",
                setting.key,
                help=report.near(setting.key.text, ("return_type",)) or "there is `return_type`",
            )
    is_number = isinstance(written, TypeName) and written.name.text == "number" and written.bracket is None
    if syntax.is_function and (written is None or is_number):
        return NUMBER
    if written is None:
        return None
    found: Type | None = resolve_type(written, tables.hierarchy, tables.value_types, report)
    if isinstance(found, ObjectType):
        report.error(
            "unsupported-type", f"`{syntax.name.text}` returns an object; only values are supported", written
        )
        return None
    return found


def setting_type(setting: Setting, report: CheckReport) -> TypeSyntax | None:
    """The type that a setting names."""
    if isinstance(setting.value, Token) and is_name(setting.value):
        return TypeName(setting.value, setting.bracket)
    report.error("bad-setting", f"`{setting.key.text}` wants a type", setting.value)
    return None


def _check_parameters(signature: PredicateSignature, report: CheckReport) -> None:
    """A predicate without a body takes objects (it is observed) or values (it is external), not both."""
    kinds = {isinstance(p.type, ValueType) for p in signature.parameters if p.type != UNKNOWN}
    if not signature.has_body and len(kinds) == 2:
        odd = next(p for p in signature.parameters if isinstance(p.type, ValueType))
        report.error(
            "mixed-parameters",
            f"`{signature.name}` has no body and takes both objects and values",
            odd.span,
            label="a value",
            help="observed predicates take objects, external functions values, derived ones both",
        )
