"""The analysis of a text: the same as `check` on good files, and an answer on all others."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pdsketch.editor.analysis import TextAnalysis, analyse
from pdsketch.editor.complete import completions
from pdsketch.editor.navigate import definition, hover, occurrences, outline, rename
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import check_files, parse_domain, parse_problem
from pdsketch.lang.reader import Group, Node, Token, read
from pdsketch.lang.report import Occurrences
from pdsketch.lang.source import Source

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/*/*.pddl"), *ROOT.glob("examples/*/*.pdsketch")])
SKETCHES = sorted(ROOT.glob("paper/src/**/*.pdsketch"))
DOMAINS = [path for path in [*EXAMPLES, *SKETCHES] if "(domain " in path.read_text(encoding="utf-8")[:3000]]
DOMAINS = [path for path in DOMAINS if "(problem" not in path.read_text(encoding="utf-8")]
PROBLEMS = [path for path in EXAMPLES if path not in DOMAINS and (path.parent / "domain.pddl").exists()]

KITCHEN = (ROOT / "examples/kitchen/domain.pdsketch").read_text(encoding="utf-8")


def words(analysis: TextAnalysis) -> list[tuple[str, str]]:
    """The words of a text that are references, and the kinds of what they lead to."""
    text = analysis.source.text
    return [(text[r.start : r.end], r.declaration.kind) for r in analysis.references]


def at(text: str, mark: str, behind: str = "") -> int:
    """The offset of a part of a text, counted behind another part."""
    return text.index(mark, text.index(behind))


def test_there_are_files_to_look_at():
    assert len(DOMAINS) > 5
    assert len(PROBLEMS) > 2


@pytest.mark.parametrize("path", [*DOMAINS, *PROBLEMS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_on_good_files_it_agrees_with_check(path):
    text = path.read_text(encoding="utf-8")
    beside = path.parent / "domain.pddl"
    domain = analyse(beside.read_text(encoding="utf-8"), str(beside)) if path in PROBLEMS else None
    analysis = analyse(text, str(path), domain)
    assert [(d.code, d.where) for d in analysis.diagnostics] == [
        (d.code, d.where) for d in check_files([path])
    ]
    if domain is None:
        assert analysis.domain is not None
        checked = parse_domain(text)
        names = {d.name for d in analysis.declarations}
        assert names >= {*checked.predicates, *checked.actions, *checked.constants, *checked.value_types}
        blanks = {d.signature for d in analysis.declarations if d.kind == "blank"}
        assert blanks == {blank.signature for blank in checked.blanks.values()}
    else:
        assert domain.domain is not None
        assert analysis.problem is not None
        checked_problem = parse_problem(text, domain.domain)
        own = {d.name for d in analysis.declarations if d.kind == "object"}
        assert own == {name for names in checked_problem.objects.values() for name in names}


def leaves(nodes: list[Node]) -> list[Token]:
    return [
        leaf
        for node in nodes
        for leaf in (leaves(node.items) if isinstance(node, Group) else [node])
        if isinstance(leaf, Token)
    ]


@pytest.mark.parametrize("path", DOMAINS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_variable_and_blank_of_a_good_file_leads_somewhere(path):
    text = path.read_text(encoding="utf-8")
    analysis = analyse(text)
    known = {r.start for r in analysis.references} | {d.span.start for d in analysis.declarations}
    atoms = leaves(read(Source("", text)).nodes)
    wanted = {atom.start for atom in atoms if atom.text[0] == "?" and atom.text != "??"}
    assert wanted
    assert wanted <= known


@pytest.mark.parametrize("path", DOMAINS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_names_by_their_words_are_what_the_passes_found(path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    found = [(r.start, r.end, r.declaration.key) for r in analyse(text).references]
    # Without what the passes resolve inside definitions, the lexical look-up stands alone.
    monkeypatch.setattr(Occurrences, "adopt", lambda self, other: None)
    alone = [(r.start, r.end, r.declaration.key) for r in analyse(text).references]
    assert {place for place in found if place[2][0] != "type"} == {p for p in alone if p[2][0] != "type"}


def test_types_of_expressions_are_those_of_the_checked_terms():
    analysis = analyse(KITCHEN)
    shown = {KITCHEN[start:end]: str(type_) for (start, end), type_ in analysis.types.items()}
    assert shown["(food-look ?f)"] == "look"
    assert shown["(appliance-kind ?a)"] == "int64[choices=4]"
    assert shown["?f"] == "food"


def test_the_types_of_untyped_variables_are_the_inferred_ones():
    text = """(define (domain d) (:types cup - object) (:predicates (full ?c - cup))
      (:derived (empty ?x) (not (full ?x)))
      (:action pour :parameters (?y) :precondition (empty ?y) :effect (exists-not ?y)))"""
    analysis = analyse(text)
    by_name = {d.name: d.signature for d in analysis.declarations}
    assert by_name["?x"] == "?x - cup"
    assert by_name["?y"] == "?y - cup"
    assert by_name["pour"] == "(pour ?y - cup)"
    assert [d.code for d in analysis.diagnostics] == ["unknown-predicate"]


BROKEN = """(define (domain d)
  (:types cup - object)
  (:predicates (full ?c - cup) (on ?c - cup ?d - cup))
  (:action pour
    :parameters (?x - cup ?y - cup)
    :precondition (and (full ?x) (on ?x
    :effect (not (full ?x)))
  (:action fill
    :parameters (?x - cup)
    :effect (full ?x)))
"""


def test_an_open_bracket_hides_nothing_behind_it():
    analysis = analyse(BROKEN)
    assert {d.code for d in analysis.diagnostics} == {"unbalanced"}
    assert {d.name for d in analysis.declarations if d.kind == "action"} == {"pour", "fill"}
    x = definition(analysis, at(BROKEN, "?x", "(on ?x"))
    assert x is not None
    assert x.span.start == at(BROKEN, "?x", ":parameters")
    last = definition(analysis, at(BROKEN, "?x", ":effect (full"))
    assert last is not None
    assert last.owner == "action::fill"


def test_an_open_precondition_ends_where_the_effect_begins():
    analysis = analyse(BROKEN)
    head = at(BROKEN, "not (full")
    assert "when" in {item.label for item in completions(analysis, head).items}


def test_a_bracket_too_many_does_not_end_the_definition():
    text = BROKEN.replace("(on ?x\n", "(on ?x ?y)))\n")
    analysis = analyse(text)
    assert {d.code for d in analysis.diagnostics} == {"unbalanced"}
    assert {d.name for d in analysis.declarations if d.kind == "action"} == {"pour", "fill"}


def test_half_a_form_still_leads_to_its_declarations():
    text = BROKEN.replace("(on ?x\n", "(on ?x) (no-such (forall (?z - cup) (on ?z ?y))))\n")
    analysis = analyse(text)
    assert {d.code for d in analysis.diagnostics} == {"arity-mismatch", "unknown-predicate"}
    z = definition(analysis, at(text, "?z ?y"))
    assert z is not None
    assert (z.kind, z.signature) == ("variable", "?z - cup")
    y = definition(analysis, at(text, "?y", "(on ?z"))
    assert y is not None
    assert y.kind == "parameter"


@pytest.mark.parametrize("text", ["(define (domain", "(:types cup) (:predicates (full ?c - cup))", "(define"])
def test_a_text_without_a_header_is_answered(text):
    analysis = analyse(text)
    assert analysis.diagnostics
    assert ("full" in {d.name for d in analysis.declarations}) == ("full" in text)


def test_nothing_without_a_name_is_declared():
    for text in ("(define (domain ) (:predicates (", "(define (domain d) (:predicates ()", "(define (domain"):
        assert all(found.name for found in analyse(text, "d.pddl").declarations), text


def test_the_form_of_a_declaration_is_the_whole_of_it():
    forms = {found.name: found.form.text for found in analyse(KITCHEN, "d").declarations}
    assert forms["on"] == "(on ?a - appliance)"
    assert forms["food-pose"] == "(food-pose [return_type=pose] ?f - food)"


def test_types_are_completed_behind_the_sign_of_equality_alone():
    def labels(settings):
        text = f"(define (domain d) (:predicates (p [{settings}] ?x)))"
        place = text.index("]")
        return {item.label for item in completions(analyse(text, "d.pddl"), place).items}

    assert "float32" in labels("return_type=")
    assert labels("") == {"return_type=", "choices=", "tolerance="}
    assert not labels("tolerance ")


def test_a_problem_leads_into_its_domain_even_if_that_is_broken():
    for text in (BROKEN, BROKEN.replace("(on ?x\n", "(on ?x ?y))\n")):
        domain = analyse(text, "domain.pddl")
        problem = "(define (problem p) (:domain d) (:objects a b - cup) (:init (full a)) (:goal (on a b)))"
        analysis = analyse(problem, "p.pddl", domain)
        on = definition(analysis, at(problem, "on a"))
        assert on is not None
        assert on.span.source.name == "domain.pddl"
        assert words(analysis)[-3:] == [("on", "predicate"), ("a", "object"), ("b", "object")]
        assert (analysis.problem is None) == (text is BROKEN)


def ask_everything(text: str, offset: int, domain: TextAnalysis | None = None) -> TextAnalysis:
    """Analyse a text and ask about one place: nothing is raised but refusals to rename."""
    analysis = analyse(text, "text", domain)
    size = len(analysis.source.text)
    for reference in analysis.references:
        assert 0 <= reference.start < reference.end <= size
    for start, end in analysis.types:
        assert 0 <= start <= end <= size
    found = definition(analysis, offset)
    if found is not None:
        assert occurrences(analysis, found)
    hover(analysis, offset)
    completions(analysis, offset)
    outline(analysis)
    with contextlib.suppress(Error) if found is None or "$" in found.name else contextlib.nullcontext():
        assert rename(analysis, offset, "brand-new-name")
    return analysis


TEXTS = [path.read_text(encoding="utf-8") for path in [*DOMAINS, *PROBLEMS] if path.stat().st_size < 20_000]
PIECES = [
    "(",
    ")",
    "[",
    "]",
    "??",
    "?x",
    "-",
    ":effect",
    "(:action",
    "(and",
    "$",
    "\0",
    '"',
    "1e400",
    "(either",
]
edits = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.sampled_from([*PIECES, "", "", " "])), max_size=4
)


@given(st.sampled_from(TEXTS), edits, st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_answered(text, changes, cut, place):
    for where, length, piece in changes:
        start = int(where * len(text))
        text = text[:start] + piece + text[start + int(length * (len(text) - start)) :]
    if cut < 0.5:
        text = text[: int(2 * cut * len(text))]
    ask_everything(text, int(place * len(text)))


@given(st.text(max_size=60))
def test_any_characters_are_answered(text):
    ask_everything(text, len(text) // 2)


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_truncated_problems_are_answered(path):
    text = path.read_text(encoding="utf-8")
    domain = analyse((path.parent / "domain.pddl").read_text(encoding="utf-8"))
    for size in range(0, len(text), max(1, len(text) // 60)):
        ask_everything(text[:size], size, domain)


def test_deep_brackets_and_long_words_are_answered():
    ask_everything("(define (domain d) (:derived (p) " + "(not " * 5000, 100)
    ask_everything("(define (domain d) (:types " + "a" * 5000 + " b", 40)
    ask_everything("(define (domain d) (:types c - vector[float32, " + "9" * 5000 + "]", 40)


def test_an_analysis_sets_off_no_garbage_collection_and_leaves_no_garbage():
    seen: list[str] = []
    analysis = analyse(KITCHEN)
    gc.collect()
    before = gc.get_freeze_count()

    def note(phase: str, _: object) -> None:
        seen.append(phase)

    gc.callbacks.append(note)
    try:
        for _ in range(30):
            analysis = analyse(KITCHEN)
    finally:
        gc.callbacks.remove(note)
    assert seen == []
    assert gc.get_freeze_count() == before
    del analysis
    assert gc.collect() == 0


def test_what_a_program_has_frozen_stays_frozen_and_is_counted_once_at_most(monkeypatch):
    asked = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: asked.append("count") or 1)
    monkeypatch.setattr(gc, "unfreeze", lambda: asked.append("unfreeze"))
    for _ in range(3):
        analyse(KITCHEN)
    assert asked in ([], ["count"])
