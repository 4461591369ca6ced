"""The settings of learning by acting, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict, final

from pdsketch.lang import error
from pdsketch.options import ANYTHING, FLAG, Check, at_least, between, checked, option
from pdsketch.search import ModelOptions, ModelSearch
from pdsketch.training import FitOptions, Options


def _is_count_or_seeds(value: Any) -> bool:
    seeds = [value] if isinstance(value, int) else value
    return isinstance(seeds, Sequence) and all(map(at_least(0).takes, seeds))


SEEDS: Final = Check("a number of problems, or a list of seeds", _is_count_or_seeds, int)


@final
@dataclass(frozen=True)
class LearnOptions:
    """How to learn by acting.

    ``episodes`` and ``budget`` bound what is collected in all; the first to be used up ends it. The first
    episodes are random walks. Then the model is trained, and each round collects with the model of the round
    before. Blind search is the default: heuristics are made from the model, and early models know little.
    """

    episodes: int = option(500, at_least(1), "how many in all")
    budget: int | None = option(None, at_least(1), "environment steps of all episodes together")
    max_steps: int = option(64, at_least(1), "of one episode")
    first: int = option(60, at_least(1), "random walks of the first round")
    growth: float = option(
        2.0,
        between(1, math.inf, least=False),
        "how many times as many episodes there are after each round",
    )
    explore: float = option(0.1, between(0, 1), "the part of the actions that is random")
    subgoals: bool = option(
        True,
        FLAG,
        "whether parts of a goal are tried where there is no plan for all of it; else the rest of such an"
        " episode is a random walk",
    )
    fit_steps: int = option(
        1200, at_least(1), "training steps of a round; with fewer, the trial of networks leaves too few"
    )
    warm: bool = option(
        False,
        FLAG,
        "whether a round starts from the weights of the one before, which early mistakes may outlast",
    )
    fit: FitOptions = option(dict, ANYTHING, "further options of `pds.fit`")
    evaluate: int | Sequence[int] = option(
        0, SEEDS, "held-out problems on which each round's model is tried: how many, or their seeds"
    )
    search: ModelSearch | None = option(
        "astar", ANYTHING, "of plans; early models have no heuristics worth their time"
    )
    heuristic: str | None = option("blind", ANYTHING, "of the search")
    max_expansions: int = option(500, at_least(1), "of one plan")
    max_replans: int | None = option(3, ANYTHING, "of one episode and (sub)goal")
    tolerance: float | Mapping[str, float] | None = option(
        None, ANYTHING, "how far a number may be from its prediction, as `pds.Policy` has it"
    )
    plan: ModelOptions = option(dict, ANYTHING, "further options of `pds.plan_many`; `k` is 16 unless given")
    at_once: int = option(64, at_least(1), "episodes side by side, where worlds can be made for them")
    seed: int = option(0, at_least(0), "of networks, problems, exploration and fits")

    @staticmethod
    def of(**settings: Any) -> LearnOptions:
        """Checked options."""
        options = checked(LearnOptions, settings, "`learn`")
        _check(options)
        return options

    @property
    def problems(self) -> list[int] | int:
        """The seeds of the held-out problems, or how many there are to be."""
        return self.evaluate if isinstance(self.evaluate, int) else list(self.evaluate)


# begin: LearnKeywords, written by `make options`
class LearnKeywords(TypedDict, total=False):
    """The options of `learn`, for type checkers and editors; see `LearnOptions`."""

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


# end: LearnKeywords


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
    """Refuse what no option alone is wrong by."""
    for name in options.fit:
        if name in _OWN_OF_FIT:
            raise error("bad-option", f"`{name}` of `fit` is not to be given: `learn` says it itself")
    Options.of(**options.fit)
    if "time_limit" in options.plan:
        raise error(
            "bad-option", "`plan` bounds searches by `max_expansions`: a time limit would make runs differ"
        )
