"""Files and bad input: always a diagnostic with its place, never a crash, in bounded time."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from tests.lang.book import chapters, entries

import pdsketch as pds
from pdsketch.lang.diagnostics import as_json
from pdsketch.lang.load import check_files, decode_source, load_file, parse_domain, parse_goal, parse_problem

DOMAIN = """(define (domain boxes)
  (:types box)
  (:predicates (on ?a ?b - box) (clear ?a - box))
  (:action put
    :parameters (?a ?b - box)
    :precondition (and (clear ?a) (clear ?b) (not (= ?a ?b)))
    :effect (and (on ?a ?b) (not (clear ?b)))))
"""
PROBLEM = """(define (problem two) (:domain boxes)
  (:objects a b - box)
  (:init (clear a) (clear b))
  (:goal (on a b)))
"""


def codes(diagnostics) -> list[str]:
    return [d.code for d in diagnostics]


def refused(text: str, name: str = "<domain>") -> tuple[pds.Diagnostic, ...]:
    with pytest.raises(pds.Error) as caught:
        parse_domain(text, name)
    return caught.value.diagnostics


class TestFiles:
    def test_domains_and_problems_load(self, tmp_path: Path):
        (tmp_path / "domain.pddl").write_text(DOMAIN)
        (tmp_path / "p.pddl").write_text(PROBLEM)
        domain = pds.load_domain(tmp_path / "domain.pddl")
        problem = pds.load_problem(str(tmp_path / "p.pddl"), domain)
        assert problem.init == {("clear", "a"): True, ("clear", "b"): True}
        assert isinstance(load_file(tmp_path / "domain.pddl"), pds.Domain)
        assert isinstance(load_file(tmp_path / "p.pddl"), pds.Problem)

    def test_a_problem_wants_a_domain(self, tmp_path):
        file = tmp_path / "p.pddl"
        file.write_text("(define (problem p) (:domain d) (:init) (:goal (and)))")
        with pytest.raises(pds.Error, match="its domain is not beside it"):
            load_file(file)
        with pytest.raises(pds.Error, match="checked against a Domain, not a str"):
            pds.load_problem(file, "domain.pddl")

    def test_a_problem_is_checked_against_its_domain(self, tmp_path: Path):
        wrong = PROBLEM.replace("(on a b)", "(on a c)")
        for folder, with_domain in (("alone", False), ("beside", True)):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "p.pddl").write_text(wrong)
            if with_domain:
                (tmp_path / folder / "domain.pddl").write_text(DOMAIN)
        (tmp_path / "other.pddl").write_text(DOMAIN)
        assert codes(check_files([tmp_path / "alone/p.pddl"])) == []
        assert codes(check_files([tmp_path / "beside/p.pddl"])) == ["unknown-object"]
        assert codes(check_files([tmp_path / "alone/p.pddl", tmp_path / "other.pddl"])) == ["unknown-object"]
        renamed = DOMAIN.replace("boxes", "crates")
        (tmp_path / "other.pddl").write_text(renamed)
        assert codes(check_files([tmp_path / "alone/p.pddl", tmp_path / "other.pddl"])) == []
        (tmp_path / "beside/domain.pddl").write_text(renamed)
        assert "wrong-domain" in codes(check_files([tmp_path / "beside/p.pddl"]))

    def test_all_files_are_checked_in_their_order(self, tmp_path: Path):
        (tmp_path / "z.pddl").write_text("(define (domain z)")
        found = check_files([tmp_path / "z.pddl", tmp_path / "a.pddl", tmp_path])
        assert codes(found) == ["unbalanced", "no-such-file", "is-a-directory"]

    def test_checking_starts_without_torch_and_numpy(self):
        program = "import sys, pdsketch.lang.load; print([m for m in ('torch', 'numpy') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


class TestPlaces:
    def test_a_byte_order_mark_does_not_move_them(self):
        text = "(define (domain d)\n  (:derived (p) (q)))"
        source = decode_source("file", b"\xef\xbb\xbf" + text.encode())
        assert [d.place for d in refused(source.text, "file")] == [("file", 2, 18)]
        assert [d.place for d in refused("\N{ZERO WIDTH NO-BREAK SPACE}" + text)] == [("<domain>", 2, 18)]

    def test_windows_line_ends_do_not_move_them(self):
        (found,) = refused("(define (domain d)\r\n  (:derived (p)\r\n (q)))")
        assert found.place == ("<domain>", 3, 3)
        assert as_json(found)["line"] == 3

    def test_names_are_shown_as_the_author_spelled_them(self):
        (found,) = refused("(define (domain d) (:predicates (Near)) (:derived (P) (Naer)))")
        assert found.span is not None
        assert found.span.text == "Naer"
        assert found.help == "did you mean `near`?"

    def test_non_ascii_text_does_not_move_them(self):
        (found,) = refused("(define (domain d)\n ; İÄ\n (:derived (İİ) (q)))")
        assert found.place == ("<domain>", 3, 18)

    def test_diagnostics_are_sorted_by_place(self):
        found = refused("(define (domain d) (:action a :effect (x)) (:derived (p) (y)) (:types t - u))")
        assert [d.place for d in found] == sorted(d.place for d in found)


HUGE = {
    "nested": "(" * 100_000,
    "nested and closed": "(" * 100_000 + ")" * 100_000,
    "nested brackets": "[" * 100_000,
    "one token": "a" * 10_000_000,
    "one token in its place": f"(define (domain {'a' * 10_000_000}))",
    "closing": ")" * 1_000_000,
    "a string": '"' + "a" * 10_000_000,
    "a comment": ";" + "a" * 10_000_000,
    "many slips": "(define (domain d) (:derived (p) (and" + " (q)" * 100_000 + ")))",
    "many near names": "(define (domain d) (:predicates "
    + " ".join(f"(p{i})" for i in range(5000))
    + ") (:derived (z) (and "
    + " ".join(f"(q{i})" for i in range(5000))
    + ")))",
    "a circle of types": "(define (domain d) (:types "
    + " ".join(f"t{i} - t{(i + 1) % 3000}" for i in range(3000))
    + "))",
}


class TestBadInput:
    @pytest.mark.parametrize("name", HUGE)
    def test_huge_input_is_answered_soon_and_briefly(self, name):
        began = process_time()
        found = refused(HUGE[name])
        assert process_time() - began < 10
        assert len("\n".join(map(str, map(as_json, found)))) < 200_000

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \n",
            "; only a comment",
            "()",
            "a",
            "[]",
            "(define)",
            "(define (domain))",
            '(define (domain "d"))',
        ],
    )
    def test_a_text_without_a_definition_is_refused(self, text):
        assert len(refused(text)) == 1

    @pytest.mark.parametrize("end", range(1, len(DOMAIN) - 1, 7))
    def test_a_truncated_file_is_refused_once(self, end):
        assert len(refused(DOMAIN[:end])) == 1

    def test_nul_and_other_bytes(self):
        for data, code in ((b"(define\0", "binary-file"), (b"\xff\xfe(", "not-utf8"), (b"\x80", "not-utf8")):
            with pytest.raises(pds.Error) as caught:
                decode_source("file", data)
            assert codes(caught.value.diagnostics) == [code]
        assert codes(refused("(define\0")) == ["binary-file"]

    @pytest.mark.parametrize("mark", [b"", "\N{ZERO WIDTH NO-BREAK SPACE}".encode()])
    def test_a_byte_that_is_no_text_has_its_place(self, mark):
        with pytest.raises(pds.Error) as caught:
            decode_source("file", mark + "(define\n; süß caf".encode() + b"\xe9\n)")
        assert [d.place for d in caught.value.diagnostics] == [("file", 2, 10)]

    @pytest.mark.parametrize(
        ("text", "fix"),
        [
            ("(:predicates (p ?x, ?y))", "leave out the comma"),
            ("(:action a :effect (increase (total-cost) 1))", "declare it: (:functions (total-cost))"),
            ("(:derived (p) (and (p) :effect (p)))", "close what stands before it with `)`"),
        ],
    )
    def test_a_slip_gets_its_own_fix(self, text, fix):
        (found,) = refused(f"(define (domain d) {text})")
        assert found.help == fix

    def test_an_error_is_a_value_error_that_reads_well(self):
        with pytest.raises(ValueError, match="there is no predicate `q`"):
            parse_domain("(define (domain d) (:derived (p) (q)))")


def test_loading_is_linear_in_the_size_of_a_problem():
    domain = parse_domain(DOMAIN)

    def seconds(size: int) -> float:
        objects = " ".join(f"b{i}" for i in range(size))
        init = "\n".join(f"(on b{i} b{(i * 7) % size})" for i in range(size))
        head = f"(define (problem p) (:domain boxes) (:objects {objects} - box)"
        text = f"{head} (:init {init}) (:goal (and {init})))"
        times = []
        gc.disable()  # its rounds would count what other tests have left behind
        for _ in range(3):
            began = process_time()
            parse_problem(text, domain)
            times.append(process_time() - began)
        gc.enable()
        return min(times)

    # Linear is 8 times as long, quadratic 64 times.
    assert seconds(8000) < 24 * seconds(1000) + 0.1


def answer(parse: Callable[[str], object], text: str) -> tuple[pds.Diagnostic, ...]:
    """What is wrong with a text; nothing but `Error` may be raised."""
    try:
        parse(text)
    except pds.Error as error:
        return error.diagnostics
    return ()


PROGRAMS = [
    entry.program
    for chapter in chapters()
    for entry in entries(chapter.read_text(encoding="utf-8"))
    if entry.kind == "pdsketch" and entry.expected is None
]
TOKENS = re.compile(r"\s+|[^\s()\[\]]+|[()\[\]]")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A right program with a few tokens deleted, doubled, swapped or put in from another one."""
    tokens = TOKENS.findall(draw(st.sampled_from(PROGRAMS)))
    words = TOKENS.findall(draw(st.sampled_from(PROGRAMS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["delete", "double", "swap", "insert", "replace", "move"])):
            case "delete":
                del tokens[at : at + draw(st.integers(1, 3))]
            case "double":
                tokens[at:at] = tokens[at : at + draw(st.integers(1, 8))]
            case "swap":
                other = draw(st.integers(0, len(tokens) - 1))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "insert":
                tokens.insert(at, draw(st.sampled_from(words)))
            case "replace":
                tokens[at] = draw(st.sampled_from([*words, "??", "-", "::", "$", '"', ",", ";", "\0", "é"]))
            case _:
                tokens.append(tokens.pop(at))
        if not tokens:
            break
    return "".join(tokens)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
@example("(define (domain d) (:derived (p) (??f (??)))")
def test_mutated_programs_load_or_are_refused(text):
    domain = parse_domain(DOMAIN)
    for parse in (
        parse_domain,
        lambda text: parse_problem(text, domain),
        lambda text: parse_goal(text, domain),
    ):
        assert all(d.place[1] >= 1 and d.place[2] >= 1 for d in answer(parse, text))


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='()[]?:-=;,."#$ \n01eabdefinmop', max_size=80))
def test_any_text_loads_or_is_refused(text):
    answer(parse_domain, text)


def test_the_types_of_a_goals_objects_are_given_by_name():
    domain = pds.parse_domain("(define (domain d) (:types robot) (:predicates (busy ?r - robot)))")
    assert pds.parse_goal("(busy r)", domain, {"r": "robot"}).predicate == "busy"
    with pytest.raises(pds.Error, match="did you mean `robot`") as caught:
        pds.parse_goal("(busy r)", domain, {"r": "robott"})
    assert caught.value.diagnostics[0].code == "unknown-type"
