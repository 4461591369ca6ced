"""What the codes of values are called in an exported task."""

from __future__ import annotations

from typing import Final

from pdsketch.abstract.andor.codebook import Codebook

_MOST_NUMBERS: Final = 4
_LONGEST: Final = 20
"""A code of more numbers, or whose numbers are longer, is named by its own number. Set by hand."""


def number_word(number: float) -> str:
    """A number as a part of a name: ``3``, ``m1`` for -1, ``0_5`` for 0.5."""
    return f"{number:g}".replace("-", "m").replace(".", "_").replace("+", "")


def code_word(book: Codebook, code: int) -> str:
    """What a code would be called: ``pose-3-4`` for (3, 4), ``look-c12`` where the numbers are too many."""
    numbers = "-".join(map(number_word, book.values[code][: _MOST_NUMBERS + 1]))
    if len(book.radius) > _MOST_NUMBERS or len(numbers) > _LONGEST:
        numbers = f"c{code}"
    return f"{book.name}-{numbers}"
