"""How latent search ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from pdsketch.search.result import Outcome


@final
@dataclass(frozen=True, slots=True)
class LatentOutcome(Outcome):
    """How the search for one problem ended. ``node`` is a goal; ``best`` the node of least h; -1: none."""

    node: int = -1
    best: int = -1
    limit: str = ""
