"""Early stopping: the best weights by held-out loss, and when to wait no longer (Prechelt, 1998)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

from torch import Tensor


@final
@dataclass
class EarlyStopping:
    """After ``patience`` measurements without a better loss it is enough; None: never.

    The best weights are kept all the same.
    """

    patience: int | None
    best: Mapping[str, Tensor] = field(default_factory=dict)
    best_loss: float = math.inf
    waited: int = 0

    def enough(self, loss: float, weights: Callable[[], dict[str, Tensor]]) -> bool:
        """Take in a measurement; ``weights`` copies those that it is of."""
        if loss < self.best_loss:
            self.best_loss, self.waited, self.best = loss, 0, weights()
            return False
        self.waited += 1
        return self.patience is not None and self.waited >= self.patience
