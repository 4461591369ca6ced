"""The whole sketches are what they claim to be: exact functions are right, and the split stands."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import pdsketch as pds

CHECK = {
    "conveyor", "demonstrations", "executions-delivery", "fog", "forty-tries", "fuel-by-load", "ice",
    "keys-by-table", "kitchen", "line-of-sight", "mixture", "more-red-than-green", "never-tried-wide",
    "one-component", "overlap", "plugs-and-sockets", "pouring", "pull-sledge", "push-by-direction",
    "quorum", "rare-bell", "reach-and-grip", "scattered-walls", "squeeze", "swap", "tables-served",
    "three-inputs", "truck-loads", "two-dials", "walls-by-direction",
}  # fmt: skip
CHOOSE = {
    "all-lamps", "at-least-two", "balance", "between", "boxes", "brewery", "charge", "clock",
    "combination-lock", "either-or-both", "exactly-one", "executions-alone", "keys-fit",
    "kinds-of-goals", "librarian", "more-up-than-down", "never-tried", "one-way-gates", "oven",
    "painting", "portals", "push-row", "random-walks", "rare-refusals", "rare-words", "recipes",
    "same-object-twice", "springs", "sweeper", "towers", "traffic-light", "twenty-steps",
    "wall-blocks", "walls-four", "workshop",
}  # fmt: skip


@pytest.fixture(scope="module")
def sketches():
    """The suite, benchmarks/sketches.py."""
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("sketches")
    finally:
        sys.path.remove(folder)


@pytest.mark.parametrize("name", sorted(CHECK | CHOOSE))
def test_exact_functions_are_right_in_larger_scenes(sketches, name):
    task = sketches.TASKS[name]
    found = sketches.judge(task, pds.Model(task.domain, task.exact_modules()), 0, walks=4, problems=2)
    right = all(found[part] == 1 for part in sketches.PARTS)
    assert right, found
    assert found["keep"] < 0.75


def test_the_split_is_fixed(sketches):
    halves = {
        half: {t.name for t in sketches.TASKS.values() if t.half == half} for half in ("check", "choose")
    }
    assert halves == {"check": CHECK, "choose": CHOOSE}


def test_every_episode_is_drawn_again_from_its_seed(sketches):
    for name in ("charge", "keys-fit"):
        task = sketches.TASKS[name]
        one, other = task.data(3)[:5], task.data(3)[:5]
        assert [e.actions for e in one] == [e.actions for e in other]
        assert all(
            a == b for e, f in zip(one, other, strict=True) for a, b in zip(e.states, f.states, strict=True)
        )
        assert [e.actions for e in one] != [e.actions for e in task.data(4)[:5]]


def test_larger_scenes_are_larger(sketches):
    for task in sketches.TASKS.values():
        assert min(task.larger) > max(task.sizes), task.name


def test_executions_alone_have_no_refusals_and_others_have_some(sketches):
    for task in sketches.TASKS.values():
        rng = np.random.default_rng(0)
        walks = [task.walk(rng, max(task.sizes), 10) for _ in range(10)]
        refused = not all(flag for walk in walks for flag in walk.executed)
        assert refused <= task.guarded, task.name
        if task.refusals == "dropped":
            assert refused
            assert all(flag for episode in task.data(0) for flag in episode.executable)
        elif task.guarded and task.name != "rare-refusals":
            assert refused, task.name


def test_a_wrong_model_is_told_from_a_right_one(sketches):
    task = sketches.TASKS["wall-blocks"]
    modules = task.exact_modules()
    modules["action::east::blocks"] = lambda at, where: torch.zeros(
        *torch.broadcast_shapes(at.shape, where.shape)[:-1], 1
    )
    found = sketches.judge(task, pds.Model(task.domain, modules), 0, walks=4, problems=2)
    assert found["steps"] == pytest.approx(0.5)
    assert found["goals"] == 1


def test_a_refused_step_ends_a_plan(sketches):
    task = sketches.TASKS["forty-tries"]
    values = {"lit": np.array([False]), "wired": np.array([True]), "power": np.array(False)}
    problem = sketches.Problem({"lamp": ["lamp0"]}, values, "(lit lamp0)")
    assert sketches.carried_out(task, problem, [("toggle",), ("light", 0)])
    assert not sketches.carried_out(task, problem, [("light", 0), ("toggle",), ("light", 0)])


def test_networks_alone_have_no_forms(sketches):
    task = sketches.TASKS["twenty-steps"]
    model = sketches.learned(task.domain, task.data(0), "networks", 0, {"steps": 2})
    assert not model.forms


def test_the_table_counts_what_is_learned_and_what_falls_short(sketches):
    def row(task, way, score):
        facts = {"half": "choose", "blanks": 1, "data": 2, "keep": 0.5, "goals": None, "cpu": 1.0, "seed": 0}
        return {"task": task, "way": way, "steps": 1.0, "plans": score, **facts}

    scores = {"a": (1.0, 1.0, 0.5), "b": (0.9, 0.95, 0.1), "c": (0.5, 0.505, 0.5)}
    rows = [
        row(task, way, score)
        for task, found in scores.items()
        for way, score in zip(sketches.WAYS[:3], found, strict=True)
    ]
    text = sketches.table([*rows, row("a", "exact", 1.0), row("b", "exact", 0.9)])
    assert "choose: 1 of 3 tasks reach 0.98 in larger scenes; 1 are more than 0.01 below" in text
    assert "wrong themselves: b." in text


def test_a_fit_that_diverges_has_learned_nothing_and_the_table_says_so(sketches, monkeypatch):
    def diverges(*_args, **_options):
        raise pds.Error([pds.Diagnostic("diverged", "the loss is no longer a number")])

    monkeypatch.setattr(sketches.pds, "fit", diverges)
    found = sketches.measure(sketches.TASKS["twenty-steps"], 0, "default", {})
    assert [found[part] for part in sketches.PARTS] == [0, 0, 0]
    text = sketches.table([{"task": "twenty-steps", "seed": 0, "way": "default", "cpu": 1.0, **found}])
    assert "twenty-steps, default, seed 0: the loss is no longer a number." in text


def test_published_domains_are_tried_in_a_world_of_their_own(sketches, tmp_path):
    folder = tmp_path / "switches"
    folder.mkdir()
    (folder / "domain.pddl").write_text(
        """(define (domain switches) (:requirements :adl) (:types room)
        (:predicates (at ?r - room) (lit ?r - room) (open ?a ?b - room))
        (:action go :parameters (?a ?b - room)
          :precondition (and (at ?a) (not (at ?b)) (or (open ?a ?b) (open ?b ?a)))
          :effect (and (not (at ?a)) (at ?b)))
        (:action light :parameters (?a - room) :precondition (at ?a)
          :effect (forall (?r - room) (when (at ?r) (lit ?r)))))"""
    )
    for number, rooms in enumerate(("a b", "a b c", "a b c d"), 1):
        doors = " ".join(f"(open {x} {y})" for x, y in zip(rooms.split(), rooms.split()[1:], strict=False))
        (folder / f"p0{number}.pddl").write_text(
            f"(define (problem p) (:domain switches) (:objects {rooms} - room) (:init (at a) {doors})"
            "(:goal (forall (?r - room) (lit ?r))))"
        )
    published = importlib.import_module("sketch_tasks.published")
    assert [Path(name).name for name in published.names(tmp_path)] == [
        "switches:V1",
        "switches:V2",
        "switches:V2E",
        "switches:V3",
    ]
    for name in published.names(tmp_path):
        found = published.measure(name, 0, "exact", {}, sketches.learned)
        assert (found["steps"], found["plans"], found["solved"], found["problems"]) == (1, 1, 1, 1), name
        if "V2" in name:
            safe = published.measure(name, 0, "sam", {}, sketches.learned)
            assert (safe["plans"], safe["solved"], safe["guessed"]) == (1, 1, 0)


def test_published_domains_have_a_table_that_names_invalid_plans_and_what_sam_solves(sketches):
    def row(way, **counts):
        facts = {"blanks": 1, "data": 2, "steps": 1.0, "cpu": 1.0, "seed": 0, "problems": 3, "guessed": 0}
        return {"task": "pddl:some/switches:V2", "way": way, **facts, "guessed right": 0, **counts}

    text = sketches.table([row("default", solved=1, invalid=1), row("sam", solved=2, invalid=0)])
    assert "| switches:V2 | default | 1 | 2 | 1.000 | 3 | 1 | 1 | 0 | 0 | 1 | 1.0 |" in text
    assert "not valid: switches:V2 (default)." in text
    assert "less often than by sam: switches:V2." in text


def test_a_run_that_fails_is_named_after_the_others_are_kept(sketches, monkeypatch):
    jobs, kept = [("no-such-task", 0, "exact", {}), ("twenty-steps", 0, "exact", {})], []
    with pytest.raises(ExceptionGroup, match="1 of 2 runs failed"):
        sketches.run_all(jobs, 1, kept.append)
    assert [row["task"] for row in kept] == ["twenty-steps"]
