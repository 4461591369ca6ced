"""How latent search is asked to search, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from pdsketch.lang import Step
from pdsketch.search.options import ModelSearch, Watch
from pdsketch.search.result import Outcome, Trace


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop beside the budget: expansions of a problem, depth of a node."""

    expansions: int | None
    depth: int | None


@final
@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search.

    ``k`` nodes of each problem are expanded together; None: as many as pay. ``exact``: no two different
    states are taken for one and all actions are tried, so that running out of
    states proves that there is no plan. ``refused`` are not tried at the roots.
    """

    search: ModelSearch
    k: int | None
    limits: Limits
    exact: bool
    refused: frozenset[Step] = frozenset()
    watch: Watch | None = None
    trace: Trace | None = None


@final
@dataclass(frozen=True, slots=True)
class LatentOutcome(Outcome):
    """How the search for one problem ended. ``node`` is a goal; ``best`` the node of least h; -1: none."""

    node: int = -1
    best: int = -1
    limit: str = ""
