"""What may stand at an offset of an analysed text, by kind and type: completions for an editor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, final

from pdsketch.editor.analysis import TextAnalysis
from pdsketch.editor.lexical import QUANTIFIERS
from pdsketch.lang import (
    EFFECT_WORDS,
    PARTS,
    PRIMITIVES,
    RULES,
    SECTION_WORDS,
    SECTIONS,
    SUPPORTED,
    UNKNOWN,
    Group,
    Node,
    ObjectType,
    Tables,
    Token,
    Type,
    ValueType,
)

Form = Literal["formula", "effect", "target", "init", "set"]
"""What a list stands for: a formula or value, an effect, what an effect writes, an entry of ``:init``, or
the argument of a blank."""


@final
class Completion(NamedTuple):
    """A word that fits: ``kind`` is that of a declaration, ``keyword`` or ``operator``."""

    label: str
    kind: str
    detail: str = ""


@final
class Completions(NamedTuple):
    """The words that fit in the place of ``start:end``, the word that has been begun there."""

    start: int
    end: int
    items: tuple[Completion, ...]


@final
class _Place(NamedTuple):
    """The lists around an offset, outermost first, with the position of each in the one before."""

    path: list[tuple[Group, int]]
    position: int
    word: Token | None


def completions(analysis: TextAnalysis, offset: int) -> Completions:
    """The words that fit at an offset."""
    place = _place(analysis, offset)
    word = place.word
    start, end = (offset, offset) if word is None else (word.start, word.end)
    if word is not None and "=" in word.text and place.path[-1:] and place.path[-1][0].bracket == "[":
        start += word.text.index("=") + 1
    unique = dict.fromkeys(_fitting(analysis, place, offset))
    return Completions(start, end, tuple(unique))


def _place(analysis: TextAnalysis, offset: int) -> _Place:
    nodes: Sequence[Node] = analysis.nodes
    path: list[tuple[Group, int]] = []
    while True:
        index, word, inner = 0, None, None
        for at, node in enumerate(nodes):
            if node.start >= offset:
                break
            index = at + 1
            if isinstance(node, Token):
                if offset <= node.end:
                    index, word = at, node
            elif offset < node.end or (offset == node.end and not _is_closed(analysis.source.text, node)):
                inner, index = node, at
        if inner is None:
            return _Place(path, index, word)
        path.append((inner, index))
        nodes = inner.items


def _is_closed(text: str, group: Group) -> bool:
    return group.end - group.start > 1 and text[group.end - 1 : group.end] == (
        ")" if group.bracket == "(" else "]"
    )


def _fitting(analysis: TextAnalysis, place: _Place, offset: int) -> Iterator[Completion]:
    path, index = place.path, place.position
    if not path:
        return
    inner = path[-1][0]
    before = inner.items[index - 1] if index else None
    depth = next((i for i, (group, _) in enumerate(path) if group.head in SECTION_WORDS), None)
    if isinstance(before, Token) and before.text == "-" and inner.bracket == "(":
        section = None if depth is None else path[depth][0].head
        yield from _types(analysis, values=section not in (":objects", ":constants"))
    elif inner.head == "either":
        yield from _types(analysis, values=False)
    elif inner.bracket == "[":
        yield from _settings(analysis, place)
    elif depth is None or (depth == len(path) - 1 and index == 0):
        if index == 0 and len(path) == 2:
            yield from (Completion(word, "keyword") for word in SECTIONS[analysis.kind])
    else:
        yield from _in_section(analysis, path[depth:], index, offset)


def _in_section(
    analysis: TextAnalysis, path: list[tuple[Group, int]], index: int, offset: int
) -> Iterator[Completion]:
    section = path[0][0]
    keyword = section.head
    child = path[1][1] if len(path) > 1 else index
    if keyword == ":requirements":
        yield from (Completion(word, "keyword") for word in SUPPORTED)
    elif keyword == ":action":
        part = _part(section, child)
        if len(path) == 1:
            if index > 1:
                given = {item.text for item in section.items if isinstance(item, Token)}
                yield from (Completion(word, "keyword") for word in sorted(PARTS - given - {":parameter"}))
        elif part in (":precondition", ":effect"):
            form: Form = "effect" if part == ":effect" else "formula"
            yield from _in_form(analysis, path[1:], index, offset, form)
    elif keyword == ":init" and len(path) > 1:
        yield from _in_form(analysis, path[1:], index, offset, "init")
    elif len(path) > 1 and (keyword == ":goal" or (keyword == ":derived" and child > 1)):
        yield from _in_form(analysis, path[1:], index, offset, "formula")


def _part(section: Group, child: int) -> str:
    """The keyword of an action that a part of it stands behind."""
    before = [item.text for item in section.items[:child] if isinstance(item, Token) and item.text in PARTS]
    return before[-1] if before else ""


def _in_form(
    analysis: TextAnalysis, path: list[tuple[Group, int]], index: int, offset: int, form: Form
) -> Iterator[Completion]:
    """What fits inside a formula, an effect or an entry of ``:init``."""
    for (group, _), (_, position) in pairwise(path):
        head = group.head
        if head in QUANTIFIERS and position == 1:
            return
        form = _inside(head, position, form)
    inner = path[-1][0]
    if index == 0:
        yield from _heads(analysis, form, offset)
    elif analysis.tables is not None:
        yield from _arguments(analysis, analysis.tables, inner, index, offset)


def _inside(head: str, position: int, form: Form) -> Form:
    """What a part of a list stands for, by the list's head and its position there."""
    if head in EFFECT_WORDS or (head == "not" and form == "effect"):
        return "target" if position == 1 else "formula"
    if head.startswith("??"):
        return "set"
    if head == "when":
        return "formula" if position == 1 else form
    if head in ("and", "forall", "foreach") and form == "effect":
        return "effect"
    if form == "set" and head == "foreach":
        return "set"
    return "init" if form == "init" else "formula"


