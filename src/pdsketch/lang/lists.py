"""The small lists inside declarations: names with types, ``either``, settings in brackets."""

from __future__ import annotations

from collections.abc import Sequence

from pdsketch.lang.reader import Group, Node, Token, is_word_of_its_own
from pdsketch.lang.report import CheckReport
from pdsketch.lang.syntax import Either, Setting, Typed, TypeName, TypeSyntax


def parse_typed(items: Sequence[Node], report: CheckReport, *, variables: bool = False) -> list[Typed]:
    """``a b - t c``: names (or variables) with the type written behind them."""
    found: list[Typed] = []
    waiting: list[Token] = []
    at = 0
    while at < len(items):
        item = items[at]
        if isinstance(item, Token) and item.text == "-":
            type_, at = type_at(items, at + 1, item, report)
            if not waiting:
                report.error("bad-typed-list", "no name stands before this type", item)
            found += [Typed(name, type_) for name in waiting]
            waiting = []
            continue
        at += 1
        if isinstance(item, Token) and is_name(item, variable=variables):
            waiting.append(item)
        else:
            waiting += _not_a_name(item, report, variables=variables)
    return found + [Typed(name) for name in waiting]


def _not_a_name(item: Node, report: CheckReport, *, variables: bool) -> list[Token]:
    """Report what stands where a name is wanted; the variable that was probably meant, if any."""
    text = item.text if isinstance(item, Token) else ""
    shown = f"`{text}`" if text else "a list"
    hint = None
    meant: list[Token] = []
    if text == ",":
        hint = "leave out the comma"
    elif text.startswith("-"):
        hint = f"put a space behind the dash: - {text[1:]}"
    elif variables and text and text[0] not in "?:":
        hint = f"did you mean `?{text}`?"
        meant.append(Token(f"?{text}", item.start))
    wanted = "a variable such as `?x`" if variables else "a name"
    report.error("bad-name", f"wanted {wanted}, found {shown}", item, help=hint)
    return meant


def is_name(atom: Token, *, variable: bool = False) -> bool:
    """Whether an atom can name something: a variable, or anything else."""
    text = atom.text
    if variable:
        return len(text) > 1 and text[0] == "?" and text[1] != "?" and "$" not in text
    return text[0] not in '?:"$,=-' and "$" not in text


def is_object_name(text: str) -> bool:
    """Whether the reader would take a text that it has not read for one name."""
    return is_word_of_its_own(text) and is_name(Token(text, 0))


def type_at(
    items: Sequence[Node], at: int, dash: Token, report: CheckReport
) -> tuple[TypeSyntax | None, int]:
    """The type that begins at an index, and the index behind it.

    ``items`` is the typed list, ``at`` the index behind the ``dash``, where the report points if nothing
    stands there. A type that cannot be read is None and goes to ``report``.
    """
    if at >= len(items):
        report.error("bad-typed-list", "no type stands behind this `-`", dash)
        return None, at
    item = items[at]
    if isinstance(item, Group):
        return _either(item, report), at + 1
    if not is_name(item):
        report.error("bad-typed-list", f"wanted a type, found `{item.text}`", item)
        return None, at if item.text == "-" else at + 1
    bracket = items[at + 1] if at + 1 < len(items) else None
    if isinstance(bracket, Group) and bracket.bracket == "[" and bracket.start == item.end:
        return TypeName(item, bracket), at + 2
    return TypeName(item), at + 1


def _either(group: Group, report: CheckReport) -> TypeSyntax | None:
    if group.bracket == "(" and is_word(group.items, 0, "either") and len(group.items) > 1:
        members: list[TypeName] = []
        for item in group.items[1:]:
            if isinstance(item, Token):
                members.append(TypeName(item))
            else:
                report.error("bad-typed-list", "`either` takes names of object types", item)
        if members:
            return Either(tuple(members), group.start, group.end)
        return None
    report.error("bad-typed-list", "wanted a type, or (either TYPE …)", group)
    return None


def parse_settings(nodes: Sequence[Node], report: CheckReport) -> tuple[Setting, ...]:
    """``[key=value, …]``; the value is a word, a string, a number or a type."""
    found: list[Setting] = []
    items = [item for item in nodes if not (isinstance(item, Token) and item.text == ",")]
    at = 0
    while at < len(items):
        setting, at = _setting_at(items, at, report)
        if setting is not None:
            found.append(setting)
    return tuple(found)


def _setting_at(items: list[Node], at: int, report: CheckReport) -> tuple[Setting | None, int]:
    """``key=value``, ``key= value``, ``key =value`` or ``key = value``, read from an index."""
    first = items[at]
    if isinstance(first, Group):
        report.error("bad-setting", "wanted KEY=VALUE", first)
        return None, at + 1
    key_text, equals, rest = first.text.partition("=")
    at += 1
    if not equals and at < len(items):
        second = items[at]
        if isinstance(second, Token) and second.text.startswith("="):
            equals, rest, at = "=", second.text[1:], at + 1
            first = Token(first.text, second.start - len(first.text))
    value: Node | None = None
    if rest:
        value = Token(rest, first.start + len(key_text) + 1)
    elif equals and at < len(items):
        value, at = items[at], at + 1
    if not key_text or value is None:
        report.error("bad-setting", "wanted KEY=VALUE", first, help="for instance [return_type=float32]")
        return None, at
    bracket = items[at] if at < len(items) else None
    if isinstance(value, Token) and isinstance(bracket, Group) and bracket.start == value.end:
        return Setting(Token(key_text, first.start), value, bracket), at + 1
    return Setting(Token(key_text, first.start), value), at


def is_settings(node: Node) -> bool:
    """Whether a bracket holds settings rather than the numbers of a vector."""
    return (
        isinstance(node, Group)
        and node.bracket == "["
        and (not node.items or any(isinstance(item, Token) and "=" in item.text for item in node.items))
    )


def is_word(items: Sequence[Node], at: int, word: str) -> bool:
    """Whether a certain word stands at an index."""
    if at >= len(items):
        return False
    item = items[at]
    return isinstance(item, Token) and item.text == word
