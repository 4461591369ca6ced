"""Effects that assign numbers under no condition: whether there is a new value is learned apart from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.training.fitting import evaluate

WALKS = """
(define (domain walks)
  (:types robot wall - object place - float32)
  (:predicates (at [return_type=place] ?r - robot) (stands [return_type=place] ?w - wall))
  (:action walk :parameters (?r - robot) :precondition (and)
    :effect (at::assign ?r (??f (at ?r) (stands ??)))))
"""


def walk(domain: pds.Domain, at: int, walls: list[int]) -> pds.Episode:
    """One step ahead, unless something stands there."""
    objects = {"robot": ["r"], "wall": [f"w{i}" for i in range(len(walls))]}
    after = at if at + 1 in walls else at + 1
    states = [
        pds.State(domain, objects, {"at": np.float32([x]), "stands": np.float32(walls)}) for x in (at, after)
    ]
    return pds.Episode(states, [("walk", "r")])


@pytest.fixture(scope="module")
def walks() -> tuple[pds.Domain, list[pds.Episode]]:
    domain, rng = pds.parse_domain(WALKS), np.random.default_rng(0)
    return domain, [walk(domain, int(rng.integers(9)), rng.integers(10, size=3).tolist()) for _ in range(400)]


def test_who_is_blocked_stays_exactly_where_he_is(walks):
    domain, episodes = walks
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=600, batch=128)
    found = evaluate(model, [walk(domain, at, [wall, 0, 9]) for at in range(9) for wall in range(10)])
    effect = found.measures.effects["walk"]["at"]
    assert effect.right_changed >= 0.95
    blocked = walk(domain, 4, [5, 0, 9]).states[0]
    assert float(model.step(blocked, ("walk", "r"), crisp=True)["at"][0].detach()) == 4.0


def test_a_function_of_the_users_own_decides_everything_itself(walks):
    domain, episodes = walks
    model = pds.Model(domain, modules={"action::walk::f": lambda at, walls: at + 0.25})
    after = model.step(episodes[0].states[0], ("walk", "r"))
    was = float(episodes[0].states[0]["at"][0])
    assert float(after["at"][0]) == pytest.approx(was + 0.25)


def test_under_a_condition_of_the_sketch_there_is_no_second_one():
    when = WALKS.replace("(at::assign", "(when (> (at ?r) 3.0) (at::assign").replace("??)))", "??))))")
    model = pds.Model(pds.parse_domain(when), seed=0)
    assert model.blanks.network("action::walk::f").gate is None
    assert pds.Model(pds.parse_domain(WALKS), seed=0).blanks.network("action::walk::f").gate is not None


def test_a_gate_is_saved_with_its_network(walks, tmp_path):
    domain, episodes = walks
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=10)
    model.save(tmp_path / "model")
    loaded = pds.load_model(tmp_path / "model")
    names = dict(loaded.named_parameters())
    assert any("gate" in name for name in names)
    assert all(torch.equal(names[name], p) for name, p in model.named_parameters())
