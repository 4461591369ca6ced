"""How finely states are told apart: the codes of each dimension of a float variable.

Two latent states are one search node when their codes agree. A dimension on
which few distinct values were seen takes those values as its codes, and steps
counted from the nearest of them where a number is off all of them: past the
seen range, in a hole of it, or anywhere where the data never varied. Any other
dimension is cut into steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Final, final

import torch
from torch import Tensor

from pdsketch.lang import DEFAULT_TOLERANCE, Predicate, error

MOST_VALUES: Final = 64
"""A dimension with at most this many distinct values keeps them as its codes; set by hand."""

STEPS_PER_DEVIATION: Final = 32
"""How finely a dimension of many values is cut; set by hand."""

LEAST_STEPS_PER_DEVIATION: Final = 4
"""However noisy a variable is, its steps are never coarser than this; set by hand."""

DEFAULT_STEP: Final = 1e-4
"""The step of a dimension that no data was seen of."""


_FURTHEST: Final = 2.0**50
"""Steps that are counted. Beyond, codes grow with the logarithm, finer than the numbers of a float32 are."""
_FURTHEST_BITS: Final = (1023 + 50) << 52
"""The same as the bits of a float64; 20 of them more than a float32 has are left out."""

_EVEN: Final = 1e-5
"""Values are evenly spaced if their gaps differ by at most this part: the error of float32."""


@final
@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of one variable, a dimension each: seen values in order, and a step.

    A number within half a step of the nearest of ``values[d]`` has that value's
    code; any other is so many steps of ``steps[d]`` away from it. Where ``values[d]``
    is empty, steps are counted from 0. Beside values the step is their spacing:
    the median gap between neighbours, which a few holes in the data or two values
    that differ by rounding alone do not change.
    """

    values: tuple[tuple[float, ...], ...]
    steps: tuple[float, ...]

    @staticmethod
    def of(seen: Tensor, tolerance: float = DEFAULT_TOLERANCE, noise: Sequence[float] | None = None) -> Codes:
        """The codes of a variable from the values seen of it, ``[n, *shape]``.

        Numbers closer than ``tolerance`` are no gap. ``noise`` is how far each
        dimension moves without a reason; values are told apart no finer than that.
        """
        columns = seen.detach().double().cpu().reshape(seen.shape[0], -1)
        moves = [0.0] * columns.shape[1] if noise is None else noise
        found = [_dimension(c, tolerance, move) for c, move in zip(columns.unbind(-1), moves, strict=True)]
        return Codes(tuple(values for values, _ in found), tuple(step for _, step in found))

    @staticmethod
    def uniform(dimensions: int, step: float = DEFAULT_STEP) -> Codes:
        """Every dimension cut into steps of one size."""
        return Codes(((),) * dimensions, (step,) * dimensions)

    def as_json(self) -> dict[str, Any]:
        """Plain lists, for a model's folder."""
        return {"values": [list(v) for v in self.values], "steps": list(self.steps)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Codes:
        """The inverse of `as_json`."""
        return Codes(tuple(tuple(map(float, v)) for v in data["values"]), tuple(map(float, data["steps"])))


def _dimension(column: Tensor, tolerance: float, noise: float) -> tuple[tuple[float, ...], float]:
    """The codes of one dimension: its values, if they are few, and its step."""
    distinct = column.unique()  # type: ignore[no-untyped-call]
    deviation = float(column.std(correction=0)) if len(column) else 0.0
    if noise > 0 and len(distinct) > 1:
        noise = min(noise, deviation / LEAST_STEPS_PER_DEVIATION)
    if not len(distinct) or len(distinct) > MOST_VALUES:
        return (), max(deviation / STEPS_PER_DEVIATION, noise) or DEFAULT_STEP
    values = _apart(distinct.tolist(), noise)
    return values, max(_spacing(values, tolerance), noise)


def _apart(values: Sequence[float], least: float) -> tuple[float, ...]:
    """Values in order, without those that are no further than this from the one before."""
    kept: list[float] = []
    for value in values:
        if not kept or value - kept[-1] > least:
            kept.append(value)
    return tuple(kept)


def _spacing(values: Sequence[float], tolerance: float) -> float:
    """The median gap between neighbouring values; the tolerance where there is none."""
    gaps = [b - a for a, b in pairwise(values) if b - a > tolerance]
    return median(gaps) if gaps else tolerance


NOTE: Final = "codes"
"""Where a model's notes keep the codes of its variables."""

SPREAD: Final = "spread"
"""Where they keep how far variables come out from what is predicted: of encoded ones, their noise."""


def note_codes(notes: dict[str, Any], codes: Mapping[str, Codes]) -> None:
    """Record the codes of variables, by predicate, in a model's notes."""
    notes[NOTE] = {name: found.as_json() for name, found in codes.items()}


ROWS: Final = "rows"
"""Where they keep which combinations of numbers were seen of variables, if they are few."""

MOST_ROWS: Final = 512
"""Combinations that are recorded of one variable at most. Set by hand: a pose on a grid of 20 by 20 fits."""


def note_rows(notes: dict[str, Any], seen: Mapping[str, Tensor], codes: Mapping[str, Codes]) -> None:
    """Record the values seen of variables, ``[n, d]`` each, where few differ; floats as their codes."""
    notes[ROWS] = {}
    for name, values in seen.items():
        rows = values.detach().cpu()
        if rows.is_floating_point():
            if name not in codes or not all(codes[name].values):
                continue
            rows = Quantiser(codes[name]).snap(rows)
        distinct = rows.unique(dim=0)  # type: ignore[no-untyped-call]
        if len(distinct) <= MOST_ROWS:
            notes[ROWS][name] = distinct.tolist()


COUNTS: Final = "code_counts"
"""Where they say how many codes types have in rules, if anybody chose."""

CORRECTIONS: Final = "corrections"
WEIGHTS: Final = "weights"
ENTRIES: Final = "entries"
"""Where they keep which rules over codes were corrected by what the model did, and for which weights."""

CODEBOOKS: Final = "codebooks"
"""Where they keep the codes that encoders were trained with, by type."""

SAMPLES: Final = "samples"
"""Where they keep some of the values of float variables that are too many to be recorded."""

MOST_NUMBERS: Final = 16_384
"""Numbers that are recorded of one variable at most, in at most `MOST_ROWS` values. Set by hand."""


def note_samples(notes: dict[str, Any], seen: Mapping[str, Tensor]) -> None:
    """Record some of the values seen of variables whose combinations are not recorded, ``[n, d]`` each."""
    notes[SAMPLES] = {}
    for name, values in seen.items():
        if name in notes[ROWS]:
            continue
        finite = values.detach().cpu().double()
        finite = finite[torch.isfinite(finite).all(1)]
        most = min(MOST_ROWS, max(1, MOST_NUMBERS // max(1, finite.shape[1])))
        places = torch.linspace(0, len(finite) - 1, min(len(finite), most)).round().long()
        if len(places):
            notes[SAMPLES][name] = [[float(f"{x:.6g}") for x in row] for row in finite[places].tolist()]


def samples_of(notes: Mapping[str, Any]) -> Mapping[str, Sequence[Sequence[float]]]:
    """The values that a model's notes record of variables with many of them."""
    samples: Mapping[str, Sequence[Sequence[float]]] = notes.get(SAMPLES, {})
    return samples


def rows_of(notes: Mapping[str, Any]) -> Mapping[str, Sequence[Sequence[float]]]:
    """The combinations of numbers that a model's notes record."""
    rows: Mapping[str, Sequence[Sequence[float]]] = notes.get(ROWS, {})
    return rows


def codes_of(notes: Mapping[str, Any]) -> dict[str, Codes]:
    """The codes that a model's notes record; none for a model that was not trained."""
    return {name: Codes.from_json(data) for name, data in notes.get(NOTE, {}).items()}


def tolerance_of(notes: Mapping[str, Any], predicate: Predicate) -> float:
    """How far two values of a predicate may be apart and still be the same.

    That of its type, or the noise of its encoder as recorded by `fit`, whichever is larger.
    """
    noise = max(spread_of(notes, predicate), default=0.0) if predicate.role == "encoded" else 0.0
    return max(predicate.type.tolerance, noise)


def spread_of(notes: Mapping[str, Any], predicate: Predicate) -> list[float]:
    """How far each number of a predicate comes out from what is predicted, where `fit` has measured it."""
    return [float(number) for number in notes.get(SPREAD, {}).get(predicate.name, [0.0])]


@final
class Quantiser:
    """The codes of one variable as tensors on a device."""

    def __init__(self, codes: Codes, device: torch.device | str = "cpu") -> None:
        self._steps = torch.tensor(codes.steps, dtype=torch.float64, device=device)
        self._longest = max((len(v) for v in codes.values), default=0)
        padded = [[*v, *[v[-1] if v else 0.0] * (self._longest - len(v))] for v in codes.values]
        table = torch.tensor(padded, dtype=torch.float64).reshape(len(codes.values), self._longest)
        middles = (table[:, 1:] + table[:, :-1]) / 2
        for row, values in zip(middles, codes.values, strict=True):
            row[max(len(values) - 1, 0) :] = torch.inf
        self._first = table[:, 0].to(device) if self._longest else None
        # Evenly spaced values need no search: counting steps from the first finds each.
        self._even = all(map(_is_even, codes.values, codes.steps))
        self._table = table.to(device)
        self._middles = middles.contiguous().to(device)

    def codes(self, values: Tensor) -> Tensor:
        """The code of each number: ``[n, d]`` floats → ``[n, d]`` int64."""
        self._check(values)
        if self._first is None:
            return self._count(values)
        if self._even:
            return self._count(values - self._first)
        at, anchors = self._nearest(values)
        # Two numbers in one, as in mixed radix: which value is nearest, and how many steps away from it.
        return at + self._longest * self._count(values - anchors)

    def snap(self, values: Tensor) -> Tensor:
        """Each number rounded to its code: ``[n, d]`` → ``[n, d]``, of the same dtype."""
        self._check(values)
        if self._first is None:
            return ((values / self._steps).round() * self._steps).to(values.dtype)
        at, anchors = self._nearest(values)
        stepped = anchors + ((values - anchors) / self._steps).round() * self._steps
        # A step must not lead across the middle of a hole, where steps count from the other side.
        ends = torch.nn.functional.pad(self._middles, (1, 0), value=-torch.inf)
        ends = torch.nn.functional.pad(ends, (0, 1), value=torch.inf)
        stepped = torch.minimum(torch.maximum(stepped, _pick(ends, at)), _pick(ends, at + 1))
        return stepped.to(values.dtype)

    def _check(self, values: Tensor) -> None:
        coded, found = len(self._steps), values.shape[-1]
        if coded != found:
            message = f"the model's notes have codes for {coded} numbers, and a value has {found}"
            raise error("bad-notes", message, help="train the model again")

    def _count(self, distances: Tensor) -> Tensor:
        """How many steps each distance is; of those beyond `_FURTHEST`, further ones have larger codes."""
        steps = (distances / self._steps).round().nan_to_num()
        if not steps.numel() or float(steps.abs().amax()) <= _FURTHEST:
            return steps.long()
        near = steps.clamp(-_FURTHEST, _FURTHEST).long()
        # The bits of a positive float, read as an integer, grow with it: cheap numbers for huge distances.
        beyond = (steps.abs().clamp(min=_FURTHEST).view(torch.int64) - _FURTHEST_BITS) >> 20
        return near + near.sign() * beyond

    def _nearest(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Which seen value of its dimension is nearest to each number, and that value; 0: there is none."""
        if not self._middles.shape[1]:
            return torch.zeros(values.shape, dtype=torch.int64, device=values.device), self._table[:, 0]
        at = torch.searchsorted(self._middles, values.T.double().contiguous()).T
        return at, _pick(self._table, at)


def _is_even(values: Sequence[float], step: float) -> bool:
    """Whether values stand one step apart, so that counting steps from the first finds each of them."""
    return all(abs(b - a - step) <= _EVEN * step for a, b in pairwise(values))


def _pick(table: Tensor, at: Tensor) -> Tensor:
    """``table[d, at[n, d]]``."""
    return table.gather(1, at.T.contiguous()).T
