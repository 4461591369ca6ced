"""A short fit from few demonstrations: which containers paint, and where relations hold, is settled soon."""

import numpy as np
import pytest
import torch

from pdsketch.training.fitting import fit
from pdsketch_paper.experiments.painting import new_painting_model
from pdsketch_paper.painting.adapter import PaintingWorld
from pdsketch_paper.painting.layout import SIDE, SPAN
from pdsketch_paper.painting.modules import hues

FEW, STEPS = 24, 100


@pytest.fixture(scope="module")
def fitted():
    """A model, and crops of the containers of tables that it was not trained on."""
    world = PaintingWorld(4, 4)
    model = new_painting_model(0)
    fit(model, world.demonstrations(FEW, 0), steps=STEPS, batch=32, forms=False, lookahead=0.5)
    crops = [world.reset(seed)["container-image"] for seed in range(12)]
    return model, torch.cat([torch.as_tensor(crop) for crop in crops]).float()


def test_bowls_paint_and_the_box_does_not(fitted):
    model, crops = fitted
    with torch.no_grad():
        features = model.blanks.network("derived::container-feature::f")(crops)
        paints = model.blanks.network("action::move-into::g")(features)[:, 0] > 0.5
    bowls = torch.arange(len(crops)) % 5 > 0
    assert (paints == bowls).float().mean() > 0.9


def test_what_paint_does_depends_on_the_bowl(fitted):
    """Values that are written for bowls of one colour are nearer to each other than to those of others."""
    model, crops = fitted
    crops = crops[torch.arange(len(crops)) % 5 > 0]
    colour = hues(crops)[:, :8].argmax(-1)
    with torch.no_grad():
        features = model.blanks.network("derived::container-feature::f")(crops)
        written = model.blanks.network("action::move-into::h")(features)
    apart = torch.cdist(written, written) + 1e9 * torch.eye(len(written))
    assert (colour[apart.argmin(1)] == colour).float().mean() > 0.8


@pytest.mark.parametrize(
    ("relation", "place"),
    [("left-of", (-0.075, 0, 0)), ("right-of", (0.075, 0, 0)), ("on", (0, 0, SIDE)), ("inside", (0, 0, 0))],
)
def test_relations_are_where_they_should_be(fitted, relation, place):
    found = fitted[0].blanks.network(f"derived::{relation}::f").theta.detach().numpy() * SPAN
    assert np.abs(found - place).max() < 0.025
