"""Do the tests notice? ``python -m tests.mutation``, or ``make mutants``.

Changes of meaning are made, one by one, in a copy of the sources, and the tests that should notice run
against it. A change is noticed if one of them fails, or takes much longer than before. There are two kinds:

- ``--drawn N --seed S``: N functions of all rooms (of some: ``--room lang --room files``), and of each a
  change, at random. The tests that call the function are asked, as a recording says. ``--record`` makes it,
  of all files of tests that are new or have changed, or of those that are named. The first figure of a new
  seed counts: tests were written for the survivors of others.
- without: the lists in `tests/mutants`, each beside the tests that should notice. These tests must pass
  without any change first.

Results are kept at once, one JSON object a line (``.mutants/results.jsonl``, or ``--results FILE``), under a
digest of the change, its source file and its tests, so that a second run asks only about what is new, and an
interrupted one goes on. One that is interrupted, or whose ``--minutes`` are over, prints the table of what
was judged. The recording is the folder ``.mutants/touched``; both can be carried to another machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from tests import touched
from tests.mutants import PAPER, ROOT, SOURCES, Mutant, complaints, patience, read_lists, test_path
from tests.mutants.drawing import Drawn, Touched, absent_from, draw, rooms

HOME = ROOT / ".mutants"
TESTS = (ROOT / "tests", PAPER / "tests")
LIMIT = 90
"""Seconds of the processor that a test of a listed change may take; it takes a few."""
LIMIT_DRAWN = 10
"""The same for a drawn change; to which comes thrice what its longest test took as recorded."""
PATIENCE = 30
"""Seconds of the clock: tests that took none of the processor for so long wait for ever."""
MEMORY = 16 << 30
"""Bytes of addresses for the tests of a change: some changes take all that there is."""
WANTED = 0.95
"""The part of the listed changes that must be noticed."""
WANTED_DRAWN, WANTED_IN_ROOM = 0.93, 0.85
"""The part of the drawn ones, of all and of each room."""

NOTICED, TIMED_OUT, SURVIVES, BROKEN = "noticed", "timed out", "survives", "cannot be judged"
NO_PROGRAM = "no program"
"""The compiler refuses the change: nobody could make it."""

FAILED = re.compile(r"^(?:FAILED|ERROR) ((?:paper/)?tests/\S+?\.py(?:::\w+)*)", re.MULTILINE)

Change = Mutant | Drawn

ALONE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")]
"""
"""An editable installation finds its own sources before those of any path; not here."""
PYTEST = (
    *("-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"),
    *("-p", "tests.mutants.patience", "--hypothesis-seed=0"),
)


def _paths() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


class StoppedError(Exception):
    """A desk that was stopped judges nothing more."""


