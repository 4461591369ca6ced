"""The orders of a search in a model: one of a search that was asked for, else several that take turns."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from pdsketch.abstract.abstraction import NoAbstractionError
from pdsketch.lang.diagnostics import error
from pdsketch.search.abstract import WEIGHT
from pdsketch.search.heuristics import find_model_heuristic
from pdsketch.search.latent.heuristics import Searched
from pdsketch.search.latent.options import LatentOptions
from pdsketch.search.latent.orders import Order, order_of

PORTFOLIO: Final[Mapping[str, float]] = {"ao": WEIGHT, "opt": 1.0, "blind": 1.0}
"""The heuristics that take turns, and their weights."""

SAMPLED_PORTFOLIO: Final[Mapping[str, float]] = {"goalorder": WEIGHT, **PORTFOLIO}
"""The same where values are proposed for parameters: relaxations see every relation one step away there."""


def orders_of(
    options: LatentOptions, searched: Searched, *, with_ao: bool, sampled: bool = False
) -> list[Order]:
    """The orders in which nodes are expanded; without AO where its rules take too long."""
    name = options.search
    if name != "portfolio":
        try:
            heuristic = find_model_heuristic(options.heuristic)(searched)
        except NoAbstractionError as why:
            raise error(
                "no-abstraction",
                f"`{options.heuristic}` has no estimate for this goal: {why}",
                help="leave search and heuristic out, or name another heuristic",
            ) from None
        return [order_of("astar" if name == "abstract" else name, heuristic, options.weight)]
    found = []
    for heuristic_name, weight in (SAMPLED_PORTFOLIO if sampled else PORTFOLIO).items():
        with suppress(NoAbstractionError):
            if heuristic_name != "ao" or with_ao:
                heuristic = find_model_heuristic(heuristic_name)(searched)
                found.append(order_of("wastar", heuristic, weight))
    return found
