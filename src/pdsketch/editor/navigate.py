"""What an editor asks about an analysed text, each a function of the analysis and an offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

from pdsketch.editor.analysis import TextAnalysis
from pdsketch.editor.declarations import Declaration, shown_type
from pdsketch.lang import PRIMITIVES, RESERVED, Span, Token, error, is_name, is_word_of_its_own, lowered


@final
class Hover(NamedTuple):
    """What is known of the text at a place, in a line or a few."""

    span: Span
    text: str


@final
class Edit(NamedTuple):
    """Text to put in the place of ``start:end`` of a source."""

    start: int
    end: int
    text: str


@final
class Symbol(NamedTuple):
    """A declaration and those inside it, for an outline."""

    declaration: Declaration
    children: tuple[Symbol, ...] = ()


def definition(analysis: TextAnalysis, offset: int) -> Declaration | None:
    """The declaration of the name at an offset, in this text or in its domain."""
    found = _name_at(analysis, offset)
    return None if found is None else found[1]


def occurrences(analysis: TextAnalysis, declaration: Declaration) -> list[Span]:
    """Every place of a declared name in a text, its declaration with them; it may be one of the domain."""
    found = [
        Span(analysis.source, reference.start, reference.end)
        for reference in analysis.references
        if is_same(reference.declaration, declaration)
    ]
    if any(is_same(own, declaration) for own in analysis.declarations):
        found.append(Span(analysis.source, declaration.span.start, declaration.span.end))
    return sorted(found, key=lambda span: span.start)


def is_same(a: Declaration, b: Declaration) -> bool:
    """Whether two analyses of one file speak of the same declaration."""
    return a is b or (a.key == b.key and a.span.source.name == b.span.source.name)


def hover(analysis: TextAnalysis, offset: int) -> Hover | None:
    """The declaration of the name at an offset, with its types, or the type of the expression there."""
    named = _name_at(analysis, offset)
    if named is not None:
        span, declaration = named
        role = analysis.roles.get(declaration.name) if declaration.key[0] == "predicate" else None
        kind = declaration.kind if role in (None, declaration.kind) else f"{declaration.kind}, {role}"
        return Hover(span, f"{declaration.signature}\n{kind}")
    around = [(start, end) for start, end in analysis.types if start <= offset < end]
    if not around:
        return None
    start, end = min(around, key=lambda place: place[1] - place[0])
    return Hover(Span(analysis.source, start, end), shown_type(analysis.types[start, end]))


def rename(analysis: TextAnalysis, offset: int, name: str) -> list[Edit]:
    """The edits of this text that give the thing at an offset another name.

    `rename_in` gives those of another text, a problem of a renamed domain for instance. Raises `Error` where
    there is nothing to rename, or where the name cannot be given.
    """
    declaration = definition(analysis, offset)
    if declaration is None:
        raise error("bad-name", "there is no name here that could be changed", file=analysis.source.name)
    return rename_in(analysis, declaration, name)


def rename_in(analysis: TextAnalysis, declaration: Declaration, name: str) -> list[Edit]:
    """The edits of a text that rename a declaration of it or of its domain."""
    mark = {"blank": "??", "variable": "?"}.get(declaration.key[0], "")
    name = mark + name.removeprefix(mark)
    bare = lowered(name.removeprefix(mark))
    is_right = is_word_of_its_own(name) and bare[:1] not in ("", "?") and is_name(Token(bare, 0))
    if not is_right or "::" in name or (not mark and (bare in RESERVED or bare in PRIMITIVES)):
        raise error("bad-name", f"`{name}` cannot name a {declaration.kind}", file=analysis.source.name)
    if _is_taken(analysis, declaration, lowered(name)):
        message = f"there is already a {declaration.key[0]} `{name}`"
        raise error("duplicate-name", message, file=analysis.source.name, help="choose another name")
    return [Edit(span.start, span.end, name) for span in occurrences(analysis, declaration)]


def _is_taken(analysis: TextAnalysis, declaration: Declaration, name: str) -> bool:
    """Whether something of the kind has the name already: of variables, one in the same definition."""
    everything = [*analysis.declarations, *(() if analysis.of is None else analysis.of.declarations)]
    return any(
        other.name == name and other.key[0] == declaration.key[0] and other.owner == declaration.owner
        for other in everything
        if not is_same(other, declaration)
    )


def outline(analysis: TextAnalysis) -> tuple[Symbol, ...]:
    """The declarations of a text, parameters and blanks inside what they belong to."""
    inside: dict[str, list[Symbol]] = {}
    for declaration in analysis.declarations:
        if declaration.owner:
            inside.setdefault(declaration.owner, []).append(Symbol(declaration))
    top = [d for d in analysis.declarations if not d.owner]
    within = tuple(_symbol(d, inside) for d in top if d.kind not in ("domain", "problem"))
    file = next((d for d in top if d.kind in ("domain", "problem")), None)
    return within if file is None else (Symbol(file, within),)


def _symbol(declaration: Declaration, inside: dict[str, list[Symbol]]) -> Symbol:
    prefix = "action" if declaration.kind == "action" else "derived"
    if declaration.key[0] not in ("action", "predicate"):
        return Symbol(declaration)
    members = inside.get(f"{prefix}::{declaration.name}", ())
    return Symbol(declaration, tuple(s for s in members if _holds(declaration.form, s.declaration.span)))


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _name_at(analysis: TextAnalysis, offset: int) -> tuple[Span, Declaration] | None:
    """The name that an offset is in, or right behind, with its declaration."""
    places: Iterable[tuple[int, int, Declaration]] = [
        *_around(analysis.references, offset),
        *((d.span.start, d.span.end, d) for d in analysis.declarations),
    ]
    found = [place for place in places if place[0] <= offset <= place[1]]
    if not found:
        return None
    start, end, declaration = max(found, key=lambda place: place[0])
    return Span(analysis.source, start, end), declaration


def _around(
    places: Sequence[tuple[int, int, Declaration]], offset: int
) -> list[tuple[int, int, Declaration]]:
    """The references next to an offset: they are in order."""
    at = bisect_right(places, offset, key=lambda place: place[0])
    return list(places[max(0, at - 2) : at])
