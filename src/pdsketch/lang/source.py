"""Where text comes from, and where in it something stands."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import final

from pdsketch.lang.records import dataclass


@final
@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A named text that knows its lines.

    ``name`` is what diagnostics print: a file's path as the user gave it, or
    ``<goal>``, ``<domain>`` for text that came through the API.
    """

    name: str
    text: str
    _starts: list[int] = field(default_factory=list, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its line end."""
        starts = self._line_starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def _line_starts(self) -> list[int]:
        if not self._starts:
            self._starts.append(0)
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        return self._starts


@final
@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The half-open range ``start:end`` of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The author's own words."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first character, counted from 1."""
        return self.source.position(self.start)[1]

    @property
    def where(self) -> str:
        """The source, the line and the column, as tools write them: ``file:3:7``."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"


def quote(span: Span | None, otherwise: str) -> str:
    """The author's words on one line, in quotes; other words where there is no place in a source."""
    return otherwise if span is None else f"`{' '.join(span.text.split())}`"


def located(span: Span | None) -> str:
    """Where it stands, to follow a sentence."""
    return "" if span is None else f" ({span.where})"
