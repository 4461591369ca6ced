"""Characters → S-expressions that know where they stand.

Iterative, linear in the length of the text, and bounded in depth, so that the
recursive passes behind it never meet a tree that is too deep for them.
"""

from __future__ import annotations

import re
from typing import Final, final

from pdsketch.budget import current
from pdsketch.lang.diagnostics import Diagnostic, Note
from pdsketch.lang.source import Source, Span

MAX_DEPTH: Final = 100
"""No honest file nests deeper; the passes behind the reader recurse."""

MAX_TOKEN: Final = 1000
"""The longest name or number, in characters."""

# A list of words alone is one token: most of a large problem consists of those.
TOKEN = re.compile(r"""\([^()\[\],;"]*\)|[^\s()\[\],;"]+|[()\[\],]|;[^\n]*|"[^"\n]*"?""")
_WORD = re.compile(r"\S+")
_WHOLE_WORD = re.compile(r"""[^\s()\[\],;"\0]+""")
SECTIONS = {
    "domain": (":requirements", ":types", ":constants", ":predicates", ":functions", ":derived", ":action"),
    "problem": (":domain", ":requirements", ":objects", ":init", ":goal", ":metric"),
}
SECTION_WORDS = frozenset(SECTIONS["domain"] + SECTIONS["problem"])
PARTS = frozenset((":parameters", ":parameter", ":precondition", ":effect"))
"""What an action consists of."""

_MANY = 0xFFF
"""How many flat lists are read between two looks at the budget, in bits."""

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def lowered(text: str) -> str:
    """The text as names are compared: ASCII letters in lower case, every offset as before."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def is_word_of_its_own(text: str) -> bool:
    """Whether a text, put into a file, is read as one word."""
    return len(text) <= MAX_TOKEN and _WHOLE_WORD.fullmatch(text) is not None


@final
class Token:
    """A name, a variable, a number, a keyword, a quoted string or a comma.

    ``text`` is in lower case, as PDDL compares names; the author's spelling
    stands in the source.
    """

    __slots__ = ("start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.start + len(self.text)

    def __repr__(self) -> str:
        return f"Token({self.text!r}, {self.start})"


@final
class Group:
    """A list in parentheses (``bracket`` is ``"("``) or in brackets (``"["``).

    A list that holds nothing but words keeps them as text; its ``items`` are
    made when somebody asks for them.
    """

    __slots__ = ("_items", "_text", "bracket", "end", "start")

    def __init__(self, bracket: str, start: int, text: str | None = None) -> None:
        self.bracket = bracket
        self.start = start
        self.end = start + (1 if text is None else len(text))
        self._text = text
        self._items: list[Node] | None = [] if text is None else None

    @property
    def items(self) -> list[Node]:
        """The parts, in order."""
        if self._items is None:
            text, start = self._text or "", self.start
            self._items = [Token(m[0], start + m.start()) for m in _WORD.finditer(text, 1, len(text) - 1)]
        return self._items

    @items.setter
    def items(self, items: list[Node]) -> None:
        self._items = items
        self._text = None

    @property
    def head(self) -> str:
        """The word that the list begins with; nothing, if it begins with none."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Token) else ""

    @property
    def words(self) -> list[str] | None:
        """The texts of the parts, where it is known at once that all of them are words."""
        return None if self._text is None else self._text[1:-1].split()

    def __repr__(self) -> str:
        return f"Group({self.bracket!r}, {self.items!r})"


Node = Token | Group


