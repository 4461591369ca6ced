"""What the passes found: what is wrong and, if asked for, what each name stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol, final

from pdsketch.lang.diagnostics import Diagnostic, Note, Severity, did_you_mean
from pdsketch.lang.reader import Token
from pdsketch.lang.source import Source, Span
from pdsketch.lang.types import Type

if TYPE_CHECKING:
    from pdsketch.lang.check.tables import Tables
    from pdsketch.lang.domain import Blank, Role


# What the passes resolved, with its places: which name stands for what, and the types of expressions.
#
# Only an analysis of a text asks for it (`CheckReport.occurrences`); loading a file does not keep it.

Key = tuple[str, str | int]
"""What a name stands for: ``("type", t)``, ``("predicate", p)``, ``("object", o)``, ``("action", a)``,
``("blank", full name)``, or ``("variable", offset of its declaration)``."""


@final
class Occurrences:
    """The resolved names and the types of one source, by their offsets.

    ``references`` maps the offset of a name to its end and to what it stands for;
    ``types`` maps the place of an expression, or of a declared variable, to its type.
    ``tables``, ``blanks`` and ``roles`` are what is known of a domain in the end.
    """

    def __init__(self) -> None:
        self.references: dict[int, tuple[int, Key]] = {}
        self.types: dict[tuple[int, int], Type] = {}
        self.tables: Tables | None = None
        self.blanks: dict[str, Blank] = {}
        self.roles: dict[str, Role] = {}

    def adopt(self, other: Occurrences) -> None:
        """Take over what another pass resolved."""
        self.references.update(other.references)
        self.types.update(other.types)


class Placed(Protocol):
    """Anything with a place in the source: reader nodes, types, spans."""

    @property
    def start(self) -> int:
        """The offset of the first character."""

    @property
    def end(self) -> int:
        """The offset behind the last character."""


MOST = 200
"""So many errors, and as many warnings, of one source are kept."""

MOST_HINTS = 20
"""So many names of one source are compared with all known ones: that takes time."""

MOST_LISTED = 8
"""So many names are listed where none is near; set by hand."""


@final
class CheckReport:
    """The diagnostics of one source; the places of what was resolved, where ``occurrences`` takes them."""

    def __init__(self, source: Source, occurrences: Occurrences | None = None) -> None:
        self.source = source
        self.occurrences = occurrences
        self.diagnostics: list[Diagnostic] = []
        self._hints = MOST_HINTS
        self._counts = {"error": 0, "warning": 0}

    def span(self, at: Placed) -> Span:
        """The place of a node."""
        return at if isinstance(at, Span) else Span(self.source, at.start, at.end)

    def error(
        self,
        code: str,
        message: str,
        at: Placed,
        *,
        label: str = "",
        help: str | None = None,
        notes: Iterable[Note] = (),
        severity: Severity = "error",
    ) -> None:
        """Note one diagnostic, up to a limit.

        ``code`` is one of ``docs/diagnostics.md``, ``message`` says in a sentence what was wanted and found
        ``at`` the place, ``label`` stands under that place, ``help`` is one fix. ``notes`` point to other
        places. A ``severity`` of ``warning`` does not keep the source from being loaded.
        """
        self._counts[severity] += 1
        if self._counts[severity] > MOST:
            return
        if self._counts[severity] == MOST:
            code, message, label, help, notes = (
                "too-many-errors",
                "more is wrong; the rest is left out",
                "",
                None,
                (),
            )
        self.diagnostics.append(
            Diagnostic(code, message, self.span(at), label, help, tuple(notes), severity=severity)
        )

    def warning(
        self, code: str, message: str, at: Placed, *, label: str = "", help: str | None = None
    ) -> None:
        """Note something that loads, but is probably not meant.

        ``code``, ``message``, ``at``, ``label`` and ``help`` are those of `error`.
        """
        self.error(code, message, at, label=label, help=help, severity="warning")

    def refers(self, start: int, end: int, key: Key) -> None:
        """Note what a name at a place stands for."""
        if self.occurrences is not None:
            self.occurrences.references[start] = (end, key)

    def typed(self, at: Placed, type_: Type) -> None:
        """Note the type of an expression or a variable."""
        if self.occurrences is not None:
            self.occurrences.types[at.start, at.end] = type_

    def fresh(self) -> CheckReport:
        """An empty report of the same source, for a pass that may be repeated."""
        return CheckReport(self.source, None if self.occurrences is None else Occurrences())

    def adopt(self, other: CheckReport) -> None:
        """Take over what another report holds."""
        self.diagnostics += other.diagnostics
        if self.occurrences is not None and other.occurrences is not None:
            self.occurrences.adopt(other.occurrences)

    def near(self, name: str, known: Iterable[str], listed: str = "", also: Iterable[str] = ()) -> str | None:
        """A help line for a name that is not known, while there is time for it.

        It names what is spelled like ``name`` among the ``known``. Where nothing is, the first ones that
        there are, if ``listed`` says what they are. ``also`` may be meant as well, and is not listed.
        """
        self._hints -= 1
        if self._hints < 0:
            return None
        some = list(islice(known, 2000))
        found = did_you_mean(name, [*some, *also])
        if found is not None or not listed or not some:
            return found
        return f"{listed}: {', '.join(some[:MOST_LISTED])}{', …' * (len(some) > MOST_LISTED)}"

    @property
    def has_errors(self) -> bool:
        """Whether anything is wrong enough to refuse the file."""
        return any(d.severity == "error" for d in self.diagnostics)


def duplicate(what: str, atom: Token, first: Placed, report: CheckReport) -> None:
    """Report a name that is declared twice, with both places.

    ``what`` the name is of (``parameter``, ``predicate``), for the message; ``atom`` is the second
    declaration, ``first`` the place of the one before it, and ``report`` takes the diagnostic.
    """
    report.error(
        "duplicate-name",
        f"{what} `{atom.text}` is declared twice",
        atom,
        label="again here",
        notes=[Note(report.span(first), "first here")],
        help="rename or remove one of them",
    )


def a(noun: object) -> str:
    """The noun with its article: ``an item``, ``a robot``."""
    text = str(noun)
    return f"{'an' if text[:1] in 'aeiou' else 'a'} {text}"


def path(names: Sequence[str], arrow: str) -> str:
    """Names along a way, its middle left out if it is long."""
    shown = [*names[:4], "…", *names[-3:]] if len(names) > 8 else names
    return arrow.join(shown)


def here(number: int) -> str:
    """``here is 1``, ``here are 3``."""
    return f"here is {number}" if number == 1 else f"here are {number}"


def count(number: int, noun: str) -> str:
    """``1 argument``, ``3 arguments``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
