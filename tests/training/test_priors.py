"""What is likely before any example, and for how long that counts."""

from __future__ import annotations

import pytest
import torch
from tests.training.models import Learned

import pdsketch as pds

LAMPS = """
(define (domain lamps)
  (:types lamp - object)
  (:predicates (heat [return_type=float32] ?l - lamp))
  (:derived (lit ?l - lamp) (??f (heat ?l)))
  (:action wait :parameters () :effect (and)))
"""

GOAL = "(exists (?l - lamp) (lit ?l))"


def lamps(*heats: float, success) -> list[pds.Episode]:
    domain = pds.parse_domain(LAMPS)
    return [
        pds.Episode([pds.State(domain, {"lamp": ["l"]}, {"heat": [heat]})], [], GOAL, [label])
        for heat, label in zip(heats, success, strict=True)
    ]


def test_where_examples_say_next_to_nothing_a_predicate_becomes_false():
    episodes = lamps(1.0, 2.0, 3.0, 4.0, success=[1, 0, 1, 0])
    model = pds.Model(episodes[0].states[0].domain, seed=0)
    pds.fit(model, episodes, steps=40, forms=False, goal=1e-6, rarity=1.0, sparsity=0.0, validation=0.0)
    assert all(model.holds(e.states[0], "(lit l)") < 0.3 for e in episodes)


def test_what_examples_say_outweighs_it_in_the_end():
    """However much a predicate is pressed to be false, it is not any more when a fit ends."""
    episodes = lamps(*range(8), success=[0, 0, 0, 0, 0, 0, 1, 1])
    model = pds.Model(episodes[0].states[0].domain, seed=0)
    pds.fit(model, episodes, steps=80, forms=False, rarity=5.0, sparsity=0.0, validation=0.0)
    assert [bool(model.holds(e.states[0], "(lit l)") > 0.5) for e in episodes] == [False] * 6 + [True] * 2


def test_the_loss_of_held_out_examples_is_that_of_the_data_alone():
    losses = []
    for weight in (0.0, 1000.0):
        episodes = lamps(1.0, 2.0, 3.0, 4.0, success=[1, 1, 0, 0])
        module = {"derived::lit::f": Learned(lambda heat: torch.full_like(heat, 0.7))}
        model = pds.Model(episodes[0].states[0].domain, module, seed=0)
        report = pds.fit(model, episodes, steps=1, validation=0.5, rarity=weight)
        losses.append(report.history[-1]["held_out_loss"])
    assert losses[0] == pytest.approx(losses[1])
    assert losses[0] > 0
