"""Entry points: heuristics and agents of other packages, and what is said where one is not installed."""

from __future__ import annotations

import json

import pytest
from tests.act.onpolicy.lamps import SKETCH, Lamps

import pdsketch as pds
from pdsketch.act import world as registry
from pdsketch.cli.main import main
from pdsketch.search.heuristics import find_model_heuristic


@pytest.fixture
def lamps(monkeypatch):
    """A world of the test."""
    domain = pds.parse_domain(SKETCH)
    monkeypatch.setattr(registry, "_REGISTERED", {"lamps": (lambda sketch=None: Lamps(sketch or domain), "")})
    return domain


class Counting:
    """A heuristic that is blind, and counts the searches that asked for it."""

    def __init__(self, text):
        self.text = text
        self.searches = 0

    def for_search(self, searched):
        self.searches += 1
        return find_model_heuristic("blind")(searched)


def test_a_heuristic_of_another_package_is_loaded_once_for_each_policy(packages, lamps):
    loaded = []

    def load(text):
        loaded.append(Counting(text))
        return loaded[-1]

    packages({"pdsketch.heuristics": {"count": "other:count"}}, {"count": load})
    model, world = pds.Model(lamps, seed=0), Lamps(lamps)
    state = world.reset(0)
    with pytest.warns(UserWarning, match="never trained"):
        pds.plan(model, state, world.goal, heuristic="count:some/folder:1", max_expansions=2)
    assert [(one.text, one.searches > 0) for one in loaded] == [("some/folder:1", True)]
    policy = pds.Policy(model, heuristic="count:x")
    assert [policy.heuristic] == loaded[1:]
    with pytest.raises(pds.Error, match=r"known are .*`count:…`") as refused:
        pds.plan(model, state, world.goal, heuristic="counts:x")
    assert refused.value.diagnostics[0].code == "unknown-heuristic"
    with pytest.raises(pds.Error, match="pip install pdsketch-paper") as refused:
        pds.plan(model, state, world.goal, heuristic="gnn:x")
    assert refused.value.diagnostics[0].code == "missing-package"


class Idle:
    """An agent that does nothing."""

    def __init__(self, domain):
        self.domain = domain

    def to(self, device):
        assert device == "cpu"
        return self

    def reset(self):
        """Nothing is kept."""

    def act(self, state, goal):
        return None


def test_an_agent_of_another_package_is_measured_in_a_world(packages, lamps, tmp_path, capsys):
    packages({"pdsketch.agents": {"idle": "other:load"}}, {"load": lambda folder: Idle(lamps)})
    (tmp_path / "idle.json").write_text("{}")
    words = ["eval", str(tmp_path), "lamps", "--episodes", "2", "--max-steps", "3", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2
    assert main(["eval", str(tmp_path), str(tmp_path)]) == 2
    assert "in a world alone" in capsys.readouterr().err
    (tmp_path / "idle.json").rename(tmp_path / "baseline.json")
    assert main(words) == 31
    assert "pip install pdsketch-paper" in capsys.readouterr().err


def test_a_model_is_measured_in_a_world(packages, lamps, tmp_path, capsys):
    packages({}, {})
    pds.Model(lamps, seed=0).save(tmp_path / "model")
    words = ["eval", str(tmp_path / "model"), "lamps", "--episodes", "2", "--max-expansions", "5"]
    with pytest.warns(UserWarning, match="never trained"):
        assert main([*words, "--heuristic", "blind", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["world"], told["episodes"]) == ("lamps", 2)
    assert {"success", "steps", "replans", "seconds"} <= told.keys()
