"""``pdsketch check``: all errors of all files at once, and against the right domain."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pdsketch.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(str(path) for path in ROOT.glob("examples/*/*.pd*"))
DOMAIN = "(define (domain {name}) (:predicates ({predicate})))"
PROBLEM = "(define (problem p) (:domain {name}) (:init ({predicate})) (:goal ({predicate})))"


def check(*paths: Path | str, capsys) -> tuple[int, dict, str]:
    code = main(["check", "--json", *map(str, paths)])
    caught = capsys.readouterr()
    return code, json.loads(caught.out), caught.err


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_the_examples_are_right_without_a_warning(capsys) -> None:
    code, found, err = check(*EXAMPLES, capsys=capsys)
    assert code == 0, err
    assert found == {"ok": True, "files": EXAMPLES, "errors": 0, "warnings": 0, "diagnostics": []}


def test_people_read_a_count(capsys) -> None:
    assert main(["check", EXAMPLES[0]]) == 0
    assert capsys.readouterr().out == "1 file: 0 errors, 0 warnings\n"


def test_errors_exit_1_with_their_places(tmp_path: Path, capsys) -> None:
    path = write(
        tmp_path / "d.pddl", "(define (domain d)\n  (:predicates (p ?x - nowhere) (q ?x - nothing)))"
    )
    code, found, err = check(path, capsys=capsys)
    assert code == 1
    assert [(d["line"], d["column"]) for d in found["diagnostics"]] == [(2, 24), (2, 41)]
    assert set(found["diagnostics"][0]) >= {"code", "message", "file", "line", "column", "help"}
    first = err.splitlines()[0]
    assert first.startswith(f"{path}:2:24: error[")


def test_a_warning_alone_exits_0(tmp_path: Path, capsys) -> None:
    text = """(define (domain d) (:types item - object) (:predicates (p [return_type=int64] ?x - item))
      (:action a :parameters (?x - item) :effect (p::assign ?x (??f (p ?x)))))"""
    code, found, _ = check(write(tmp_path / "d.pddl", text), capsys=capsys)
    assert code == 0
    assert found["ok"]
    assert found["warnings"] == len(found["diagnostics"]) > 0
    assert all(d["severity"] == "warning" for d in found["diagnostics"])


def test_missing_files_and_directories_exit_1(tmp_path: Path, capsys) -> None:
    code, found, err = check(tmp_path / "no.pddl", tmp_path, capsys=capsys)
    assert code == 1
    assert [d["code"] for d in found["diagnostics"]] == ["no-such-file", "is-a-directory"]
    assert f"{tmp_path / 'no.pddl'}:1:1: error[no-such-file]" in err


def test_a_pipe_is_read_and_nobody_is_waited_for(tmp_path: Path, capsys) -> None:
    os.mkfifo(tmp_path / "d.pddl")
    code, found, _ = check(tmp_path / "d.pddl", capsys=capsys)  # nobody will ever write into it
    assert (code, [d["code"] for d in found["diagnostics"]]) == (1, ["cannot-read"])
    ours, theirs = os.pipe()  # as of `pdsketch check <(command)`
    os.write(theirs, DOMAIN.format(name="d", predicate="p").encode())
    os.close(theirs)
    assert check(f"/dev/fd/{ours}", capsys=capsys)[0] == 0
    os.close(ours)


def test_a_problem_is_checked_against_the_domain_of_its_name_among_the_files(tmp_path: Path, capsys) -> None:
    beside = write(tmp_path / "domain.pddl", DOMAIN.format(name="other", predicate="q"))
    given = write(tmp_path / "x.pddl", DOMAIN.format(name="d", predicate="p"))
    problem = write(tmp_path / "p.pddl", PROBLEM.format(name="d", predicate="p"))
    assert check(problem, given, capsys=capsys)[0] == 0
    assert check(problem, beside, capsys=capsys)[0] == 1


def test_of_two_domains_of_one_name_the_one_in_the_same_folder_counts(tmp_path: Path, capsys) -> None:
    files = []
    for folder, predicate in (("a", "p"), ("b", "q")):
        files.append(write(tmp_path / folder / "domain.pddl", DOMAIN.format(name="d", predicate=predicate)))
        files.append(write(tmp_path / folder / "p.pddl", PROBLEM.format(name="d", predicate=predicate)))
    assert check(*files, capsys=capsys)[0] == 0


def test_a_problem_alone_is_checked_for_its_syntax(tmp_path: Path, capsys) -> None:
    assert check(write(tmp_path / "p.pddl", PROBLEM.format(name="d", predicate="p")), capsys=capsys)[0] == 0
    assert check(write(tmp_path / "q.pddl", "(define (problem p) (:domain"), capsys=capsys)[0] == 1


BAD = {
    "empty": b"",
    "blank": b" \n\n",
    "truncated": b"(define (domain d) (:predicates (p",
    "unbalanced": b"(define (domain d)))",
    "binary": bytes(range(256)) * 10,
    "not-utf8": b"(define (domain d) (:predicates (p\xff)))",
    "nul": b"(define (domain d\0))",
    "deep": b"(" * 100_000,
    "deep and closed": b"(" * 100_000 + b")" * 100_000,
    "brackets": b"[" * 100_000,
    "a long token": b"x" * 10_000_000,
    "a long string": b'"' + b"x" * 10_000_000,
    "a long comment": b";" * 10_000_000,
    "many brackets": b"()" * 200_000,
    "unclosed lists": b"(define (domain d) " + b"(:action" * 100,
    "other language": b"import torch\nprint('hello')\n",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["check", "show", "fmt"])
def test_bad_input_is_answered_in_bounded_time_with_its_place(
    name: str, command: str, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "bad.pddl"
    path.write_bytes(BAD[name])
    start = time.process_time()
    code = main([command, "--json", str(path)])
    assert time.process_time() - start < 10
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    if command == "fmt" and name in ("many brackets", "other language"):
        assert code == 0, "any balanced text can be laid out"
        return
    assert code == (1 if command == "check" else 31)
    assert found
    assert all(d["file"] == str(path) and d["line"] >= 1 and d["column"] >= 1 for d in found)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r"])
def test_a_byte_order_mark_and_windows_line_ends_are_fine(
    data: bytes, end: bytes, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "d.pddl"
    path.write_bytes(data + b"(define (domain d)" + end + b"(:predicates (p)))" + end)
    assert check(path, capsys=capsys)[0] == 0


def test_a_problem_of_another_domain_is_one_error(tmp_path: Path, capsys) -> None:
    write(tmp_path / "domain.pddl", DOMAIN.format(name="kitchen", predicate="q"))
    problem = write(tmp_path / "p.pddl", PROBLEM.format(name="logistics", predicate="p"))
    _, found, _ = check(problem, capsys=capsys)
    assert [d["code"] for d in found["diagnostics"]] == ["wrong-domain"]
