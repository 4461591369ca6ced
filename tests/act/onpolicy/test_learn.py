"""Learning by acting: what it learns, what it spends, and that nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from tests.act.onpolicy.killed import SETTINGS
from tests.act.onpolicy.lamps import SKETCH, Lamps

import pdsketch as pds
from pdsketch.act.onpolicy.options import LearnKeywords

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def domain():
    return pds.parse_domain(SKETCH)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run but locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_sketch_is_learned_from_its_worlds_word_alone(domain):
    learned = pds.learn(
        lambda: Lamps(domain),
        domain,
        **{**SETTINGS, "episodes": 40, "fit_steps": 300, "evaluate": 20, "first": 10},
    )
    last = learned.curve[-1]
    assert [row["all_episodes"] for row in learned.curve] == [10, 20, 40]
    assert len(learned.episodes) == 40
    assert last["held_out"] >= 0.9
    policy = pds.Policy(learned.model, search="astar", heuristic="blind", options={"max_expansions": 60})
    done = pds.rollout(policy, lambda: Lamps(domain), range(10_000, 10_020), max_steps=6)
    assert done.summary["success"] >= 0.9


def test_the_budget_of_environment_steps_is_never_exceeded(domain):
    worlds = [Lamps(domain) for _ in range(4)]
    settings = {**SETTINGS, "evaluate": 0, "fit_steps": 5, "episodes": 100, "explore": 1.0}
    learned = pds.learn(worlds, domain, budget=61, **settings)
    assert learned.curve[-1]["all_steps"] == sum(world.steps for world in worlds) == 61
    assert learned.curve[-1]["all_episodes"] < 100


def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    renames = ["4", "7", "3"]
    command = [sys.executable, "-m", "tests.act.onpolicy.killed", str(killed), str(whole), *renames]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["9"] * len(renames) + ["ended", "0"] * 2, done.stderr
    assert contents(killed) == contents(whole)


def test_goals_that_happened_to_be_reached_are_learned_from_where_the_world_says_so(domain):
    def lit(colour):
        return lambda state: bool(((state["colour"] == colour) & (state["level"] == 2)).any())

    names = ["red", "blue"]
    goals = {
        f"(exists (?l - lamp) (and (is-lit ?l) (is-{name} ?l)))": lit(at) for at, name in enumerate(names)
    }

    def relabelled(episodes):
        for one in episodes:
            known = {goal: [label(state) for state in one.states] for goal, label in goals.items()}
            yield pds.Episode(
                one.states, one.actions, goals={**one.goals, **known}, executable=one.executable
            )

    settings = {**SETTINGS, "episodes": 8, "first": 8, "fit_steps": 5, "evaluate": 0}
    learned = pds.learn(Lamps(domain), domain, relabel=relabelled, **settings)
    plain = pds.learn(Lamps(domain), domain, **settings)
    assert all(episode.goals.keys() == goals.keys() for episode in learned.episodes)
    assert all(len(episode.goals) == 1 for episode in plain.episodes)
    assert learned.curve[0]["success"] == plain.curve[0]["success"]


def test_a_finished_run_is_not_made_again_and_can_be_given_more_episodes(domain, tmp_path):
    settings = {**SETTINGS, "evaluate": 0, "fit_steps": 5, "episodes": 8}
    world = Lamps(domain)
    first = pds.learn(world, domain, tmp_path, **settings)
    steps = world.steps
    assert pds.learn(world, domain, tmp_path, **settings).curve == first.curve
    assert world.steps == steps
    more = pds.learn(world, domain, tmp_path, **{**settings, "episodes": 10})
    assert more.curve[: len(first.curve)] == first.curve
    assert more.curve[-1]["all_episodes"] == len(more.episodes) == 10
    assert pds.load_model(tmp_path).notes


def test_a_run_of_other_settings_or_a_damaged_curve_is_refused(domain, tmp_path):
    settings = {**SETTINGS, "evaluate": 0, "fit_steps": 5, "episodes": 4}
    pds.learn(Lamps(domain), domain, tmp_path, **settings)
    with pytest.raises(pds.Error, match="belongs to another run: `seed` was 0, and is 1"):
        pds.learn(Lamps(domain), domain, tmp_path, **settings, seed=1)
    curve = json.loads((tmp_path / "curve.json").read_text())
    curve["rounds"][0]["success"] = 0.125
    (tmp_path / "curve.json").write_text(json.dumps(curve))
    with pytest.raises(pds.Error) as refused:
        pds.learn(Lamps(domain), domain, tmp_path, **settings)
    assert refused.value.diagnostics[0].code == "bad-curve"
    pds.learn(Lamps(domain), domain, tmp_path, **settings, resume=False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"episode": 3}, "did you mean `episodes`"),
        ({"episodes": 0}, "`episodes` must be an int of at least 1"),
        ({"budget": 0}, "`budget` must be"),
        ({"growth": 1.0}, "`growth` must be a number above 1"),
        ({"explore": 1.5}, "from 0 to 1"),
        ({"evaluate": [-1]}, "list of seeds"),
        ({"fit": {"seed": 3}}, "`learn` says it itself"),
        ({"fit": {"batches": 3}}, "`fit` has no option"),
        ({"plan": {"time_limit": 3.0}}, "max_expansions"),
    ],
)
def test_settings_that_are_none_are_refused(domain, settings, words):
    with pytest.raises(pds.Error, match=words):
        pds.learn(Lamps(domain), domain, **settings)


def test_a_world_of_another_domain_is_refused(domain):
    other = pds.parse_domain(SKETCH.replace("shake", "turn"))
    with pytest.raises(pds.Error, match="another domain"):
        pds.learn(Lamps(other), domain)


def test_type_checkers_see_the_options_that_there_are_with_their_types():
    assert get_type_hints(LearnKeywords) == get_type_hints(pds.LearnOptions)
