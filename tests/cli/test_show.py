"""``pdsketch show`` lists what is there, and draws it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pdsketch.cli.main import main
from pdsketch.draw.graph import graph_of
from pdsketch.draw.layout import lay_out
from pdsketch.draw.svg import to_svg
from pdsketch.lang.load import load_domain, parse_domain

ROOT = Path(__file__).parents[2]
KITCHEN = str(ROOT / "examples/kitchen/domain.pdsketch")
DOMAINS = sorted(str(path) for path in ROOT.glob("examples/*/domain.*"))


def shown(path: str, capsys) -> dict:
    assert main(["show", "--json", path]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_blank_is_shown_with_its_signature(capsys) -> None:
    assert main(["show", KITCHEN]) == 0
    out = capsys.readouterr().out
    assert "derived::food-look::encode(vector[float32, 8, 8, 3]) -> look" in out
    assert "action::wait::process(look, int64[choices=4]) -> look" in out
    assert "pose - vector[float32, 2, tolerance=0.05]" in out


def test_json_gives_each_predicate_its_role(capsys) -> None:
    summary = shown(KITCHEN, capsys)
    roles = {predicate["name"]: predicate["role"] for predicate in summary["predicates"]}
    assert roles["food-image"] == "raw"
    assert roles["food-look"] == "encoded"
    assert roles["is-cooked"] == "derived"
    assert roles["on"] == "observed"
    assert [blank["name"] for blank in summary["blanks"]] == [
        "derived::food-look::encode",
        "derived::is-cooked::f",
        "derived::is-clean::f",
        "action::wait::process",
    ]
    assert summary["blanks"][-1]["inputs"] == ["look", "int64[choices=4]"]


def test_a_problem_is_shown_with_the_domain_beside_it(capsys) -> None:
    summary = shown(str(ROOT / "examples/delivery/p01.pddl"), capsys)
    assert summary["domain"] == "delivery"
    assert summary["objects"]["drone"] == ["kite"]
    assert summary["init"] == 12
    assert summary["metric"] == "cost"
    assert summary["goal"] == "(and (at crate farm) (at letter island))"


def test_a_wrong_file_exits_31_with_diagnostics(tmp_path: Path, capsys) -> None:
    path = tmp_path / "d.pddl"
    path.write_text("(define (domain d) (:predicates (p ?x - nowhere)))")
    assert main(["show", "--json", str(path)]) == 31
    caught = capsys.readouterr()
    assert caught.err.startswith(f"{path}:1:41: error[")
    assert json.loads(caught.out)["diagnostics"]


@pytest.mark.parametrize("path", DOMAINS)
@pytest.mark.parametrize("suffix", [".svg", ".dot"])
def test_everything_can_be_drawn(path: str, suffix: str, tmp_path: Path, capsys) -> None:
    domain = load_domain(path)
    for name in [None, *domain.predicates, *domain.actions]:
        picture = tmp_path / f"picture{suffix}"
        assert main(["show", path, "--graph", str(picture), *(["--of", name] if name else [])]) == 0
        text = picture.read_text(encoding="utf-8")
        if suffix == ".svg":
            ET.fromstring(text)
        else:
            assert text.startswith("digraph")


def test_the_graph_of_an_action_leads_from_what_it_reads_to_what_it_writes() -> None:
    graph = graph_of(load_domain(KITCHEN), "wait")
    labels = [node.label for node in graph.nodes]
    arrows = {(labels[a.source], labels[a.target], a.label) for a in graph.arrows}
    assert arrows == {
        ("food-look ?f", "??process", ""),
        ("appliance-kind ?a", "??process", ""),
        ("??process", "food-look′ ?f", ""),
        ("on ?a", "and", ""),
        ("inside ?f ?a", "and", ""),
        ("and", "food-look′ ?f", "when"),
    }


def test_the_graph_of_an_observed_predicate_shows_who_reads_and_writes_it() -> None:
    graph = graph_of(load_domain(KITCHEN), "food-pose")
    labels = {node.label for node in graph.nodes}
    assert labels == {"food-pose ?f", "inside ?f ?a", "put-into", "food-pose′"}


def test_a_graph_that_nobody_could_read_is_refused(tmp_path: Path, capsys) -> None:
    predicates = " ".join(f"(p{i})" for i in range(2500))
    path = tmp_path / "d.pddl"
    path.write_text(f"(define (domain d) (:predicates {predicates}))")
    assert main(["show", str(path), "--graph", str(tmp_path / "d.svg")]) == 31
    assert "--of NAME" in capsys.readouterr().err


def test_an_unknown_name_is_explained(tmp_path: Path, capsys) -> None:
    assert main(["show", KITCHEN, "--graph", str(tmp_path / "x.svg"), "--of", "wiat"]) == 31
    assert "did you mean `wait`?" in capsys.readouterr().err


@pytest.mark.parametrize("path", DOMAINS)
def test_boxes_do_not_overlap_and_arrows_run_to_the_right(path: str) -> None:
    graph = graph_of(load_domain(path))
    layout = lay_out(graph)
    boxes = layout.boxes
    for i, a in enumerate(boxes):
        assert a.x >= 0
        assert a.x + a.width <= layout.width + 0.01
        for b in boxes[:i]:
            apart_x = a.x >= b.x + b.width or b.x >= a.x + a.width
            apart_y = a.y >= b.y + b.height - 0.01 or b.y >= a.y + a.height - 0.01
            assert apart_x or apart_y
    for route in layout.routes:
        xs = [round(x, 3) for x, _ in route.points]
        assert xs == sorted(xs)


def test_a_cycle_of_derived_predicates_is_drawn() -> None:
    domain = parse_domain(
        "(define (domain d) (:predicates (e ?x ?y)) (:derived (a ?x) (or (e ?x ?x) (exists (?y) (b ?y))))"
        " (:derived (b ?x) (exists (?y) (and (e ?x ?y) (a ?y)))))"
    )
    ET.fromstring(to_svg(graph_of(domain)))


def test_names_may_hold_what_means_something_in_xml() -> None:
    domain = parse_domain("(define (domain d) (:predicates (a&b<c) (e)) (:derived (p) (and (a&b<c) (e))))")
    texts = [
        text for element in ET.fromstring(to_svg(graph_of(domain))).iter() for text in element.itertext()
    ]
    assert any("a&b<c" in text for text in texts)
