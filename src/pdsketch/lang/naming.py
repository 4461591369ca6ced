"""Names that any PDDL planner reads: a letter, then letters, digits, ``-`` and ``_``; each for one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Final, final

from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED

WORDS: Final = RESERVED | {*PRIMITIVES, "object", "either", "vector", "total-cost", "define"}
"""Words of PDDL and of the sketch language, which name nothing else."""


def legal(text: str) -> str:
    """The text as a name: what may not stand in one becomes ``-``."""
    found = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")
    return found if found[:1].isalpha() and found.isascii() else f"n{found}" if found else "unnamed"


@final
class Names:
    """One name space: every name that is given away is given once."""

    def __init__(self, taken: Iterable[str] = WORDS) -> None:
        self._taken = set(taken)

    def give(self, wish: str, suffix: str = "") -> str:
        """A legal name near to a wish; where it is taken, with the suffix, or with a number."""
        name = legal(wish)
        if name in self._taken and suffix:
            name = f"{name}-{suffix}"
        if name in self._taken:
            name = next(other for i in count(2) if (other := f"{name}-{i}") not in self._taken)
        self._taken.add(name)
        return name

    def give_all(self, wishes: Iterable[str], suffix: str = "") -> dict[str, str]:
        """A name for each of these, in their order; what is a name already keeps it."""
        wanted = list(wishes)
        first = {wish: self.give(wish, suffix) for wish in wanted if legal(wish) == wish}
        return {wish: first[wish] if wish in first else self.give(wish, suffix) for wish in wanted}
