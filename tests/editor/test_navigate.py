"""What an editor asks: definitions, references, hover, rename, outline and completions."""

from __future__ import annotations

import pytest

from pdsketch.editor.analysis import TextAnalysis, analyse
from pdsketch.editor.complete import completions
from pdsketch.editor.navigate import Edit, definition, hover, occurrences, outline, rename, rename_in
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain

DOMAIN = """(define (domain tea)
  (:types cup tray - object pose - vector[float32, 2])
  (:constants best - cup)
  (:predicates (pose-of [return_type=pose] ?c - cup) (on ?c - cup ?t - tray) (full ?c - cup))
  (:functions (total-cost) - number)
  (:derived (near ?a - cup ?b - cup) (??close (pose-of ?a) (pose-of ?b)))
  (:action Pour
    :parameters (?x - cup ?t - tray)
    :precondition (and (on ?x ?t) (not (full ?x)) (forall (?o - cup) (imply (near ?o ?x) (full ?o))))
    :effect (and (full ?x) (pose-of::assign ?x (??shift (pose-of ?x))))))
"""
PROBLEM = """(define (problem p) (:domain tea)
  (:objects c1 - cup t1 - tray)
  (:init (on c1 t1) (= (pose-of c1) [0, 0]))
  (:goal (full c1)))
"""


def at(text: str, mark: str, behind: str = "") -> int:
    return text.index(mark, text.index(behind))


