"""Declarations → tables: types, constants and predicates, each name once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdsketch.lang.check.tables import NUMBER, UNKNOWN, Parameter, Signature, Tables
from pdsketch.lang.check.typenames import PRIMITIVES, resolve_type
from pdsketch.lang.diagnostics import Note, did_you_mean
from pdsketch.lang.parser import is_name
from pdsketch.lang.reader import Atom
from pdsketch.lang.report import Placed, Report, count
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

RESERVED = frozenset(
    ["and", "or", "not", "imply", "implies", "forall", "exists", "foreach", "when", "assign", "increase", "decrease", "scale-up", "scale-down", "=", "eq", "equal", "<", "<=", ">", ">=", "+", "-", "*", "/", "true", "false"]
)

SUPPORTED = frozenset(
    [":strips", ":typing", ":equality", ":negative-preconditions", ":disjunctive-preconditions", ":existential-preconditions", ":universal-preconditions", ":quantified-preconditions", ":conditional-effects", ":adl", ":derived-predicates", ":action-costs", ":fluents", ":numeric-fluents", ":pdsketch"]
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


def check_requirements(requirements: Iterable[Atom], report: Report) -> tuple[str, ...]:
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
                help=did_you_mean(atom.text, [*SUPPORTED, *UNSUPPORTED]),
            )
    return tuple(dict.fromkeys(atom.text for atom in requirements))


def declare(domain: DomainSyntax, report: Report) -> Tables:
    """The tables of a domain."""
    tables = _types(domain.types, report)
    tables.objects.update(_constants(domain.constants, tables, report))
    for predicate in domain.predicates:
        _declare_predicate(predicate, tables, report)
    for derived in domain.derived:
        _declare_derived(derived, tables, report)
    for signature in tables.signatures.values():
        _check_parameters(signature, report)
    return tables


def duplicate(what: str, atom: Atom, first: Placed, report: Report) -> None:
    """Report a name that is declared twice, with both places."""
    report.error(
        "duplicate-name",
        f"{what} `{atom.text}` is declared twice",
        atom,
        label="again here",
        notes=[Note(report.span(first), "first here")],
        help="rename or remove one of them",
    )


def _types(entries: Sequence[Typed], report: Report) -> Tables:
    """Object types form the hierarchy; whatever stands on a value type is a value type."""
    before = len(report.diagnostics)
    first: dict[str, Typed] = {}
    for entry in entries:
        name = entry.name.text
        if name in PRIMITIVES or name == "vector" or name in RESERVED:
            report.error("reserved-name", f"`{name}` is a word of the language", entry.name)
        elif name in first:
            duplicate("type", entry.name, first[name].name, report)
        else:
            first[name] = entry
    values = _value_names(first)
    parents = {
        name: tuple(p for p in _parent_names(entry.type) if p in first or p == "object")
        for name, entry in first.items()
        if name not in values
    }
    cyclic = _report_cycles(first, report)
    hierarchy = Hierarchy(
        {
            n: tuple(p for p in up if n not in cyclic and p != n) or ("object",) * (n != "object")
            for n, up in parents.items()
        }
    )
    value_types: dict[str, ValueType] = {}
    for name in _in_order(values, first):
        type_ = first[name].type
        if name in cyclic or type_ is None:
            continue
        found = resolve_type(type_, hierarchy, value_types, report)
        if isinstance(found, ValueType):
            value_types[name] = ValueType(found.prim, found.shape, found.choices, found.tolerance, alias=name)
    for name, entry in first.items():
        if name not in values and entry.type is not None:
            resolve_type(entry.type, hierarchy, value_types, report)
    ordered = {name: value_types[name] for name in first if name in value_types}
    return Tables(hierarchy, ordered, {}, {}, has_wrong_types=len(report.diagnostics) > before)


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
    base = {*PRIMITIVES, "vector"}
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


def _report_cycles(first: dict[str, Typed], report: Report) -> set[str]:
    """The types that stand above themselves."""
    up = {name: [p for p in _parent_names(entry.type) if p in first] for name, entry in first.items()}
    cyclic: set[str] = set()
    settled: set[str] = set()
    for start in up:
        path: list[str] = []
        on_path: set[str] = set()
        stack = [(start, iter(up[start]))] if start not in settled else []
        if stack:
            path.append(start)
            on_path.add(start)
        while stack:
            name, parents = stack[-1]
            parent = next(parents, None)
            if parent is None:
                stack.pop()
                settled.add(name)
                on_path.discard(path.pop())
            elif parent in on_path:
                if not (parent == name == "object"):
                    cycle = path[path.index(parent) :]
                    cyclic.update(cycle)
                    report.error(
                        "type-cycle",
                        f"type `{parent}` stands above itself: {' - '.join([*cycle, parent])}",
                        first[name].name,
                    )
            elif parent not in settled:
                stack.append((parent, iter(up[parent])))
                path.append(parent)
                on_path.add(parent)
    return cyclic


def _constants(entries: Sequence[Typed], tables: Tables, report: Report) -> dict[str, ObjectType]:
    found: dict[str, ObjectType] = {}
    first: dict[str, Atom] = {}
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


def _declare_predicate(syntax: PredicateSyntax, tables: Tables, report: Report) -> None:
    name = syntax.name.text
    if name in RESERVED or "::" in name:
        report.error("reserved-name", f"`{name}` is a word of the language", syntax.name)
        return
    if name in tables.signatures:
        duplicate("predicate", syntax.name, tables.signatures[name].span, report)
        return
    parameters = _parameters(syntax, tables, report, default=OBJECT)
    tables.signatures[name] = Signature(
        name, report.span(syntax.name), parameters, _returns(syntax, tables, report) or BOOL
    )


def _declare_derived(derived: DerivedSyntax, tables: Tables, report: Report) -> None:
    """Either a new predicate, as in the paper, or one more rule for a declared one, as in PDDL."""
    head = derived.head
    name = head.name.text
    if name in RESERVED or "::" in name:
        report.error("reserved-name", f"`{name}` is a word of the language", head.name)
        return
    known = tables.signatures.get(name)
    if known is not None and (not known.is_declared or (known.bodies and not known.returns.is_bool)):
        duplicate("derived predicate", head.name, known.bodies[0].head.name, report)
        return
    default = UNKNOWN if known is None and not tables.is_untyped else OBJECT
    parameters = _parameters(head, tables, report, default=default)
    returns = _returns(head, tables, report)
    if known is None:
        tables.signatures[name] = Signature(
            name,
            report.span(head.name),
            parameters,
            returns or BOOL,
            [derived],
            [parameters],
            is_declared=False,
            has_body=True,
        )
        return
    if len(parameters) != len(known.parameters):
        report.error(
            "arity-mismatch",
            f"`{name}` is declared with {count(len(known.parameters), 'parameter')}, and derived with {len(parameters)}",
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


def _parameters(
    syntax: PredicateSyntax, tables: Tables, report: Report, *, default: ObjectType
) -> tuple[Parameter, ...]:
    return declare_parameters(syntax.parameters, tables, report, default=default)


def declare_parameters(
    entries: Sequence[Typed], tables: Tables, report: Report, *, default: ObjectType
) -> tuple[Parameter, ...]:
    """Parameters with their types; one that stands twice is reported."""
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


def _returns(syntax: PredicateSyntax, tables: Tables, report: Report) -> ValueType | None:
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
                help=did_you_mean(setting.key.text, ("return_type",)) or "there is `return_type`",
            )
    if written is None:
        return NUMBER if syntax.is_function else None
    found: Type | None = resolve_type(written, tables.hierarchy, tables.value_types, report)
    if isinstance(found, ObjectType):
        report.error(
            "unsupported-type", f"`{syntax.name.text}` returns an object; only values are supported", written
        )
        return None
    return found


def setting_type(setting: Setting, report: Report) -> TypeSyntax | None:
    """The type that a setting names."""
    if isinstance(setting.value, Atom) and is_name(setting.value):
        return TypeName(setting.value, setting.bracket)
    report.error("bad-setting", f"`{setting.key.text}` wants a type", setting.value)
    return None


def _check_parameters(signature: Signature, report: Report) -> None:
    """A predicate without a body takes objects (it is observed) or values (it is external), not both."""
    kinds = {isinstance(p.type, ValueType) for p in signature.parameters if p.type != UNKNOWN}
    if not signature.has_body and len(kinds) == 2:
        odd = next(p for p in signature.parameters if isinstance(p.type, ValueType))
        report.error(
            "mixed-parameters",
            f"`{signature.name}` has no body and takes both objects and values",
            odd.span,
            label="a value",
            help="an observed predicate takes objects, an external function values; a derived predicate may mix them",
        )
