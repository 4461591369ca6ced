"""What the training of a `Dreamer` is given beside the settings of a fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, cast, final

from pdsketch.act import Worlds, is_count
from pdsketch.lang import error
from pdsketch.training import FitOptions

BATCH: Final = 16
"""Sequences in a batch where nobody says otherwise; DreamerV2 has 50. Set by hand, for the CPU's sake."""


class BaselineOptions(FitOptions, total=False):
    """What `train_baseline` takes; the last three are for a ``dreamer`` alone, as `DreamerOptions` says."""

    world: Worlds | None
    environment_steps: int
    cloning: float


@final
@dataclass(frozen=True, slots=True)
class DreamerOptions:
    """What the training of a `Dreamer` takes beside the settings of a fit.

    After the demonstrations it acts in ``world`` (as `pdsketch.rollout` takes it) for ``environment_steps``
    steps in all. ``cloning`` is the weight of demonstrated actions; 0 learns in imagination alone.
    """

    world: Worlds | None = None
    environment_steps: int = 0
    cloning: float = 1.0

    def __post_init__(self) -> None:
        steps, weight = self.environment_steps, cast("Any", self.cloning)
        if not is_count(steps):
            raise error(
                "bad-setting",
                f"`environment_steps` is a whole number and not negative; {steps!r:.40} is given",
            )
        if steps and self.world is None:
            raise error(
                "bad-setting",
                "there are environment steps to take, and no world to take them in",
                help='name it: world=lambda: pds.make_world("babyai", sketch=domain)',
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise error("bad-setting", f"`cloning` is a number and not negative; {weight!r:.40} is given")


def with_dreamer(kind: str, settings: BaselineOptions) -> tuple[FitOptions, DreamerOptions]:
    """The settings of a fit, and those of a `Dreamer`, which other baselines refuse."""
    names = DreamerOptions.__slots__
    fit = cast("FitOptions", {name: value for name, value in settings.items() if name not in names})
    own = {name: value for name, value in settings.items() if name in names}
    if kind == "dreamer":
        return {"batch": BATCH, **fit}, DreamerOptions(**cast("Any", own))
    for name in own:
        raise error("unknown-option", f"`{name}` is for the baseline `dreamer`, and not for `{kind}`")
    return fit, DreamerOptions()
