"""Changes at random: which function, and which change, by a seed; rooms by their lines.

Which tests are asked is known from one recording (`tests.touched`): those that call the function, its own
room's and the most specific first; of a function that is newer than the recording, those that call others of
its file. A change that a person has judged to change nothing stands in ``equivalent/changes.txt``.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from tests.mutants import LISTS, ROOT
from tests.mutants.changes import Change, Definition, of_cpp, of_python

SECONDS = 30.0
"""Of the processor, as recorded: the tests of a change are not asked beyond."""
FILES = 8
"""Files of tests of other rooms that a change is asked of: the importing takes longer than the tests."""
ENGINE = ("core", "heuristics", "task", "search/packed")
"""The tests of the engine in C++, which a recording does not see into."""


@dataclass(frozen=True)
class Drawn:
    """One change, as `tests.mutation.Desk` judges it."""

    room: str
    file: str
    path: str
    scope: str
    change: Change
    line: int
    old: str
    new: str
    tests: tuple[str, ...] = ()
    longest: float = 0.0
    nothing: str = ""

    @property
    def where(self) -> str:
        """Its place in the sources."""
        return f"{self.file}:{self.line}"

    @property
    def meaning(self) -> str:
        """The line before and after."""
        return f"{self.change.kind}: {self.old} => {self.new}"

    def changed(self, text: str) -> str:
        """The file's text with the change made."""
        return text[: self.change.start] + self.change.new + text[self.change.end :]


