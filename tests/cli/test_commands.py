"""Options of the commands and what they do, one by one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.training.rooms import SKETCH, world

import pdsketch as pds
from pdsketch.cli import plan as plan_command
from pdsketch.cli.main import main
from pdsketch.training.data.files import save_episodes

EXAMPLES = Path(__file__).parents[2] / "examples"
BLOCKS = [str(EXAMPLES / "blocks" / name) for name in ("domain.pddl", "p01.pddl")]


def test_the_time_limit_of_plan_counts_parsing(monkeypatch, capsys):
    assert main(["plan", *BLOCKS]) == 0  # with everything compiled, and far below the limit
    load = plan_command.load_problem

    def slowly(*args):
        time.sleep(0.6)
        return load(*args)

    monkeypatch.setattr(plan_command, "load_problem", slowly)
    assert main(["plan", *BLOCKS, "--time-limit", "0.5"]) == 23
    assert main(["plan", *BLOCKS, "--time-limit", "60"]) == 0


def test_a_fractional_cost_is_written_as_it_is(tmp_path, capsys):
    domain, problem = tmp_path / "domain.pddl", tmp_path / "p.pddl"
    domain.write_text("""(define (domain d) (:predicates (p)) (:functions (total-cost) - number)
      (:action go :parameters () :precondition (and) :effect (and (p) (increase (total-cost) 1.25))))""")
    problem.write_text("(define (problem p) (:domain d) (:init) (:goal (p)) (:metric minimize (total-cost)))")
    assert main(["plan", str(domain), str(problem)]) == 0
    assert capsys.readouterr().out == "(go)\n; cost = 1.25\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "rooms.pdsketch").write_text(SKETCH)
    save_episodes(world(4)[1], folder / "data")
    return folder


def test_the_seed_of_train_reaches_networks_and_batches(place, capsys):
    words = ["train", str(place / "rooms.pdsketch"), str(place / "data"), "--steps", "0"]
    weights = []
    for name, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert main([*words, "--seed", seed, "-o", str(place / name)]) == 0
        weights.append(load_file(next((place / name).glob("weights*.safetensors"))))
    same, other = ([torch.equal(weights[0][name], weights[at][name]) for name in weights[0]] for at in (1, 2))
    assert all(same)
    assert not all(other)


LINE = """(define (domain line) (:types robot) (:predicates (at [return_type=int64] ?r - robot))
  (:derived (home ?r - robot) (= (at ?r) 3))
  (:action go :parameters (?r - robot) :effect (increase (at ?r) 1)))"""


def test_eval_on_problems_says_how_many_are_solved(tmp_path, capsys):
    domain = pds.parse_domain(LINE)
    pds.Model(domain, seed=0).save(str(tmp_path / "model"))
    files = []
    for start in (0, 2, 9):
        files.append(str(tmp_path / f"p{start}.pddl"))
        Path(files[-1]).write_text(
            "(define (problem p) (:domain line) (:objects r - robot)"
            f"(:init (= (at r) {start})) (:goal (home r)))"
        )
    words = ["eval", str(tmp_path / "model"), *files, "--heuristic", "blind", "--max-expansions", "20"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["solved"] == pytest.approx(2 / 3)
    assert [row["status"] for row in told["problems"]] == ["solved", "solved", "gave-up"]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 of 3 problems solved"


def test_a_module_that_lacks_one_of_its_own_imports_is_not_called_missing(
    place, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needy.py").write_text("import no_such_package\n")
    words = ["train", str(place / "rooms.pdsketch"), str(place / "data"), "-o", str(tmp_path / "m")]
    assert main([*words, "--module", "derived::near::f=needy:f"]) == 31
    said = capsys.readouterr().err
    assert "this command needs the package `no_such_package`" in said
