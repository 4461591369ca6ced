"""Differences that tell bags of two kinds apart: where an offset may begin.

Diverse density (Maron and Lozano-Pérez, 1998): of a state in which a goal held it is known that some pair of
its objects stands in the relation, and not which. A bag is the differences of all pairs of one state. The
offset is where every bag of a success has a difference, and most others have none; several places may do as
well (whoever stands left of another has it to the right), so all of them are found, the best first.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

MOST_TRIED: Final = 256
"""Differences of successes that are looked at: where one pair in 12 counts, 20 are of the relation."""

MOST_STARTS: Final = 6
"""Places to begin at; set by hand. Mirrored relations need two."""

RADII: Final = tuple(2.0**-k for k in range(8))
"""Radii that are tried, in root mean squares of the differences: from all of them to a hundredth."""

ROUNDS: Final = 3
"""How often a place is moved into the middle of the differences that it is near to; set by hand."""

NEARLY: Final = 0.9
"""What tells this part of the most tells nearly as much; set by hand."""

LEAST_SHARE: Final = 0.5
"""A place that tells less of the labels than this part of what the best one does is none; set by hand."""


@final
class Start(NamedTuple):
    """A place where an offset may begin, how far from it the relation holds, and what that tells (bits)."""

    theta: Tensor
    radius: float
    information: float


def starts(differences: Tensor, real: Tensor | None, label: Tensor, seed: int) -> list[Start]:
    """The best places for an offset to begin at, apart from each other (see the module).

    ``differences`` are the bags, ``[bag, n, size]``, of which the ``real`` entries ``[bag, n]`` count (None:
    all); ``label`` says of each bag whether the goal held, so that one of its differences may be the offset.
    ``seed`` draws the places that are tried.
    """
    if not bool(label.any()) or bool(label.all()) or not differences.shape[1]:
        return []
    if real is not None:
        differences = torch.where(real.unsqueeze(-1), differences, math.nan)
    instances = differences[label].flatten(0, 1)
    instances = instances[~instances.isnan().any(-1)]
    if not len(instances):
        return []
    unit = float(instances.square().sum(-1).mean().sqrt())
    if not unit > 0.0:
        return []
    order = torch.randperm(len(instances), generator=torch.Generator().manual_seed(seed))
    places = instances[order[:MOST_TRIED].to(instances.device)]
    radius, told = _best_radius(places, differences, label, unit)
    for _ in range(ROUNDS):
        moved = _centred(places, radius, differences[label])
        wider, more = _best_radius(moved, differences, label, unit)
        better = more >= told
        places = torch.where(better.unsqueeze(-1), moved, places)
        radius, told = torch.where(better, wider, radius), torch.where(better, more, told)
    return _apart(places, radius, told)


def _nearest(places: Tensor, differences: Tensor) -> tuple[Tensor, Tensor]:
    """The distance of each bag's nearest difference from each place ``[place, bag]``, and which it is."""
    far = torch.stack([(differences - place).square().sum(-1) for place in places])
    found = far.nan_to_num(math.inf).min(-1)
    return found.values.sqrt(), found.indices


def _best_radius(places: Tensor, differences: Tensor, label: Tensor, unit: float) -> tuple[Tensor, Tensor]:
    """The radius within which each place tells most of the labels, and how much that is.

    Of several that tell nearly as much, the one in the middle: a small ball misses examples, and from
    far within a large one, other differences than those of the relation count.
    """
    near, _ = _nearest(places, differences)
    radii = torch.tensor([unit * r for r in RADII], device=near.device)
    within = near.unsqueeze(-1) <= radii
    true, false = within[:, label].double().mean(1), within[:, ~label].double().mean(1)
    told = torch.where(true > false, information(true, false), torch.zeros_like(true))
    most = told.amax(1)
    good = (told >= NEARLY * most.unsqueeze(1)).to(radii.dtype)
    middle = (good * radii.log()).sum(1) / good.sum(1)
    return middle.exp(), most


def information(true: Tensor, false: Tensor) -> Tensor:
    """What an event tells of a label, in bits, if both labels are as likely; its probability given either."""

    def entropy(p: Tensor) -> Tensor:
        return -(torch.xlogy(p, p) + torch.xlogy(1.0 - p, 1.0 - p)) / math.log(2.0)

    return entropy((true + false) / 2.0) - (entropy(true) + entropy(false)) / 2.0


def _centred(places: Tensor, radius: Tensor, differences: Tensor) -> Tensor:
    """Each place in the middle of the nearest difference of each bag that has one within the radius."""
    near, which = _nearest(places, differences)
    bags = torch.arange(len(differences), device=which.device)
    nearest = differences[bags, which]
    counts = (near <= radius.unsqueeze(-1)).to(nearest.dtype)
    total = torch.einsum("pb,pbd->pd", counts, nearest.nan_to_num(0.0))
    return total / counts.sum(-1, keepdim=True).clamp_min(1.0)


def _apart(places: Tensor, radius: Tensor, told: Tensor) -> list[Start]:
    """The best ones, none within the radius of a better one."""
    found: list[Start] = []
    for at in told.argsort(descending=True, stable=True).tolist():
        least = LEAST_SHARE * found[0].information if found else 0.0
        if len(found) == MOST_STARTS or not float(told[at]) > least:
            break
        if all(float((places[at] - one.theta).norm()) > max(one.radius, float(radius[at])) for one in found):
            found.append(Start(places[at].clone(), float(radius[at]), float(told[at])))
    return found
