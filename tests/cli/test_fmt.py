"""``pdsketch fmt`` rewrites in place, or not at all."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from pdsketch.cli.main import main

ROOT = Path(__file__).parents[2]
MESSY = "(define (domain d)(:predicates (p)(q)))"
TIDY = "(define (domain d)\n  (:predicates\n    (p)\n    (q)))\n"


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "d.pddl"
    path.write_text(MESSY)
    return path


def test_a_file_is_rewritten_in_place_and_then_left_alone(messy: Path, capsys) -> None:
    messy.chmod(0o640)
    assert main(["fmt", str(messy)]) == 0
    assert messy.read_text() == TIDY
    assert messy.stat().st_mode & 0o777 == 0o640
    assert capsys.readouterr().out == ""
    stamp = messy.stat().st_mtime_ns
    assert main(["fmt", str(messy)]) == 0
    assert messy.stat().st_mtime_ns == stamp
    assert os.listdir(messy.parent) == ["d.pddl"]


def test_check_exits_1_and_writes_nothing(messy: Path, capsys) -> None:
    assert main(["fmt", "--check", "--json", str(messy)]) == 1
    assert messy.read_text() == MESSY
    caught = capsys.readouterr()
    assert json.loads(caught.out) == {
        "ok": False,
        "files": [str(messy)],
        "changed": [str(messy)],
        "diagnostics": [],
    }
    messy.write_text(TIDY)
    assert main(["fmt", "--check", str(messy)]) == 0


@pytest.mark.parametrize("data", [b"(define (domain d)", b"", b"\xff", b"\0", b"(a]", b")"])
def test_a_broken_file_is_left_untouched(data: bytes, messy: Path, tmp_path: Path, capsys) -> None:
    broken = tmp_path / "broken.pddl"
    broken.write_bytes(data)
    assert main(["fmt", "--json", str(broken), str(messy)]) == 31
    assert broken.read_bytes() == data
    assert messy.read_text() == TIDY, "the other files are still formatted"
    caught = capsys.readouterr()
    assert caught.err.startswith(f"{messy}: rewritten\n{broken}:1:")
    assert json.loads(caught.out)["diagnostics"][0]["file"] == str(broken)


def test_missing_files_and_directories_are_bad_input(tmp_path: Path, capsys) -> None:
    assert main(["fmt", str(tmp_path / "no.pddl"), str(tmp_path)]) == 31
    err = capsys.readouterr().err
    assert "no-such-file" in err
    assert "is-a-directory" in err


def test_windows_line_ends_and_a_byte_order_mark_go(messy: Path) -> None:
    messy.write_bytes(b"\xef\xbb\xbf; a comment\r\n\r\n" + MESSY.encode().replace(b")(", b")\r\n("))
    assert main(["fmt", str(messy)]) == 0
    assert messy.read_bytes() == b"; a comment\n\n" + TIDY.encode()


def test_a_link_stays_a_link(messy: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.pddl"
    link.symlink_to(messy)
    assert main(["fmt", str(link)]) == 0
    assert link.is_symlink()
    assert messy.read_text() == TIDY


def test_stdin_goes_to_stdout(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MESSY.encode())))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == TIDY
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MESSY.encode())))
    assert main(["fmt", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == TIDY


def test_the_shipped_files_are_in_canonical_layout() -> None:
    shipped = [*ROOT.glob("examples/*/*.pd*"), *ROOT.glob("src/pdsketch/**/*.pdsketch")]
    assert main(["fmt", "--check", *map(str, shipped)]) == 0
