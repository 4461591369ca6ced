"""S-expressions → canonical text (``pdsketch fmt``).

Only white space changes: reading the result gives the same tree, the same
comments and the author's spelling of every name, and formatting it again
changes nothing. The work is linear in the length of the text.

The layout: what fits on a line stands on one; else a list opens, its first words
stay beside its head, and the other parts stand below it, two spaces in.
Sections list one declaration a line, actions one keyword a line. Comments keep
their company: one on its own line stays so, one behind code stays behind it.
At most one of several empty lines is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import Final, final

from pdsketch.lang.diagnostics import Error, error
from pdsketch.lang.reader import Comment, Group, Node, Reading, Token, read
from pdsketch.lang.source import Source

WIDTH: Final = 100
"""Lines are broken to stay within this many characters, closing brackets aside."""

FLAT_LOGIC: Final = 72
"""A formula longer than this is opened even where it would fit: its parts are what one looks for."""

_INDENT: Final = 2
_NEVER: Final = 1 << 40
"""The width of what cannot stand on one line."""

_LOGIC = frozenset(("and", "or", "not", "implies", "imply", "forall", "exists", "foreach", "when"))
_SECTIONS = frozenset((":types", ":predicates", ":functions", ":constants", ":objects", ":init"))
_HUGS = frozenset(("not", ":goal", ":constraints"))
_WITH_HEADER = frozenset(
    ("define", ":derived", "forall", "exists", "foreach", "when", "implies", "imply", "assign", "increase")
) | frozenset(("decrease", "scale-up", "scale-down", "=", "equal", "eq", "<", "<=", ">", ">="))
"""Lists whose first inner list stays beside the head: variables, a condition, what is assigned."""

Unit = list[Node]
"""Nodes that are printed without a space between them: ``vector[float32, 2]``, ``1,``."""


class _Style(Enum):
    """How an opened list stands."""

    CALL = auto()
    FILL = auto()
    SECTION = auto()
    KEYWORDS = auto()
    HUG = auto()


def format_source(source: Source) -> str:
    """The text in canonical layout. A text that cannot be read raises `Error`."""
    reading = read(source)
    if reading.diagnostics:
        raise Error(reading.diagnostics)
    if not reading.nodes:
        raise error("empty-file", "there is nothing in this file", file=source.name)
    return _Printer(reading).document()


@final
class _Printer:
    """One run of the formatter: what is known of the text, and the lines made so far."""

    def __init__(self, reading: Reading) -> None:
        self.text = reading.source.text
        self.nodes = reading.nodes
        self.comments = reading.comments
        self.comment_starts = [comment.start for comment in reading.comments]
        self.widths: dict[int, int] = {}
        self.out: list[str] = []
        self.column = 0
        self.indent = 0
        self.after_comment = False

    def document(self) -> str:
        """All top-level nodes and comments, each on its own line."""
        for node in self.nodes:
            if isinstance(node, Group):
                self.measure(node)
        end = 0
        for element in self.merge(self.nodes, -1, len(self.text)):
            blank = self.is_blank_between(end, _start(element))
            if isinstance(element, Comment):
                self.comment(element, 0, end, blank=blank)
            else:
                if self.out:
                    self.newline(0, blank=blank)
                self.unit(element)
            end = _end(element)
        return "".join(self.out) + "\n"

    # What stands where.

    def merge(self, nodes: list[Node], start: int, end: int) -> Iterator[Unit | Comment]:
        """The units of a list and the comments between them, in order."""
        at = bisect_left(self.comment_starts, start)
        unit: Unit = []
        for node in nodes:
            if unit and not _is_glued(unit[-1], node):
                yield unit
                unit = []
            while at < len(self.comments) and self.comments[at].start < node.start:
                if unit:  # a comma may stand behind a comment
                    yield unit
                    unit = []
                yield self.comments[at]
                at += 1
            unit.append(node)
            if isinstance(node, Group):
                at = bisect_left(self.comment_starts, node.end, at)
        if unit:
            yield unit
        while at < len(self.comments) and self.comments[at].start < end:
            yield self.comments[at]
            at += 1

    def measure(self, group: Group) -> int:
        """The width of a list on one line; `_NEVER` if it must be opened. Fills ``widths``."""
        width = 2
        previous: Node | None = None
        for node in group.items:
            if previous is not None and not _is_glued(previous, node):
                width += 1
            width += len(node.text) if isinstance(node, Token) else self.measure(node)
            previous = node
        at = bisect_left(self.comment_starts, group.start)
        has_comment = at < len(self.comments) and self.comments[at].start < group.end
        is_long = width > FLAT_LOGIC and group.head in _LOGIC
        if has_comment or is_long or _always_opens(group):
            width = _NEVER
        self.widths[id(group)] = min(width, _NEVER)
        return width

    def width(self, unit: Unit) -> int:
        """The width of a unit on one line."""
        return sum(len(n.text) if isinstance(n, Token) else self.widths[id(n)] for n in unit)

    def fits(self, unit: Unit) -> bool:
        """Whether a unit can stand behind what is on the line already."""
        return self.column + 1 + self.width(unit) <= WIDTH

    def is_blank_between(self, start: int, end: int) -> bool:
        """Whether the author left an empty line here."""
        return self.text.count("\n", start, end) >= 2

    # Writing.

    def write(self, text: str) -> None:
        self.out.append(text)
        self.column += len(text)

    def newline(self, indent: int, *, blank: bool = False) -> None:
        self.out.append("\n\n" if blank else "\n")
        self.out.append(" " * indent)
        self.column = self.indent = indent
        self.after_comment = False

    def comment(self, comment: Comment, indent: int, end: int, *, blank: bool) -> None:
        """A comment: behind the code of its line, or on its own line below."""
        if not self.out or self.text.find("\n", end, comment.start) >= 0:
            if self.out:
                self.newline(indent, blank=blank)
            self.write(comment.text.rstrip())
        else:
            self.write("  " + comment.text.rstrip())
        self.after_comment = True

    def unit(self, unit: Unit) -> None:
        for node in unit:
            if isinstance(node, Token):
                self.write(self.text[node.start : node.end])
            elif self.column + self.widths[id(node)] <= WIDTH:
                self.flat(node)
            else:
                self.opened(node)

    def flat(self, group: Group) -> None:
        """The list on one line."""
        self.write(group.bracket)
        previous: Node | None = None
        for node in group.items:
            if previous is not None and not _is_glued(previous, node):
                self.write(" ")
            if isinstance(node, Token):
                self.write(self.text[node.start : node.end])
            else:
                self.flat(node)
            previous = node
        self.write(_closer(group))

    def opened(self, group: Group) -> None:
        """The list over several lines, in its style."""
        outer = self.indent
        inner = outer + _INDENT
        style = _style(group)
        elements = list(self.merge(group.items, group.start, group.end))
        parted = _parted(elements) if group.head == "define" else frozenset()
        seen = _Seen()
        self.write(group.bracket)
        end = group.start + 1
        for index, element in enumerate(elements):
            blank = index in parted or (index > 0 and self.is_blank_between(end, _start(element)))
            if isinstance(element, Comment):
                self.comment(element, inner, end, blank=blank)
            else:
                if self.after_comment or (seen.last and self.breaks(style, group, seen, element)):
                    self.newline(inner, blank=blank)
                elif seen.last:
                    self.write(" ")
                self.unit(element)
                seen.add(element)
            end = _end(element)
        if self.after_comment:
            self.newline(outer)
        self.indent = outer
        self.write(_closer(group))

    def breaks(self, style: _Style, group: Group, seen: _Seen, unit: Unit) -> bool:
        """Whether a unit starts a new line behind the units seen before it."""
        if _is_atom(seen.last, "-") or _is_atom(unit, "-"):
            return False
        match style:
            case _Style.HUG:
                return False
            case _Style.FILL:
                return not self.fits(unit)
            case _Style.SECTION:
                return _starts_declaration(seen, unit) or not self.fits(unit)
            case _Style.KEYWORDS:
                return _is_keyword(unit) or not (_is_keyword(seen.last) or self.fits(unit))
            case _Style.CALL:
                first = unit[0]
                if isinstance(first, Token):
                    return seen.groups > 0 or not self.fits(unit)
                is_header = seen.groups == 0 and group.head in _WITH_HEADER
                return not ((is_header or first.bracket == "[") and self.fits(unit))


@final
class _Seen:
    """What of a list has been printed: the last two units, and how many were lists."""

    __slots__ = ("groups", "last", "second")

    def __init__(self) -> None:
        self.last: Unit = []
        self.second: Unit = []
        self.groups = 0

    def add(self, unit: Unit) -> None:
        """One more unit."""
        self.second, self.last = self.last, unit
        self.groups += isinstance(unit[0], Group)


def _parted(elements: list[Unit | Comment]) -> frozenset[int]:
    """The elements of a definition that an empty line goes before: actions, with the comments above them."""
    found = set()
    above_action = False
    for index in range(len(elements) - 1, 0, -1):
        element = elements[index]
        if not isinstance(element, Comment):
            above_action = isinstance(element[0], Group) and _has_keywords(element[0])
        if above_action and not isinstance(elements[index - 1], Comment):
            found.add(index)
    return frozenset(found)


def _style(group: Group) -> _Style:
    head = group.head
    if head in _SECTIONS:
        return _Style.SECTION
    if head in _HUGS and len(group.items) == 2:
        return _Style.HUG
    if group.bracket == "[" or head == ":requirements" or all(isinstance(n, Token) for n in group.items):
        return _Style.FILL
    if head.startswith("?") and not head.startswith("??"):
        return _Style.FILL
    if _has_keywords(group):
        return _Style.KEYWORDS
    return _Style.CALL


def _always_opens(group: Group) -> bool:
    """Whether a list is never printed on one line, however short it is."""
    head = group.head
    if head in _SECTIONS:
        return sum(_declarations(group.items)) > 1
    return head == "define" or _has_keywords(group)


def _declarations(items: list[Node]) -> Iterator[bool]:
    """For each unit of a section behind its head, whether it starts a declaration."""
    seen = _Seen()
    seen.add(items[:1])
    for previous, node in pairwise(items):
        if not _is_glued(previous, node):
            yield _starts_declaration(seen, [node])
            seen.add([node])


def _starts_declaration(seen: _Seen, unit: Unit) -> bool:
    """Whether a unit of a section starts a declaration: ``a b - t``, ``(p ?x)``, ``(f) - number``."""
    if _is_atom(seen.last, "-") or _is_atom(unit, "-"):
        return False
    if isinstance(seen.last[0], Token) and isinstance(unit[0], Token):
        # Within `a b - t` no declaration starts; behind its type the next one does.
        return not seen.second or _is_atom(seen.second, "-")
    return True


def _has_keywords(group: Group) -> bool:
    head = group.head
    if not head.startswith(":") or head == ":requirements":
        return False
    return any(isinstance(n, Token) and n.text.startswith(":") for n in group.items[1:])


def _is_atom(unit: Unit, text: str) -> bool:
    return len(unit) == 1 and isinstance(unit[0], Token) and unit[0].text == text


def _is_keyword(unit: Unit) -> bool:
    return isinstance(unit[0], Token) and unit[0].text.startswith(":")


def _is_glued(previous: Node, node: Node) -> bool:
    """Whether no space stands between two nodes: before a comma, inside ``vector[…]`` and ``name="…"``."""
    if isinstance(node, Token):
        is_setting = node.text[0] == '"' and isinstance(previous, Token) and previous.text[-1] == "="
        return node.text == "," or (is_setting and previous.end == node.start)
    if isinstance(previous, Token) and previous.text == ",":
        return False
    return node.bracket == "[" and previous.end == node.start


def _closer(group: Group) -> str:
    return ")" if group.bracket == "(" else "]"


def _start(element: Unit | Comment) -> int:
    return element.start if isinstance(element, Comment) else element[0].start


def _end(element: Unit | Comment) -> int:
    return element.start + len(element.text) if isinstance(element, Comment) else element[-1].end
