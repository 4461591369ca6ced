"""The settings of learning by acting, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict, final

from pdsketch.act.settings import is_count
from pdsketch.lang import did_you_mean, error
from pdsketch.search import ModelOptions, ModelSearch
from pdsketch.training import FitOptions, Options


@final
@dataclass(frozen=True)
class LearnOptions:
    """How to learn by acting.

    - ``episodes`` and ``budget`` (environment steps; None: as many as the episodes take) bound what is
      collected in all; the first to be used up ends it. ``max_steps`` bounds one episode.
    - ``first`` episodes are random walks. Then the model is trained, and each round collects until there are
      ``growth`` times as many episodes as before, with the model of the round before.
    - ``explore``: the part of the actions that is random. ``subgoals``: whether parts of a goal are tried
      where there is no plan for all of it; else the rest of such an episode is a random walk.
    - ``fit_steps`` are made on all episodes so far, with fresh networks (``warm``: from the weights of the
      round before, which early mistakes may outlast). ``fit`` are further options of `pdsketch.fit`.
    - ``evaluate``: on how many held-out problems each round's model is tried, or the world's seeds of them.
      They are no part of the budget, and nothing is learned from them.
    - ``search``, ``heuristic``, ``max_expansions``, ``tolerance``, ``max_replans``: of the plans, as `Policy`
      and `pdsketch.plan_many` have them; ``plan`` are further options of `plan_many`. Blind search is the
      default: heuristics are made from the model, and early models know little.
    - ``at_once``: episodes side by side, where worlds can be made for them.
    - ``seed``: of networks, problems, exploration and fits.
    """

    episodes: int = 500
    budget: int | None = None
    max_steps: int = 64
    first: int = 60
    growth: float = 2.0
    explore: float = 0.1
    subgoals: bool = True
    fit_steps: int = 1200
    warm: bool = False
    fit: FitOptions = field(default_factory=FitOptions)
    evaluate: int | Sequence[int] = 0
    search: ModelSearch | None = "astar"
    heuristic: str | None = "blind"
    max_expansions: int = 500
    max_replans: int | None = 3
    tolerance: float | Mapping[str, float] | None = None
    plan: ModelOptions = field(default_factory=ModelOptions)
    at_once: int = 64
    seed: int = 0

    @staticmethod
    def of(**settings: Any) -> LearnOptions:
        """Checked options."""
        known = {one.name for one in fields(LearnOptions)}
        for name in settings:
            if name not in known:
                hint = did_you_mean(name, known) or f"its options: {', '.join(sorted(known))}"
                raise error("unknown-option", f"`learn` has no option `{name}`", help=hint)
        options = LearnOptions(**settings)
        _check(options)
        return options

    @property
    def problems(self) -> list[int] | int:
        """The seeds of the held-out problems, or how many there are to be."""
        return self.evaluate if isinstance(self.evaluate, int) else list(self.evaluate)


class LearnKeywords(TypedDict, total=False):
    """The options of `learn`, for type checkers and editors; `LearnOptions` says what each means."""

    episodes: int
    budget: int | None
    max_steps: int
    first: int
    growth: float
    explore: float
    subgoals: bool
    fit_steps: int
    warm: bool
    fit: FitOptions
    evaluate: int | Sequence[int]
    search: ModelSearch | None
    heuristic: str | None
    max_expansions: int
    max_replans: int | None
    tolerance: float | Mapping[str, float] | None
    plan: ModelOptions
    at_once: int
    seed: int


_COUNTS = {
    "episodes": 1,
    "max_steps": 1,
    "first": 1,
    "fit_steps": 1,
    "max_expansions": 1,
    "at_once": 1,
    "seed": 0,
}
_OWN_OF_FIT = (
    "steps",
    "seed",
    "checkpoint",
    "resume",
    "log",
    "tensorboard",
    "callback",
    "time_limit",
    "progress",
)
"""What `learn` says to `fit` itself, and what would make two runs differ."""


def _check(options: LearnOptions) -> None:
    for name, least in _COUNTS.items():
        value = getattr(options, name)
        if not is_count(value) or value < least:
            raise error("bad-option", f"`{name}` must be an int of at least {least}, not {value!r:.40}")
    if options.budget is not None and (not is_count(options.budget) or options.budget < 1):
        raise error("bad-option", f"`budget` must be an int of at least 1, not {options.budget!r:.40}")
    for name, low, high in (("growth", 1.0, math.inf), ("explore", 0.0, 1.0)):
        value = getattr(options, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise error(
                "bad-option", f"`{name}` must be a number from {low:g} to {high:g}, not {value!r:.40}"
            )
    if options.growth == 1.0:
        raise error("bad-option", "`growth` must be above 1: each round adds episodes")
    seeds = options.problems
    if not all(map(is_count, [seeds] if isinstance(seeds, int) else seeds)):
        raise error("bad-option", "`evaluate` is a number of problems, or a list of seeds")
    for name in options.fit:
        if name in _OWN_OF_FIT:
            raise error("bad-option", f"`{name}` of `fit` is not to be given: `learn` says it itself")
    Options.of(**options.fit)
    if "time_limit" in options.plan:
        raise error(
            "bad-option", "`plan` bounds searches by `max_expansions`: a time limit would make runs differ"
        )
