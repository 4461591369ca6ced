"""Networks that grow part by part, the simplest first, and how far each should grow.

Every example of a training step is answered by a network cut off at a level of
its own (nested dropout: Rippel, Gelbart and Adams, 2014), so that each level is
trained to do without those above it. Which level is kept is then a question for
held-out examples, not for a price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod

import torch
from torch import Tensor, nn

from pdsketch.lang import error
from pdsketch.nets.features import Chosen

LEVEL_EXPONENT = 2.0
"""Of a uniform draw: above 1, more examples are answered by the simpler levels, which have fewer means to
find their way. Set by hand, not swept."""

FEWEST_PICKED = 32
"""Of fewer examples, all are answered by all parts: to pick some costs as much. Set by hand."""

_DRAWN_AT_ONCE = 1 << 14
"""Levels are drawn for at least so many examples: most networks of a step then share them."""

_INVERSE_GOLDEN_RATIO = 0.6180339887498949
"""Multiples of it, modulo 1, fill the unit interval evenly (Weyl, 1916)."""

_INVERSE_PLASTIC_RATIO = 0.7548776662466927
"""The like for steps, so that an example does not get the same level at every step: the two together
fill the plane evenly (Roberts, 2018)."""


class Told:
    """The levels of the examples of each of several networks, ``[1, n, 1]``, and who reaches which."""

    def __init__(self, levels: Tensor, reaching: Callable[[int], Tensor]) -> None:
        self.levels = levels.reshape(1, -1, 1)
        self.reaching = reaching

    @staticmethod
    def drawn(count: int, turn: int, levels: int, device: torch.device) -> Told:
        """As a network draws them that is asked alone.

        ``count`` examples get one of so many ``levels``, by the number ``turn`` of the step alone; the
        tensors are made on ``device``.
        """
        return Told(
            draw(count, turn, levels, device),
            lambda level: _reaching(count, turn, levels, level, device),
        )

    @staticmethod
    def each(count: int, levels: int, device: torch.device) -> Told:
        """So many examples of the first level, then as many of the next."""
        every = torch.arange(levels * count, device=device)
        return Told(every // count, lambda level: every[level * count :])


class Nested(nn.Module):
    """A network of several levels.

    ``level`` is the last one that counts; it is saved with the weights. While
    ``turn`` is set, the level of each example is drawn, from that number alone;
    ``told`` says the level of each example of several networks side by side.
    """

    def __init__(self, levels: Sequence[str]) -> None:
        super().__init__()
        self.levels = tuple(levels)
        self.level = len(self.levels) - 1
        self.turn: int | None = None
        self.told: Told | None = None

    def reaches(self, part: str) -> bool:
        """Whether any example gets as far as a part."""
        if part not in self.levels:
            return False
        if self.turn is not None or self.told is not None:
            return True
        return self.level >= self.levels.index(part)

    def drawn(self, leading: Sequence[int], device: torch.device) -> Tensor | None:
        """The level of each example ``[..., 1]``, while they are drawn."""
        if self.told is not None:
            return self.told.levels
        if self.turn is None:
            return None
        return draw(prod(leading), self.turn, len(self.levels), device).reshape(*leading, 1)

    def masked(self, part: str, value: Tensor, drawn: Tensor | None) -> Tensor:
        """What a part contributes: nothing to examples that do not get so far."""
        return value if drawn is None else value * (drawn >= self.levels.index(part))

    def chosen(self, part: str, leading: Sequence[int], device: torch.device) -> Chosen | None:
        """The places of the examples that get as far as a part, where it pays to ask it about no others."""
        level = self.levels.index(part)
        if self.told is not None:
            return Chosen(self.told.reaching(level), of_each=True) if leading[-1] >= FEWEST_PICKED else None
        if self.turn is None or prod(leading) < FEWEST_PICKED:
            return None
        return Chosen(_reaching(prod(leading), self.turn, len(self.levels), level, device))

    def added(
        self, part: str, to: Tensor, value: Tensor, drawn: Tensor | None, chosen: Chosen | None
    ) -> Tensor:
        """The rest and what a part contributes, computed for the ``chosen`` examples alone or for all.

        ``value`` is what the ``part`` of that name says, and is added ``to`` what the parts before it said.
        ``drawn`` are the levels of all examples (None: the network's own), of which those below the part get
        nothing.
        """
        if chosen is not None and chosen.of_each:
            return to.index_add(1, chosen.places, value)
        if chosen is not None:
            flat = to.reshape(-1, to.shape[-1]).index_add(0, chosen.places, value.reshape(-1, to.shape[-1]))
            return flat.reshape(to.shape)
        return to + self.masked(part, value.reshape(*to.shape[:-1], value.shape[-1]), drawn)

    def get_extra_state(self) -> Tensor:
        """The level, beside the weights."""
        return torch.tensor(self.level)

    def set_extra_state(self, state: Tensor) -> None:
        """Take the level over."""
        level = int(state)
        if not 0 <= level < len(self.levels):
            raise error("bad-weights", f"a network of {len(self.levels)} levels has no level {level}")
        self.level = level


def draw(count: int, turn: int, levels: int, device: torch.device) -> Tensor:
    """The levels of so many examples; the first of more are the same.

    Of ``count`` examples, each has a number from 0 to ``levels`` − 1, by its place and the ``turn`` alone: no
    generator is used up. The tensor is on ``device``.
    """
    return _drawn(max(_DRAWN_AT_ONCE, 1 << (count - 1).bit_length()), turn, levels, device)[:count]


@lru_cache(maxsize=16)
def _drawn(count: int, turn: int, levels: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False), torch.no_grad():
        places = torch.arange(count, dtype=torch.float64, device=device)
        uniform = (places * _INVERSE_GOLDEN_RATIO + turn * _INVERSE_PLASTIC_RATIO) % 1.0
        return (uniform**LEVEL_EXPONENT * levels).long()


@lru_cache(maxsize=64)
def _reaching(count: int, turn: int, levels: int, level: int, device: torch.device) -> Tensor:
    """The places of the examples whose level is at least this one."""
    with torch.inference_mode(False):
        return (draw(count, turn, levels, device) >= level).nonzero().flatten()


@contextmanager
def drawing(networks: Sequence[Nested], turn: int) -> Iterator[None]:
    """Within, the networks draw a level for each example."""
    for network in networks:
        network.turn = turn
    try:
        yield
    finally:
        for network in networks:
            network.turn = None


def simplest(risks: Tensor) -> int:
    """The first level that is not worse than the best, from the risks of examples ``[level, example]``."""
    best = int(risks.mean(1).argmin())
    return next(level for level in range(best + 1) if not is_worse(risks[level], risks[best]))


def is_worse(risk: Tensor, other: Tensor) -> bool:
    """Whether the first of two risks of the same examples is higher, beyond chance and by enough to matter.

    By more than `STANDARD_ERRORS` standard errors, and by more than `LEAST_ERRORS_SAVED` examples got
    wrong (a rule after Breiman, Friedman, Olshen and Stone, 1984).
    """
    excess = risk - other
    error = float(excess.std()) / len(excess) ** 0.5 if len(excess) > 1 else 0.0
    return float(excess.mean()) > max(STANDARD_ERRORS * error, LEAST_ERRORS_SAVED / len(excess))


STANDARD_ERRORS = 2.0
"""A difference of so many standard errors is hardly chance (19 times of 20). By custom, not swept."""

LEAST_ERRORS_SAVED = 2.0
"""A more flexible function must get so many examples more right. Set by hand, not swept."""