class Desk:
    """A copy of the sources of its own, with their byte code, and a process that runs tests against it."""

    is_stopped = False

    def __init__(self, number: int, known: dict[str, bool]) -> None:
        self.folder = HOME / f"desk{number}"
        self.known = known
        self.has_engine = number % 3 == 0
        self._warm: subprocess.Popen[bytes] | None = None
        self._running = 0
        self._changes = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sources = [self.folder / name for name in SOURCES]
        for name in (*SOURCES, "core", "build", "built"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (*SOURCES, "core"):
            shutil.copytree(ROOT / name, self.folder / name)
        (self.folder / "alone").mkdir(exist_ok=True)
        (self.folder / "alone" / "sitecustomize.py").write_text(ALONE)
        asked = [sys.executable, "-c", "import pdsketch; print(pdsketch.__file__)"]
        found = subprocess.check_output(asked, env=self._environment(), text=True)
        assert Path(found).is_relative_to(self.folder), f"the tests would run with {found}"

    def judge(self, mutant: Change) -> tuple[str, str]:
        """What becomes of a change, and what pytest said last.

        Tests that fail without it, too, are left out, and the others are asked again.
        """
        while True:
            without = {name for name, passes in list(self.known.items()) if not passes}
            asked = map(test_path, mutant.tests)
            left = [name for name in asked if not {name, name.partition("::")[0]} & without]
            if not left:
                return SURVIVES, "no test calls it"
            with self._made(mutant) as compiles:
                if not compiles:
                    return NO_PROGRAM, "it does not compile"
                result, said = self._judged(mutant, left, without)
            failed = FAILED.findall(said)
            if result != NOTICED or all(map(self._passes_else, failed or left)):
                return result, said
            if not failed:
                return BROKEN, said

    @contextmanager
    def _made(self, mutant: Change) -> Iterator[bool]:
        """Within, the change is made; whether it compiles."""
        path = self.folder / mutant.path
        text, made = path.read_text(encoding="utf-8"), path.stat().st_mtime
        is_python = path.suffix == ".py"
        if not is_python:
            self._make_ready_to_build()
        path.write_text(mutant.changed(text), encoding="utf-8")
        if is_python:
            # Byte code is taken for that of a file by its time, so each change has one of its own.
            self._changes += 1
            os.utime(path, (made - self._changes, made - self._changes))
        try:
            yield is_python or self._builds()
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (made, made))

    def _passes_else(self, test: str) -> bool:
        """Whether a test passes without any change; of a file of tests, whether it can be read."""
        if test not in self.known:
            self.known[test] = self._pytest([test] if "::" in test else ["--collect-only", test])[0] == 0
        return self.known[test]

    def _make_ready_to_build(self) -> None:
        """The engine as it is: built once, then copied: only the change is compiled."""
        build, built = self.folder / "build", self.folder / "built"
        if not built.exists():
            words = ["cmake", "-S", str(self.folder / "core"), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            assert self._builds(), "the engine does not compile without any change"
            shutil.copytree(build, built)
        else:
            shutil.rmtree(build, ignore_errors=True)
            shutil.copytree(built, build)

    def _builds(self) -> bool:
        words = ["cmake", "--build", str(self.folder / "build")]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder / "alone", *self.sources, *_paths()))),
            # Also that of tests, whose assertions pytest rewrites: most of them are asked again and again.
            "PYTHONDONTWRITEBYTECODE": "",
            "OMP_NUM_THREADS": "1",
        }

    def passes(self, tests: Iterable[str]) -> tuple[bool, str]:
        """Whether tests pass with the sources as they are."""
        done, said = self._pytest(map(test_path, tests))
        return done == 0, said

    def _judged(self, mutant: Change, tests: Sequence[str], without: Iterable[str]) -> tuple[str, str]:
        engine = "" if mutant.path.endswith(".py") else str(self.folder / "build" / "_core.so")
        limit = LIMIT_DRAWN + 3 * mutant.longest if isinstance(mutant, Drawn) else LIMIT
        left_out = [f"--deselect={name}" if "::" in name else f"--ignore={name}" for name in without]
        code, said = self._pytest([*left_out, *tests], limit, engine)
        if code in (None, -signal.SIGXCPU, -signal.SIGPROF):
            return TIMED_OUT, said
        return SURVIVES if code == 0 else NOTICED, said

    def _pytest(
        self, words: Iterable[str], limit: float | None = None, engine: str = ""
    ) -> tuple[int | None, str]:
        """The exit code of pytest, None where it waits for ever, and the end of what it said."""
        with tempfile.TemporaryDirectory() as scratch:
            limits = {} if limit is None else {"RLIMIT_CPU": round(10 * limit), "RLIMIT_AS": MEMORY}
            own = {"HYPOTHESIS_STORAGE_DIRECTORY": scratch, patience.VARIABLE: str(limit or 0)}
            said = Path(scratch, "said")
            asked = {
                "words": [*PYTEST, f"--basetemp={scratch}/tmp", *words],
                "environment": own | ({"PDSKETCH_CORE": engine} if engine else {}),
                "limits": limits,
                "said": str(said),
            }
            code = self._forked(asked)
            text = said.read_text(errors="replace") if said.exists() else ""
        if self.is_stopped:
            raise StoppedError
        if code is None:
            return None, f"nothing was done for {PATIENCE} s"
        return code, "\n".join(text.strip().splitlines()[-12:])

    def _forked(self, asked: Mapping[str, object]) -> int | None:
        """The exit code of a run; None if its session took no time of the processor for long."""
        if self._warm is None or self._warm.poll() is not None:
            words = [sys.executable, "-m", "tests.mutants.warm"]
            pipe = subprocess.PIPE
            self._warm = subprocess.Popen(
                words, cwd=ROOT, env=self._environment(), stdin=pipe, stdout=pipe, bufsize=0
            )
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        self._warm.stdin.write(json.dumps(asked).encode() + b"\n")
        self._running = int(self._warm.stdout.readline() or 0)
        waits, before = False, -1.0
        while not select.select([self._warm.stdout], [], [], PATIENCE)[0]:
            now = _processor_time(self._running)
            if now < before + PATIENCE / 60:
                waits = True
                self._end()
            before = now
        code = self._warm.stdout.readline()
        self._end()  # what the tests have left behind
        return None if waits else int(code or -signal.SIGKILL)

    def stop(self) -> None:
        """End what runs here, and begin nothing more."""
        self.is_stopped = True
        self._end()

    def close(self) -> None:
        """End the process that runs the tests."""
        if self._warm is not None:
            self._warm.kill()
            self._warm.wait()

    def _end(self) -> None:
        """End the run, and what it started."""
        if self._running:
            with suppress(ProcessLookupError):
                os.killpg(self._running, signal.SIGKILL)


