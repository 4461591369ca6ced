"""What a fit, or an evaluation, has to say when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from textwrap import wrap
from typing import Any, final

from pdsketch.tensor import Model
from pdsketch.training.diagnosis.blanks import MEANINGS, BlankReport
from pdsketch.training.diagnosis.measures import Judged, Measures
from pdsketch.training.diagnosis.worst import WrongGoal, WrongStep

# The figures of a report as rows of words, for text and for a page.

WIDTH = 100
"""Columns of a printed table."""

_MOST_ROWS = 40
"""Rows of a printed table."""


@final
@dataclass(frozen=True)
class Table:
    """A heading, the names of columns, and rows; the first ``words`` columns are not numbers."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1

    def lines(self) -> list[str]:
        """As text of at most `WIDTH` columns; the first is cut where it is too long."""
        shown = [self.columns, *self.rows[:_MOST_ROWS]]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self.columns))]
        widths[0] = max(12, min(widths[0], WIDTH - sum(widths[1:]) - 2 * len(widths) + 2))
        lines = [self.heading, *(self._line(row, widths) for row in shown)]
        if len(self.rows) > _MOST_ROWS:
            lines.append(f"… and {len(self.rows) - _MOST_ROWS} more rows")
        return lines

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = [_cut(row[0], widths[0])]
        for i in range(1, len(row)):
            left = i < self.words or not self.columns[i]
            cells.append(row[i].ljust(widths[i]) if left else row[i].rjust(widths[i]))
        return "  ".join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"


def tables(measures: Measures, blanks: Mapping[str, BlankReport]) -> list[Table]:
    """All tables that have rows."""
    found = [goal_table(measures), effect_table(measures), precondition_table(measures), blank_table(blanks)]
    return [table for table in found if table.rows]


def goal_table(measures: Measures) -> Table:
    """Goals by kind, beside *always false*; the worst kinds first."""
    kinds = sorted(measures.goals, key=lambda kind: kind.judged.balanced)
    rows = tuple((k.formula, str(k.formulas), *_judged(k.judged)) for k in kinds)
    columns = ("goals like", "goals", "states", "true", "right", "balanced", "always false")
    return Table("Goals by kind, each shown by the formula judged wrong most often", columns, rows)


def precondition_table(measures: Measures) -> Table:
    """Preconditions that are learned, or that a refusal may contradict, beside *always false*."""
    rows = tuple((name, *_judged(judged)) for name, judged in measures.preconditions.items())
    columns = ("action", "steps", "true", "right", "balanced", "always false")
    return Table("Preconditions, where the data says what was executable", columns, rows)


def _judged(judged: Judged) -> tuple[str, ...]:
    rates = (judged.accuracy, judged.balanced, judged.always_false)
    return (str(judged.count), str(judged.positives), *(_rate(rate) for rate in rates))


def effect_table(measures: Measures) -> Table:
    """Effects by action and predicate, where something changed or was mispredicted."""
    rows = tuple(
        (
            action,
            predicate,
            str(found.changed),
            _rate(found.right_changed) if found.changed else "–",
            _rate(found.right_unchanged) if found.variables > found.changed else "–",
            f"{found.distance / max(1, found.variables):.3g}",
        )
        for action, effects in measures.effects.items()
        for predicate, found in effects.items()
        if found.changed or found.wrong
    )
    columns = ("action", "predicate", "changes", "right changed", "right unchanged", "error")
    return Table("Effects: what part of the variables was predicted right", columns, rows, words=2)


def blank_table(blanks: Mapping[str, BlankReport]) -> Table:
    """Each blank, its verdict and why."""
    rows = tuple(
        (
            name,
            report.verdict,
            report.form or "",
            str(report.calls),
            str(report.true) if report.boolean else "",
            str(max(report.undecided, report.outside)),
            "" if report.examples is None else str(report.examples),
            "" if report.right is None else _rate(report.right),
            report.note,
        )
        for name, report in blanks.items()
    )
    columns = ("blank", "verdict", "form", "calls", "true", "unsure", "examples", "right", "")
    return Table("Blanks", columns, rows, words=3)


def _rate(rate: float) -> str:
    return f"{rate:.4f}"


_LINES = 5
"""Of a report in its ``repr``: the summary."""

_SHOWN = 3
"""Worst steps and goals that a printed report shows."""


