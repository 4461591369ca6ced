"""Diagnostics are values; this module also writes them for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, final

from pdsketch.lang.records import dataclass
from pdsketch.lang.source import Span

Severity = Literal["error", "warning"]


UNPLACED = "<input>"
"""The file of a diagnostic that is about none."""


@final
@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a diagnostic."""

    span: Span
    label: str


@final
@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong, where, and what to do about it.

    ``code`` is a stable kebab-case name; ``label`` stands beside the caret;
    ``help`` offers one fix. ``file`` is used where there is no span.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = "error"
    file: str = UNPLACED

    @property
    def place(self) -> tuple[str, int, int]:
        """File, line and column; a diagnostic about a whole file stands at 1:1."""
        if self.span is None:
            return self.file, 1, 1
        return self.span.source.name, self.span.line, self.span.column


@final
class Error(ValueError):
    """Bad input. ``diagnostics`` says everything that is wrong with it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(render(d) for d in self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its diagnostics: an exception alone would be made again from its text."""
        return Error, (self.diagnostics,), self.__dict__


def error(code: str, message: str, span: Span | None = None, **details: Any) -> Error:
    """An `Error` that holds one diagnostic."""
    return Error([Diagnostic(code, message, span, **details)])


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place, each once."""
    unique = {(d.place, d.code, d.message): d for d in diagnostics}
    return [unique[key] for key in sorted(unique, key=lambda key: (key[0], key[1]))]


_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "help": "\x1b[1;36m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"


def render(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """The diagnostic as people read it: place, message, the line, a caret, one fix."""

    def paint(text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if color else text

    file, line, column = diagnostic.place
    tag = paint(f"{diagnostic.severity}[{diagnostic.code}]", diagnostic.severity)
    where = "" if diagnostic.span is None and file == UNPLACED else f"{file}:{line}:{column}: "
    lines = [f"{where}{tag}: {diagnostic.message}"]
    if diagnostic.span is not None:
        lines += _excerpt(diagnostic.span, diagnostic.label)
    for note in diagnostic.notes:
        lines += _excerpt(note.span, note.label, named=note.span.source.name != file)
    if diagnostic.help:
        lines.append(f"{paint('help', 'help')}: {diagnostic.help}")
    return "\n".join(lines)


_WIDEST = 120


def _excerpt(span: Span, label: str, *, named: bool = False) -> list[str]:
    """The line of a span with carets below it; long lines are cut around the span."""
    line, column = span.source.position(span.start)
    raw = span.source.line(line)
    first = max(0, column - 1 - _WIDEST // 2) if len(raw) > _WIDEST else 0
    shown = raw[first : first + _WIDEST].replace("\t", " ")
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    indent = column - 1 - first
    width = max(1, min(span.end - span.start, len(shown) - indent))
    number = str(line)
    gutter = " " * len(number)
    head = [f"{gutter}--> {span.source.name}:{line}:{column}"] if named else []
    caret = f"{gutter} | {' ' * indent}{'^' * width} {label}".rstrip()
    return [*head, f"{number} | {shown}".rstrip(), caret]


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The diagnostic as machines read it."""
    file, line, column = diagnostic.place
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": file,
        "line": line,
        "column": column,
        "label": diagnostic.label,
        "help": diagnostic.help,
        "notes": [
            {
                "file": note.span.source.name,
                "line": note.span.line,
                "column": note.span.column,
                "label": note.label,
            }
            for note in diagnostic.notes
        ],
    }


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be, if any is near."""
    from difflib import get_close_matches

    candidates: Sequence[str] = sorted(known)
    if len(name) > 200:
        return None
    found = get_close_matches(name, candidates, n=1, cutoff=0.65)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A help line for a name that is not known."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else None