def _heads(analysis: TextAnalysis, form: Form, offset: int) -> Iterator[Completion]:
    """The words that a list may begin with."""
    tables = analysis.tables
    if tables is not None:
        for signature in tables.signatures.values():
            is_given = form != "init" or not (signature.has_body or signature.is_external)
            if is_given and (form in ("effect", "target") or not signature.is_cost):
                yield Completion(signature.name, "predicate", str(signature))
            if form == "effect":
                yield Completion(f"{signature.name}::assign", "predicate", "(… VALUE)")
                yield Completion(f"{signature.name}::cond-assign", "predicate", "(… CONDITION VALUE)")
            if form == "set":
                yield Completion(f"{signature.name}::cond-select", "predicate", "(… CONDITION)")
    words: Iterable[str] = {
        "formula": RULES,
        "effect": ("and", "not", "when", "forall", *sorted(EFFECT_WORDS)),
        "target": (),
        "init": ("=", "not"),
        "set": ("foreach", "when", *RULES),
    }[form]
    yield from (Completion(word, "operator") for word in words)
    if form in ("formula", "set") and analysis.kind == "domain":
        owner = next((r.owner for r in analysis.regions if r.start <= offset <= r.end), None)
        for declaration in analysis.declarations:
            if declaration.kind == "blank" and declaration.owner == owner:
                yield Completion(declaration.name, "blank", declaration.signature)


def _arguments(
    analysis: TextAnalysis, tables: Tables, inner: Group, index: int, offset: int
) -> Iterator[Completion]:
    """The variables in reach and the objects that fit a parameter."""
    head = inner.head
    if head in ("and", "or", "not", "imply", "implies", "when", *QUANTIFIERS, *EFFECT_WORDS):
        return
    signature = tables.signatures.get(head.partition("::")[0])
    wanted: Type = UNKNOWN
    if signature is not None:
        if index > len(signature.parameters):
            return
        wanted = signature.parameters[index - 1].type
    around = [region for region in analysis.regions if region.start <= offset <= region.end]
    scope = {name: at for region in around for name, at in region.scope.items()}
    for name, at in scope.items():
        type_ = analysis.types.get((at, at + len(name)), UNKNOWN)
        if _fits(tables, type_, wanted):
            yield Completion(name, "variable", "" if type_ == UNKNOWN else str(type_))
    if not head.startswith("??"):
        for name, own in tables.objects.items():
            if _fits(tables, own, wanted):
                yield Completion(name, "object", str(own))


def _fits(tables: Tables, have: Type, want: Type) -> bool:
    if UNKNOWN in (have, want):
        return True
    if isinstance(have, ObjectType) and isinstance(want, ObjectType):
        return tables.hierarchy.overlap(have, want)
    return isinstance(have, ValueType) and isinstance(want, ValueType) and have.prim == want.prim


def _types(analysis: TextAnalysis, *, values: bool) -> Iterator[Completion]:
    tables = analysis.tables
    names = ("object",) if tables is None else tables.hierarchy.names
    yield from (Completion(name, "type") for name in names)
    if values:
        own = {} if tables is None else tables.value_types
        for name, type_ in {**own, **PRIMITIVES}.items():
            yield Completion(name, "type", str(type_))
        yield Completion("vector", "type", "vector[float32, 2]")


def _settings(analysis: TextAnalysis, place: _Place) -> Iterator[Completion]:
    inner = place.path[-1][0]
    before = inner.items[place.position - 1] if place.position else None
    if (place.word is not None and "=" in place.word.text) or (
        isinstance(before, Token) and before.text.endswith("=")
    ):
        yield from (c for c in _types(analysis, values=True) if c.label not in _object_types(analysis))
    elif len(place.path) > 1 and (place.position == 0):
        yield from (Completion(word, "keyword") for word in ("return_type=", "choices=", "tolerance="))


def _object_types(analysis: TextAnalysis) -> tuple[str, ...]:
    return ("object",) if analysis.tables is None else analysis.tables.hierarchy.names