@dataclass(frozen=True, repr=False)
class Findings:
    """What was found out about a model on data, beside its accuracy.

    ``blanks`` is a report on each blank, ``warnings`` are sentences that name a
    hole and what helps, ``wrong_steps`` and ``wrong_goals`` the
    worst predictions, some of each kind of error.
    """

    blanks: dict[str, BlankReport]
    warnings: tuple[str, ...]
    wrong_steps: tuple[WrongStep, ...]
    wrong_goals: tuple[WrongGoal, ...]

    def worst(self, count: int = 5) -> tuple[WrongStep, ...]:
        """The worst steps: first the worst of each action and predicate, then the second of each, …"""
        return self.wrong_steps[:count]

    def worst_goals(self, count: int = 5) -> tuple[WrongGoal, ...]:
        """The worst judgements of goals, of each kind and label in turn."""
        return self.wrong_goals[:count]

    def findings_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "warnings": list(self.warnings),
            "blanks": {name: found.as_json() for name, found in self.blanks.items()},
            "worst_steps": [asdict(step) for step in self.wrong_steps],
            "worst_goals": [asdict(goal) for goal in self.wrong_goals],
        }

    def __repr__(self) -> str:
        """The first lines of the report; ``print`` shows it all."""
        return "\n".join(str(self).partition("\n\n")[0].splitlines()[:_LINES])

    def _repr_html_(self) -> str:
        """The report, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def _text(self, head: Sequence[str], measures: Measures) -> str:
        """Head, warnings, tables, and some of the worst predictions."""
        lines = list(head)
        for warning in self.warnings:
            lines += wrap(f"warning: {warning}", WIDTH, subsequent_indent="  ", break_long_words=False)
        for table in tables(measures, self.blanks):
            lines += ["", *table.lines()]
        for heading, worst in (
            ("Worst steps", self.worst(_SHOWN)),
            ("Worst goals", self.worst_goals(_SHOWN)),
        ):
            lines += ["", heading] if worst else []
            for one in worst:
                lines += wrap(str(one), WIDTH, subsequent_indent="  ", break_long_words=False)
        return "\n".join(lines)


@final
@dataclass(frozen=True, repr=False)
class Report(Findings):
    """The outcome of `fit`.

    ``losses`` are the last measured means, ``train`` and ``held_out`` the measures
    on the episodes (``held_out`` None without any), ``seconds`` where the time went,
    ``history`` all measurements. ``resumed`` is the step at which the fit went on from
    a checkpoint, or None. `Findings` says what else there is.
    """

    status: str
    steps: int
    resumed: int | None
    episodes: int
    held_out_episodes: int
    losses: dict[str, float]
    train: Measures
    held_out: Measures | None
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
            "resumed": self.resumed,
            "episodes": self.episodes,
            "held_out_episodes": self.held_out_episodes,
            "losses": self.losses,
            "train": self.train.as_json(),
            "held_out": None if self.held_out is None else self.held_out.as_json(),
            **self.findings_json(),
            "seconds": self.seconds,
            "history": self.history,
        }

    def __str__(self) -> str:
        """The report as people read it."""
        resumed = "" if self.resumed is None else f", resumed at step {self.resumed}"
        lines = [f"{self.status} after {self.steps} steps{resumed}, {self.seconds['total']:.1f} s"]
        lines += summary("training", self.train)
        if self.held_out is not None:
            lines += summary("held out", self.held_out)
        return self._text(lines, self.held_out or self.train)


@final
@dataclass(frozen=True, repr=False)
class Evaluation(Findings):
    """The outcome of `evaluate`: the measures on the episodes, and what was found out on them."""

    measures: Measures

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.measures.as_json(), **self.findings_json()}

    def __str__(self) -> str:
        """The evaluation as people read it."""
        return self._text(summary("episodes", self.measures), self.measures)


def summary(name: str, found: Measures) -> list[str]:
    """A line on goals and one on steps, each beside what knowing nothing would score."""
    judged = found.judged
    goals = f"goals right {judged.accuracy:.4f}, always false {judged.always_false:.4f} "
    goals += f"({judged.count} states, {judged.positives} with success)"
    steps = f"steps right {found.step_accuracy:.4f}, no change {found.no_change:.4f} ({found.steps} steps)"
    return [
        f"{name}: {goals if judged.count else 'no goal was judged'}",
        f"{' ' * len(name)}  {steps if found.steps else 'no step was taken'}",
    ]


# An evaluation as one page of HTML that needs nothing else.

_STYLE = (
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }"
)


def page(evaluation: Evaluation, model: Model) -> str:
    """The page: the report, each form written out, and what the verdicts that occur mean."""
    name = escape(model.domain.name)
    listed = escape("\n".join(f"{blank}: {form}" for blank, form in model.forms.items()))
    forms = f"<h2>Forms</h2>\n<pre>{listed}</pre>\n" if listed else ""
    said = dict.fromkeys(report.verdict for report in evaluation.blanks.values())
    meanings = "".join(f"<dt><code>{word}</code></dt><dd>{escape(MEANINGS[word])}</dd>" for word in said)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}: evaluation</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>Evaluation of {name}</h1>\n"
        f"<pre>{escape(str(evaluation))}</pre>\n{forms}"
        f"<dl>{meanings}</dl>\n</body></html>\n"
    )
