"""The texts that an editor has open, and their analyses, each kept until its text or its domain changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from os.path import basename, dirname, join, splitext
from stat import S_ISREG
from typing import Final, final

from pdsketch.editor.analysis import TextAnalysis, analyse
from pdsketch.editor.declarations import Declaration
from pdsketch.editor.navigate import Edit, definition, occurrences, rename_in
from pdsketch.lang import Span, read_source

SUFFIXES: Final = (".pddl", ".pdsketch")
MOST_BESIDE: Final = 200
"""So many files of a folder are looked at for mentions of a name."""

LARGEST: Final = 1 << 20
"""Files beside an open one are looked at up to this many bytes."""

# From the beginning of the text, so that a long problem is not searched for what it does not hold.
_DOMAIN = re.compile(r"(?:\s|;[^\n]*\n)*\(\s*define\s+(?:domain\s*)?\(\s*domain\s+([^\s()]+)", re.IGNORECASE)
_FOR = re.compile(r"\(\s*:domain\s+([^\s()]+)", re.IGNORECASE)


@final
class Documents:
    """Open texts by path; other files are read from the disk when something leads there."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._disk: dict[str, tuple[tuple[float, int], str]] = {}
        self._analyses: dict[str, tuple[str, TextAnalysis | None, TextAnalysis]] = {}

    def put(self, path: str, text: str) -> None:
        """A text was opened, or has changed."""
        self._open[path] = text

    def close(self, path: str) -> None:
        """A text was closed: from now on, the file on the disk counts."""
        self._open.pop(path, None)
        self._analyses.pop(path, None)

    @property
    def open(self) -> tuple[str, ...]:
        """The paths of the open texts."""
        return tuple(self._open)

    def text(self, path: str) -> str | None:
        """The text of a path as the editor has it, else as the disk has it; None if that cannot be read."""
        if path in self._open:
            return self._open[path]
        try:
            found = os.stat(path)
            stamp = (found.st_mtime, found.st_size)
            if path not in self._disk or self._disk[path][0] != stamp:
                if found.st_size > LARGEST or not S_ISREG(found.st_mode):  # a pipe has no end to wait for
                    return None
                self._disk[path] = (stamp, read_source(path).text)
        except (OSError, ValueError):
            # `Error` is a ValueError: the editor says what is wrong with a file once it is opened.
            return None
        return self._disk[path][1]

    def analysis(self, path: str) -> TextAnalysis | None:
        """The analysis of a text, a problem's beside that of its domain."""
        text = self.text(path)
        if text is None:
            return None
        home = self._domain_of(path, text)
        domain = None if home is None else self.analysis(home)
        known = self._analyses.get(path)
        if known is None or known[0] != text or known[1] is not domain:
            known = (text, domain, analyse(text, path, domain))
            self._analyses[path] = known
        return known[2]

    def _domain_of(self, path: str, text: str) -> str | None:
        """Where the domain of a problem is: ``domain.pddl`` beside it, another text there, or an open one."""
        wanted = None if _DOMAIN.match(text) is not None else _FOR.search(text)
        if wanted is None:
            return None
        name, folder = wanted[1].lower(), dirname(path)
        first = [join(folder, f"domain{suffix}") for suffix in SUFFIXES]
        for other in dict.fromkeys([*first, *self._beside(path), *self._open]):
            found = _DOMAIN.match(self.text(other) or "")
            if found is not None and found[1].lower() == name:
                return other
        return None

    def _beside(self, path: str) -> Iterator[str]:
        """The sketches, domains and problems in the folder of a path."""
        folder = dirname(path)
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            names = []
        names += [basename(other) for other in self._open if dirname(other) == folder]
        of_kind = [
            name for name in dict.fromkeys(names) if splitext(name)[1] in SUFFIXES and name != basename(path)
        ]
        yield from (join(folder, name) for name in of_kind[:MOST_BESIDE])

    def dependents(self, path: str) -> list[str]:
        """The open problems whose domain a text is."""
        return [
            other
            for other in self._open
            if other != path and self._domain_of(other, self._open[other]) == path
        ]

    def definition(self, path: str, offset: int) -> Declaration | None:
        """The declaration of the name at an offset."""
        analysis = self.analysis(path)
        return None if analysis is None else definition(analysis, offset)

    def occurrences(self, declaration: Declaration) -> list[Span]:
        """Every mention of a declared name, in its own text and in the problems of its domain."""
        return [
            span
            for analysis in self._that_may_name(declaration)
            for span in occurrences(analysis, declaration)
        ]

    def rename(self, declaration: Declaration, name: str) -> dict[str, list[Edit]]:
        """The edits, by path, that give a declaration another name."""
        found = {a.source.name: rename_in(a, declaration, name) for a in self._that_may_name(declaration)}
        return {path: edits for path, edits in found.items() if edits}

    def _that_may_name(self, declaration: Declaration) -> Iterable[TextAnalysis]:
        home = declaration.span.source.name
        others: list[str] = []
        if declaration.kind not in ("parameter", "variable", "blank", "object", "problem"):
            others = [
                path
                for path in dict.fromkeys([*self._open, *self._beside(home)])
                if path != home and self._domain_of(path, self.text(path) or "") == home
            ]
        for path in [home, *others]:
            analysis = self.analysis(path)
            if analysis is not None:
                yield analysis