def applied(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def labels(text: str, domain: TextAnalysis | None = None) -> set[str]:
    """What fits where ``|`` stands in a text."""
    offset = text.index("|")
    analysis = analyse(text.replace("|", ""), domain=domain)
    return {item.label for item in completions(analysis, offset).items}


@pytest.fixture(scope="module")
def tea() -> TextAnalysis:
    analysis = analyse(DOMAIN, "tea.pddl")
    assert analysis.domain is not None
    return analysis


def place_of(analysis: TextAnalysis, mark: str, behind: str = "") -> tuple[str, str]:
    found = definition(analysis, at(analysis.source.text, mark, behind))
    assert found is not None
    return found.kind, found.signature


def test_a_name_leads_to_its_declaration(tea):
    assert place_of(tea, "full ?o") == ("predicate", "(full ?c - cup)")
    assert place_of(tea, "near ?o") == ("derived", "(near ?a - cup ?b - cup)")
    assert place_of(tea, "?o ?x") == ("variable", "?o - cup")
    assert place_of(tea, "?x)", "near ?o") == ("parameter", "?x - cup")
    assert place_of(tea, "cup)", "?o -") == ("type", "cup - object")
    assert place_of(tea, "pose]") == ("type", "pose - vector[float32, 2]")
    assert place_of(tea, "pose-of::assign") == ("predicate", "(pose-of [return_type=pose] ?c - cup)")
    assert place_of(tea, "??close") == ("blank", "derived::near::close(pose, pose) -> bool")
    assert definition(tea, at(DOMAIN, "forall")) is None


def test_the_end_of_a_name_belongs_to_it(tea):
    assert definition(tea, at(DOMAIN, "full ?o") + 4) is not None
    assert definition(tea, at(DOMAIN, "::assign") + 3) is None


def test_occurrences_are_all_mentions_with_the_declaration(tea):
    pose = definition(tea, at(DOMAIN, "pose-of"))
    assert pose is not None
    places = occurrences(tea, pose)
    assert [place.text for place in places] == ["pose-of"] * 5
    assert places[0].start == pose.span.start
    x = definition(tea, at(DOMAIN, "?x"))
    assert x is not None
    assert len(occurrences(tea, x)) == 7


def test_a_problem_knows_the_names_of_its_domain(tea):
    problem = analyse(PROBLEM, "p.pddl", tea)
    on = definition(problem, at(PROBLEM, "on c1"))
    assert on is not None
    assert on.span.source.name == "tea.pddl"
    # The domain may have been analysed again since.
    again = definition(analyse(DOMAIN, "tea.pddl"), at(DOMAIN, "on ?c"))
    assert again is not None
    assert [place.start for place in occurrences(problem, again)] == [at(PROBLEM, "on c1")]


def test_hover_shows_signatures_and_types(tea):
    shown = hover(tea, at(DOMAIN, "??shift"))
    assert shown is not None
    assert shown.text.splitlines() == ["action::pour::shift(pose) -> pose", "blank"]
    shown = hover(tea, at(DOMAIN, "(pose-of ?b)"))
    assert shown is not None
    assert (shown.span.text, shown.text) == ("(pose-of ?b)", "pose = vector[float32, 2]")
    shown = hover(tea, at(DOMAIN, "pose-of ?b"))
    assert shown is not None
    assert shown.text.splitlines()[1] == "predicate, observed"
    assert hover(tea, at(DOMAIN, ":types")) is None


@pytest.mark.parametrize(
    ("mark", "behind", "name"),
    [
        ("pose-of", "", "place-of"),
        ("pose-of::", "", "place-of"),
        ("?x)", "(near", "?cup"),
        ("?x)", "(near", "cup"),
        ("??shift", "", "??move"),
        ("cup", "", "mug"),
        ("Pour", "", "fill"),
        ("best", "", "favourite"),
    ],
)
def test_a_renamed_domain_is_the_same_domain(tea, mark, behind, name):
    edits = rename(tea, at(DOMAIN, mark, behind), name)
    renamed = applied(DOMAIN, edits)
    assert renamed != DOMAIN
    checked = parse_domain(renamed)
    assert [len(action.effects) for action in checked.actions.values()] == [2]
    old = definition(tea, at(DOMAIN, mark, behind))
    assert old is not None
    back = analyse(renamed)
    assert old.key == ("variable", old.span.start) or old.key not in {d.key for d in back.declarations}


def test_renaming_reaches_problems(tea):
    problem = analyse(PROBLEM, "p.pddl", tea)
    full = definition(tea, at(DOMAIN, "full"))
    assert full is not None
    assert applied(PROBLEM, rename_in(problem, full, "filled")) == PROBLEM.replace("full", "filled")
    assert applied(PROBLEM, rename(problem, at(PROBLEM, "c1"), "mug")) == PROBLEM.replace("c1", "mug")


@pytest.mark.parametrize(
    ("mark", "name", "code"),
    [
        ("full", "on", "duplicate-name"),
        ("full", "and", "bad-name"),
        ("full", "a b", "bad-name"),
        ("full", "", "bad-name"),
        ("?x", "?t", "duplicate-name"),
        ("?x", "?", "bad-name"),
        ("cup", "bool", "bad-name"),
        (":types", "x", "bad-name"),
    ],
)
def test_names_that_cannot_be_given_are_refused(tea, mark, name, code):
    with pytest.raises(Error) as refused:
        rename(tea, at(DOMAIN, mark), name)
    assert [d.code for d in refused.value.diagnostics] == [code]


def test_the_outline_has_parameters_and_blanks_inside(tea):
    (file,) = outline(tea)
    assert (file.declaration.kind, file.declaration.name) == ("domain", "tea")
    names = [symbol.declaration.name for symbol in file.children]
    assert names[:4] == ["cup", "tray", "pose", "best"]
    pour = file.children[-1]
    assert pour.declaration.kind == "action"
    assert [symbol.declaration.name for symbol in pour.children] == ["?x", "?t", "?o", "??shift"]


def test_completions_of_arguments_fit_their_types():
    assert labels(DOMAIN.replace("(on ?x ?t)", "(on |)")) == {"?x", "best"}
    assert labels(DOMAIN.replace("(on ?x ?t)", "(on ?x |")) == {"?t"}
    assert labels(DOMAIN.replace("(near ?o ?x)", "(near ?o ?|)")) == {"?x", "?o", "best"}
    assert labels(DOMAIN.replace("(on ?x ?t)", "(on ?x ?t |)")) == set()


def test_completions_of_heads_depend_on_the_place():
    formula = labels(DOMAIN.replace("(on ?x ?t)", "(|"))
    assert formula >= {"on", "near", "and", "exists"}
    assert "when" not in formula
    assert "total-cost" not in formula
    effect = labels(DOMAIN.replace("(and (full ?x) (pose", "(and (|) (pose"))
    assert effect >= {"when", "increase", "full", "pose-of::assign", "total-cost"}
    assert "exists" not in effect
    assert "exists" in labels(DOMAIN.replace("(and (full ?x) (pose", "(and (when (|) (full ?x)) (pose"))
    assert "foreach" in labels(DOMAIN.replace("(??shift (pose-of ?x))", "(??shift (|))"))


def test_completions_of_types_sections_and_parts():
    assert labels(DOMAIN.replace("?o - cup", "?o - |")) >= {"cup", "tray", "pose", "object"}
    assert labels(DOMAIN.replace("best - cup", "best - |")) == {"object", "cup", "tray"}
    assert "pose" in labels(DOMAIN.replace("return_type=pose", "return_type=|"))
    assert ":predicates" in labels(DOMAIN.replace("(:constants", "(:|) (:constants"))
    assert labels(DOMAIN.replace(":effect (and", "| (and")) == {":effect"}
    assert ":typing" in labels(DOMAIN.replace("(:types", "(:requirements |) (:types"))


def test_completions_in_problems_know_the_domain(tea):
    assert labels(PROBLEM.replace("(on c1 t1)", "(on |)"), tea) == {"c1", "best"}
    assert labels(PROBLEM.replace("(full c1)", "(|)"), tea) >= {"full", "near", "exists"}
    init = labels(PROBLEM.replace("(on c1 t1)", "(|)"), tea)
    assert "near" not in init
    assert "on" in init
    assert labels(PROBLEM.replace("t1 - tray", "t1 - |"), tea) == {"object", "cup", "tray"}


def test_a_completion_replaces_the_word_that_was_begun():
    text = DOMAIN.replace("(on ?x ?t)", "(on ?x ?t) (fu)")
    found = completions(analyse(text), text.index("(fu)") + 3)
    assert text[found.start : found.end] == "fu"
    assert any(item.label == "full" and item.detail == "(full ?c - cup)" for item in found.items)