def _processor_time(session: int) -> float:
    """Seconds that the processes of a session have taken so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


class Record:
    """The results so far, a JSON object a line: one file that can be carried to another machine, and back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.known: dict[str, tuple[str, float]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                kept = json.loads(line)
                self.known[kept["digest"]] = kept["result"], kept["seconds"]
            except ValueError:  # the last line of a run that was killed
                continue

    def add(self, digest: str, result: str, seconds: float, mutant: Change | None = None) -> None:
        """Keep a result at once, and of which change it is."""
        kept: dict[str, object] = {"digest": digest, "result": result, "seconds": round(seconds, 2)}
        if mutant is not None:
            kept |= {"room": mutant.room, "where": mutant.where, "meaning": mutant.meaning}
            kept |= {"nothing": mutant.nothing, "tests": mutant.tests}
        with self._lock:
            self.known[digest] = result, seconds
            with self._path.open("a") as file:
                file.write(json.dumps(kept) + "\n")


def digest_of(mutant: Change) -> str:
    """The change, its file, its tests, and what tests share."""
    files = {ROOT / test_path(name.split("::")[0]) for name in mutant.tests}
    listed = [path for file in files for path in ([file] if file.is_file() else file.rglob("*.py"))]
    parts = [mutant.file, mutant.scope, mutant.meaning, mutant.old, mutant.new, *mutant.tests]
    if isinstance(mutant, Drawn):
        parts.append(mutant.where)
    return _digest(parts, [ROOT / mutant.path, *listed, *_shared()])


def _shared() -> list[Path]:
    """The files beside the tests that they import."""
    every = (path for folder in TESTS for path in folder.rglob("*.py"))
    others = [path for path in every if not path.name.startswith("test_")]
    return [path for path in others if path.parent.name != "mutants" and path.name != "mutation.py"]


def _digest(words: Iterable[str], files: Iterable[Path]) -> str:
    whole = hashlib.sha256("\0".join(words).encode())
    for file in sorted(files):
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:32]


def first_without(desks: Sequence[Desk], mutants: Sequence[Change], record: Record) -> list[str]:
    """What fails without any change; each desk asks about a part of the tests."""
    tests = sorted({name for mutant in mutants for name in mutant.tests})
    files = [path for folder in (*(ROOT / name for name in SOURCES), *TESTS) for path in folder.rglob("*.py")]
    digest = _digest(["unchanged", *tests], files)
    if digest in record.known:
        return []
    # Tests of one file together: they share what is costly to make.
    by_file: dict[str, list[str]] = {}
    for name in tests:
        by_file.setdefault(name.split("::")[0], []).append(name)
    parts = list(by_file.values())
    shares = [[name for part in parts[at :: len(desks)] for name in part] for at in range(len(desks))]
    print(f"{len(tests)} tests without any change ...", flush=True)
    started = time.monotonic()
    with ThreadPoolExecutor(len(desks)) as pool:
        found = list(
            pool.map(
                lambda pair: pair[0].passes(pair[1]) if pair[1] else (True, ""),
                zip(desks, shares, strict=True),
            )
        )
    failed = [said for passes, said in found if not passes]
    if not failed:
        record.add(digest, "pass", time.monotonic() - started)
    return failed


