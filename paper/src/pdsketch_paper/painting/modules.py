"""Functions by hand for the blanks of the sketch: what a model would learn, to compare and to test with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.nets import Offset
from pdsketch_paper.painting.data import BESIDE
from pdsketch_paper.painting.layout import BROWN, COLOUR_NAMES, PALETTE, SIDE, SPAN, point

FEATURES = 128
"""Numbers of a feature, as the sketch declares them; most of ours are 0."""

_HUES = np.concatenate([PALETTE, [BROWN]]).astype(np.float32)
_CENTRES = {
    "left-of": (point(-BESIDE, 0, 0), 0.02),
    "right-of": (point(BESIDE, 0, 0), 0.02),
    "on": (point(0, 0, SIDE), 0.02),
    "inside": (point(0, 0, 0), 0.07),
}
"""Each relation's offset in metres, and its radius in poses."""


def hues(pictures: Tensor) -> Tensor:
    """Crops ``[..., 32, 32, 3]`` → features: the part of the pixels that each colour has, and brown.

    Of items the lower middle counts, which a block on top does not hide.
    """
    wanted = nn.functional.normalize(torch.tensor(_HUES).to(pictures), dim=-1)
    pixels = nn.functional.normalize(pictures.float() + 1e-3, dim=-1)
    likeness = pixels @ wanted.T
    best = nn.functional.one_hot(likeness.argmax(-1), len(_HUES)).to(pictures)
    alike = best * (likeness.amax(-1, keepdim=True) > 0.985)  # the grey of the table is like none of them
    parts = alike.mean((-3, -2))
    return nn.functional.pad(parts, (0, FEATURES - len(_HUES)))


def item_hues(pictures: Tensor) -> Tensor:
    """The colours in the lower middle of crops."""
    return hues(pictures[..., 17:30, 9:23, :])


def is_mostly(feature: Tensor, *, colour: int) -> Tensor:
    """Whether a feature shows one colour more than all others."""
    others = feature.clone()
    others[..., colour] = 0
    return torch.sigmoid(40 * (feature[..., colour] - others.amax(-1)))


def paints(feature: Tensor) -> Tensor:
    """Whether a container is a bowl: it is not brown."""
    return 1 - is_mostly(feature, colour=len(COLOUR_NAMES))


def coloured(feature: Tensor) -> Tensor:
    """The feature of a block that was in a container."""
    best = feature[..., : len(COLOUR_NAMES)].argmax(-1)
    return nn.functional.one_hot(best, FEATURES).to(feature)


def exact_offset(centre: Any, radius: float) -> Offset:
    """A relation that holds within ``radius`` of an offset, in metres."""
    module = Offset(len(SPAN))
    module.place(torch.as_tensor(centre / SPAN), radius, sharpness=10.0)
    return module


def exact_modules() -> dict[str, Callable[..., Tensor]]:
    """A function for each blank of the sketch."""
    colours = {f"is-{name}": partial(is_mostly, colour=i) for i, name in enumerate(COLOUR_NAMES)}
    relations = {name: exact_offset(*known) for name, known in _CENTRES.items()}
    return {
        "item-feature": item_hues,
        "container-feature": hues,
        **colours,
        **relations,
        "action::move-into::g": paints,
        "action::move-into::h": coloured,
    }
