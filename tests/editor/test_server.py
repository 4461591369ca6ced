"""``pdsketch lsp``, driven by a client over stdio, on good and on broken files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.analyse import long_domain
from tests.editor.client import Client

from pdsketch.cli.main import main

ROOT = Path(__file__).parents[2]
DOMAIN = """(define (domain tea)
  (:types cup tray - object)
  (:predicates (on ?c - cup ?t - tray) (full ?c - cup))
  (:action pour
    :parameters (?x - cup ?t - tray)
    :precondition (on ?x ?t)
    :effect (full ?x)))
"""
PROBLEM = """(define (problem p) (:domain tea) (:objects c1 - cup t1 - tray)
  (:init (on c1 t1))
  (:goal (full c1)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "domain.pddl").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "p1.pddl").write_text(PROBLEM, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("root"))
    yield client
    assert client.close() == 0


def where(text: str, mark: str) -> tuple[int, int]:
    """The line and the column of a part of a text."""
    before = text[: text.index(mark)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def applied(text: str, edits: list[dict]) -> str:
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines) + 1)]
    ends = [
        tuple(starts[e["range"][side]["line"]] + e["range"][side]["character"] for side in ("start", "end"))
        for e in edits
    ]
    for (start, end), edit in sorted(zip(ends, edits, strict=True), key=lambda pair: pair[0], reverse=True):
        text = text[:start] + edit["newText"] + text[end:]
    return text


def test_it_says_what_it_can(client):
    wanted = ("definition", "references", "hover", "rename", "documentFormatting", "documentSymbol")
    assert all(client.capabilities.get(f"{name}Provider") for name in wanted)
    assert "(" in client.capabilities["completionProvider"]["triggerCharacters"]


def test_diagnostics_come_as_one_types(client, folder):
    uri = (folder / "new.pddl").as_uri()
    assert client.open(uri, DOMAIN) == []
    (found,) = client.change(uri, DOMAIN.replace("(full ?x)", "(fill ?x)"))
    assert (found["code"], found["severity"], found["source"]) == ("unknown-predicate", 1, "pdsketch")
    assert "did you mean `full`?" in found["message"]
    line, column = where(DOMAIN, "full ?x")
    assert found["range"]["start"] == {"line": line, "character": column}
    assert [d["code"] for d in client.change(uri, DOMAIN[:-2])] == ["unbalanced"]
    assert client.change(uri, DOMAIN) == []
    client.tell("textDocument/didClose", textDocument={"uri": uri})
    assert client.diagnostics(uri) == []


def test_a_problem_leads_into_the_domain_beside_it(client, folder):
    uri = (folder / "p1.pddl").as_uri()
    assert client.open(uri, PROBLEM) == []
    found = client.at("definition", uri, *where(PROBLEM, "full"))
    assert found["uri"] == (folder / "domain.pddl").as_uri()
    line, column = where(DOMAIN, "full")
    assert found["range"]["start"] == {"line": line, "character": column}
    places = client.at("references", uri, *where(PROBLEM, "full"), context={"includeDeclaration": True})
    assert sorted(place["uri"].rsplit("/")[-1] for place in places) == ["domain.pddl"] * 2 + ["p1.pddl"]
    places = client.at("references", uri, *where(PROBLEM, "full"), context={"includeDeclaration": False})
    assert len(places) == 2


def test_a_problem_is_checked_again_when_its_domain_changes(client, folder):
    problem, domain = (folder / "p1.pddl").as_uri(), (folder / "domain.pddl").as_uri()
    client.open(problem, PROBLEM)
    client.open(domain, DOMAIN)
    assert client.diagnostics(problem) == []
    assert client.change(domain, DOMAIN.replace("full", "hot")) == []
    assert [d["code"] for d in client.diagnostics(problem)] == ["unknown-predicate"]
    assert client.change(domain, DOMAIN) == []
    assert client.diagnostics(problem) == []


def test_hover_completion_and_outline_also_in_a_broken_file(client, folder):
    uri = (folder / "broken.pddl").as_uri()
    text = DOMAIN.replace("(on ?x ?t)", "(on ?x ")
    assert [d["code"] for d in client.open(uri, text)] == ["unbalanced"]
    hover = client.at("hover", uri, *where(text, "?x \n"))
    assert "?x - cup" in hover["contents"]["value"]
    line, column = where(text, "(on ?x \n")
    items = client.at("completion", uri, line, column + len("(on ?x "))
    assert [item["label"] for item in items] == ["?t"]
    (file,) = client.ask("textDocument/documentSymbol", textDocument={"uri": uri})
    assert [child["name"] for child in file["children"]] == ["cup", "tray", "on", "full", "pour"]
    assert client.at("hover", uri, 0, 1) is None


