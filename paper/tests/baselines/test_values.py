"""Agents whose actions take values, and who see pictures."""

import numpy as np
import pytest
import torch

import pdsketch as pds
import pdsketch_paper
from pdsketch_paper.baselines.imitation import BehaviourCloning

TEXT = """
(define (domain desk)
  (:types cup mat - object place - vector[float32, 2] look - vector[float32, 16, 16, 3])
  (:predicates (at [return_type=place] ?c - cup) (of [return_type=place] ?m - mat)
    (picture [return_type=look] ?m - mat) (done ?c - cup))
  (:action wait :parameters (?c - cup) :effect (done ?c))
  (:action put :parameters (?p - place ?c - cup ?m - mat) :effect (and (at::assign ?c ?p) (done ?c))))
"""
DOMAIN = pds.parse_domain(TEXT)
OFFSET = np.array([0.2, -0.1])


def scene(rng, cups=2, mats=3):
    """Cups anywhere; one of the mats is bright."""
    bright = int(rng.integers(mats))
    pictures = np.full((mats, 16, 16, 3), 40.0) + rng.normal(0, 5, (mats, 16, 16, 3))
    pictures[bright] += 150
    values = {
        "at": rng.uniform(0, 1, (cups, 2)),
        "of": rng.uniform(0, 1, (mats, 2)),
        "picture": pictures,
        "done": np.zeros(cups, bool),
    }
    objects = {"cup": [f"c{i}" for i in range(cups)], "mat": [f"m{i}" for i in range(mats)]}
    return pds.State(DOMAIN, objects, values), bright


def episodes(count, seed=0):
    """The first cup is put beside the bright mat."""
    rng, model, found = np.random.default_rng(seed), pds.Model(DOMAIN), []
    for _ in range(count):
        state, bright = scene(rng)
        place = tuple((state["of"][bright].numpy() + OFFSET).tolist())
        action = ("put", place, "c0", f"m{bright}")
        after = model.step(state, action, crisp=True)
        found.append(pds.Episode([state, after], [action], "(done c0)", [0, 1]))
    return found


@pytest.mark.parametrize("kind", ["bc", "dt-s"])
def test_the_value_of_an_action_and_the_object_in_a_picture_are_learned(kind, tmp_path):
    agent = pdsketch_paper.train_baseline(
        kind, DOMAIN, episodes(60), steps=110, batch=60, learning_rate=3e-3, seed=0
    )
    agent.save(tmp_path / "agent")
    agent = pdsketch_paper.load_baseline(tmp_path / "agent")
    rng, right, off = np.random.default_rng(1), 0, []
    for _ in range(20):
        agent.reset()
        state, bright = scene(rng, cups=3)
        name, place, cup, mat = agent.act(state, "(done c0)")
        assert (name, cup) == ("put", "c0")
        right += mat == f"m{bright}"
        off.append(np.abs(np.array(place) - state["of"][bright].numpy() - OFFSET).max())
    assert right >= 18
    assert np.median(off) < 0.1  # of places that are anywhere within 1


def test_a_transformer_remembers_actions_that_had_values():
    agent = pdsketch_paper.train_baseline("dt-s", DOMAIN, episodes(4), steps=2, batch=4, seed=0)
    state, _ = scene(np.random.default_rng(2))
    agent.reset()
    first = agent.act(state, "(done c0)")
    again = agent.act(state, "(done c0)")
    assert len(first) == len(again) == 4 or first[0] == "wait"
    assert agent._taken[0] == again


def test_values_that_are_no_floats_are_refused():
    text = TEXT.replace("place - vector[float32, 2]", "place - vector[int64, 2]")
    domain = pds.parse_domain(text)
    shapes = {"at": (2,), "of": (2,), "picture": (16, 16, 3), "done": ()}
    with pytest.raises(pds.Error) as refused:
        BehaviourCloning(domain, shapes)
    assert [d.code for d in refused.value.diagnostics] == ["unsupported-type"]


def test_a_dreamer_chooses_among_objects_alone():
    with pytest.raises(pds.Error) as refused:
        pdsketch_paper.train_baseline("dreamer", DOMAIN, episodes(3), steps=1, batch=2)
    assert refused.value.diagnostics[0].code == "unsupported-type"
    assert "chooses among objects alone" in refused.value.diagnostics[0].message


def test_pictures_weigh_as_much_as_other_features():
    agent = pdsketch_paper.train_baseline("bc", DOMAIN, episodes(3), steps=1, batch=2)
    parts = {part.predicate.name: part for part in agent.encoder.input.presented}
    state, _ = scene(np.random.default_rng(3))
    with torch.no_grad():
        sizes = {name: part(state.batch.tensor(name)).std() for name, part in parts.items() if name != "done"}
    assert 0.2 < sizes["picture"] / sizes["of"] < 5
