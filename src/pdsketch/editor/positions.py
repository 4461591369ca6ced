"""Offsets of a text ↔ positions of the protocol: lines from 0, and columns in the units the client counts."""

from __future__ import annotations

from typing import Final

from pdsketch.lang import Source

UNITS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""The encoding and the bytes of one unit, by the protocol's name."""


def to_position(source: Source, offset: int, encoding: str) -> tuple[int, int]:
    """The line and the column of an offset."""
    line, column = source.position(min(offset, len(source.text)))
    before = source.text[min(offset, len(source.text)) - column + 1 : offset]
    return line - 1, column - 1 if before.isascii() else _units(before, encoding)


def to_offset(source: Source, line: int, column: int, encoding: str) -> int:
    """The offset of a position; one behind the end of a line, or of the text, is that end.

    ``line`` and ``column`` of ``source`` count from 0; columns count units of ``encoding``, as the editor and
    the server agreed on: ``utf-8``, ``utf-16`` or ``utf-32``.
    """
    start = 0
    for _ in range(line):
        start = source.text.find("\n", start) + 1
        if start == 0:
            return len(source.text)
    end = source.text.find("\n", start)
    words = source.text[start : len(source.text) if end < 0 else end]
    if words.isascii():
        return start + min(column, len(words))
    codec, size = UNITS[encoding]
    data = words.encode(codec, errors="surrogatepass")[: column * size]
    return start + len(data.decode(codec, errors="ignore"))


def _units(text: str, encoding: str) -> int:
    codec, size = UNITS[encoding]
    return len(text.encode(codec, errors="surrogatepass")) // size
