"""Every diagnostic code of every room is in the table of the documents, and no other."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tests.codes import CODES, LISTED, PAGE

from pdsketch.lang.diagnostics import Diagnostic

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("src", "paper/src") for path in (ROOT / folder).rglob("*.py")]
REPORTERS = {"Diagnostic", "error", "warning", "fail", "_bad", "_report", "_explain"}
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")


@cache
def nodes() -> list[ast.AST]:
    """All that the sources say."""
    return [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def test_every_code_that_is_reported_is_in_the_table():
    reported = set()
    for node in nodes():
        if isinstance(node, ast.Call) and _name(node.func) in REPORTERS and node.args:
            first = node.args[0]
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            words = [choice.value for choice in choices if isinstance(choice, ast.Constant)]
            reported |= {word for word in words if isinstance(word, str) and CODE.fullmatch(word)}
    assert len(reported) > 100
    assert reported - CODES.keys() == set()


def test_every_code_of_the_table_is_used():
    words = {node.value for node in nodes() if isinstance(node, ast.Constant)}
    assert CODES.keys() - words == set()


def test_the_table_is_in_order_and_says_what_each_code_means():
    assert [code for code, _ in LISTED] == sorted(CODES)
    assert all(CODES.values())


def test_every_code_has_an_example():
    examples = PAGE.read_text(encoding="utf-8").partition("## Examples")[2]
    shown = set()
    for path, codes in re.findall(r"^- \[.*?\]\((.*?)\): (.*)$", examples, re.MULTILINE):
        chapter = (PAGE.parent / path).read_text(encoding="utf-8")
        for code in re.findall(r"`([a-z0-9-]+)`", codes):
            assert f"[{code}]" in chapter
            shown.add(code)
    made = set(re.findall(r"^(?:told|says)\(\"([a-z-]+)\"", examples, re.MULTILINE))  # the page is executed
    told = set(re.findall(r"^\| `([a-z0-9-]+)` \| \S", examples, re.MULTILINE))
    assert shown | made | told == CODES.keys()
    assert len(told) <= 33  # what a page cannot bring about
    assert told.isdisjoint(shown | made)


def test_a_diagnostic_with_another_code_is_refused_in_tests():
    with pytest.raises(AssertionError, match="no-such-code"):
        Diagnostic("no-such-code", "message")


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
