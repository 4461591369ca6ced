"""The ``:types`` of a domain: the hierarchy of object types, and the named value types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdsketch.lang.check.tables import Tables
from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED, WRONG, resolve_type
from pdsketch.lang.report import Report, duplicate
from pdsketch.lang.syntax import Either, Typed, TypeName, TypeSyntax
from pdsketch.lang.types import Hierarchy, ValueType


def declare_types(entries: Sequence[Typed], report: Report) -> Tables:
    """Object types form the hierarchy; whatever stands on a value type is a value type."""
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
        found = resolve_type(type_, hierarchy, value_types, report) if type_ and name not in cyclic else None
        value_types[name] = replace(found, alias=name) if isinstance(found, ValueType) else WRONG
    for name, entry in first.items():
        if name not in values and entry.type is not None:
            resolve_type(entry.type, hierarchy, value_types, report)
    ordered = {name: value_types[name] for name in first if name in value_types}
    return Tables(hierarchy, ordered, {}, {})


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
    for start, above in up.items():
        path: list[str] = []
        on_path: set[str] = set()
        stack = [(start, iter(above))] if start not in settled else []
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
