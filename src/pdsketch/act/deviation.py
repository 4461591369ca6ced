"""How an observed state differs from the predicted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from pdsketch.lang import Predicate
from pdsketch.tensor import State, tolerance_of


@final
@dataclass(frozen=True, slots=True)
class Deviation:
    """One variable that was not observed as predicted.

    ``amount`` is the largest difference of a float, and 1 for a Boolean or an
    int; ``objects`` names the variable that differs most, ``count`` how many of
    its predicate do.
    """

    predicate: str
    objects: tuple[str, ...]
    amount: float
    count: int

    def __str__(self) -> str:
        where = " ".join((self.predicate, *self.objects))
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        return f"({where}){more}: off by {self.amount:g}"


Tolerance = float | Mapping[str, float] | None
"""One number for all float predicates, numbers by predicate, or None."""


def deviations(
    predicted: State, observed: State, tolerance: Tolerance = None, notes: Mapping[str, Any] | None = None
) -> tuple[Deviation, ...]:
    """The state variables that differ by more than is tolerated.

    ``predicted`` and ``observed`` are states of the same objects. ``tolerance`` is one number for all floats,
    or numbers by predicate. What it does not say is the tolerance of the type, or the noise of the encoder as
    a model's ``notes`` record it, whichever is larger.
    """
    found = []
    for predicate in predicted.domain.state_predicates:
        expected = predicted[predicate.name].detach().cpu()
        seen = observed[predicate.name].detach().cpu()
        bound = _bound(predicate, tolerance, notes or {})
        if predicate.type.prim == "float32":
            off = (expected.double() - seen.double()).abs()
        else:
            off = (expected != seen).double()
            bound = 0.5
        axes = len(predicate.parameters)
        off = off.flatten(axes).amax(-1) if off.dim() > axes and off.numel() else off
        if off.numel() == 0 or not bool((off > bound).any()):
            continue
        worst = int(off.argmax())
        index = torch.unravel_index(torch.tensor(worst), off.shape) if axes else ()
        members = [observed.members(type_) for type_ in predicate.object_types]
        objects = tuple(names[int(i)] for names, i in zip(members, index, strict=True))
        found.append(Deviation(predicate.name, objects, float(off.max()), int((off > bound).sum())))
    return tuple(found)


def _bound(predicate: Predicate, tolerance: Tolerance, notes: Mapping[str, Any]) -> float:
    if isinstance(tolerance, Mapping):
        tolerance = tolerance.get(predicate.name)
    return tolerance_of(notes, predicate) if tolerance is None else tolerance
