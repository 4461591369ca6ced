"""How AO represents functions of models: networks that read sets, and forms.

What a network says of larger sets than its data had does not matter, and a form of values is one relation.
"""

from __future__ import annotations

import random

import pytest
import torch

import pdsketch as pds
from pdsketch.abstract.andor import functions
from pdsketch.abstract.andor.compile import abstraction_of
from pdsketch.nets.forms import TableForm
from pdsketch.nets.readings import InputReading

ROW = """
(define (domain row)
  (:types stone - object cell - int64[choices=6] kind - int64[choices=4])
  (:predicates
    (robot-at [return_type=cell])
    (stone-at [return_type=cell] ?s - stone)
    (kind-of [return_type=kind] ?s - stone))
  (:derived (ahead ?s - stone) (= (stone-at ?s) (+ (robot-at) 1)))
  (:action go :effect
    (robot-at::cond-assign
      (??f (robot-at) (foreach (?s - stone) (kind-of::cond-select ?s (ahead ?s))))
      (??g (robot-at))))
  (:action dig :effect
    (foreach (?s - stone) (when (ahead ?s) (kind-of::assign ?s (??h (kind-of ?s)))))))
"""
LAST = 5
STEPS = [("go",), ("dig",)]


def after(scene, step):
    """What the world does: stones of kinds 2 and 3 block; digging makes the next lower kind of them."""
    robot, stones = scene
    blocked = any(at == robot + 1 and kind >= 2 for at, kind in stones)
    if step == ("go",):
        return (robot if blocked or robot == LAST else robot + 1, stones)
    return (robot, [(at, max(kind - 1, 0) if at == robot + 1 else kind) for at, kind in stones])


def seen(domain, scene):
    robot, stones = scene
    values = {"robot-at": robot, "stone-at": [at for at, _ in stones], "kind-of": [k for _, k in stones]}
    return pds.State(domain, objects={"stone": [f"s{i}" for i in range(len(stones))]}, values=values)


def scene_of(rng, robot=0):
    return robot, [(at, rng.randrange(4)) for at in rng.sample(range(1, LAST + 1), 3)]


def sure(codes, choices):
    return 20.0 * torch.nn.functional.one_hot(codes, choices).float()


class Gate(torch.nn.Module):
    """Whether the robot can go: right on sets of one stone at most, and anything on larger ones."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(20.0))

    def forward(self, robot, stones):
        kinds, held = stones
        blocks = (kinds[..., 2:].sum(-1) * held).sum(-1)
        chaos = torch.sin(97 * robot @ torch.arange(6.0) + (kinds @ torch.arange(4.0).exp() * held).sum(-1))
        right = torch.where(held.sum(-1) > 1.5, chaos, 0.5 - blocks)
        return torch.sigmoid(self.scale * right)


@pytest.fixture(scope="module")
def walker():
    """Learned from walks in which no two stones are ever in one cell."""
    domain, rng, episodes = pds.parse_domain(ROW), random.Random(0), []
    for _ in range(40):
        scenes, steps = [scene_of(rng, rng.randrange(4))], []
        for _ in range(8):
            steps.append(rng.choice(STEPS))
            scenes.append(after(scenes[-1], steps[-1]))
        episodes.append(pds.Episode([seen(domain, scene) for scene in scenes], steps))
    modules = {
        "action::go::f": Gate(),
        "action::go::g": lambda robot: sure((robot.argmax(-1) + 1).clamp(max=LAST), 6),
        "action::dig::h": lambda kind: sure((kind.argmax(-1) - 1).clamp(min=0), 4),
    }
    model = pds.Model(domain, modules=modules, seed=0)
    pds.fit(model, episodes, steps=1, batch=64, forms=False, validation=0.0)
    return model


def test_a_network_that_reads_a_set_is_what_it_is_on_sets_as_large_as_those_of_its_data(walker):
    found = pds.rules(walker)
    assert not found.left_out
    (gate,) = [f for f in found.functions if f.blank == "go.f"]
    assert gate.agreement == 1.0


@pytest.mark.parametrize("search", ["portfolio", "abstract"])
def test_the_rules_of_networks_find_the_plans(walker, search):
    rng = random.Random(1)
    for _ in range(10):
        scene = scene_of(rng)
        result = pds.plan(walker, seen(walker.domain, scene), f"(= (robot-at) {LAST})", search=search)
        assert [stage.name for stage in result.stages] == ["rules"]
        for step in result.plan:
            scene = after(scene, step)
        assert scene[0] == LAST
        assert result.refinements == 0


PLACES = """
(define (domain places)
  (:types stone - object place - vector[float32, 2] direction - int64[choices=4])
  (:predicates
    (robot-at [return_type=place])
    (robot-turn [return_type=direction])
    (stone-at [return_type=place] ?s - stone)
    (held ?s - stone))
  (:derived (facing ?s - stone) (??f (robot-at) (robot-turn) (stone-at ?s)))
  (:action turn :effect (robot-turn::assign (??t (robot-turn))))
  (:action take :parameters (?s - stone) :precondition (facing ?s) :effect (held ?s)))
"""


@pytest.mark.parametrize("most", [functions.MOST_COMBINATIONS, 12])
def test_a_form_of_values_is_one_relation_and_formulas_where_that_is_too_large(monkeypatch, most):
    monkeypatch.setattr(functions, "MOST_COMBINATIONS", most)
    turned = {"action::turn::t": lambda turn: sure((turn.argmax(-1) + 1) % 4, 4)}
    model = pds.Model(pds.parse_domain(PLACES), modules=turned)
    network = model.blanks.network("derived::facing::f")
    differences = [InputReading("difference", 0, 2, place) for place in (0, 1)]
    ahead = {(-1, 0, 0): (1.0,), (0, -1, 1): (1.0,), (1, 0, 2): (1.0,), (0, 1, 3): (1.0,)}
    network.form = TableForm(network.signature, [*differences, InputReading("code", 1)], ahead, (0.0,))
    places = [[3.0, 2.0], [2.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]
    values = {"robot-at": [2.0, 2.0], "robot-turn": 0, "stone-at": places, "held": [False] * 5}
    state = pds.State(model.domain, objects={"stone": [*"abcde"]}, values=values)
    result = pds.plan(model, state, "(held d)")
    assert result.plan == [*[("turn",)] * 3, ("take", "d")]
    assert [stage.name for stage in result.stages] == ["rules"]
    facing = [f for f in abstraction_of(model).symbolic.translator.functions.values() if f.owner == "facing"]
    assert all(function.sampled is None for function in facing)
    assert (len(facing) == 1) == (most > 12)
    assert [f.blank for f in pds.rules(model).functions] == ["facing.f", "turn.t"]
