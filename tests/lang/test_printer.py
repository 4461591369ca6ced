"""The formatter changes white space only, and settles at once."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings, strategies as st

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.printer import WIDTH, format_source
from pdsketch.lang.reader import MAX_DEPTH, Group, Node, Token, read
from pdsketch.lang.source import Source


def fmt(text: str) -> str:
    return format_source(Source("test.pddl", text))


def shape(text: str):
    """What formatting must keep: the tree in the author's spelling, and each comment behind its token."""
    source = Source("test.pddl", text)
    reading = read(source)
    assert not reading.diagnostics

    def plain(node: Node):
        if isinstance(node, Token):
            return text[node.start : node.end]
        return (node.bracket, [plain(item) for item in node.items])

    starts: list[int] = []

    def collect(nodes: list[Node]) -> None:
        for node in nodes:
            starts.append(node.start)
            if isinstance(node, Group):
                collect(node.items)
                starts.append(node.end - 1)

    collect(reading.nodes)
    comments = [(c.text.rstrip(), sum(s < c.start for s in starts)) for c in reading.comments]
    return [plain(node) for node in reading.nodes], comments


def glued_brackets(text: str) -> list[bool]:
    """For each list in brackets, whether it stands directly behind a word or a list."""
    found: list[bool] = []

    def collect(nodes: list[Node]) -> None:
        for before, node in pairwise([None, *nodes]):
            if isinstance(node, Group):
                found.append(
                    before is not None
                    and node.bracket == "["
                    and text[before.start] != ","
                    and before.end == node.start
                )
                collect(node.items)

    collect(read(Source("t", text)).nodes)
    return found


WORDS = st.sampled_from(
    [
        "and",
        "or",
        "not",
        "forall",
        "exists",
        "when",
        "foreach",
        "define",
        "domain",
        ":action",
        ":parameters",
        ":effect",
        ":types",
        ":predicates",
        ":init",
        ":objects",
        ":goal",
        ":derived",
        ":requirements",
        "-",
        "?x",
        "?Y",
        "pose",
        "Item-1",
        "item#1",
        "??f",
        "??",
        "=",
        "0.5",
        "-1",
        ",",
        "p::assign",
        "either",
        "vector",
        '"quoted ; ( text"',
        "x" * 60,
        "return_type=vector",
    ]
)
GAPS = st.sampled_from(
    [" ", "  ", "\n", "\n\n\n", "\t", "\r\n", "\r\n\r\n", " ; a comment\n", "\n;; own line  \n"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Any balanced text: words, brackets of both kinds, comments and empty lines anywhere."""
    parts: list[str] = []
    opened: list[str] = []
    for _ in range(draw(st.integers(1, 40))):
        match draw(st.integers(0, 6)):
            case 0 | 1:
                parts.append("(")
                opened.append(")")
            case 2:
                parts.append("[")
                opened.append("]")
            case 3 | 4 if opened:
                parts.append(opened.pop())
            case _:
                parts.append(draw(WORDS))
                if draw(st.booleans()):
                    continue_glued = draw(st.booleans())
                    parts.append("[1, 2]" if continue_glued else " [a=b]")
        parts.append(draw(GAPS))
    while opened:
        parts.append(opened.pop())
        parts.append(draw(GAPS))
    return "".join(parts)


@settings(max_examples=400, deadline=None)
@given(texts())
@example("(a ; c\n)")
@example("( ; c\n a)")
@example("[1 ; c\n , 2]")
@example("; only\n\n\n; comments\nx")
@example("(:types - - a b - c (either d) - e)")
@example("(:objects a[1]b - [2])")
@example(
    "(define ; one\n (domain x) ; two\n ; three\n (:action a ; four\n :effect ; five\n (p)) ; six\n) ; seven"
)
@example("(not ; c\n (p))")
def test_formatting_changes_white_space_only_and_is_idempotent(text: str) -> None:
    if not read(Source("t", text)).nodes:
        return
    once = fmt(text)
    assert shape(once) == shape(text)
    assert glued_brackets(once) == glued_brackets(text)
    assert fmt(once) == once
    assert "\r" not in once
    assert once.endswith("\n")
    assert not any(line != line.rstrip() for line in once.split("\n"))


def test_a_domain_gets_the_canonical_layout() -> None:
    messy = """
; Two rooms.
(define (domain Rooms) (:requirements :strips :typing)
(:types room ball - object pose - vector[float32,2])
(:predicates (at ?b - ball ?r - room) ; where a ball is
(pose-of [return_type = pose] ?b - ball)
)


(:action move :parameters (?b - ball ?from ?to - room)
:precondition (at ?b ?from) :effect (and (not (at ?b ?from)) (at ?b ?to)
  (forall (?other - ball) (when (at ?other ?to) (not (at ?other ?to)))))))
"""
    assert (
        fmt(messy)
        == """\
; Two rooms.
(define (domain Rooms)
  (:requirements :strips :typing)
  (:types
    room ball - object
    pose - vector[float32, 2])
  (:predicates
    (at ?b - ball ?r - room)  ; where a ball is
    (pose-of [return_type = pose] ?b - ball))

  (:action move
    :parameters (?b - ball ?from ?to - room)
    :precondition (at ?b ?from)
    :effect (and
      (not (at ?b ?from))
      (at ?b ?to)
      (forall (?other - ball) (when (at ?other ?to) (not (at ?other ?to)))))))
"""
    )


def test_a_string_stays_with_its_setting() -> None:
    text = '(define (domain d) (:derived (p) (??f [act="re lu",depth=2])))'
    assert '[act="re lu", depth=2]' in fmt(text)


def test_long_lists_of_objects_are_filled_to_the_width() -> None:
    text = "(define (problem p) (:objects " + " ".join(f"object-{i}" for i in range(100)) + " - thing))"
    lines = fmt(text).splitlines()
    assert all(len(line) <= WIDTH + 3 for line in lines)
    assert len(lines) < 25


@pytest.mark.parametrize("text", ["", "; nothing but a comment\n", "(a", "a)", "(a]", '("a\n")', "x" * 2000])
def test_a_text_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(Error) as caught:
        fmt(text)
    assert caught.value.diagnostics


def test_the_deepest_tree_is_printed() -> None:
    depth = MAX_DEPTH - 1
    for head in ("not", "and", "[", "??f x", ":action a :effect"):
        opener, closer = ("[", "]") if head == "[" else (f"({head} ", ")")
        text = opener * depth + "p" + closer * depth
        assert fmt(fmt(text)) == fmt(text)
        assert shape(fmt(text)) == shape(text)


def test_the_time_grows_with_the_length_only() -> None:
    def seconds(facts: int) -> float:
        text = (
            "(define (problem p) (:init "
            + "(on a b) ; c\n" * facts
            + ")(:goal (and "
            + "(on a b) " * facts
            + ")))"
        )
        start = time.process_time()
        fmt(text)
        return time.process_time() - start

    seconds(100)
    small, large = (min(seconds(facts) for _ in range(3)) for facts in (2_000, 20_000))
    assert large < 40 * small + 0.1