@dataclass(frozen=True)
class Touched:
    """What a recording says: the functions that each test calls, and how long it takes.

    The cases of a test are one, and what fixtures call counts for all tests of their file.
    """

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    functions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def read(cls, folder: Path) -> Touched:
        """The recording of a folder, in pieces."""
        found = cls()
        shared: dict[str, set[str]] = defaultdict(set)
        for path in sorted(folder.glob("*.json")):
            kept = json.loads(path.read_text())
            names = kept["functions"]
            for test, (seconds, fixtures, called) in kept["tests"].items():
                plain = test.partition("[")[0]
                found.seconds[plain] += seconds
                found.functions[plain] |= {names[i] for i in called}
                shared[plain.partition("::")[0]] |= {names[i] for i in fixtures}
        for test in found.functions:
            found.functions[test] |= shared[test.partition("::")[0]]
        return found

    @cached_property
    def _of(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for test in sorted(self.functions, key=lambda test: (len(self.functions[test]), test)):
            for place in {*self.functions[test], *(name.partition("@")[0] for name in self.functions[test])}:
                found[place].append(test)
        return found

    def tests(self, function: str) -> tuple[tuple[str, ...], float]:
        """Tests that call a function, quick files first, and the seconds of the longest.

        Those of its own room are chosen first; among them, and among the others, those that call little else.
        """
        files: set[str] = set()
        chosen: list[str] = []
        total = 0.0
        known = self._of.get(function) or self._of.get(function.partition("@")[0], ())
        home = home_of(function)
        for test in sorted(known, key=lambda test: not test.startswith(home)):
            new = files if test.startswith(home) else files | {test.partition("::")[0]}
            seconds = self.seconds[test]
            if (chosen and total + seconds > SECONDS) or len(new) > FILES:
                continue
            chosen.append(test)
            files = new
            total += seconds
        return self._told(chosen)

    def of_the_engine(self) -> tuple[tuple[str, ...], float]:
        """The quick tests of the engine, and the seconds of the longest."""
        folders = tuple(f"tests/{name}/" for name in ENGINE)
        chosen: list[str] = []
        total = 0.0
        for test in sorted(self.functions, key=lambda test: self.seconds[test]):
            if test.startswith(folders) and total + self.seconds[test] <= 2 * SECONDS:
                chosen.append(test)
                total += self.seconds[test]
        return self._told(chosen)

    def _told(self, chosen: list[str]) -> tuple[tuple[str, ...], float]:
        """Tests of one file together, as they share what is costly to make, and quick files first."""
        of_file: dict[str, float] = defaultdict(float)
        for test in chosen:
            of_file[test.partition("::")[0]] += self.seconds[test]
        longest = max((self.seconds[test] for test in chosen), default=0.0)
        files = sorted(of_file, key=of_file.__getitem__)
        by_file = sorted(chosen, key=lambda test: (files.index(test.partition("::")[0]), self.seconds[test]))
        return tuple(test.removeprefix("tests/") for test in by_file), longest


def home_of(function: str) -> str:
    """How the paths of a room's own tests begin."""
    first, *others = function.partition("@")[0].split("/")
    if first == "pdsketch_paper":
        return f"paper/tests/{others[0]}" if len(others) > 1 else "paper/tests/test_"
    return f"tests/{first}/" if others else "tests/test_"


@cache
def rooms() -> dict[str, list[Path]]:
    """The sources of each room; `engine` is that in C++, `front` what stands before the rooms.

    Files that import a package which is not installed are left out: their tests cannot run here.
    """
    package = ROOT / "src/pdsketch"
    found = {"engine": sorted((ROOT / "core").glob("*.[ch]pp")), "front": sorted(package.glob("*.py"))}
    for path in sorted(package.glob("*/**/*.py")):
        found.setdefault(path.relative_to(package).parts[0], []).append(path)
    found["paper"] = sorted((ROOT / "paper/src").rglob("*.py"))
    return {room: [path for path in paths if not absent_from(path)] for room, paths in found.items()}


def absent_from(path: Path) -> set[str]:
    """The packages that a file imports, anywhere, and that are not installed."""
    if path.suffix != ".py":
        return set()
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {top for top in {name.partition(".")[0] for name in names} if find_spec(top) is None}


def shares(lines: Mapping[str, int], count: int, least: int) -> dict[str, int]:
    """How many changes each room gets: by its lines, and at least so many."""
    total = sum(lines.values())
    return {room: max(least, round(count * n / total)) for room, n in lines.items()}


def draw(
    seed: int, count: int, least: int, touched: Touched, only: Collection[str] | None = None
) -> list[Drawn]:
    """So many changes of all rooms, or of some, another choice for another seed; the rooms take turns."""
    found = []
    of_room = {room: paths for room, paths in rooms().items() if not only or room in only}
    texts = {path: path.read_text(encoding="utf-8") for paths in of_room.values() for path in paths}
    lines = {room: sum(texts[path].count("\n") for path in paths) for room, paths in of_room.items()}
    known = equivalent()
    for room, number in shares(lines, count, least).items():
        chance = Random(f"{seed} {room}")
        definitions = list(_definitions(of_room[room], texts))
        possible = {(path, change) for path, _, one in definitions for change in one.changes}
        wanted = min(number, len(possible) // 2)  # of a small room, no more than half of what there is
        for at, (path, text, one, change) in enumerate(_drawn(chance, definitions, wanted)):
            found.append((at / wanted, room, _told(room, path, text, one, change, touched, known)))
    return [one for *_, one in sorted(found, key=lambda item: item[:2])]


def _definitions(paths: Iterable[Path], texts: Mapping[Path, str]) -> Iterable[tuple[Path, str, Definition]]:
    for path in paths:
        read = of_python if path.suffix == ".py" else of_cpp
        for one in read(texts[path]):
            if one.changes:
                yield path, texts[path], one


def _drawn(chance: Random, definitions: list[Any], number: int) -> Iterable[tuple[Path, str, Any, Change]]:
    """Functions by their lines; of each, a kind of change, and one of these."""
    seen: set[tuple[Path, Change]] = set()
    weights = [one.lines for _, _, one in definitions]
    while len(seen) < number:
        ((path, text, one),) = chance.choices(definitions, weights)
        kind = chance.choice(sorted({change.kind for change in one.changes}))
        change = chance.choice([change for change in one.changes if change.kind == kind])
        if (path, change) not in seen and (path.suffix != ".py" or _is_python(text, change)):
            seen.add((path, change))
            yield path, text, one, change


def _is_python(text: str, change: Change) -> bool:
    try:
        ast.parse(text[: change.start] + change.new + text[change.end :])
    except SyntaxError:
        return False
    return True


def _told(
    room: str,
    path: Path,
    text: str,
    one: Definition,
    change: Change,
    touched: Touched,
    known: Mapping[tuple[str, str, str], str],
) -> Drawn:
    relative = str(path.relative_to(ROOT))
    file = relative.removeprefix("src/pdsketch/").removeprefix("paper/src/")
    first = text.rfind("\n", 0, change.start) + 1
    last = text.find("\n", change.end)
    old = " ".join(text[first:last].split())
    new = " ".join((text[first : change.start] + change.new + text[change.end : last]).split())
    line = text.count("\n", 0, change.start) + 1
    tests, longest = touched.tests(f"{file}@{one.name}") if one.name else touched.of_the_engine()
    nothing = known.get((f"{file}@{one.name}", old, new), "")
    return Drawn(room, file, relative, one.name, change, line, old, new, tests, longest, nothing)


def equivalent(path: Path = LISTS / "equivalent" / "changes.txt") -> dict[tuple[str, str, str], str]:
    """What a person has judged to change nothing: place, line before and after, and why."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            place, change, why = (part.strip() for part in line.split(" ;; "))
            old, _, new = change.partition(" => ")
            found[place, old, new] = why
    return found