def judge_all(
    desks: Sequence[Desk], mutants: Sequence[Change], record: Record, seconds: float = inf
) -> dict[Change, tuple[str, float]]:
    """The result of each change, those known already included; fewer after Ctrl-C, or after some seconds."""
    digests = {mutant: digest_of(mutant) for mutant in mutants}
    results = {m: record.known[d] for m, d in digests.items() if d in record.known}
    left = [mutant for mutant in mutants if mutant not in results]
    print(f"{len(mutants)} changes, {len(results)} of them known, {len(left)} to try", flush=True)
    lock = threading.Lock()

    def work(desk: Desk) -> None:
        while not desk.is_stopped:
            with lock:
                mutant = _next(left, desk)
            if mutant is None:
                return
            started = time.monotonic()
            try:
                result, said = desk.judge(mutant)
            except StoppedError:
                return
            took = time.monotonic() - started
            with lock:
                results[mutant] = result, took
                at = len(results)
            if result != BROKEN:
                record.add(digests[mutant], result, took, mutant)
            line = f"{at:4} {result:10} {took:5.1f} s  {mutant.room:12} {mutant.where}: {mutant.meaning}"
            print(line, *([said] if result == BROKEN else []), sep="\n", flush=True)

    with ThreadPoolExecutor(len(desks)) as pool:
        working = [pool.submit(work, desk) for desk in desks]
        try:
            for future in as_completed(working, None if seconds == inf else max(seconds, 0)):
                future.result()
        except (KeyboardInterrupt, TimeoutError) as why:
            for desk in desks:
                desk.stop()
            said = "time is up" if isinstance(why, TimeoutError) else "interrupted"
            print(f"{said}; what was tried is kept, and another run goes on", file=sys.stderr)
    return results


def _next(left: list[Change], desk: Desk) -> Change | None:
    """The next change for a desk; a third of the desks build the engine, which takes long the first time."""
    if desk.has_engine:
        at = next((at for at, mutant in enumerate(left) if not mutant.path.endswith(".py")), 0)
    else:
        at = next((at for at, mutant in enumerate(left) if mutant.path.endswith(".py")), len(left))
    return left.pop(at) if at < len(left) else None


def told(
    results: Mapping[Change, tuple[str, float]], wanted: float = WANTED, in_room: float = 0.0
) -> tuple[list[str], bool]:
    """The table, the survivors and the score, and whether all is as it should be."""
    lines = [f"{'room':16}{'changes':>9}{'noticed':>9}{'survive':>9}{'nothing':>9}{'seconds':>9}"]
    of_room: dict[str, Counter[str]] = {}
    wrong = []
    for mutant, (result, seconds) in sorted(results.items(), key=lambda item: item[0].where):
        noticed = result in (NOTICED, TIMED_OUT)
        without = mutant.nothing or ("it does not compile" if result == NO_PROGRAM else "")
        kind = "noticed" if noticed else "nothing" if without else "survive"
        for room in (mutant.room, "all"):
            of_room.setdefault(room, Counter()).update({kind: 1, "changes": 1, "seconds": round(seconds)})
        if kind == "nothing":
            wrong.append(f"changes nothing: {mutant.where}: {mutant.meaning}: {without}")
        elif kind == "survive":
            some = " ".join(mutant.tests[:4])
            wrong.append(f"{result}: {mutant.where}: {mutant.meaning} ({len(mutant.tests)} tests: {some})")
        elif mutant.nothing:
            wrong.append(f"is noticed, and was said to change nothing: {mutant.where}: {mutant.meaning}")
    total = of_room.pop("all", Counter())
    for room, counts in [*sorted(of_room.items()), ("all", total)]:
        figures = [counts[name] for name in ("changes", "noticed", "survive", "nothing", "seconds")]
        lines.append(f"{room:16}" + "".join(f"{figure:>9}" for figure in figures))
    score = _score(total)
    lines += [*wrong, f"score: {100 * score:.1f} % noticed of those that change something"]
    right = not any(line.startswith(("is noticed", BROKEN)) for line in wrong)
    return lines, right and score >= wanted and all(_score(counts) >= in_room for counts in of_room.values())


def _score(counts: Mapping[str, int]) -> float:
    """The part that is noticed of what changes something."""
    some = counts["changes"] - counts["nothing"]
    return counts["noticed"] / some if some else 1.0


