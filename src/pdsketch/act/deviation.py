"""How an observed state differs from the predicted one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from pdsketch.lang.types import ObjectType
from pdsketch.tensor.state import State


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


def deviations(predicted: State, observed: State, tolerance: float | None = None) -> tuple[Deviation, ...]:
    """The state variables that differ by more than their type's tolerance (or the one given)."""
    found = []
    for predicate in predicted.domain.state_predicates:
        expected = predicted[predicate.name].detach().cpu()
        seen = observed[predicate.name].detach().cpu()
        bound = predicate.type.tolerance if tolerance is None else tolerance
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
        members = [observed.members(p.type) for p in predicate.parameters if isinstance(p.type, ObjectType)]
        objects = tuple(names[int(i)] for names, i in zip(members, index, strict=True))
        found.append(Deviation(predicate.name, objects, float(off.max()), int((off > bound).sum())))
    return tuple(found)
