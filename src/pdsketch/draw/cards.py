"""A state of facts as a picture by Pillow: a card for each object, with what holds of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import ceil, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_CARD, _LINE, _GAP, _HEAD = (210, 18, 10, 58)
"""Pixels: a card's width, the height of a line, the space between cards, and the lines above them."""

_LINES: Final = 6
"""Facts that a card shows; one more line says how many others there are."""

_INK, _PAPER, _EDGE = "#1c2430", "#ffffff", "#c9d1dc"
_HELD, _NEW, _WANTED = "#eef1f5", "#ffe8a3", "#bfe8c5"


def cards_picture(
    cards: Mapping[str, Sequence[str]], lines: Sequence[str], new: Collection[str], wanted: Collection[str]
) -> NDArray[Any]:
    """The picture, ``[height, width, 3]`` of bytes; its size depends on the number of cards alone.

    ``cards`` are facts by the title of their card, ``lines`` stand above all. Facts that are ``new`` are
    yellow, those that are ``wanted`` green.
    """
    from PIL import Image, ImageDraw, ImageFont

    columns = max(1, min(6, ceil(sqrt(len(cards)))))
    rows = ceil(len(cards) / columns)
    height = _LINE * (_LINES + 2) + _GAP
    size = (columns * (_CARD + _GAP) + _GAP, _HEAD + rows * (height + _GAP) + _GAP)
    image = Image.new("RGB", size, _PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for at, line in enumerate(lines):
        draw.text((_GAP, _GAP + at * (_LINE + 4)), _cut(line, size[0] // 7), fill=_INK, font=font)
    for at, (title, facts) in enumerate(cards.items()):
        x, y = _GAP + at % columns * (_CARD + _GAP), _HEAD + at // columns * (height + _GAP)
        draw.rounded_rectangle((x, y, x + _CARD, y + height), 6, outline=_EDGE)
        draw.text((x + 8, y + 4), _cut(title, 29), fill=_INK, font=font)
        shown = [*facts[:_LINES], *([f"… {len(facts) - _LINES} more"] if len(facts) > _LINES else [])]
        for place, fact in enumerate(shown, start=1):
            top = y + 6 + place * _LINE
            colour = _WANTED if fact in wanted else _NEW if fact in new else _HELD
            draw.rounded_rectangle((x + 6, top, x + _CARD - 6, top + _LINE - 3), 3, fill=colour)
            draw.text((x + 10, top), _cut(fact, 28), fill=_INK, font=font)
    return np.asarray(image)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
