"""Type names → types: object types, ``either``, value types with their settings."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pdsketch.lang.check.numbers import read_number
from pdsketch.lang.lists import parse_settings
from pdsketch.lang.reader import Group, Token
from pdsketch.lang.report import CheckReport
from pdsketch.lang.syntax import Either, Setting, TypeName, TypeSyntax
from pdsketch.lang.types import BOOL, FLOAT, INT, Hierarchy, ObjectType, Prim, Type, ValueType

PRIMITIVES: dict[str, ValueType] = {
    "bool": BOOL,
    "int64": INT,
    "float32": FLOAT,
    "number": replace(FLOAT, alias="number"),
}
RESERVED = frozenset(
    ("and", "or", "not", "imply", "implies", "forall", "exists", "foreach", "when", "assign", "increase")
) | frozenset(("decrease", "scale-up", "scale-down", "=", "eq", "equal", "<", "<=", ">", ">=", "+", "-"))
RESERVED |= frozenset(("*", "/", "true", "false"))
"""The words of the language, which name nothing else."""

WRONG = ValueType("float32", None, alias="?")
"""Stands for a declared value type that is wrong, so that its uses are not called unknown."""

MAX_ELEMENTS = 1 << 28
"""The largest value that a type may describe, in numbers."""


def resolve_type(
    syntax: TypeSyntax, hierarchy: Hierarchy, value_types: dict[str, ValueType], report: CheckReport
) -> Type | None:
    """The type that a name stands for; None where there is none (reported).

    ``syntax`` is the type as parsed: a name, a vector or an ``either``. Object types are those of
    ``hierarchy``, named values those of ``value_types``; what is neither goes to ``report`` with the nearest
    name.
    """
    if isinstance(syntax, Either):
        members = [resolve_type(m, hierarchy, value_types, report) for m in syntax.members]
        names: dict[str, None] = {}
        for part, member in zip(syntax.members, members, strict=True):
            if isinstance(member, ValueType):
                report.error(
                    "type-mismatch", f"`either` joins object types, and `{part.name.text}` is a value", part
                )
            elif member is not None:
                names.update(dict.fromkeys(member.names))
        return ObjectType(tuple(names)) if len(names) == len(set(members)) else None
    name = syntax.name.text
    if name == "vector":
        return _vector(syntax, report)
    # PDDL's `number` is no reserved word: a domain may have numbers among its objects.
    if (name in PRIMITIVES and name not in hierarchy.parents) or name in value_types:
        base = value_types.get(name) or PRIMITIVES[name]
        report.refers(syntax.name.start, syntax.name.end, ("type", name))
        if base is WRONG:
            return None
        return base if syntax.bracket is None else _with_settings(base, syntax.bracket, report)
    if name == "object" or name in hierarchy.parents:
        if syntax.bracket is not None:
            report.error("bad-type", f"`{name}` is an object type; it takes no settings", syntax.bracket)
        report.refers(syntax.name.start, syntax.name.end, ("type", name))
        return ObjectType((name,))
    known = [*hierarchy.names, *value_types, *PRIMITIVES, "vector"]
    report.error(
        "unknown-type",
        f"there is no type `{name}`",
        syntax.name,
        help=report.near(name, known) or f"declare it: (:types {name})",
    )
    return None


def _vector(syntax: TypeName, report: CheckReport) -> ValueType | None:
    """``vector[PRIM]``, ``vector[PRIM, n]``, ``vector[PRIM, h, w, c]``, with settings."""
    bracket = syntax.bracket
    prim = bracket.items[0] if bracket is not None and bracket.items else None
    if bracket is None or not isinstance(prim, Token) or prim.text not in ("bool", "int64", "float32"):
        found = f", found `{prim.text}`" if isinstance(prim, Token) else ""
        report.error(
            "bad-type",
            f"a vector holds bool, int64 or float32{found}",
            prim or syntax.name,
            help="for instance vector[float32, 2]",
        )
        return None
    dims: list[int] = []
    settings: list[Setting] = []
    at = 1
    items = [item for item in bracket.items if not (isinstance(item, Token) and item.text == ",")]
    while at < len(items):
        item = items[at]
        if isinstance(item, Token) and item.text.isdecimal() and int(item.text) > 0:
            dims.append(int(item.text))
            at += 1
            continue
        if isinstance(item, Group) or "=" not in "".join(
            i.text for i in items[at : at + 2] if isinstance(i, Token)
        ):
            report.error("bad-type", "wanted a dimension, a whole number above 0", item)
            return None
        settings = list(parse_settings(items[at:], report))
        break
    shape = tuple(dims) if dims else None
    size = 1
    for dim in dims:
        size *= dim
    if size > MAX_ELEMENTS:
        many = f"{size:,}" if size < 10**18 else "so many"
        message = f"{many} numbers are more than a value may hold"
        report.error("bad-type", message, syntax, help=f"{MAX_ELEMENTS:,} are the most")
        return None
    return _apply_settings(ValueType(cast(Prim, prim.text), shape), settings, report)


def _with_settings(base: ValueType, bracket: Group, report: CheckReport) -> ValueType | None:
    return _apply_settings(replace(base, alias=None), list(parse_settings(bracket.items, report)), report)


def _apply_settings(base: ValueType, settings: list[Setting], report: CheckReport) -> ValueType | None:
    """The type with ``choices`` and ``tolerance`` set."""
    for setting in settings:
        key = setting.key.text
        number = read_number(setting.value.text) if isinstance(setting.value, Token) else None
        if key == "choices":
            if base.prim != "int64":
                report.error("bad-type", f"only ints have choices, and this is {base}", setting.key)
                return None
            if not isinstance(number, int) or not 1 <= number <= 1 << 20:
                report.error("bad-type", "`choices` is a whole number from 1 to 1,048,576", setting.value)
                return None
            base = replace(base, choices=number)
        elif key == "tolerance":
            if number is None or not 0 <= number < float("inf"):
                report.error("bad-type", "`tolerance` is a number, 0 or more", setting.value)
                return None
            base = replace(base, tolerance=float(number))
        else:
            report.error(
                "unknown-setting",
                f"a value type has no setting `{key}`",
                setting.key,
                help=report.near(key, ("choices", "tolerance")) or "there are `choices` and `tolerance`",
            )
            return None
    return base
