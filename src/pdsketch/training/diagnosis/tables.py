"""The figures of a report as rows of words, for text and for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pdsketch.training.diagnosis.behaviour import BlankReport
from pdsketch.training.diagnosis.counts import Judged, Measures

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
    """Learned preconditions, beside *always false*."""
    rows = tuple((name, *_judged(judged)) for name, judged in measures.preconditions.items())
    columns = ("action", "steps", "true", "right", "balanced", "always false")
    return Table("Learned preconditions, where the data says what was executable", columns, rows)


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
            _rate(found.accuracy),
            _rate(found.no_change),
            f"{found.distance / max(1, found.variables):.3g}",
        )
        for action, effects in measures.effects.items()
        for predicate, found in effects.items()
        if found.changed or found.wrong
    )
    columns = (
        "action",
        "predicate",
        "changes",
        "right changed",
        "right unchanged",
        "right",
        "no change",
        "error",
    )
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
            str(report.undecided),
            "" if report.right is None else _rate(report.right),
            report.note,
        )
        for name, report in blanks.items()
    )
    columns = ("blank", "verdict", "form", "calls", "true", "unsure", "right", "")
    return Table("Blanks", columns, rows, words=3)


def _rate(rate: float) -> str:
    return f"{rate:.4f}"
