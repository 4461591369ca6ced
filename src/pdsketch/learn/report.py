"""What a fit has to say when it is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from pdsketch.learn.measure import BlankReport, Measures


@final
@dataclass(frozen=True)
class Report:
    """The outcome of `fit`.

    ``losses`` are the last measured means, ``train`` and ``held_out`` the measures
    on the episodes (``held_out`` None without any), ``blanks`` a report on each
    blank, ``seconds`` where the time went, ``history`` all measurements.
    """

    status: str
    steps: int
    episodes: int
    held_out_episodes: int
    losses: dict[str, float]
    train: Measures
    held_out: Measures | None
    blanks: dict[str, BlankReport]
    seconds: dict[str, float]
    history: list[dict[str, float]]

    @property
    def accuracy(self) -> float:
        """Goal accuracy: held out where anything was, else on the training episodes."""
        return (self.held_out or self.train).goal_accuracy

    @property
    def untrained(self) -> tuple[str, ...]:
        """The blanks that never received a gradient."""
        return tuple(name for name, found in self.blanks.items() if found.verdict == "never-trained")

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "status": self.status,
            "steps": self.steps,
            "episodes": self.episodes,
            "held_out_episodes": self.held_out_episodes,
            "losses": self.losses,
            "train": self.train.as_json(),
            "held_out": None if self.held_out is None else self.held_out.as_json(),
            "blanks": {name: found.as_json() for name, found in self.blanks.items()},
            "seconds": self.seconds,
            "history": self.history,
        }

    def __str__(self) -> str:
        """The report as people read it."""
        lines = [f"{self.status} after {self.steps} steps, {self.seconds['total']:.1f} s"]
        lines.append(summary("training", self.train))
        if self.held_out is not None:
            lines.append(summary("held out", self.held_out))
        lines += describe(self.held_out or self.train, self.blanks)
        return "\n".join(lines)


def summary(name: str, found: Measures) -> str:
    """One line on goals and steps."""
    states = found.positives + found.negatives
    return (
        f"{name}: goals right {found.goal_accuracy:.4f} ({states} states, {found.positives} with success), "
        f"steps right {found.step_accuracy:.4f} ({found.steps} steps)"
    )


def describe(measures: Measures, blanks: dict[str, BlankReport]) -> list[str]:
    """Lines on each predicate's transition error and on each blank."""
    lines = ["", f"{'predicate':24} {'error':>8} {'changed':>8} {'distance':>9}"]
    for name, found in measures.transitions.items():
        plain = found.as_json()
        lines.append(
            f"{name:24} {plain['error']:8.4f} {plain['error_changed']:8.4f} {plain['distance']:9.4f}"
        )
    lines += ["", f"{'blank':36} {'verdict':14} {'calls':>9} {'true':>9} {'undecided':>9}"]
    for name, report in blanks.items():
        counts = f"{report.calls:9} {report.true:9} {report.undecided:9}" if report.boolean else ""
        lines.append(f"{name:36} {report.verdict:14} {counts}".rstrip())
    return lines
