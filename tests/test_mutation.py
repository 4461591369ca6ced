"""The lists of changes fit the sources, and what does not is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutants import PAPER, ROOT, StaleError, complaints, read_line, read_lists
from tests.mutation import NOTICED, SURVIVES, told

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
