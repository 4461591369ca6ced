"""The orders of a search in a model: one of a search that was asked for, else several that take turns."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import isinf
from typing import Final

from pdsketch.abstract import NoAbstractionError
from pdsketch.budget import MEGABYTE, Budget, LimitError, current
from pdsketch.lang import error
from pdsketch.search.abstract import WEIGHT
from pdsketch.search.heuristics import find_model_heuristic
from pdsketch.search.latent.heuristics import Searched, StateHeuristic
from pdsketch.search.latent.options import LatentOptions
from pdsketch.search.latent.orders import Order, order_of

PORTFOLIO: Final[Mapping[str, float]] = {"ao": WEIGHT, "opt": 1.0, "blind": 1.0}
"""The heuristics that take turns, and their weights."""

SAMPLED_PORTFOLIO: Final[Mapping[str, float]] = {"goalorder": WEIGHT, **PORTFOLIO}
"""The same where values are proposed for parameters: relaxations see every relation one step away there."""

NOT_GROUND: Final = (
    "the model's rules over codes took more than half of the time or memory that is allowed: "
    "OPT guides the search in the place of AO"
)


def half_of(budget: Budget) -> Budget:
    """Half of the time and of the memory that are left."""
    left, room = budget.left(), budget.room()
    return budget.narrowed(
        None if isinf(left) else left / 2, None if isinf(room) else max(0.0, room / 2 / MEGABYTE)
    )


def orders_of(
    options: LatentOptions, searched: Searched, *, with_ao: bool, sampled: bool = False
) -> tuple[list[Order], tuple[str, ...]]:
    """The orders in which nodes are expanded, and what is to be said of them.

    ``options`` name the search and the heuristic, which is made for the problems in ``searched``. ``with_ao``
    is false where AO's rules took too long: OPT takes its place. ``sampled``: values are proposed.
    """
    name = options.search
    if name != "portfolio":
        try:
            heuristic, said = _guide(options.heuristic, searched, with_ao)
        except NoAbstractionError as why:
            raise error(
                "no-abstraction",
                f"`{options.heuristic}` has no estimate for this goal: {why}",
                help="leave search and heuristic out, or name another heuristic",
            ) from None
        return [order_of("astar" if name == "abstract" else name, heuristic, options.weight)], said
    found, told = [], list[str]()
    for heuristic_name, weight in (SAMPLED_PORTFOLIO if sampled else PORTFOLIO).items():
        with suppress(NoAbstractionError):
            if heuristic_name == "ao" and not with_ao:
                continue
            heuristic, said = _guide(heuristic_name, searched, with_ao)
            told += said
            if not said:
                found.append(order_of("wastar", heuristic, weight))
    return found, tuple(told)


def _guide(name: object, searched: Searched, with_ao: bool) -> tuple[StateHeuristic, tuple[str, ...]]:
    """The heuristic of that name, and what is to be said if it is another one."""
    if not isinstance(name, str) or not name.startswith("ao"):
        return find_model_heuristic(name)(searched), ()
    budget = current()
    if with_ao:
        try:
            with half_of(budget).running():
                return find_model_heuristic(name)(searched), ()
        except LimitError:
            budget.check()
    return find_model_heuristic("opt")(searched), (NOT_GROUND,) if with_ao else ()
