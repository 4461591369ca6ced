"""The checker itself: it finds planted errors, makes them small, and survives cases that kill."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from tests.agree import files
from tests.agree.__main__ import laid_out, run, show
from tests.agree.faults import FAULTS, look_for, planted
from tests.agree.kinds import KINDS
from tests.agree.plain import Plain
from tests.agree.run import Batch, batches, failure, first_seed
from tests.agree.shrink import shrink
from tests.agree.workers import work

from pdsketch.lang.load import check_files


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree(kind):
    first = first_seed(kind, 1)
    for seed in range(first, first + 4):
        assert failure(KINDS[kind].case(seed)) is None, seed


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.soon], ids=lambda fault: fault.name)
def test_planted_errors_are_found(fault):
    _, said = look_for(fault, 40)
    assert said is not None


@pytest.fixture(scope="module")
def shown():
    """A fault, and a case that shows it."""
    fault = next(fault for fault in FAULTS if "Łukasiewicz" in fault.name)
    first = first_seed(fault.kind, 0)
    with planted(fault):
        return fault, next(c for c in map(KINDS[fault.kind].case, range(first, first + 40)) if failure(c))


def test_a_failing_case_is_made_small_and_is_one_that_pdsketch_reads(shown, tmp_path):
    fault, case = shown
    with planted(fault):
        small, said = shrink(case, failure, seconds=5)
        folder = files.write(laid_out(small), tmp_path / "case", said)
        assert failure(files.read(folder)) == said
        assert show(folder) == 1
    assert show(folder) == 0
    assert len(small.sample.domain_text) < len(case.sample.domain_text) / 2
    found = check_files([str(folder / "domain.pddl"), str(folder / "problem.pddl")])
    assert all(diagnostic.severity == "warning" for diagnostic in found)


def test_a_run_says_what_differs_and_how_to_see_it(shown, tmp_path, capsys):
    fault, _ = shown
    assert run(["formula"], 8, 0, 0, tmp_path) == 0
    with planted(fault):
        assert run(["formula"], 8, 0, 0, tmp_path) == 1
    said = capsys.readouterr().out
    folder = next(tmp_path.iterdir())
    assert f"python -m tests.agree --show {folder}" in said
    assert "cases from seed 0" in said


def test_all_cases_are_shared_out_and_no_two_kinds_have_the_same():
    todo = batches(list(KINDS), 1000, 3)
    seeds = [seed for batch in todo for seed in batch.seeds]
    assert len(seeds) == len(set(seeds)) == 1000
    assert {batch.kind for batch in todo} == set(KINDS)
    assert not set(seeds) & {seed for batch in batches(list(KINDS), 1000, 4) for seed in batch.seeds}


def test_problems_are_of_all_kinds():
    first = first_seed("ground", 2)
    graphs = [KINDS["ground"].case(seed).graph for seed in range(first, first + 40)]
    outcomes = [graph.outcome for graph in graphs]
    assert outcomes.count("unsolvable") >= 4
    assert outcomes.count("several steps") >= 6
    assert outcomes.count("holds at once") <= 12
    assert sum(len(graph.states) >= 4 for graph in graphs) >= 20


class _Deadly(Batch):
    """Cases of which one kills its process, and one hangs."""

    def one(self, seed):
        if seed == 3:
            os._exit(9)
        if seed == 7:
            time.sleep(60)
        self.figures.cases += 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_cases_that_kill_or_hang_are_findings_and_the_others_go_on():
    todo = [_Deadly("ground", range(start, start + 5)) for start in (0, 5, 10)]
    done = list(work(todo, 2, limit=0.5, method="fork"))
    assert sum(batch.figures.cases for batch in done) == 15
    found = dict(seed for batch in done for seed in batch.found)
    assert found == {3: "ground, the process ended with 9", 7: "ground, it hung for 0.5 s"}


def test_the_plain_reading_does_not_share_the_packages_reading():
    domain = """(define (domain d) (:types a b) (:predicates (p ?x - (either a b)) (n [return_type=float32]))
      (:derived (all) (forall (?x - (either a b)) (p ?x)))
      (:action set :parameters (?x - a) :precondition (not (p ?x)) :effect (and (p ?x) (increase (n) 1))))"""
    problem = (
        "(define (problem q) (:domain d) (:objects x y - a z - b) (:init (p z) (= (n) 1)) (:goal (all)))"
    )
    plain = Plain(domain, problem)
    assert plain.optimum(10) == 2
    assert plain.valid([("set", "x"), ("set", "y")]) == (True, 2.0)
    assert plain.valid([("set", "x"), ("set", "x")]) == (False, 1.0)
    assert plain.valid([("set", "z")]) == (False, 0.0)


def test_the_same_seed_gives_the_same_case():
    one, two = (KINDS["search"].case(first_seed("search", 9)) for _ in range(2))
    assert one.sample.domain_text == two.sample.domain_text
    assert one.sample.problem_text == two.sample.problem_text
    again = replace(one, limit=one.limit)
    assert again.graph.states == one.graph.states
