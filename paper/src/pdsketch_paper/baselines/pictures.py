"""Pictures that are observed of objects, through three convolutions."""

from __future__ import annotations

from typing import Final, final

from torch import Tensor, nn

from pdsketch.lang import Predicate

_CHANNELS: Final = (16, 32, 64)
"""Three layers, as the paper has them; their widths are set by hand."""

_SMALLEST: Final = 2 ** len(_CHANNELS)
"""Each convolution halves a picture: smaller ones are no pictures."""


def is_picture(predicate: Predicate, shape: tuple[int, ...]) -> bool:
    """Whether the values of a predicate are pictures, ``[h, w, channels]``."""
    return predicate.type.prim == "float32" and len(shape) == 3 and min(shape[:2]) >= _SMALLEST


@final
class Convolutions(nn.Module):
    """Pictures ``[..., h, w, c]``, standardised → ``[..., width]``, of the scale of other features.

    Means over pixels have few weights: what a hundred demonstrations show is learned by heart else.
    """

    def __init__(self, shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        channels = shape[-1]
        layers: list[nn.Module] = []
        for outputs in _CHANNELS:
            layers += [nn.Conv2d(channels, outputs, 3, stride=2, padding=1), nn.ReLU()]
            channels = outputs
        pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, width), nn.LayerNorm(width)]
        self.layers = nn.Sequential(*layers, *pooled)

    def forward(self, pictures: Tensor) -> Tensor:
        """The features of each picture."""
        leading = pictures.shape[:-3]
        found: Tensor = self.layers(pictures.reshape(-1, *pictures.shape[-3:]).permute(0, 3, 1, 2))
        return found.reshape(*leading, -1)
