"""How much grounding may cost, and what happens when it costs more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from pdsketch.lang.diagnostics import Error, error
from pdsketch.lang.source import Span
from pdsketch.task.clock import now


@final
class OutOfTimeError(Exception):
    """The deadline passed while a task was being ground."""


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """At most so many ``instances`` of rules and ``cells`` of arrays; ``deadline`` by `clock.now`."""

    instances: int = 5_000_000
    cells: int = 100_000_000
    deadline: float | None = None

    def check_time(self) -> None:
        """Raise `OutOfTimeError` after the deadline."""
        if self.deadline is not None and now() > self.deadline:
            raise OutOfTimeError

    def too_large(self, found: Mapping[str, int], spans: Mapping[str, Span | None]) -> Error:
        """The diagnostic that names the schema with the most instances."""
        name = max(found, key=lambda key: found[key], default="")
        return error(
            "grounding-too-large",
            f"`{name}` has more than {found.get(name, 0):,} ground instances, and the limit for all is "
            f"{self.instances:,}",
            spans.get(name),
            label="this is what grows",
            help=f"give `{name}` fewer parameters or stricter conditions, or the problem fewer objects",
        )
