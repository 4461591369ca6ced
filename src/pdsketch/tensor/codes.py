"""How finely states are told apart: the codes of each dimension of a float variable.

Two latent states are one search node when their codes agree. A dimension on
which few distinct values were seen takes those values as its codes; any other
is cut into steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from torch import Tensor

MOST_VALUES: Final = 64
"""A dimension with at most this many distinct values keeps them as its codes."""

STEPS_PER_DEVIATION: Final = 32
DEFAULT_STEP: Final = 1e-4


@final
@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of one variable, a dimension each: seen values in order, or a step.

    ``values[d]`` is empty where dimension ``d`` is cut into steps of ``steps[d]``.
    """

    values: tuple[tuple[float, ...], ...]
    steps: tuple[float, ...]

    @staticmethod
    def of(seen: Tensor) -> Codes:
        """The codes of a variable from the values seen of it, ``[n, *shape]``."""
        columns = seen.detach().double().cpu().reshape(seen.shape[0], -1)
        values, steps = [], []
        for column in columns.unbind(-1):
            distinct = column.unique()  # type: ignore[no-untyped-call]
            few = len(distinct) <= MOST_VALUES
            values.append(tuple(distinct.tolist()) if few else ())
            deviation = float(column.std(correction=0)) if len(column) else 0.0
            steps.append(deviation / STEPS_PER_DEVIATION or DEFAULT_STEP)
        return Codes(tuple(values), tuple(steps))

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
        values: Sequence[Sequence[float]] = data["values"]
        return Codes(tuple(tuple(map(float, v)) for v in values), tuple(map(float, data["steps"])))


NOTE: Final = "codes"
"""Where a model's notes keep the codes of its variables."""


def note_codes(notes: dict[str, Any], codes: Mapping[str, Codes]) -> None:
    """Record the codes of variables, by predicate, in a model's notes."""
    notes[NOTE] = {name: found.as_json() for name, found in codes.items()}


def codes_of(notes: Mapping[str, Any]) -> dict[str, Codes]:
    """The codes that a model's notes record; none for a model that was not trained."""
    return {name: Codes.from_json(data) for name, data in notes.get(NOTE, {}).items()}


@final
class Quantiser:
    """The codes of one variable as tensors on a device."""

    def __init__(self, codes: Codes, device: torch.device | str = "cpu") -> None:
        longest = max((len(v) for v in codes.values), default=0)
        self._steps = torch.tensor(codes.steps, dtype=torch.float64, device=device)
        self._valued = torch.tensor([bool(v) for v in codes.values], dtype=torch.bool, device=device)
        self._all_valued = all(codes.values)
        self._any_valued = any(codes.values)
        padded = [[*v, *[v[-1] if v else 0.0] * (longest - len(v))] for v in codes.values]
        table = torch.tensor(padded, dtype=torch.float64, device=device).reshape(len(codes.values), longest)
        self._table = table
        middles = (table[:, 1:] + table[:, :-1]) / 2
        for row, values in zip(middles, codes.values, strict=True):
            row[max(len(values) - 1, 0) :] = torch.inf
        self._middles = middles.contiguous()

    def codes(self, values: Tensor) -> Tensor:
        """The code of each number: ``[n, d]`` floats → ``[n, d]`` int64."""
        steps = (values / self._steps).round().nan_to_num().clamp(-(2.0**62), 2.0**62).long()
        return self._choose(values, steps)

    def snap(self, values: Tensor) -> Tensor:
        """Each number rounded to its code: ``[n, d]`` → ``[n, d]``, of the same dtype."""
        if not self._any_valued:
            return (((values / self._steps).round()) * self._steps).to(values.dtype)
        at = self._nearest(values)
        valued = self._table.gather(1, at.T.contiguous()).T.to(values.dtype)
        stepped = ((values / self._steps).round() * self._steps).to(values.dtype)
        return torch.where(self._valued, valued, stepped)

    def _choose(self, values: Tensor, steps: Tensor) -> Tensor:
        if not self._any_valued:
            return steps
        nearest = self._nearest(values)
        return nearest if self._all_valued else torch.where(self._valued, nearest, steps)

    def _nearest(self, values: Tensor) -> Tensor:
        """The index of the nearest seen value of each dimension (an arbitrary one where there is none)."""
        if self._middles.shape[1] == 0:
            return torch.zeros(values.shape, dtype=torch.int64, device=values.device)
        return torch.searchsorted(self._middles, values.T.double().contiguous()).T
