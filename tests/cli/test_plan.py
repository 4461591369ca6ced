"""``pdsketch plan`` and ``pdsketch validate`` as their users meet them: streams, files, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdsketch.cli import plan
from pdsketch.cli.main import main
from pdsketch.lang.diagnostics import error

EXAMPLES = Path(__file__).parents[2] / "examples"
BLOCKS = str(EXAMPLES / "blocks" / "domain.pddl")
TOWER = str(EXAMPLES / "blocks" / "p01.pddl")

SWITCHES = """
(define (domain switches)
  (:requirements :strips :negative-preconditions)
  (:predicates (on ?s) (broken ?s) (never))
  (:action up :parameters (?s) :precondition (and (not (on ?s)) (not (broken ?s))) :effect (on ?s))
  (:action down :parameters (?s) :precondition (on ?s) :effect (not (on ?s)))
  (:action win :parameters (?s ?t) :precondition (and (on ?s) (not (on ?s))) :effect (never)))
"""

PARITY = """
(define (domain parity)
  (:requirements :adl)
  (:predicates (on ?s))
  (:action turn :parameters (?a ?b) :precondition (not (= ?a ?b)) :effect (and
    (when (on ?a) (not (on ?a))) (when (not (on ?a)) (on ?a))
    (when (on ?b) (not (on ?b))) (when (not (on ?b)) (on ?b)))))
