"""The extension for VS Code: its files are there, and its grammar and snippets know the language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pdsketch.lang.check.domain import SUPPORTED
from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED
from pdsketch.lang.parser import SECTIONS
from pdsketch.lang.reader import PARTS, read
from pdsketch.lang.source import Source

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "editors/vscode"


def load(name: str) -> dict:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


GRAMMAR = {
    p["name"].removesuffix(".pdsketch"): p["match"]
    for p in load("syntaxes/pdsketch.tmLanguage.json")["patterns"]
}
SNIPPETS = load("snippets/pdsketch.json")


def test_what_the_package_names_is_there():
    package = load("package.json")
    contributes = package["contributes"]
    named = [
        package["main"],
        *(part["configuration"] for part in contributes["languages"]),
        *(part["path"] for part in [*contributes["grammars"], *contributes["snippets"]]),
    ]
    assert all((FOLDER / name).is_file() for name in named)
    assert contributes["languages"][0]["extensions"] == [".pdsketch", ".pddl"]
    assert f'version = "{package["version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("keyword.control", {*SECTIONS["domain"], *SECTIONS["problem"], *PARTS}),
        ("keyword.operator", {*RESERVED} - {"true", "false"}),
        ("constant.other.requirement", set(SUPPORTED)),
    ],
)
def test_the_grammar_knows_the_words_that_lists_begin_with(scope, words):
    pattern = re.compile(GRAMMAR[scope])
    assert {word for word in words if re.search(pattern, f"({word} x)")} == words


def test_the_grammar_knows_types_values_and_names():
    def marked(scope: str, text: str) -> list[str]:
        return [match[0] for match in re.finditer(GRAMMAR[scope], text)]

    assert {word for word in (*PRIMITIVES, "vector") if marked("storage.type", f"- {word}")} >= {*PRIMITIVES}
    assert marked("constant.language", "(true false trues)") == ["true", "false"]
    assert marked("constant.numeric", "[1, -2.5, 1e3] x1") == ["1", "-2.5", "1e3"]
    assert marked("variable.parameter", "(p ?x ?y-2)") == ["?x", "?y-2"]
    assert marked("entity.name.function.blank", "(??f (p ??))") == ["??f", "??"]
    assert marked("keyword.other.sugar", "(pose::assign ?x)") == ["::assign"]
    assert marked("comment.line.semicolon", "(and) ; why") == ["; why"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_are_whole_forms(name):
    body = "\n".join(SNIPPETS[name]["body"])
    text = re.sub(r"\$\d+", "", re.sub(r"\$\{\d+:([^}]*)\}", r"\1", body))
    reading = read(Source(name, text))
    assert not reading.diagnostics
    assert len(reading.nodes) == 1
