"""The language book: chapters whose programs are checked and whose diagnostics are shown in full.

A program stands in a ``pdsketch`` block. A domain is checked by itself; a problem
against the last domain of the chapter; anything else is a goal over that domain and
the objects of the last problem. A ``python`` block is an expression that gives a
program as text or bytes, a ``path`` block the path of a file. Behind each stands
what checking says: the word *Checks*, or a ``text`` block with every diagnostic; there
a line ``…`` stands for any lines.

``python -m tests.lang.book`` writes the ``text`` blocks anew, for review by eye.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pdsketch.lang.diagnostics import Diagnostic, Error, render
from pdsketch.lang.domain import Domain, Problem
from pdsketch.lang.load import MAX_BYTES, check_files, decode_source, parse_domain, parse_goal, parse_problem

BOOK = Path(__file__).parents[1] / "language"
_BLOCK = re.compile(
    r"^```(?P<kind>pdsketch|pdsketch as domain|python|path)\n(?P<program>.*?)^```\n\s*"
    r"(?:^```text\n(?P<text>.*?)^```$|(?P<checks>Checks))",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """One program and what is said of it; None where it checks without a word."""

    kind: str
    program: str
    expected: str | None
    line: int
    span: tuple[int, int]


@dataclass
class Reader:
    """Checks the entries of a chapter in their order."""

    domain: Domain | None = None
    problem: Problem | None = None
    seen: list[Diagnostic] = field(default_factory=list)

    def check(self, entry: Entry) -> list[Diagnostic]:
        """Everything that checking says of an entry."""
        try:
            found = self._check(entry)
        except Error as error:
            found = list(error.diagnostics)
        self.seen += found
        return found

    def _check(self, entry: Entry) -> list[Diagnostic]:
        if entry.kind == "path":
            return check_files([entry.program.strip()])
        text = entry.program
        if entry.kind == "python":
            value = eval(entry.program)
            text = decode_source("program", value).text if isinstance(value, bytes) else value
        if "(problem " in text and entry.kind != "pdsketch as domain":
            assert self.domain is not None
            self.problem = parse_problem(text, self.domain, "problem")
            return list(self.problem.warnings)
        if re.match(r"\s*\((?!define\b|:)", text) and self.domain is not None:
            parse_goal(text, self.problem or self.domain, name="goal")
            return []
        self.problem = None
        self.domain = parse_domain(text, "domain")
        return list(self.domain.warnings)


def chapters() -> list[Path]:
    """The chapters in their order."""
    return sorted(BOOK.glob("*.md"))


def entries(text: str) -> Iterator[Entry]:
    """The programs of a chapter."""
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        span = match.span("text") if match["checks"] is None else (0, 0)
        yield Entry(match["kind"], match["program"], match["text"], line, span)


def show(diagnostics: list[Diagnostic]) -> str:
    """The diagnostics as the book prints them."""
    return "".join(f"{render(diagnostic)}\n" for diagnostic in diagnostics)


def agree(shown: str, expected: str) -> bool:
    """Whether the book shows what was said."""
    pattern = re.escape(expected).replace(re.escape("…\n"), r"(?:.*\n)*?")
    return re.fullmatch(pattern, shown) is not None


def prepare(folder: Path) -> None:
    """The files that ``path`` blocks name."""
    (folder / "folder").mkdir()
    with open(folder / "huge.pddl", "wb") as file:
        file.truncate(MAX_BYTES + 1)


def _rewrite(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    parts: list[str] = []
    at = 0
    for entry in entries(text):
        found = reader.check(entry)
        if entry.expected is not None and agree(show(found), entry.expected):
            continue
        if entry.expected is not None and "…\n" not in entry.expected:
            parts += [text[at : entry.span[0]], show(found)]
            at = entry.span[1]
        elif found:
            raise SystemExit(f"{path}:{entry.line}: the book is wrong; this is said:\n{show(found)}")
    path.write_text("".join(parts) + text[at:], encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        prepare(Path(scratch))
        os.chdir(scratch)
        for chapter in chapters():
            _rewrite(chapter)
