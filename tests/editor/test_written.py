"""What an editor shows, in full: of every name of a text, and of every place where a word can stand."""

from __future__ import annotations

import re

from tests.cli.test_written import FILES
from tests.editor.test_navigate import DOMAIN, PROBLEM
from tests.written import is_written

from pdsketch.editor.analysis import TextAnalysis, analyse
from pdsketch.editor.complete import completions
from pdsketch.editor.navigate import Symbol, definition, hover, occurrences, outline, rename
from pdsketch.lang.diagnostics import Error

TEA = analyse(DOMAIN, "tea.pddl")
TEXTS = {
    "tea": TEA,
    "problem": analyse(PROBLEM, "p.pddl", TEA),
    "lamps": analyse(FILES["lamps.pddl"], "lamps.pddl"),
    "sketch": analyse(FILES["sketch.pdsketch"], "sketch.pdsketch"),
    "broken": analyse(DOMAIN.replace(":effect", "(:effect").replace("(full ?o))))", "(full ?o"), "b.pddl"),
}


def place(analysis: TextAnalysis, offset: int) -> str:
    before = analysis.source.text[:offset]
    return f"{before.count(chr(10)) + 1}:{offset - before.rfind(chr(10))}"


def test_what_is_known_of_every_name_is_as_written():
    lines = []
    for name, analysis in TEXTS.items():
        lines.append(f"--- {name}")
        for match in re.finditer(r"[^\s()\[\]]+", analysis.source.text):
            shown, found = hover(analysis, match.start()), definition(analysis, match.start())
            if shown is None:
                continue
            line = (
                f"{place(analysis, match.start())} {shown.span.text!r}: {' / '.join(shown.text.splitlines())}"
            )
            if found is not None:
                at = f"{found.span.source.name}:{place(analyse(found.span.source.text), found.span.start)}"
                line += f"; {found.kind} {found.signature} of {at}, {len(occurrences(analysis, found))} times"
            lines.append(line)
    is_written("editor/names.txt", "\n".join(lines) + "\n")


def test_what_fits_at_every_place_is_as_written():
    lines = []
    for name in ("tea", "problem", "broken"):
        lines.append(f"--- {name}")
        analysis = TEXTS[name]
        for match in re.finditer(r"\(|(?<=\s)\?|- |\b(?=on|pose|cup)", analysis.source.text):
            found = completions(analysis, match.end())
            start, end = found.start - match.end(), found.end - match.end()
            words = " ".join("|".join(filter(None, item)) for item in found.items)
            lines.append(f"{place(analysis, match.end())} {start}..{end}: {words}")
    is_written("editor/completions.txt", "\n".join(lines) + "\n")


def test_outlines_are_as_written():
    lines = []

    def show(symbol: Symbol, depth: int) -> None:
        own = symbol.declaration
        whole = f"{len(own.form.text)} characters, name `{own.span.text}`"
        lines.append(f"{'  ' * depth}{own.kind} {own.signature}: {whole}")
        for child in symbol.children:
            show(child, depth + 1)

    for name, analysis in TEXTS.items():
        lines.append(f"--- {name}")
        for symbol in outline(analysis):
            show(symbol, 0)
    is_written("editor/outlines.txt", "\n".join(lines) + "\n")


def test_names_that_can_be_given_are_as_written():
    lines = []
    for name in ("tea", "problem", "sketch"):
        lines.append(f"--- {name}")
        analysis = TEXTS[name]
        for declaration in analysis.declarations:
            for new in ("other", "full", "?x", "object", "a::b", "(", "total-cost"):
                try:
                    edits = rename(analysis, declaration.span.start, new)
                    said = " ".join(f"{place(analysis, e.start)}+{e.end - e.start}={e.text}" for e in edits)
                except Error as refused:
                    said = f"{refused.diagnostics[0].code}: {refused.diagnostics[0].message}"
                lines.append(f"{declaration.kind} {declaration.name} -> {new}: {said}")
    is_written("editor/renaming.txt", "\n".join(lines) + "\n")
