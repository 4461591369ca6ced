"""How long it counts that encodings use all their codes."""

from __future__ import annotations

import pytest
from tests.training.models import Learned

import pdsketch as pds
from pdsketch.training.optimiser import DECIDED, doubt

LOOKS = """
(define (domain looks)
  (:types thing - object look - int64[choices=3])
  (:predicates (raw [return_type=vector[float32, 3]] ?o - thing))
  (:derived (look [return_type=look] ?o - thing) (??f (raw ?o)))
  (:derived (good ?o - thing) (??f (look ?o)))
  (:action turn :parameters (?o - thing) :effect (look::assign ?o (??g (look ?o)))))
"""


def test_doubt_fades_until_codes_are_decided():
    assert [doubt(step, 100) for step in (0, 30, 60, 99)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert doubt(int(DECIDED * 1000) - 1, 1000) > 0.0


def test_the_loss_of_held_out_examples_is_that_of_the_data_alone():
    domain = pds.parse_domain(LOOKS)
    episodes = [
        pds.Episode([pds.State(domain, {"thing": ["x"]}, {"raw": [[one, 0.0, 1.0]]})], [], "(good x)", [good])
        for one, good in ((1.0, 1), (2.0, 1), (3.0, 0), (4.0, 0))
    ]
    losses = []
    for weight in (0.0, 1000.0):
        model = pds.Model(domain, {"derived::look::f": Learned(lambda raw: raw)}, seed=0)
        report = pds.fit(
            model, episodes, steps=1, validation=0.5, usage=weight, forms=False, learning_rate=0.0
        )
        losses.append(report.history[-1]["held_out_loss"])
    assert losses[0] == pytest.approx(losses[1])
    assert losses[0] > 0
