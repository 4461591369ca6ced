"""The mean of each loss term since the last measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from torch import Tensor

from pdsketch.lang import error


@final
@dataclass
class LossMeans:
    """Sums stay on their device, so that a step does not wait for them."""

    sums: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, terms: Mapping[str, Tensor]) -> None:
        """Take in the terms of a step."""
        for name, term in terms.items():
            self.sums[name] = self.sums.get(name, 0.0) + term.detach().double()
            self.counts[name] = self.counts.get(name, 0) + 1

    def figures(self, step: int) -> dict[str, float]:
        """The means; an `Error` if one is no number."""
        found = {name: float(total) / self.counts[name] for name, total in self.sums.items()}
        for name, value in found.items():
            if not math.isfinite(value):
                raise error(
                    "diverged",
                    f"the {name} loss is no longer a number at step {step}",
                    help="lower `learning_rate`, or look for extreme values in the data",
                )
        return found
