"""What changes in the course of a fit: the learning rate and the strength of priors."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

LAST_RATE: Final = 0.01
"""The learning rate ends at this part of its peak; set by hand."""

PRIOR_STRENGTH: Final = ((0.0, 0.4, 0.6, 0.85), (0.0, 1.0, 1.0, 0.0))
"""Parts of the steps, and how much of sparsity and rarity holds there; set by hand."""

CODE_PRIOR_END: Final = 0.6
"""The part of the steps within which the prior on codes goes; set by hand."""


def learning_rate(step: int, steps: int, warmup: float) -> float:
    """The part of the peak rate: linear warm-up, then a cosine down (Loshchilov and Hutter, 2017)."""
    warm = max(1, round(warmup * steps))
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / max(1, steps - warm)
    return LAST_RATE + (1.0 - LAST_RATE) * 0.5 * (1.0 + math.cos(math.pi * done))


def prior_strength(step: int, steps: int) -> float:
    """How much of the priors holds by now: they come, stay and go, as `PRIOR_STRENGTH` says.

    A predicate that is pressed to be false before anything is known of it closes the
    gates that it stands in, and nothing is learned behind them. One that is pressed to
    the end stays unsure, and effects behind its gate overshoot.
    """
    return float(np.interp(step / max(1, steps), *PRIOR_STRENGTH))


def code_prior_strength(step: int, steps: int) -> float:
    """How much of the prior on codes holds: which code stands for what is decided at the beginning."""
    return max(0.0, 1.0 - step / max(1, steps) / CODE_PRIOR_END)
