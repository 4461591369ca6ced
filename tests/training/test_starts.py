"""Where offsets begin, and which beginning wins."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.training.starts import information, starts

PAIRS = pds.parse_domain("""
(define (domain pairs)
  (:types block - object)
  (:predicates
    (at [return_type=vector[float32, 2]] ?b - block)
    (hue [return_type=int64[choices=3]] ?b - block))
  (:derived (left-of ?a - block ?b - block) (??f (at ?a) (at ?b)))
  (:derived (red ?b - block) (??f (hue ?b)))
  (:derived (blue ?b - block) (??f (hue ?b))))
""")
LEFT = (-0.2, 0.0)
HUED = "(exists (?a - block ?b - block) (and (red ?a) (blue ?b) (left-of ?a ?b)))"
PLAIN = "(exists (?a - block ?b - block) (left-of ?a ?b))"


def tables(count: int, goals: list[str], seed: int = 0) -> list[pds.Episode]:
    """Tables of four blocks: on one of four red is left of blue, on another one right of it."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        at, hue = rng.uniform(0, 1, (4, 2)), np.array([0, 1, 2, 2])
        side = (LEFT, None, tuple(-x for x in LEFT), None)[number % 4]
        if side is not None:
            at[0] = at[1] + side + rng.normal(0, 0.01, 2)
        held = {HUED: number % 4 == 0, PLAIN: side is not None}
        held |= {"(red a)": True, "(red b)": False}
        state = pds.State(PAIRS, {"block": ["a", "b", "c", "d"]}, {"at": at, "hue": hue})
        found.append(pds.Episode([state], [], goals={goal: [int(held[goal])] for goal in goals}))
    return found


def learned(goals: list[str], steps: int, seed: int) -> tuple[pds.nets.Offset, pds.Report]:
    """The offset that a fit finds, and its report."""
    offset = pds.nets.Offset(2)
    model = pds.Model(PAIRS, modules={"left-of": offset}, seed=seed)
    report = pds.fit(model, tables(160, goals, seed), steps=steps, seed=seed, forms=False)
    return offset, report


# -- diverse density ------------------------------------------------------------------------------


def bags(count: int = 60, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Bags of ten random differences; of every other one, two are near a place and its mirror image."""
    generator = torch.Generator().manual_seed(seed)
    found = torch.rand(count, 10, 2, generator=generator) * 2 - 1
    label = torch.arange(count) % 2 == 0
    near = torch.tensor([0.4, -0.1]) + 0.01 * torch.randn(count, 2, generator=generator)
    found[label, 8] = near[label]
    found[label, 9] = -near[label]
    return found, label


def test_places_that_successes_share_are_found_the_mirrored_one_too():
    differences, label = bags()
    found = starts(differences, None, label, 0)
    assert len(found) >= 2
    first = sorted(found[:2], key=lambda one: float(one.theta[0]))
    torch.testing.assert_close(first[1].theta, torch.tensor([0.4, -0.1]), atol=0.02, rtol=0)
    torch.testing.assert_close(first[0].theta, torch.tensor([-0.4, 0.1]), atol=0.02, rtol=0)
    assert all(0.02 < one.radius < 0.3 and one.information > 0.5 for one in first)


def test_entries_of_no_objects_do_not_count():
    differences, label = bags()
    real = torch.ones(differences.shape[:2], dtype=torch.bool)
    real[:, 8:] = False
    assert all(one.information < 0.3 for one in starts(differences, real, label, 0))


@pytest.mark.parametrize("label", [True, False])
def test_where_nothing_is_told_apart_there_is_no_place_to_begin(label: bool):
    differences, _ = bags()
    assert starts(differences, None, torch.full((len(differences),), label), 0) == []
    assert starts(torch.zeros(6, 3, 2), None, torch.arange(6) % 2 == 0, 0) == []


def test_information_is_measured_in_bits():
    certain, none = torch.tensor(1.0), torch.tensor(0.0)
    assert information(certain, none) == pytest.approx(1.0)
    assert information(certain, certain) == pytest.approx(0.0)
    assert 0.3 < float(information(torch.tensor(0.9), torch.tensor(0.2))) < 0.5


# -- in a fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "seed"), [(60, 0), (60, 1), (60, 2), (200, 0)])
def test_what_only_the_colours_tell_apart_ends_in_the_right_place(steps: int, seed: int):
    """Left and right of begin alike; which it is depends on which block is red, which is learned as well."""
    offset, report = learned([HUED, "(red a)", "(red b)"], steps, seed)
    torch.testing.assert_close(offset.theta, torch.tensor(LEFT), atol=0.03, rtol=0)
    assert not any("is not settled" in warning for warning in report.warnings)


def test_an_offset_without_a_clear_winner_is_named():
    _, report = learned([PLAIN], 60, 0)
    (said,) = [warning for warning in report.warnings if "is not settled" in warning]
    assert "`derived::left-of::f`" in said


def test_an_offset_that_was_trained_before_stays_where_it_is():
    offset = pds.nets.Offset(2)
    model = pds.Model(PAIRS, modules={"left-of": offset}, seed=0)
    episodes = tables(80, [PLAIN])
    pds.fit(model, episodes, steps=20)
    before = offset.theta.clone()
    pds.fit(model, episodes, steps=1, learning_rate=0.0)
    torch.testing.assert_close(offset.theta, before)