"""

KEYS = ("status", "plan", "cost", "expanded", "evaluated", "seconds")


def switches(folder, goal, count=3, init=""):
    domain, problem = folder / "domain.pddl", folder / "p.pddl"
    domain.write_text(SWITCHES)
    objects = " ".join(f"s{i}" for i in range(count))
    problem.write_text(
        f"(define (problem p) (:domain switches) (:objects {objects}) (:init {init}) (:goal {goal}))"
    )
    return str(domain), str(problem)


def parity(folder, count):
    """Switches that turn in pairs, and one is to be on: no plan, but the relaxed task has one."""
    domain, problem = folder / "domain.pddl", folder / "p.pddl"
    domain.write_text(PARITY)
    objects = " ".join(f"s{i}" for i in range(count))
    others = " ".join(f"(not (on s{i}))" for i in range(1, count))
    problem.write_text(
        f"(define (problem p) (:domain parity) (:objects {objects}) (:init) (:goal (and (on s0) {others})))"
    )
    return str(domain), str(problem)


def run(capsys, *words):
    code = main([*words])
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines(keepends=True) if "compiling" not in line]
    return code, out, "".join(said)


def test_a_plan_is_all_that_stdout_holds(capsys):
    code, out, _ = run(capsys, "plan", BLOCKS, TOWER)
    *steps, cost = out.splitlines()
    assert code == 0
    assert all(re.fullmatch(r"\([a-z-]+( [a-z0-9]+)*\)", step) for step in steps)
    assert cost == f"; cost = {len(steps)}"


def test_an_ordinary_problem_is_planned_without_large_imports():
    code = "import sys; from pdsketch.cli.main import main; assert main(['plan', *sys.argv[1:]]) == 0;"
    code += "print({'torch', 'numpy'} & sys.modules.keys())"
    words = [sys.executable, "-c", code, BLOCKS, TOWER]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("set()\n"), done.stderr


def test_with_an_output_file_stdout_is_empty_and_the_file_validates(capsys, tmp_path):
    file = str(tmp_path / "plan")
    code, out, _ = run(capsys, "plan", BLOCKS, TOWER, "-o", file)
    assert (code, out) == (0, "")
    assert run(capsys, "validate", BLOCKS, TOWER, file)[0] == 0


def test_json_is_one_object_and_stderr_is_as_without_it(capsys, tmp_path):
    _, _, plain = run(capsys, "plan", *switches(tmp_path, "(never)"))
    code, out, err = run(capsys, "plan", *switches(tmp_path, "(never)"), "--json")
    told = json.loads(out)
    assert code == 11
    assert (told["status"], told["plan"], told["cost"]) == ("unsolvable", None, None)
    assert set(KEYS) <= set(told)
    assert err == plain != ""


def test_json_names_the_phases(capsys):
    code, out, _ = run(capsys, "plan", BLOCKS, TOWER, "--json")
    told = json.loads(out)
    assert code == 0
    assert set(told["seconds"]) == {"parse", "ground", "search", "total"}
    assert told["cost"] == len(told["plan"])
    assert told["diagnostics"] == []


@pytest.mark.parametrize("search", ["astar", "wastar", "gbfs", "lazy-gbfs"])
@pytest.mark.parametrize("heuristic", ["ff", "add", "max", "goalcount", "blind"])
def test_every_search_and_heuristic_can_be_named(capsys, search, heuristic):
    code, out, _ = run(capsys, "plan", BLOCKS, TOWER, "--search", search, "--heuristic", heuristic)
    assert code == 0
    assert search != "astar" or heuristic == "add" or out.endswith("; cost = 4\n")


def test_a_goal_that_is_out_of_reach_is_explained_at_its_place(capsys, tmp_path):
    domain, problem = switches(tmp_path, "(and (on s1) (on s0))", init="(broken s1)")
    code, out, err = run(capsys, "plan", domain, problem)
    assert (code, out) == (11, "")
    assert "(on s1)" in err
    assert "(on s0)" not in err


def test_an_exhausted_space_proves_that_there_is_no_plan(capsys, tmp_path):
    code, out, err = run(capsys, "plan", *parity(tmp_path, 4))
    assert (code, out) == (11, "")
    assert "cannot be reached: 8 states were searched" in err


def test_giving_up_says_which_limit_and_what_to_try(capsys, tmp_path):
    domain, problem = switches(tmp_path, "(and (on s1) (on s2))", 8)
    options = ("--search", "astar", "--heuristic", "blind", "--max-expansions", "2")
    code, out, err = run(capsys, "plan", domain, problem, *options)
    assert (code, out) == (12, "")
    assert "limit of 2 expansions" in err
    assert "lowest h" in err
    assert "try" in err


def test_the_time_limit_has_its_own_code(capsys, tmp_path):
    code, out, err = run(capsys, "plan", *parity(tmp_path, 30), "--time-limit", "0.5")
    assert (code, out) == (23, "")
    assert "time limit" in err


def test_the_time_limit_holds_for_reading_the_files(capsys, tmp_path, monkeypatch):
    files = parity(tmp_path, 30)
    code, out, err = run(capsys, "plan", *files, "--time-limit", "0")
    assert (code, out) == (23, "")
    assert "the time limit was reached while the files were read" in err
    load = plan.load_problem

    def slowly(*args):
        problem = load(*args)
        time.sleep(0.3)
        return problem

    monkeypatch.setattr(plan, "load_problem", slowly)
    code, out, err = run(capsys, "plan", *files, "--time-limit", "0.3", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["seconds"]["search"]) == (23, "out-of-time", 0.0)
    assert "while grounding" in found["reasons"][0]


def test_the_memory_limit_has_its_own_code(capsys, tmp_path):
    words = ("--memory-limit", "5", "--time-limit", "60", "--heuristic", "goalcount")
    code, out, err = run(capsys, "plan", *parity(tmp_path, 30), *words)
    assert (code, out) == (22, "")
    assert "memory limit" in err


def test_bad_input_has_a_place_and_code_31(capsys, tmp_path):
    domain, problem = switches(tmp_path, "(of s0)")
    code, out, err = run(capsys, "plan", domain, problem)
    assert (code, out) == (31, "")
    assert re.match(rf"{re.escape(problem)}:1:\d+: error\[[a-z-]+\]: ", err)


def test_bad_input_is_one_json_object_too(capsys, tmp_path):
    domain, problem = switches(tmp_path, "(of s0)")
    code, out, _ = run(capsys, "plan", domain, problem, "--json")
    (found,) = json.loads(out)["diagnostics"]
    assert code == 31
    assert {"code", "message", "file", "line", "column", "help"} <= set(found)


@pytest.mark.parametrize("option", ["--search", "--heuristic"])
def test_unknown_names_are_usage_errors(capsys, option):
    code, out, err = run(capsys, "plan", BLOCKS, TOWER, option, "fff")
    assert (code, out) == (2, "")
    assert "`fff`" in err


def test_what_has_no_place_of_its_own_stands_at_the_problem(capsys, monkeypatch):
    def refuse(*_, **__):
        raise error("not-yet", "this is still to come")

    monkeypatch.setattr("pdsketch.search.plan", refuse)
    code, _, err = run(capsys, "plan", BLOCKS, TOWER)
    assert (code, err) == (31, f"{TOWER}:1:1: error[not-yet]: this is still to come\n")


def test_what_check_warns_of_is_said_when_planning(capsys, tmp_path):
    domain, problem = switches(tmp_path, "(on s0)")
    Path(domain).write_text(
        Path(domain).read_text().replace("(:predicates", "(:types x - y) (:predicates", 1)
    )
    code, out, err = run(capsys, "plan", domain, problem, "--json")
    assert code == 0
    assert err.startswith(f"{domain}:")
    assert [found["code"] for found in json.loads(out)["diagnostics"]] == ["undeclared-type"]


@pytest.mark.parametrize(
    "words", [["--time-limit", "soon"], ["--time-limit", "-1"], ["--max-expansions", "1.5"]]
)
def test_limits_must_be_numbers(capsys, words):
    code, _, err = run(capsys, "plan", BLOCKS, TOWER, *words)
    assert code == 2
    assert f"found {words[1]}" in err


def test_a_missing_file_is_named(capsys):
    code, _, err = run(capsys, "plan", BLOCKS, "nowhere.pddl")
    assert code == 31
    assert err.startswith("nowhere.pddl:1:1: error[")


COUNTING = """
(define (domain counting)
  (:types thing - object place - vector[float32, 2])
  (:predicates (n [return_type=int64] ?t - thing) (at [return_type=place] ?t - thing))
  (:action more :parameters (?t - thing) :effect (increase (n ?t) 1))
  (:action go :parameters (?t - thing) :effect (assign (at ?t) [0.5, 0.5])))
