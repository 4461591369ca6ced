"""Changes of meaning that the tests must notice: the lists beside this file, by room, and past faults.

Those of the reproduction are in ``paper/tests/mutants``.

A line is one change, in four parts with ``;;`` between them:

    training/optimiser.py ;; 1.0 - step / => step / ;; unused codes ;; training/test_priors.py

- the file in ``src/pdsketch``, or in ``paper/src`` (``pdsketch_paper/…``); ``file@function`` or
  ``file@Class.method``: within that definition alone;
- the old text, which must stand there exactly once, ``=>`` and the new text (``\\n`` is a line end);
- what it means to a user;
- the tests that should notice, as pytest names them, under ``tests/``, or ``paper/tests/…``.

A fifth part, ``nothing: …``, says why no test can notice: the change changes nothing. Empty lines and
lines that begin with ``#`` are for readers.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LISTS = Path(__file__).parent
ROOT = LISTS.parents[1]
PAPER = ROOT / "paper"
SOURCES = ("src", "paper/src")
"""The folders of sources, from the root."""


class StaleError(ValueError):
    """A line that is no change, or one that no longer fits the sources or the tests."""


@dataclass(frozen=True)
class Mutant:
    """One change: ``where`` is its line in the lists; ``nothing``: why it changes nothing, if it does not."""

    where: str
    room: str
    file: str
    scope: str
    old: str
    new: str
    meaning: str
    tests: tuple[str, ...]
    nothing: str = ""

    @property
    def path(self) -> str:
        """The file, from the root."""
        return (
            f"paper/src/{self.file}"
            if self.file.startswith("pdsketch_paper/")
            else f"src/pdsketch/{self.file}"
        )

    def changed(self, text: str) -> str:
        """The file's text with the change made."""
        first, last = 0, len(text)
        if self.scope:
            found = definitions(text).get(self.scope)
            if found is None:
                raise StaleError(f"{self.where}: {self.file} has no `{self.scope}`")
            first, last = found
        count = text.count(self.old, first, last)
        if count != 1:
            place = f"`{self.scope}` of {self.file}" if self.scope else self.file
            raise StaleError(f"{self.where}: `{self.old}` stands {count} times in {place}; once is wanted")
        at = text.index(self.old, first, last)
        return text[:at] + self.new + text[at + len(self.old) :]


@cache
def definitions(text: str) -> dict[str, tuple[int, int]]:
    """Where each function, class and method of a file begins and ends, by its name (``Class.method``)."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, tuple[int, int]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{node.name}"
                found[name] = starts[node.lineno - 1], starts[node.end_lineno or node.lineno]
                visit(node.body, f"{name}.")

    visit(ast.parse(text).body, "")
    return found


def read_line(line: str, where: str, room: str) -> Mutant:
    """The change that a line describes."""
    parts = [part.strip() for part in line.split(" ;; ")]
    if len(parts) not in (4, 5):
        raise StaleError(
            f"{where}: {len(parts)} parts, and 4 (or 5) were wanted: file, change, meaning, tests"
        )
    file, _, scope = parts[0].partition("@")
    old, arrow, new = (part.strip().replace("\\n", "\n") for part in parts[1].partition(" =>"))
    if not arrow or not old or old == new:
        raise StaleError(f"{where}: `old => new` was wanted, found `{parts[1]}`")
    nothing = ""
    if len(parts) == 5:
        word, _, nothing = parts[4].partition("nothing: ")
        if word or not nothing:
            raise StaleError(f"{where}: the fifth part is `nothing: why`, found `{parts[4]}`")
    return Mutant(where, room, file, scope, old, new, parts[2], tuple(parts[3].split()), nothing)


def test_path(name: str) -> str:
    """A test as pytest names it, from the root."""
    return name if name.startswith("paper/") else f"tests/{name}"


def read_lists() -> list[Mutant]:
    """All changes, room by room."""
    found = []
    for path in [*sorted(LISTS.glob("*.txt")), *sorted((PAPER / "tests" / "mutants").glob("*.txt"))]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip() and not line.startswith("#"):
                found.append(read_line(line, f"{path.name}:{number}", path.stem))
    return found


def complaints(mutants: list[Mutant], root: Path = ROOT, *, thorough: bool = False) -> list[str]:
    """What is wrong with changes: they do not fit the sources any more, or name tests that are not there.

    ``thorough``: also whether a file is still Python with the change made, which takes a while.
    """
    found = []
    texts: dict[str, str] = {}
    for mutant in mutants:
        path = root / mutant.path
        if not path.is_file():
            found.append(f"{mutant.where}: there is no file {mutant.file}")
            continue
        text = texts.setdefault(mutant.path, path.read_text(encoding="utf-8"))
        try:
            after = mutant.changed(text)
            if thorough:
                ast.parse(after)
        except StaleError as why:
            found.append(str(why))
        except SyntaxError as why:
            found.append(f"{mutant.where}: with the change, {mutant.file} is no Python: {why}")
        found += [
            f"{mutant.where}: there is no test `{name}`" for name in mutant.tests if not _is_test(name, root)
        ]
        if not mutant.tests:
            found.append(f"{mutant.where}: no tests are named")
    return found


def _is_test(name: str, root: Path) -> bool:
    """Whether a name is that of a file, a class, a test or one of its cases (which are not looked for)."""
    file, *inside = name.split("[", maxsplit=1)[0].split("::")
    path = root / test_path(file)
    if not path.is_file():
        return path.is_dir() and not inside
    return not inside or ".".join(inside) in definitions(path.read_text(encoding="utf-8"))
