"""The settings of learning by acting, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, final

from pdsketch.lang import error
from pdsketch.options import Check, at_least, between, checked, number, option
from pdsketch.search import ModelOptions, ModelSearch
from pdsketch.training import FitOptions, Options


def _are_seeds(value: Any) -> bool:
    return isinstance(value, Sequence) and all(map(at_least(0).takes, value))


_SEEDS = Check(
    "a number of problems, or a list of seeds", lambda n: at_least(0).takes(n) or _are_seeds(n), int
)
_ABOVE_1 = number("above 1, as each round adds episodes", lambda times: times > 1)


@final
@dataclass(frozen=True)
class LearnOptions:
    """How to learn by acting.

    ``episodes`` and ``budget`` bound what is collected in all; the first to be used up ends it. The first
    episodes are random walks. Then the model is trained, and each round collects with the model of the round
    before. Blind search is the default: heuristics are made from the model, and early models know little.
    """

    episodes: int = option(500, "how many in all", at_least(1))
    budget: int | None = option(None, "environment steps of all episodes together", at_least(1))
    max_steps: int = option(64, "of one episode", at_least(1))
    first: int = option(60, "random walks of the first round", at_least(1))
    growth: float = option(2.0, "how many times as many episodes there are after each round", _ABOVE_1)
    explore: float = option(0.1, "the part of the actions that is random", between(0, 1))
    subgoals: bool = option(
        True, "whether parts of a goal are tried where there is no plan for all of it, before random walks"
    )
    fit_steps: int = option(1200, "training steps of a round, at most", at_least(1))
    warm: bool = option(False, "whether a round starts from the weights, and the mistakes, of the one before")
    fit: FitOptions = option(dict, "further options of `pds.fit`")
    evaluate: int | Sequence[int] = option(0, "held-out problems for each round: how many, or seeds", _SEEDS)
    search: ModelSearch | None = option("astar", "of plans; early models have no heuristics worth their time")
    heuristic: str | None = option("blind", "of the search")
    max_expansions: int = option(500, "of one plan", at_least(1))
    max_replans: int | None = option(3, "of one episode and (sub)goal")
    tolerance: float | Mapping[str, float] | None = option(
        None, "how far a number may be from its prediction, as `pds.Policy` has it"
    )
    plan: ModelOptions = option(dict, "further options of `pds.plan_many`; `k` is 16 unless given")
    at_once: int = option(64, "episodes side by side, where worlds can be made for them", at_least(1))
    seed: int = option(0, "of networks, problems, exploration and fits")

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
