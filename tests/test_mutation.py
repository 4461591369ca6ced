"""The lists of changes fit the sources, and what does not is told."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tests import touched
from tests.mutants import PAPER, ROOT, StaleError, complaints, definitions, patience, read_line, read_lists
from tests.mutants.changes import of_cpp, of_python
from tests.mutants.drawing import Touched, absent_from, draw, equivalent, home_of, rooms
from tests.mutation import NOTICED, PYTEST, SURVIVES, Record, StoppedError, judge_all, told

SOURCE = """
class Lamp:
    def level(self, n):
        return n + 1

    def dim(self, n):
        return n - 1


def level(n):
    return n + 1
"""


def change(line: str):
    return read_line(line, "lamps.txt:1", "lamps")


def test_every_change_fits_the_sources_and_names_tests_that_are_there():
    assert complaints(read_lists()) == []


def test_there_are_changes_of_every_room():
    product = {path.parent.name for path in (ROOT / "src/pdsketch").glob("*/__init__.py")}
    paper = {f"pdsketch_paper/{path.parent.name}" for path in (PAPER / "src").glob("*/*/__init__.py")}
    files = [mutant.file.split("/") for mutant in read_lists()]
    rooms = {"/".join(parts[:2]) if parts[0] == "pdsketch_paper" else parts[0] for parts in files}
    assert rooms >= product | paper
    assert len(read_lists()) >= 150


def test_a_change_is_made_where_it_says():
    made = change("lamps.py@Lamp.level ;; n + 1 => n + 2 ;; brighter ;; test_lamps.py").changed(SOURCE)
    assert made == SOURCE.replace("n + 1", "n + 2", 1)
    outer = change("lamps.py@level ;; n + 1 => n + 2 ;; brighter ;; test_lamps.py").changed(SOURCE)
    assert outer == SOURCE[: SOURCE.rindex("1")] + "2\n"
    lines = change(r"lamps.py@level ;; :\n    return n + 1 => : return 0 ;; dark ;; test_lamps.py").changed(
        SOURCE
    )
    assert lines.endswith("def level(n): return 0\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lamps.py ;; n + 1 => n + 2 ;; brighter ;; t.py", "stands 2 times in lamps.py"),
        ("lamps.py@Lamp.level ;; n + 3 => n + 2 ;; brighter ;; t.py", "stands 0 times in `Lamp.level`"),
        ("lamps.py@Lamp.flash ;; n + 1 => n + 2 ;; brighter ;; t.py", "has no `Lamp.flash`"),
    ],
)
def test_a_change_that_does_not_fit_is_told(line, said):
    with pytest.raises(StaleError, match=said):
        change(line).changed(SOURCE)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lamps.py ;; n + 1 => n + 2 ;; brighter", "3 parts"),
        ("lamps.py ;; n + 1 ;; brighter ;; t.py", "`old => new` was wanted"),
        ("lamps.py ;; n => n ;; brighter ;; t.py", "`old => new` was wanted"),
        ("lamps.py ;; n => m ;; brighter ;; t.py ;; whatever", "`nothing: why`"),
    ],
)
def test_a_line_that_is_no_change_is_told(line, said):
    with pytest.raises(StaleError, match=said):
        change(line)


def test_files_and_tests_that_are_gone_are_told(tmp_path: Path):
    for folder in ("src/pdsketch", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/pdsketch/lamps.py").write_text(SOURCE)
    (tmp_path / "tests/test_lamps.py").write_text("class TestAll:\n    def test_one(self): ...\n")
    lines = [
        "lamps.py@level ;; n + 1 => n + 2 ;; brighter ;; test_lamps.py::TestAll::test_one[3] test_lamps.py",
        "lamps.py@level ;; n + 1 => n + 2 ;; brighter ;; test_lamps.py::TestAll::test_two",
        "lights.py ;; n + 1 => n + 2 ;; brighter ;; test_lamps.py",
        "lamps.py@level ;; n + 1 => n + ;; brighter ;; test_lamps.py",
    ]
    no_test, no_file, no_python = complaints([change(line) for line in lines], tmp_path, thorough=True)
    assert no_test == "lamps.txt:1: there is no test `test_lamps.py::TestAll::test_two`"
    assert no_file == "lamps.txt:1: there is no file lights.py"
    assert "is no Python" in no_python


def test_the_score_is_of_what_changes_something():
    lines = [
        "n + 1 => n + 2 ;; a ;; t.py",
        "n + 1 => n + 3 ;; b ;; t.py",
        "n + 1 => n + 4 ;; c ;; t.py ;; nothing: why",
    ]
    one, two, three = (change(f"lamps.py@level ;; {line}") for line in lines)
    shown, good = told({one: (NOTICED, 1.0), two: (SURVIVES, 1.0), three: (SURVIVES, 1.0)})
    assert not good
    assert shown[-1].startswith("score: 50.0 %")
    assert any(line.startswith("survives: lamps.txt:1: b") for line in shown)
    assert told({one: (NOTICED, 1.0), three: (SURVIVES, 1.0)})[1]
    assert not told({one: (NOTICED, 1.0), three: (NOTICED, 1.0)})[1]


DRAWN_FROM = '''
class Lamp:
    def level(self, n: int) -> int:
        """Its level, at least 0."""
        if n < 1:
            return max(n, 0)
        report("dim", n, loud=True)
        return n + 1
'''


def test_the_changes_of_a_function_are_small_and_still_python():
    (one,) = of_python(DRAWN_FROM)
    assert (one.name, one.lines) == ("Lamp.level", 6)
    made = {
        DRAWN_FROM[: c.start] + c.new + DRAWN_FROM[c.end :]: DRAWN_FROM[c.start : c.end] for c in one.changes
    }
    for text in made:
        ast.parse(text)
    after = {line.strip() for text in made for line in text.splitlines()}
    assert {
        "if n <= 1:",
        "if n < 2:",
        "if False:",
        "return max(n)",
        "return (n)",
    } <= after
    assert {
        "return n - 1",
        "return n + 2",
        "pass",
        'report("dim", n, )',
        'report(n, "dim", loud=True)',
    } <= after
    assert DRAWN_FROM.splitlines()[3].strip() in after  # docstrings are left alone


def test_what_nobody_could_notice_is_not_drawn():
    (one,) = of_python("def f(a, b):\n    return np.minimum(max(a, b), g(b, a))\n")
    swapped = [change.new for change in one.changes if change.kind == "swapped arguments"]
    assert swapped == ["a, b"]
    (one,) = of_python("def f(a):\n    return zip(zeros(a, device=where(1)), strict=True)\n")
    assert not one.changes
    (one,) = of_cpp("void f() {\n  queue.reserve(1);\n  queue.push(1);\n}\n")
    assert {change.new for change in one.changes} == {"2", ";"}
    assert len(one.changes) == 2


def test_the_changes_of_the_engine_leave_comments_and_brackets_alone():
    text = (
        "// a < b\n#include <set>\nbool f(int a, std::vector<int> b) {\n"
        "  if (a < b.size() && g(a, 1)) return true;\n}\n"
    )
    (one,) = of_cpp(text)
    made = {text[: c.start] + c.new + text[c.end :] for c in one.changes}
    third = {text.splitlines()[3].strip() for text in made}
    assert "if (false) return true;" in third
    assert "if (a <= b.size() && g(a, 1)) return true;" in third
    assert "if (a < (b.size() - 1) && g(a, 1)) return true;" in third
    assert all(text.startswith("// a < b\n#include <set>\n") for text in made)


def test_a_seed_draws_the_same_changes_of_all_rooms():
    drawn = draw(7, 40, 2, Touched())
    assert drawn == draw(7, 40, 2, Touched()) != draw(8, 40, 2, Touched())
    counts = Counter(one.room for one in drawn)
    assert counts.keys() == rooms().keys() >= {"engine", "front", "paper", "lang"}
    assert min(counts.values()) == 2 < counts["lang"]
    assert len({(one.path, one.change) for one in drawn}) == len(drawn)
    for one in drawn:
        text = (ROOT / one.path).read_text(encoding="utf-8")
        assert one.changed(text) != text


def test_the_most_specific_tests_are_asked_of_a_change():
    found = Touched(
        {"tests/a.py::small": 1.0, "tests/b.py::large": 30.0, "tests/c.py::long": 20.0},
        {"tests/a.py::small": {"f"}, "tests/b.py::large": {"f", "g", "h"}, "tests/c.py::long": {"f", "g"}},
    )
    assert found.tests("f") == (("a.py::small", "c.py::long"), 20.0)  # all three take too long
    assert found.tests("h") == (("b.py::large",), 30.0)
    assert found.tests("nobody") == ((), 0.0)


def test_the_tests_of_a_functions_own_room_are_asked_first():
    calls = {"lang/load.py@read"}
    functions = {"tests/cli/a.py::specific": calls, "tests/lang/b.py::broad": {*calls, "g", "h"}}
    found = Touched(dict.fromkeys(functions, 30.0), functions)
    assert found.tests("lang/load.py@read")[0] == ("lang/b.py::broad",)
    many = Touched(defaultdict(float), {f"tests/lang/{i}.py::one": calls for i in range(20)})
    assert len(many.tests("lang/load.py@read")[0]) == 20
    homes = {"budget.py@f": "tests/test_", "pdsketch_paper/babyai/maze.py@f": "paper/tests/babyai"}
    assert {function: home_of(function) for function in homes} == homes


def test_of_a_function_that_is_newer_than_the_recording_tests_of_its_file_are_asked():
    found = Touched({"tests/a.py::one": 1.0}, {"tests/a.py::one": {"lang/load.py@parse_goal"}})
    assert found.tests("lang/load.py@parse_plan") == (("a.py::one",), 1.0)
    assert found.tests("lang/steps.py@parse_plan") == ((), 0.0)


def test_changes_are_drawn_of_the_rooms_that_are_named():
    drawn = draw(7, 12, 2, Touched(), ["files", "editor"])
    assert {one.room for one in drawn} == {"files", "editor"}
    assert len(drawn) in (11, 12, 13)


def test_what_needs_a_package_that_is_absent_is_left_out(tmp_path):
    path = tmp_path / "lamps.py"
    path.write_text("import json\ndef light():\n    from lamps_of_nobody.all import Lamp\n")
    assert absent_from(path) == {"lamps_of_nobody"}


def test_files_of_tests_that_changed_are_recorded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(touched, "FOLDER", tmp_path / ".mutants" / "touched")
    (tmp_path / "tests").mkdir()
    for name in ("a", "b"):
        (tmp_path / "tests" / f"test_{name}.py").write_text("def test(): ...")
    files = ["tests/test_a.py", "tests/test_b.py"]
    assert touched.out_of_date(files) == files
    monkeypatch.setattr(
        touched, "_tests", {"tests/test_a.py::test": {"seconds": 0, "children": tmp_path / "no"}}
    )
    touched._write()
    assert touched.out_of_date(files) == ["tests/test_b.py"]
    (tmp_path / "tests/test_a.py").write_text("def test(): assert True")
    assert touched.out_of_date(files) == files


def test_what_is_judged_to_change_nothing_is_still_there():
    texts = {}
    for place, before, _ in equivalent():
        file, _, scope = place.partition("@")
        path = ROOT / (f"paper/src/{file}" if file.startswith("pdsketch_paper/") else f"src/pdsketch/{file}")
        path = path if path.exists() else ROOT / file
        text = texts.setdefault(path, path.read_text(encoding="utf-8"))
        first, last = definitions(text)[scope] if scope else (0, len(text))
        assert " ".join(before.split()) in " ".join(text[first:last].split()), f"{place}: {before}"


def test_what_was_judged_before_an_interruption_is_told_and_kept(tmp_path, capsys):
    class Desk:
        has_engine = is_stopped = False

        def judge(self, mutant):
            if mutant.new == "n + 3":
                raise KeyboardInterrupt
            return NOTICED, ""

        def stop(self):
            self.is_stopped = True

    first, second = (change(f"lang/load.py ;; n + 1 => n + {i} ;; a ;; test_mutation.py") for i in (2, 3))
    desk, path = Desk(), tmp_path / "results"
    found = judge_all([desk], [first, second], Record(path))
    assert {mutant: result for mutant, (result, _) in found.items()} == {first: NOTICED}
    assert desk.is_stopped
    assert "interrupted" in capsys.readouterr().err
    assert len(Record(path).known) == 1
    (kept,) = map(json.loads, path.read_text().splitlines())
    assert (kept["room"], kept["where"], kept["result"]) == ("lamps", "lamps.txt:1", NOTICED)


def test_when_time_is_up_what_was_judged_is_told(tmp_path, capsys):
    class Desk:
        has_engine = is_stopped = False

        def __init__(self):
            self.stopped = threading.Event()

        def judge(self, mutant):
            if mutant.new == "n + 3":
                assert self.stopped.wait(60)
                raise StoppedError
            return NOTICED, ""

        def stop(self):
            self.stopped.set()

    first, second = (change(f"lang/load.py ;; n + 1 => n + {i} ;; a ;; test_mutation.py") for i in (2, 3))
    found = judge_all([Desk()], [first, second], Record(tmp_path / "results"), 1.0)
    assert found.keys() == {first}
    assert "time is up" in capsys.readouterr().err


def test_runs_are_forked_in_the_order_asked_and_end_at_their_limit(tmp_path):
    (tmp_path / "test_lamps.py").write_text(
        "import os\n"
        "def test_dark(): assert os.environ['LAMP'] == 'off'\n"
        "def test_long():\n    while True: pass\n"
    )

    def ran(limit, lamp, *tests):
        words = [*PYTEST, f"--rootdir={tmp_path}", *(f"{tmp_path}/test_lamps.py::{test}" for test in tests)]
        asked = {"words": words, "limits": {"RLIMIT_CPU": 60}, "said": f"{tmp_path}/said"}
        asked["environment"] = {"LAMP": lamp, patience.VARIABLE: str(limit)}
        warm.stdin.write(json.dumps(asked) + "\n")
        warm.stdin.flush()
        number, code = int(warm.stdout.readline()), int(warm.stdout.readline())
        assert number != warm.pid
        return code

    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tests.mutants.warm"]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as warm:
        assert ran(0, "off", "test_dark") == 0
        assert ran(0, "on", "test_dark", "test_long") == 1
        assert "1 failed" in (tmp_path / "said").read_text()
        assert ran(1, "off", "test_long", "test_dark") == -signal.SIGPROF