"""


def counting(folder):
    (folder / "domain.pddl").write_text(COUNTING)
    (folder / "p.pddl").write_text(
        "(define (problem p) (:domain counting) (:objects a - thing)"
        "(:init (= (n a) 0) (= (at a) [0, 0])) (:goal (and (= (n a) 3) (= (at a) [0.5, 0.5]))))"
    )
    return str(folder / "domain.pddl"), str(folder / "p.pddl")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--k", "4"],
        ["--snap"],
        ["--resolution", "0.1", "--search", "gbfs"],
        ["--confidence", "0.9"],
        ["--search", "portfolio"],
        ["--search", "portfolio", "--heuristic", "goalcount"],
        ["--search", "abstract"],
        ["--heuristic", "ao"],
    ],
)
def test_how_models_are_searched_can_be_said(capsys, tmp_path, words):
    code, out, _ = run(capsys, "plan", *counting(tmp_path), *words, "--json")
    found = json.loads(out)
    assert (code, found["cost"], found["refinements"]) == (0, 4, 0)
    in_the_model = "--snap" in words or "gbfs" in words or words[:1] == ["--heuristic"]
    assert ("rules" in found["phases"]) != in_the_model


@pytest.mark.parametrize(
    "words",
    [
        ["--k", "0"],
        ["--confidence", "1.5"],
        ["--resolution", "x"],
        ["--search", "portfolios"],
    ],
)
def test_how_models_cannot_be_searched_is_a_usage_error(capsys, tmp_path, words):
    code, _, said = run(capsys, "plan", *counting(tmp_path), *words)
    assert code == 2
    assert "Traceback" not in said


def test_what_is_for_models_is_refused_where_there_is_none(capsys):
    code, _, said = run(capsys, "plan", BLOCKS, TOWER, "--confidence", "0.9")
    assert code == 2
    assert "--confidence is for models" in said


def test_the_command_itself_keeps_its_streams_apart(tmp_path):
    words = [sys.executable, "-m", "pdsketch", "plan", *switches(tmp_path, "(on s2)")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "(up s2)\n; cost = 1\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(up s0)\n(up s1)\n", 0),
        ("; a comment\n\n  (UP S1) ; and another\n(Up s0)", 0),
        ("(up s0)\n", 1),
        ("(up s0)\n(up s0)\n(up s1)\n", 1),
        ("", 1),
        ("(fly s0)\n", 1),
        ("(up nobody)\n", 1),
        ("(up)\n", 1),
        ("(up s0 s1)\n", 1),
        ("(up [1, 2])\n", 1),
        ("(up s0\n", 31),
        ("up s0\n", 31),
        ("()\n", 31),
        ("((up s0))\n", 31),
    ],
)
def test_validate_judges_plans(capsys, tmp_path, text, code):
    domain, problem = switches(tmp_path, "(and (on s0) (on s1))")
    plan = tmp_path / "plan"
    plan.write_text(text)
    found, _, err = run(capsys, "validate", domain, problem, str(plan))
    assert found == code
    assert (err == "") == (code == 0)
    found, out, _ = run(capsys, "validate", domain, problem, str(plan), "--json")
    assert found == code
    assert json.loads(out).get("valid", False) == (code == 0)


def test_validate_counts_the_cost(capsys, tmp_path):
    plan = tmp_path / "plan"
    plan.write_text("(up s0)\n(up s1)\n")
    code, out, _ = run(capsys, "validate", *switches(tmp_path, "(on s1)"), str(plan))
    assert (code, out) == (0, "valid: 2 steps, cost = 2\n")


def test_validate_says_which_step_fails_and_why(capsys, tmp_path):
    plan = tmp_path / "plan"
    plan.write_text("(up s0)\n(up s1)\n")
    code, _, err = run(capsys, "validate", *switches(tmp_path, "(on s0)", init="(broken s1)"), str(plan))
    assert code == 1
    assert "step 2" in err
    assert "(not (broken ?s))" in err


def test_validate_says_where_in_the_plan_a_name_is_wrong(capsys, tmp_path):
    plan = tmp_path / "plan"
    plan.write_text("; a comment\n(up s0)\n  (upp s1)\n")
    code, _, err = run(capsys, "validate", *switches(tmp_path, "(on s0)"), str(plan))
    assert code == 1
    assert err.startswith(f"{plan}:3:3: error[unknown-action]: step 2, (upp s1): ")


@pytest.mark.parametrize("name", ["nan", "7", "1e5"])
def test_an_object_may_have_a_number_for_a_name(capsys, tmp_path, name):
    domain, problem = switches(tmp_path, "(on s1)")
    Path(problem).write_text(Path(problem).read_text().replace("s1", name))
    plan = tmp_path / "plan"
    plan.write_text(f"(up {name})\n")
    assert run(capsys, "validate", domain, problem, str(plan))[0] == 0


OPEN = """
(define (domain open)
  (:types robot - object)
  (:predicates (at [return_type=int64[choices=3]] ?r - robot) (fee [return_type=float32] ?r - robot))
  (:action go :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
  (:action jump :parameters (?r - robot) :effect (assign (at ?r) 2)))
"""


def open_sketch(folder, goal):
    (folder / "open.pdsketch").write_text(OPEN)
    (folder / "p.pddl").write_text(
        "(define (problem p) (:domain open) (:objects r - robot) (:init (= (at r) 0) (= (fee r) 0.5))"
        f" (:goal {goal}))"
    )
    return str(folder / "open.pdsketch"), str(folder / "p.pddl")


def test_a_plan_that_rests_on_a_blank_cannot_be_judged(tmp_path, capsys):
    files = open_sketch(tmp_path, "(= (at r) 2)")
    for step, code in (("go", 31), ("jump", 0)):
        (tmp_path / "plan").write_text(f"0: ({step} r) [1]\n")
        assert main(["validate", *files, str(tmp_path / "plan")]) == code
    assert "error[no-function]" in capsys.readouterr().err


def test_costs_of_models_are_whole_where_they_are_and_nothing_to_do_is_said(tmp_path, capsys):
    assert main(["plan", *open_sketch(tmp_path, "(= (at r) 2)"), "--heuristic", "blind", "--json"]) == 0
    assert '"cost": 1,' in capsys.readouterr().out
    assert main(["plan", *open_sketch(tmp_path, "(= (at r) 0)"), "--heuristic", "blind"]) == 0
    assert "nothing to do" in capsys.readouterr().err


def test_a_goal_that_holds_at_first_has_a_plan_of_no_steps_that_costs_nothing(capsys, tmp_path):
    code, out, _ = run(capsys, "plan", *switches(tmp_path, "(not (on s0))"))
    assert (code, out) == (0, "; cost = 0\n")
