"""The ``:types`` of a domain: the hierarchy of object types, and the named value types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdsketch.lang.check.tables import Tables
from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED, WRONG, resolve_type
from pdsketch.lang.diagnostics import nearest
from pdsketch.lang.lists import is_name
from pdsketch.lang.report import CheckReport, duplicate, path
from pdsketch.lang.syntax import Either, Typed, TypeName, TypeSyntax
from pdsketch.lang.types import Hierarchy, ValueType


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
    settled: set[str] = set()
    for start, parents in up.items():
        way: list[str] = []
        on_way: set[str] = set()
        stack = [(start, iter(parents))] if start not in settled else []
        if stack:
            way.append(start)
            on_way.add(start)
        while stack:
            name, rest = stack[-1]
            parent = next(rest, None)
            if parent is None:
                stack.pop()
                settled.add(name)
                on_way.discard(way.pop())
            elif parent in on_way:
                if not (parent == name == "object"):
                    cycle = way[way.index(parent) :]
                    cyclic.update(cycle)
                    report.error(
                        "type-cycle",
                        f"type `{parent}` stands above itself: {path([*cycle, parent], ' - ')}",
                        first[name].name,
                    )
            elif parent not in settled:
                stack.append((parent, iter(up[parent])))
                way.append(parent)
                on_way.add(parent)
    return cyclic
