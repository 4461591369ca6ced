"""Pictures: where boxes and arrows are, and how they look."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from tests.written import ROOT, is_written

from pdsketch.draw import graph_of, to_dot, to_svg
from pdsketch.draw.graph import Graph, GraphNode
from pdsketch.draw.layout import lay_out
from pdsketch.lang import load_domain, parse_domain

CYCLE = """(define (domain paths) (:predicates (edge ?x ?y) (shut ?x))
  (:derived (near ?x) (or (edge ?x ?x) (exists (?y) (far ?y))))
  (:derived (far ?x) (exists (?y) (and (edge ?x ?y) (near ?y) (not (shut ?y)))))
  (:action close :parameters (?x ?y) :precondition (forall (?z) (imply (edge ?y ?z) (far ?z)))
    :effect (and (shut ?x) (when (near ?y) (not (shut ?y))))))"""


EVERYTHING = """(define (domain everything) (:types item - object cup - item)
  (:constants best - cup)
  (:predicates (spot [return_type=vector[float32, 2]] ?i - item)
    (kind [return_type=int64[choices=4]] ?i - item)
    (seen ?i - item) (twice [return_type=float32] ?v - float32) (done))
  (:functions (price ?i - item) - number (total-cost) - number)
  (:derived (crowded ?i - item) (??f (spot ?i) (foreach (?o - item) (when (seen ?o) (spot ?o)))))
  (:derived (lonely ?i - item) (??g (when (not (= ?i best)) (spot ?i))))
  (:derived (dear) (exists (?c - cup) (and (> (price ?c) 2.5) (<= (twice (price ?c)) (+ 1 (price best)))
    (or (= (kind ?c) 3) (crowded ?c)))))
  (:action paint :parameters (?i - item ?k - int64[choices=4])
    :precondition (and (not (done)) (forall (?o - item) (imply (seen ?o) (lonely ?o))))
    :effect (and (kind::assign ?i ?k) (when (dear) (done)) (increase (total-cost) (price ?i))
      (forall (?o - item) (when (crowded ?o) (not (seen ?o)))))))"""


def test_pictures_of_every_kind_of_node_are_as_written():
    domain = parse_domain(EVERYTHING)
    for name in ("crowded", "lonely", "dear", "paint"):
        is_written(f"pictures/everything-{name}.dot", to_dot(graph_of(domain, name)))
    is_written("pictures/everything.svg", to_svg(graph_of(domain)))


@pytest.mark.parametrize("name", ["kitchen/domain.pdsketch", "delivery/domain.pddl"])
def test_pictures_of_the_examples_are_as_written(name):
    domain = load_domain(ROOT / "examples" / name)
    is_written(f"pictures/{domain.name}.svg", to_svg(graph_of(domain)))
    is_written(f"pictures/{domain.name}.dot", to_dot(graph_of(domain)))
    one = next(iter(domain.actions))
    is_written(f"pictures/{domain.name}-{one}.svg", to_svg(graph_of(domain, one)))


def test_the_picture_of_a_cycle_is_as_written():
    is_written("pictures/paths.svg", to_svg(graph_of(parse_domain(CYCLE))))


def graph(labels: list[str], arrows: list[tuple[int, int, str]]) -> Graph:
    made = Graph("some")
    for number, label in enumerate(labels):
        made.node(number, GraphNode(label, "derived", "detail" * (len(label) % 2)))
    for source, target, label in arrows:
        made.arrow(source % len(labels), target % len(labels), label)
    return made


GRAPHS = st.builds(
    graph,
    st.lists(st.text("abc", max_size=20), min_size=1, max_size=9),
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", "when", "needs it all"])),
        unique_by=lambda arrow: arrow[:2],
    ),
)


@given(GRAPHS)
def test_boxes_of_any_graph_are_apart_within_the_picture_and_arrows_meet_them(given_graph):
    layout = lay_out(given_graph)
    boxes = layout.boxes
    assert min(box.y for box in boxes) >= -1e-6
    assert max(box.y + box.height for box in boxes) <= layout.height + 1e-6
    assert min(box.x for box in boxes) >= 0
    assert max(box.x + box.width for box in boxes) == pytest.approx(layout.width)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            beside = a.x >= b.x + b.width + 40 or b.x >= a.x + a.width + 40
            column = a.x < b.x + b.width and b.x < a.x + a.width
            below = a.y >= b.y + b.height + 10 or b.y >= a.y + a.height + 10
            assert below if column else beside
    for route in layout.routes:
        start, end = boxes[route.arrow.source], boxes[route.arrow.target]
        (x, y), *_, (last_x, last_y) = route.points
        forward = start.x <= end.x
        assert (x, y) == pytest.approx((start.x + start.width * forward, start.middle))
        assert last_x == pytest.approx(end.x + end.width * (not forward))
        assert end.y < last_y < end.y + end.height  # a place of its own at the box
        xs = [round(x, 3) for x, _ in route.points]
        assert xs == sorted(xs, reverse=not forward)
        # The last bend has room for the label.
        (bend, _), (to, _) = route.points[-3:-1]
        assert abs(to - bend) >= 6.2 * len(route.arrow.label) * forward
    ends = {}
    for route in layout.routes:
        ends.setdefault(route.arrow.target, []).append(route)
    for routes in ends.values():
        routes.sort(key=lambda route: route.points[-3][1])
        assert all(b.points[-1][1] - a.points[-1][1] > 1 for a, b in pairwise(routes))


def test_arrows_of_a_chain_run_level_and_columns_follow_what_is_computed_from_what():
    layout = lay_out(graph(["aa", "bb", "cc", "dd"], [(0, 1, ""), (1, 2, ""), (3, 2, "")]))
    a, b, c, d = layout.boxes
    assert a.x < b.x < c.x
    assert d.x == b.x  # an input stands close to where it is used
    assert abs(a.middle - b.middle) < 1e-6
    assert min(b.middle, d.middle) < c.middle < max(b.middle, d.middle)
