"""Early stopping, in one go or after an interruption: when it stops, and which weights it leaves."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds

OPTIONS = {
    "steps": 30,
    "batch": 32,
    "evaluate_every": 1,
    "validation": 0.3,
    "patience": 4,
    "forms": False,
    "learning_rate": 0.05,  # too large, so that what is held out soon gets worse
}


@pytest.fixture(scope="module")
def whole(rooms):
    """A fit that stopped early, its losses, and the weights at each measurement."""
    weights = []
    model = pds.Model(rooms[0], seed=0)

    def keep(_):
        weights.append({name: t.clone() for name, t in model.state_dict().items()})

    report = pds.fit(model, rooms[1][:12], callback=keep, **OPTIONS)
    assert report.status == "stopped-early"
    return report, model, weights


def test_a_fit_stops_after_so_many_measurements_without_a_better_one(whole):
    report, _, _ = whole
    losses = [row["held_out_loss"] for row in report.history]
    best = losses.index(min(losses))
    assert len(losses) == best + 1 + OPTIONS["patience"]


def test_it_leaves_the_weights_of_its_best_measurement(whole):
    report, model, weights = whole
    losses = [row["held_out_loss"] for row in report.history]
    best, last = weights[losses.index(min(losses))], weights[-1]
    left = model.state_dict()
    bounds = (".low", ".high")  # of what was seen: noted at the end
    assert all(torch.equal(left[name], best[name]) for name in best if not name.endswith(bounds))
    assert any(not torch.equal(left[name], last[name]) for name in last)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_resumed_fit_goes_on_waiting_and_still_knows_its_best_weights(rooms, whole, tmp_path, after):
    report, model, _ = whole
    stop = report.steps - OPTIONS["patience"] + after
    path = str(tmp_path / "fit.safetensors")
    first, second = (pds.Model(rooms[0], seed=0) for _ in range(2))
    pds.fit(first, rooms[1][:12], checkpoint=path, callback=lambda now: now.step == stop, **OPTIONS)
    rest = pds.fit(second, rooms[1][:12], checkpoint=path, resume=True, **OPTIONS)
    assert (rest.status, rest.steps) == (report.status, report.steps)
    wanted, found = model.state_dict(), second.state_dict()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)
