"""128-bit fingerprints of quantised states, so that two states are one node when their codes agree.

A fingerprint is a sum over predicates, so that an action changes the share of
what it writes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import torch
from torch import Tensor

from pdsketch.lang import Predicate
from pdsketch.tensor import DEFAULT_STEP, Codes, Quantiser

_SEED = 20221130
"""Any number: fingerprints are the same in every run."""


@final
class Fingerprint:
    """The shares of one ``predicate``.

    Multilinear hashing: Σ codeᵢ·mᵢ mod 2⁶⁴ with random odd m, twice. Distinct states share both sums with a
    probability of about 2⁻¹²⁰. The m are drawn by the ``number`` of the predicate, and lie on ``device``.
    Floats have the ``codes`` that a fit has recorded; None: steps of size ``step``.
    """

    def __init__(
        self,
        predicate: Predicate,
        codes: Codes | None,
        device: torch.device,
        number: int,
        step: float = DEFAULT_STEP,
    ) -> None:
        self.predicate = predicate
        self.exact = predicate.type.prim != "float32"
        self._axes = len(predicate.parameters)
        self._codes = codes
        self._step = step
        self._quantiser: Quantiser | None = None
        self._weights: Tensor | None = None
        self._device = device
        self._number = number

    def shares(self, table: Tensor, real: Tensor | None = None) -> Tensor:
        """The share of each state in its fingerprint, ``[state, 2]``, from ``[state, *objects, *value]``.

        ``real`` says which entries stand for objects, ``[state, *objects]``; the others do not count.
        """
        if not table.numel():
            return torch.zeros(table.shape[0], 2, dtype=torch.int64, device=table.device)
        flat = self.codes(table).reshape(table.shape[0], -1)
        if real is not None:
            flat = flat * _repeated(real, flat.shape[1])
        if self._weights is None or self._weights.shape[0] != flat.shape[1]:
            self._weights = _odd_numbers(flat.shape[1], self._number).to(self._device)
        return (flat.unsqueeze(-1) * self._weights).sum(1)

    def codes(self, table: Tensor) -> Tensor:
        """The codes of a table, as int64."""
        if self.exact:
            return table.to(torch.int64)
        columns = table.reshape(table.shape[0] * _count(table, self._axes), -1)
        return self._ready(columns.shape[1]).codes(columns)

    def snap(self, table: Tensor) -> Tensor:
        """The table with floats rounded to their codes."""
        if self.exact or not table.numel():
            return table
        columns = table.reshape(table.shape[0] * _count(table, self._axes), -1)
        return self._ready(columns.shape[1]).snap(columns).reshape(table.shape)

    def _ready(self, dimensions: int) -> Quantiser:
        if self._quantiser is None:
            codes = self._codes
            if codes is None or len(codes.steps) != dimensions:
                codes = Codes.uniform(dimensions, self._step)
            self._quantiser = Quantiser(codes, self._device)
        return self._quantiser


def _count(table: Tensor, axes: int) -> int:
    return int(torch.Size(table.shape[1 : 1 + axes]).numel())


def _repeated(real: Tensor, width: int) -> Tensor:
    """``[state, *objects]`` as ``[state, width]``: once for each number of a value."""
    flat = real.reshape(real.shape[0], -1)
    return flat.repeat_interleave(width // max(flat.shape[1], 1), dim=1)


def _odd_numbers(n: int, number: int) -> Tensor:
    generator = torch.Generator().manual_seed(_SEED + number)
    low = torch.randint(0, 2**32, (n, 2), generator=generator)
    high = torch.randint(-(2**31), 2**31, (n, 2), generator=generator)
    return (high << 32) | low | 1


def fingerprints(
    predicates: Sequence[Predicate],
    codes: Mapping[str, Codes],
    device: torch.device,
    resolution: float | None = None,
) -> dict[str, Fingerprint]:
    """A fingerprint for each of the ``predicates``, with the codes that training recorded, or a step for all.

    ``codes`` are by predicate; a ``resolution`` takes their place. ``device`` is that of the states.
    """
    found = {} if resolution is not None else codes
    step = DEFAULT_STEP if resolution is None else resolution
    return {p.name: Fingerprint(p, found.get(p.name), device, i, step) for i, p in enumerate(predicates)}


def of_problem(problems: Tensor) -> Tensor:
    """The share that tells the states of one problem from those of another, ``[state, 2]``."""
    mixed = (problems + 1) * -7046029254386353131
    return torch.stack([mixed, (mixed ^ (mixed >> 31)) * -4658895280553007687], dim=-1)
