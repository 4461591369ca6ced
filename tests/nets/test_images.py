"""Image encoders: what they see differs from the first step on."""

from __future__ import annotations

import torch

from pdsketch.nets.default import make
from pdsketch.nets.normalise import Normalise, recording
from pdsketch.nets.signature import Input, Signature, Spec

PICTURES = Signature((Input(Spec("float", (32, 32, 3))),), Spec("float", (16,)))


def pictures(count: int = 48) -> torch.Tensor:
    """Bright squares of random colours before one background, with a little noise, 0 to 255."""
    generator = torch.Generator().manual_seed(0)
    found = torch.full((count, 32, 32, 3), 190.0)
    found[:, 8:24, 8:24] = 255 * torch.rand(count, 1, 1, 3, generator=generator)
    return found + 4 * torch.randn(found.shape, generator=generator)


def encoder() -> torch.nn.Module:
    """A fresh encoder that knows the pictures' statistics."""
    network = make(PICTURES, torch.Generator().manual_seed(0))
    with recording(network), torch.no_grad():
        network(pictures())
    return network


def test_statistics_behind_others_are_of_what_comes_through_them():
    """A pixel's 0 to 255 reach what is behind the first statistics as about −1 to 1, also while recording."""
    first, second = Normalise(2), Normalise(2)
    both = torch.nn.Sequential(first, second)
    x = 100 + 5 * torch.randn(500, 2)
    with recording(both):
        for part in x.split(50):
            both(part)
    assert second.mean.abs().max() < 0.5
    assert (second.spread - 1).abs().max() < 0.2
    torch.testing.assert_close(first.mean, x.mean(0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(first.spread, x.std(0, correction=0), rtol=1e-4, atol=1e-4)


def test_encodings_of_different_pictures_differ_before_anything_is_learned():
    with torch.no_grad():
        found = encoder()(pictures())
    assert found.std(0).min() > 0.1
