"""What counts as a loss, and where the tries are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["lost", "wrong", "crash", "hang", "limit", "silent"]
KINDS: dict[Kind, str] = {
    "lost": "work gone",
    "wrong": "wrong data",
    "crash": "traceback",
    "hang": "hang",
    "limit": "limit broken",
    "silent": "not told",
}
"""Work that was saved before is gone; data were accepted that are wrong; a traceback, or an end by a signal;
no end; a limit broken by more than 10 % and half a second; a failure that was not told as it should be."""
assert set(KINDS) == set(get_args(Kind))


@dataclass(frozen=True)
class Loss:
    """Something that must not happen."""

    kind: Kind
    text: str


Try = Callable[[int, Path], list[Loss]]
"""One try: a seed, and an empty folder of its own."""


@dataclass(frozen=True)
class Group:
    """Tries of one kind, and how many."""

    name: str
    attempt: Try
    tries: int