def test_renaming_reaches_every_file_and_refuses_what_cannot_be(client, folder):
    uri = (folder / "p1.pddl").as_uri()
    client.open(uri, PROBLEM)
    changes = client.at("rename", uri, *where(PROBLEM, "full"), newName="filled")["changes"]
    assert applied(PROBLEM, changes[uri]) == PROBLEM.replace("full", "filled")
    assert applied(DOMAIN, changes[(folder / "domain.pddl").as_uri()]) == DOMAIN.replace("full", "filled")
    with pytest.raises(LookupError, match="already a predicate `on`"):
        client.at("rename", uri, *where(PROBLEM, "full"), newName="on")
    with pytest.raises(LookupError, match="no name here"):
        client.at("rename", uri, *where(PROBLEM, ":goal"), newName="x")


def test_of_a_file_that_is_not_there_nothing_is_known(client, folder):
    asked = {
        "textDocument": {"uri": (folder / "gone.pddl").as_uri()},
        "position": {"line": 0, "character": 0},
    }
    assert client.ask("textDocument/hover", **asked) is None
    assert not client.ask("textDocument/definition", **asked)
    assert not client.ask("textDocument/completion", **asked)
    assert not client.ask("textDocument/documentSymbol", **asked)
    assert not client.ask("textDocument/references", **asked, context={"includeDeclaration": True})


def test_formatting_gives_the_canonical_layout(client, folder):
    uri = (folder / "long.pddl").as_uri()
    text = DOMAIN.replace("\n  (", "  (")
    client.open(uri, text)
    options = {"tabSize": 2, "insertSpaces": True}
    edits = client.ask("textDocument/formatting", textDocument={"uri": uri}, options=options)
    done = subprocess.run(
        [sys.executable, "-m", "pdsketch", "fmt", "-"], input=text, capture_output=True, text=True, check=True
    )
    assert applied(text, edits) == done.stdout
    client.change(uri, text[:-3])
    assert client.ask("textDocument/formatting", textDocument={"uri": uri}, options=options) is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-32"])
def test_columns_are_counted_in_the_clients_units(folder, encoding):
    client = Client(folder, [encoding])
    assert client.capabilities.get("positionEncoding", "utf-16") == encoding
    text = DOMAIN.replace("(on ?x ?t)", "(and ; 𝄞é\n (on ?x ?t))").replace("cup", "ĉ𝄞p")
    uri = (folder / "units.pddl").as_uri()
    assert client.open(uri, text) == []
    line = text[: text.index("(full ?c - ")].count("\n")
    before = text.split("\n")[line].partition("(full")[0] + "("
    unit = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}[encoding]
    column = len(before.encode(unit[0])) // unit[1]
    found = client.at("definition", uri, line, column)
    assert found["range"]["start"] == {"line": line, "character": column}
    assert client.close() == 0


def test_a_change_of_a_few_characters_is_enough(client, folder):
    uri = (folder / "typing.pddl").as_uri()
    client.open(uri, DOMAIN)
    line, column = where(DOMAIN, "full ?x")
    place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + 4}}
    document = {"uri": uri, "version": 2}
    client.tell(
        "textDocument/didChange", textDocument=document, contentChanges=[{"range": place, "text": "fool"}]
    )
    (found,) = client.diagnostics(uri)
    assert found["range"] == place


def processor_time(process: int) -> float:
    """Seconds that a process has taken: on a busy machine, the clock says nothing."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_it_ends_with_its_editor(folder):
    client = Client(folder)
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.process.stdin.close()
    client.process.wait(timeout=600)
    client.reader.join(timeout=600)
    client.process.stdout.close()


def test_a_long_file_is_answered_while_one_types(client, folder):
    uri = (folder / "long-one.pddl").as_uri()
    text = long_domain(3000)
    client.open(uri, text)
    begin = processor_time(client.process.pid)
    assert client.change(uri, text + " ") == []
    line, column = where(text, "(holds ?i)\n      (not")
    assert client.at("definition", uri, line, column + 1) is not None
    assert processor_time(client.process.pid) - begin < 5


def test_without_its_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("pdsketch.cli.lsp.find_spec", lambda name: None)
    assert main(["lsp"]) == 31
    shown = capsys.readouterr().err
    assert "missing-extra" in shown
    assert 'pip install "pdsketch-planning[lsp]"' in shown
