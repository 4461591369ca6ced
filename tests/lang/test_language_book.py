"""Every chapter of the language book says the truth, and every diagnostic has its entry."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.lang.book import Reader, agree, chapters, entries, prepare, show

import pdsketch.lang

LANG = Path(pdsketch.lang.__file__).parent
SOURCES = [
    *(LANG / f"{name}.py" for name in ("reader", "lists", "parser", "report", "load")),
    *sorted((LANG / "check").glob("*.py")),
]
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
NOT_CODES = {"scale-up", "scale-down", "cond-assign", "cond-select", "total-cost", "utf-8-sig"}


@pytest.mark.parametrize("chapter", chapters(), ids=lambda path: path.stem)
def test_a_chapter_shows_what_checking_says(
    chapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    reader = Reader()
    for entry in entries(chapter.read_text(encoding="utf-8")):
        shown = show(reader.check(entry))
        assert agree(shown, entry.expected or ""), f"{chapter.name}:{entry.line} shows\n{shown}"


@pytest.mark.parametrize("chapter", chapters(), ids=lambda path: path.stem)
def test_no_program_of_a_chapter_is_left_out(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    assert len(re.findall(r"^```(?:pdsketch|pdsketch as domain|python|path)$", text, re.MULTILINE)) == len(
        list(entries(text))
    )


def test_every_code_has_an_entry() -> None:
    book = "\n".join(path.read_text(encoding="utf-8") for path in chapters())
    shown = set(re.findall(r"(?:error|warning)\[([a-z0-9-]+)\]", book))
    assert codes() - shown == set()
    assert shown - codes() == set()


def codes() -> set[str]:
    """Every kebab-case word in the sources of the language that is a diagnostic's code."""
    found = {"unbalanced"}
    for path in SOURCES:
        words = (
            getattr(node, "value", None) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
        found |= {word for word in words if isinstance(word, str) and KEBAB.fullmatch(word)}
    return found - NOT_CODES