def main() -> int:
    """Exit code 0 if enough is noticed, 1 if not, 2 if the lists or the tests are not in order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="a regular expression over lines: place, file, meaning"
    )
    parser.add_argument("--drawn", type=int, metavar="N", help="draw so many, by the lines of the rooms")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--least", type=int, default=3, metavar="N", help="of each room that are drawn (3)")
    parser.add_argument(
        "--room", action="append", choices=rooms(), metavar="ROOM", help="draw of this room alone; repeatable"
    )
    parser.add_argument(
        "--record", nargs="*", metavar="TESTS", help="record first what new and changed tests call (all)"
    )
    parser.add_argument("--minutes", type=float, default=inf, metavar="N", help="stop after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--results", type=Path, default=HOME / "results.jsonl", metavar="FILE", help="where results are kept"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--list", action="store_true", help="list the changes and stop")
    args = parser.parse_args()
    started = time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM):  # a job in the background of a shell ignores Ctrl-C
        signal.signal(number, signal.default_int_handler)
    HOME.mkdir(exist_ok=True)
    mutants: Sequence[Change]
    if args.drawn is not None:
        if args.record is not None or not touched.FOLDER.exists():
            recorded(args.jobs, args.record or [])
        old = touched.out_of_date(files_of_tests([]))
        print(f"seed {args.seed}; {len(old)} files of tests are not recorded as they are", flush=True)
        for path in sorted(path for name in SOURCES for path in (ROOT / name).rglob("*.py")):
            if absent := absent_from(path):
                print(f"left out: {path.relative_to(ROOT)}, which imports {', '.join(sorted(absent))}")
        mutants = draw(args.seed, args.drawn, args.least, Touched.read(touched.FOLDER), args.room)
    else:
        listed = read_lists()
        stale = complaints(listed, thorough=True)
        if stale:
            print("\n".join(stale), file=sys.stderr)
            return 2
        mutants = listed
    if args.only:
        mutants = [m for m in mutants if re.search(args.only, f"{m.where} {m.file} {m.meaning}")]
    if args.list or not mutants:
        print("\n".join(f"{m.where}: {m.file}: {m.meaning}" for m in mutants))
        return 0
    if args.fresh:
        args.results.unlink(missing_ok=True)
    record = Record(args.results)
    for name in SOURCES:
        compile_dir(ROOT / name, quiet=2, workers=args.jobs)  # the copies take the byte code along
    known: dict[str, bool] = {}
    with ThreadPoolExecutor(args.jobs) as pool:
        desks = list(pool.map(lambda number: Desk(number, known), range(args.jobs)))
    # A test that fails of a drawn change is asked without it, too.
    failed = [] if args.drawn is not None else first_without(desks, mutants, record)
    if failed:
        print("without any change, these tests fail:", *failed, sep="\n", file=sys.stderr)
        return 2
    results = judge_all(desks, mutants, record, 60 * args.minutes - (time.monotonic() - started))
    for desk in desks:
        desk.close()
    lines, good = told(results) if args.drawn is None else told(results, WANTED_DRAWN, WANTED_IN_ROOM)
    print("\n".join(lines))
    print(f"{len(results)} of {len(mutants)} changes; {time.monotonic() - started:.0f} s")
    return 0 if good else 1


def files_of_tests(within: Iterable[str]) -> list[str]:
    """The files of tests, from the root: all, or those in some folders."""
    folders = [ROOT / name for name in within] or TESTS
    found = (
        path for folder in folders for path in (folder.rglob("test_*.py") if folder.is_dir() else [folder])
    )
    return sorted(str(path.relative_to(ROOT)) for path in found)


def recorded(jobs: int, within: Iterable[str]) -> None:
    """Run the tests once that are not recorded as they are, and write down what each calls.

    Tests that fail are left out. An interrupted recording goes on.
    """
    files = touched.out_of_date(files_of_tests(within))
    if not files:
        return
    print(f"{len(files)} files of tests are run once, to see which functions they call ...", flush=True)
    spread = ["-n", str(jobs), "--dist", "loadfile", "--no-loadscope-reorder", "-p", "no:randomly"]
    # Files that cannot be read here, as a package is absent, do not keep the others from being run.
    patient = ["--continue-on-collection-errors", "-o", "timeout=300"]
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.touched"]
    words += [*spread, *patient, *files]
    subprocess.run(words, cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""}, check=False)


if __name__ == "__main__":
    sys.exit(main())
