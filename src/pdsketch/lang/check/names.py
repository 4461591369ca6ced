"""Declarations → tables: types, constants and predicates, each name once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdsketch.lang.analysis import components, cycle_of
from pdsketch.lang.check.tables import NUMBER, UNKNOWN, Parameter, PredicateSignature, Tables
from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED, WRONG, resolve_type
from pdsketch.lang.diagnostics import Note, nearest
from pdsketch.lang.lists import is_name
from pdsketch.lang.reader import Token
from pdsketch.lang.report import CheckReport, count, duplicate, path
from pdsketch.lang.syntax import (
    DerivedSyntax,
    DomainSyntax,
    Either,
    PredicateSyntax,
    Setting,
    Typed,
    TypeName,
    TypeSyntax,
)
from pdsketch.lang.types import BOOL, OBJECT, Hierarchy, ObjectType, Type, ValueType

# The ``:types`` of a domain: the hierarchy of object types, and the named value types.


def declare_types(entries: Sequence[Typed], report: CheckReport) -> Tables:
    """Object types form the hierarchy; whatever stands on a value type is a value type."""
    first: dict[str, Typed] = {}
    more: dict[str, list[Typed]] = {}
    for entry in entries:
        name = entry.name.text
        if (name in PRIMITIVES and name != "number") or name == "vector" or name in RESERVED:
            report.error("reserved-name", f"`{name}` is a word of the language", entry.name)
        elif name in first:
            more.setdefault(name, []).append(entry)
        else:
            first[name] = entry
    _declare_parents(first, report)
    values = _value_names(first)
    above = {name: list(_parent_names(entry.type)) for name, entry in first.items()}
    for name, again in more.items():
        _redeclare(name, again, first, values, above, report)
    cyclic = _report_cycles(first, above, report)
    parents = {
        name: tuple(
            p for p in dict.fromkeys(up) if (p in first or p == "object") and p not in values and p != name
        )
        for name, up in above.items()
        if name not in values
    }
    hierarchy = Hierarchy(
        {n: (up if n not in cyclic else ()) or ("object",) * (n != "object") for n, up in parents.items()}
    )
    value_types: dict[str, ValueType] = {}
    for name in _in_order(values, first):
        type_ = first[name].type
        found = resolve_type(type_, hierarchy, value_types, report) if type_ and name not in cyclic else None
        value_types[name] = replace(found, alias=name) if isinstance(found, ValueType) else WRONG
    for name, entry in first.items():
        if name not in values and entry.type is not None:
            resolve_type(entry.type, hierarchy, value_types, report)
    ordered = {name: value_types[name] for name in first if name in value_types}
    return Tables(hierarchy, ordered, {}, {})


def _declare_parents(first: dict[str, Typed], report: CheckReport) -> None:
    """A type that stands only above others is an object type too, unless it looks like a slip."""
    known = {*first, *PRIMITIVES, "vector", "object"}
    for entry in list(first.values()):
        members = entry.type.members if isinstance(entry.type, Either) else (entry.type,)
        for member in members:
            if member is None or member.name.text in known or member.bracket is not None:
                continue
            if is_name(member.name) and nearest(member.name.text, known) is None:
                known.add(member.name.text)
                first[member.name.text] = Typed(member.name)
                report.warning(
                    "undeclared-type",
                    f"type `{member.name.text}` stands above others, but is not declared itself",
                    member.name,
                    help=f"declare it: {member.name.text} - object",
                )


def _redeclare(
    name: str,
    again: list[Typed],
    first: dict[str, Typed],
    values: set[str],
    above: dict[str, list[str]],
    report: CheckReport,
) -> None:
    """An object type that stands again under another one has both parents; all else is a slip."""
    for entry in again:
        parents = [p for p in _parent_names(entry.type) if p not in above[name]]
        is_value = name in values or any(p in values or p in PRIMITIVES or p == "vector" for p in parents)
        if is_value or not parents or entry.type is None:
            duplicate("type", entry.name, first[name].name, report)
            continue
        above[name] += parents
        report.warning(
            "repeated-type",
            f"type `{name}` is declared again, and now stands under {' and '.join(above[name])}",
            entry.name,
            help=f"declare it once: {name} - (either {' '.join(above[name])})",
        )


def _parent_names(type_: TypeSyntax | None) -> tuple[str, ...]:
    match type_:
        case None:
            return ("object",)
        case TypeName():
            return (type_.name.text,)
        case Either():
            return tuple(member.name.text for member in type_.members)


def _value_names(first: dict[str, Typed]) -> set[str]:
    """The declared names that stand, directly or through others, on a value type."""
    values: set[str] = set()
    base = {*PRIMITIVES, "vector"} - first.keys()
    changed = True
    while changed:
        changed = False
        for name, entry in first.items():
            if (
                name not in values
                and isinstance(entry.type, TypeName)
                and entry.type.name.text in base | values
            ):
                values.add(name)
                changed = True
    return values


def _in_order(values: set[str], first: dict[str, Typed]) -> list[str]:
    """Value types, each behind the one it stands on."""
    done: dict[str, None] = {}
    for name in first:
        chain: list[str] = []
        at = name
        while at in values and at not in done and at not in chain:
            chain.append(at)
            at = _parent_names(first[at].type)[0]
        done.update(dict.fromkeys(reversed(chain)))
    return list(done)


def _report_cycles(first: dict[str, Typed], above: dict[str, list[str]], report: CheckReport) -> set[str]:
    """The types that stand above themselves."""
    up = {name: [p for p in parents if p in first] for name, parents in above.items()}
    cyclic: set[str] = set()
    for component in components(up):
        name = component[0]
        if len(component) > 1 or (name in up[name] and name != "object"):
            cyclic.update(component)
            cycle = cycle_of(name, up, component)
            message = f"type `{name}` stands above itself: {path(cycle, ' - ')}"
            report.error("type-cycle", message, first[cycle[-2]].name)
    return cyclic


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
    parameters = declare_parameters(syntax.parameters, tables, report, default=OBJECT, distinct=False)
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
    entries: Sequence[Typed],
    tables: Tables,
    report: CheckReport,
    *,
    default: ObjectType,
    distinct: bool = True,
) -> tuple[Parameter, ...]:
    """Parameters with their types, each of another name.

    ``entries`` are the parsed list; types are looked up in ``tables``, and what is not found goes to
    ``report``. An entry without a type has the ``default``; where that is `UNKNOWN`, its uses decide.
    A name that stands twice is reported if names must be ``distinct``; where nothing is said of the
    parameters, as in published domains with ``(in ?obj ?obj)``, the second gets a name of its own.
    """
    found: dict[str, Parameter] = {}
    for entry in entries:
        name, span = entry.name.text, report.span(entry.name)
        if name in found and distinct:
            duplicate("parameter", entry.name, found[name].span, report)
        while name in found:
            name += "-2"
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