@final
class Comment:
    """A comment, kept for the formatter. ``text`` begins with its semicolons."""

    __slots__ = ("start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start


@final
class Reading:
    """What was read: the top-level nodes, the comments, and what was wrong."""

    __slots__ = ("comments", "diagnostics", "nodes", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes: list[Node] = []
        self.comments: list[Comment] = []
        self.diagnostics: list[Diagnostic] = []


def read(source: Source) -> Reading:
    """Read a whole text. Unbalanced brackets are reported and mended, so that later passes go on."""
    reading = Reading(source)
    if "\0" in source.text:
        at = source.text.index("\0")
        message = "this is not a text: it holds a NUL byte"
        reading.diagnostics.append(Diagnostic("binary-file", message, Span(source, at, at + 1)))
        return reading
    text = lowered(source.text)
    budget = current()
    top = Group("(", 0)
    stack = [top]
    items = top.items
    for match in TOKEN.finditer(text):
        token = match[0]
        first = token[0]
        # A flat list of words is one match of the regular expression: most of a large problem is `(at a
        # b)`, and its words become nodes only if somebody asks.
        if first == "(" and len(token) > 1:
            items.append(Group(first, match.start(), token))
            if not len(items) & _MANY:
                budget.check()
            if len(stack) >= MAX_DEPTH:
                reading.diagnostics.append(_too_deep(source, match.start()))
                break
            if len(token) > MAX_TOKEN and _holds_too_long(reading, token, match.start()):
                break
        elif first in "([":
            budget.tick()
            group = Group(first, match.start())
            items.append(group)
            stack.append(group)
            items = group.items
            if len(stack) > MAX_DEPTH:
                reading.diagnostics.append(_too_deep(source, match.start()))
                break
        elif first in ")]":
            if len(stack) > 1 and (stack[-1].bracket == "(") == (first == ")"):
                stack.pop().end = match.end()
                items = stack[-1].items
            elif not _mend(reading, stack, token, match.start()):
                break
            else:
                items = stack[-1].items
        elif first == ";":
            reading.comments.append(Comment(source.text[match.start() : match.end()], match.start()))
        else:
            items.append(Token(token, match.start()))
            if len(token) > MAX_TOKEN or (first == '"' and (len(token) == 1 or token[-1] != '"')):
                reading.diagnostics.append(_bad_token(source, token, match.start()))
                break
    if not reading.diagnostics:
        _report_unclosed(reading, stack)
        if "$" in text:
            _report_dollars(reading, text)
    for group in stack[1:]:
        group.end = len(source.text)
    reading.nodes = top.items
    return reading


def _holds_too_long(reading: Reading, token: str, at: int) -> bool:
    """Report a word of a flat list that is too long, if there is one."""
    for match in _WORD.finditer(token, 1, len(token) - 1):
        if len(match[0]) > MAX_TOKEN:
            reading.diagnostics.append(_bad_token(reading.source, match[0], at + match.start()))
            return True
    return False


def _mend(reading: Reading, stack: list[Group], token: str, at: int) -> bool:
    """Report a closing bracket that closes nothing; whether reading can go on."""
    span = Span(reading.source, at, at + 1)
    if len(stack) == 1:
        early = _early_end(reading.source, stack[0].items)
        message = f"this `{token}` closes nothing"
        reading.diagnostics.append(
            early or Diagnostic("unbalanced", message, span, help=f"remove this `{token}`")
        )
        return False
    opened = stack.pop()
    opened.end = at + 1
    wanted = ")" if opened.bracket == "(" else "]"
    line = reading.source.position(opened.start)[0]
    reading.diagnostics.append(
        Diagnostic(
            "unbalanced",
            f"`{opened.bracket}` is closed by `{token}`",
            span,
            label=f"wanted `{wanted}`",
            help=f"close the `{opened.bracket}` of line {line} with `{wanted}`",
        )
    )
    return True


def _report_dollars(reading: Reading, text: str) -> None:
    """``$`` marks the variables that checking makes, so that they cannot clash with the author's."""
    for match in TOKEN.finditer(text):
        if match[0][0] not in ';"' and "$" in match[0]:
            at = match.start() + match[0].index("$")
            span = Span(reading.source, at, at + 1)
            message = "`$` cannot stand in a name"
            reading.diagnostics.append(Diagnostic("bad-character", message, span, help="leave it out"))
            return


def _report_unclosed(reading: Reading, stack: list[Group]) -> None:
    if len(stack) == 1:
        return
    missing = "".join(")" if g.bracket == "(" else "]" for g in reversed(stack[1:]))
    group, label, where = stack[-1], f"{len(stack) - 1} open here" if len(stack) > 2 else "", ""
    swallowed = _swallowed(stack[1])
    if swallowed is not None:
        group, word = swallowed
        line = reading.source.position(word.start)[0]
        label, where = f"still open at `{word.text}` in line {line}", f" before `{word.text}` in line {line}"
    reading.diagnostics.append(
        Diagnostic(
            "unbalanced",
            f"`{group.bracket}` is never closed",
            Span(reading.source, group.start, group.start + 1),
            label=label,
            help=f"add {missing}{where}",
        )
    )


def _swallowed(group: Group, depth: int = 0) -> tuple[Group, Token] | None:
    """The first list that holds a section, or a part of an action, which should stand behind it."""
    for item in group.items:
        if isinstance(item, Token):
            if item.text in PARTS and group.head != ":action":
                return group, item
        elif depth > 0 and item.head in SECTION_WORDS:
            assert isinstance(item.items[0], Token)
            return group, item.items[0]
        elif (found := _swallowed(item, depth + 1)) is not None:
            return found
    return None


def _early_end(source: Source, nodes: list[Node]) -> Diagnostic | None:
    """What to say of a definition that ends although a section stands behind it."""
    first, second = nodes[:2] if len(nodes) > 1 else (None, None)
    if not isinstance(first, Group) or not isinstance(second, Group) or second.head not in SECTION_WORDS:
        return None
    return Diagnostic(
        "unbalanced",
        "this `)` ends the definition, and more of it follows",
        Span(source, first.end - 1, first.end),
        notes=(Note(Span(source, second.start, second.start + 1), "stands behind the end"),),
        help="remove this `)`",
    )


def _too_deep(source: Source, at: int) -> Diagnostic:
    return Diagnostic(
        "too-deep",
        f"brackets nest deeper than {MAX_DEPTH}",
        Span(source, at, at + 1),
        help="name an inner part as a derived predicate",
    )


def _bad_token(source: Source, token: str, at: int) -> Diagnostic:
    if token[0] == '"':
        return Diagnostic(
            "unclosed-string",
            "this string is not closed on its line",
            Span(source, at, at + 1),
            help='close it with `"`',
        )
    return Diagnostic(
        "too-long",
        f"a name of {len(token):,} characters; {MAX_TOKEN:,} is the most",
        Span(source, at, at + 20),
        help="is this a text file?",
    )
