"""A short fuzz run; the long one is ``python -m tests.fuzz``."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import run


def test_mutated_files_are_answered_without_a_crash_or_a_hang(tmp_path: Path) -> None:
    lines: list[str] = []
    assert run(400, seed=12345, keep=tmp_path, say=lines.append) == 0, lines
