"""Mutated files through the language: ``python -m tests.fuzz --files 100000 --seed 0``.

Each file is a shipped example after one to four mutations of its bytes, its
tokens or its tree, or a mutant of a mutant: those that reached a new call site of
the checker are kept and mutated further (the guidance by coverage). A file must
be answered with diagnostics or a loaded value, by `check`, by the parsers, by the
formatter (which must round-trip and settle), by an editor's questions and by the graph drawing; anything
else that is raised is a crash, and more than `LIMIT` seconds are a hang.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from types import FrameType
from typing import Any

from pdsketch.draw.graph import graph_of
from pdsketch.draw.svg import to_dot, to_svg
from pdsketch.editor.analysis import analyse
from pdsketch.editor.complete import completions
from pdsketch.editor.navigate import definition, hover, occurrences, outline
from pdsketch.lang.diagnostics import Error, as_json, render
from pdsketch.lang.domain import Domain
from pdsketch.lang.load import check_files, load_domain, parse_domain, parse_goal, parse_problem
from pdsketch.lang.printer import format_source
from pdsketch.lang.reader import Node, Token, read
from pdsketch.lang.source import Source

ROOT = Path(__file__).parents[1]
LIMIT = 10
"""Seconds that one file may take."""
WATCHED = 0.25
"""The part of the files whose coverage is watched: watching takes longer than checking."""
LARGEST = 20_000
"""Mutants grow no longer than this many bytes."""

Mutation = Callable[[random.Random, bytes, list[bytes]], bytes]

TOKEN = re.compile(rb"""[^\s()\[\],;"]+|[()\[\],]|;[^\n]*|"[^"\n]*"?""")
WORDS = [
    *[b"and", b"or", b"not", b"implies", b"imply", b"forall", b"exists", b"foreach", b"when", b"assign"],
    *[b"=", b"equal", b"eq", b"<", b"<=", b">", b">=", b"+", b"-", b"*", b"/", b"increase", b"decrease"],
    *[b"scale-up", b"either", b"object", b"bool", b"int64", b"float32", b"vector", b"vector[float32, 2]"],
    *[b"int64[choices=4]", b"vector[int64, 3, choices=11]", b"vector[float32, 2, tolerance=0.1]", b"number"],
    *[
        b"[return_type=bool]",
        b"[1, 1]",
        b"[",
        b"]",
        b",",
        b"true",
        b"false",
        b"0",
        b"1",
        b"-1",
        b"0.5",
        b"1e400",
    ],
    *[
        b"nan",
        b"??",
        b"??f",
        b"??f[units=3]",
        b"?x",
        b"?",
        b"p::assign",
        b"p::cond-assign",
        b"p::cond-select",
    ],
    *[b"p:assign", b"::", b":types", b":predicates", b":functions", b":derived", b":action", b":parameters"],
    *[b":precondition", b":effect", b":init", b":goal", b":objects", b":constants", b":metric", b":domain"],
    *[
        b":requirements",
        b":durative-action",
        b":preferences",
        b"minimize",
        b"total-cost",
        b"define",
        b"domain",
    ],
    *[
        b"problem",
        b"()",
        b"(and)",
        b'"text"',
        b'"',
        b";",
        b"\xff",
        b"\0",
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"\r\n",
    ],
]


# Mutations.


def flip_byte(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + rng.randrange(2) :]


def delete_slice(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = _slice(rng, len(data))
    return data[:a] + data[b:]


def repeat_slice(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = _slice(rng, len(data))
    return data[:b] + data[a:b] * rng.choice((1, 1, 1, 50)) + data[b:]


def truncate(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def insert_word(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    spans = _tokens(data)
    at = rng.choice(spans)[1] if spans else 0
    return data[:at] + b" " + rng.choice(WORDS) + b" " + data[at:]


def replace_token(rng: random.Random, data: bytes, corpus: list[bytes]) -> bytes:
    spans = _tokens(data)
    if not spans:
        return data
    a, b = rng.choice(spans)
    if rng.random() < 0.5:
        return data[:a] + rng.choice(WORDS) + data[b:]
    other = data if rng.random() < 0.7 else rng.choice(corpus)
    c, d = rng.choice(_tokens(other) or [(0, 0)])
    return data[:a] + other[c:d] + data[b:]


def delete_token(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = rng.choice(_tokens(data) or [(0, 0)])
    return data[:a] + data[b:]


def swap_trees(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = sorted((_tree(rng, data), _tree(rng, data)))
    if a[1] > b[0]:
        return data
    return data[: a[0]] + data[b[0] : b[1]] + data[a[1] : b[0]] + data[a[0] : a[1]] + data[b[1] :]


def delete_tree(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = _tree(rng, data)
    return data[:a] + data[b:]


def graft_tree(rng: random.Random, data: bytes, corpus: list[bytes]) -> bytes:
    a, b = _tree(rng, data)
    other = data if rng.random() < 0.5 else rng.choice(corpus)
    c, d = _tree(rng, other)
    return data[: rng.choice((a, b))] + other[c:d] + data[b:]


def wrap_tree(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    a, b = _tree(rng, data)
    deep = rng.choice((1, 1, 1, 1, 10, 150))
    head = b"(" + rng.choice((b"not ", b"and ", b"when (and) ", b"", b"forall (?z - object) ", b"??f "))
    return data[:a] + head * deep + data[a:b] + b")" * deep + data[b:]


MUTATIONS: list[Mutation] = [
    *(flip_byte, delete_slice, repeat_slice, truncate),
    *(insert_word, replace_token, replace_token, replace_token, delete_token),
    *(swap_trees, delete_tree, graft_tree, graft_tree, wrap_tree),
]


def _slice(rng: random.Random, length: int) -> tuple[int, int]:
    a = rng.randrange(length + 1)
    return a, min(length, a + rng.choice((1, 2, 5, 20, 100)))


def _tokens(data: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in TOKEN.finditer(data)]


def _tree(rng: random.Random, data: bytes) -> tuple[int, int]:
    """The place of some list in parentheses, or an empty place."""
    openings = [m.start() for m in re.finditer(rb"[(\[]", data)]
    if not openings:
        return 0, 0
    start = rng.choice(openings)
    depth = 0
    for match in re.compile(rb"[()\[\]]").finditer(data, start):
        depth += 1 if match.group() in b"([" else -1
        if depth == 0:
            return start, match.end()
    return start, len(data)


# One file.


class Fuzz:
    """A run: the corpus, what was reached, and the figures."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.seeds = [path.read_bytes() for path in sorted((ROOT / "examples").glob("*/*.pd*"))]
        self.corpus = list(self.seeds)
        paths = sorted((ROOT / "examples").glob("*/domain.*"))
        self.domains = {path.parent.name.encode(): (str(path), load_domain(path)) for path in paths}
        self.reached: set[tuple[str, int, int]] = set()
        self.codes: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0

    def mutant(self) -> bytes:
        """A new file."""
        data = self.rng.choice(self.corpus if self.rng.random() < 0.8 else self.seeds)
        for _ in range(self.rng.choice((1, 1, 1, 2, 4))):
            data = self.rng.choice(MUTATIONS)(self.rng, data, self.corpus)[:LARGEST]
        return data

    def try_file(self, data: bytes) -> None:
        """Put one file through everything; what is raised here is a finding."""
        start = time.process_time()
        with _time_limit(LIMIT):
            errors = self.check(data)
            with contextlib.suppress(UnicodeDecodeError):
                text = data.decode()
                self.parse(text, errors)
                round_trip(text)
        self.slowest = max(self.slowest, time.process_time() - start)

    def check(self, data: bytes) -> int:
        """`check` on a real file; a file that reaches new places joins the corpus."""
        path = self.folder / "mutant.pddl"
        path.write_bytes(data)
        domain = self.domain_of(data)[0]
        with self.watched() if self.rng.random() < WATCHED else contextlib.nullcontext(set()) as reached:
            diagnostics = check_files([str(path), domain] if b"(problem" in data else [str(path)])
        if reached - self.reached:
            self.reached |= reached
            self.corpus.append(data)
        for diagnostic in diagnostics:
            assert render(diagnostic, color=True)
            assert as_json(diagnostic)["line"] >= 1
        self.codes.update({diagnostic.code for diagnostic in diagnostics})
        errors = sum(d.severity == "error" for d in diagnostics)
        self.counts["refused" if errors else "accepted"] += 1
        return errors

    def domain_of(self, data: bytes) -> tuple[str, Domain]:
        """The example domain that a problem names, else the first."""
        name = next((name for name in self.domains if b"(:domain " + name in data), min(self.domains))
        return self.domains[name]

    def parse(self, text: str, errors: int) -> None:
        """The API on the same text: `Error` or a value."""
        loaded = None
        with contextlib.suppress(Error):
            loaded = parse_domain(text)
        if loaded is not None:
            self.counts["domains loaded"] += 1
            assert not errors or "\0" in text, "check refuses what parse_domain accepts"
            if self.rng.random() < 0.02:
                graph = graph_of(loaded, self.rng.choice([None, *loaded.predicates, *loaded.actions]))
                assert to_svg(graph)
                assert to_dot(graph)
        domain = self.domain_of(text.encode())[1]
        with contextlib.suppress(Error):
            parse_problem(text, domain)
            self.counts["problems loaded"] += 1
        goal = text[slice(*_tree(self.rng, text.encode()))]
        with contextlib.suppress(Error):
            parse_goal(goal, domain, {})
            self.counts["goals loaded"] += 1
        self.ask(text, loaded)

    def ask(self, text: str, loaded: Domain | None) -> None:
        """What an editor asks of the same text: an answer to everything, and the verdict of the loader."""
        path = self.domain_of(text.encode())[0]
        domain = analyse(Path(path).read_text(encoding="utf-8"), path) if "(problem" in text else None
        analysis = analyse(text, "mutant", domain)
        assert (analysis.domain is None) == (loaded is None), "analyse and parse_domain disagree"
        offset = self.rng.randrange(len(text) + 1)
        completions(analysis, offset)
        hover(analysis, offset)
        outline(analysis)
        found = definition(analysis, offset)
        assert found is None or occurrences(analysis, found), "a name does not occur where it stands"

    @contextlib.contextmanager
    def watched(self) -> Iterator[set[tuple[str, int, int]]]:
        """The call sites reached inside: which function, called from which line."""
        reached: set[tuple[str, int, int]] = set()

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_back is not None:
                reached.add((frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_back.f_lineno))

        sys.setprofile(note)
        try:
            yield reached
        finally:
            sys.setprofile(None)


def round_trip(text: str) -> None:
    """Formatting keeps the tree, and settles at once."""
    try:
        once = format_source(Source("mutant", text))
    except Error:
        return
    assert _plain(once) == _plain(text), "formatting changed the tree"
    assert format_source(Source("mutant", once)) == once, "formatting twice differs"


def _plain(text: str) -> list[Any]:
    def of(node: Node) -> Any:
        return node.text if isinstance(node, Token) else (node.bracket, [of(item) for item in node.items])

    return [of(node) for node in read(Source("mutant", text)).nodes]


@contextlib.contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(files: int, seed: int, keep: Path, *, say: Callable[[str], None] = print) -> int:
    """The number of findings; each is written into ``keep`` with its traceback."""
    found = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(seed, Path(folder))
        for number in range(1, files + 1):
            data = fuzz.mutant()
            try:
                fuzz.try_file(data)
            except Exception as problem:  # whatever it is, it is what we look for
                found += 1
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{number}.pddl").write_bytes(data)
                (keep / f"{seed}-{number}.txt").write_text("".join(traceback.format_exception(problem)))
                say(f"{keep / f'{seed}-{number}.pddl'}: {type(problem).__name__}: {str(problem)[:200]}")
            if number % 10_000 == 0:
                say(f"{number:,} files, {found} findings, {time.monotonic() - started:.0f} s")
    say(f"{files:,} files in {time.monotonic() - started:.0f} s: {found} crashes or hangs")
    say(", ".join(f"{count:,} {what}" for what, count in sorted(fuzz.counts.items())))
    say(f"{len(fuzz.codes)} diagnostic codes, {len(fuzz.reached):,} call sites, corpus {len(fuzz.corpus):,}")
    say(f"slowest file {fuzz.slowest:.2f} s")
    return found


def main() -> int:
    """Exit code 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where findings are written")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a seed of its own (1)")
    args = parser.parse_args()
    seeds = [args.seed + 1000 * at for at in range(args.jobs)]
    shares = [len(range(at, args.files, args.jobs)) for at in range(args.jobs)]
    with ProcessPoolExecutor(args.jobs) as pool:
        found = sum(pool.map(run, shares, seeds, repeat(args.keep)))
    print(f"{args.files:,} files, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
