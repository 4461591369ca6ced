"""An evaluation as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pdsketch.tensor import Model
from pdsketch.training.diagnosis.blanks import MEANINGS
from pdsketch.training.diagnosis.report import Evaluation, Table, summary, tables

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th { font-weight: 600; } td.word, th.word { text-align: left; }
code, td.word { font-family: ui-monospace, monospace; font-size: .9em; }
li.warning { margin: .4rem 0; } li.form { font-family: ui-monospace, monospace; font-size: .9em; }
"""


def page(evaluation: Evaluation, model: Model) -> str:
    """The page: summary, warnings, tables, worst predictions, and each form, written out."""
    parts = [
        _tag("h1", f"Evaluation of {model.domain.name}"),
        *(_tag("p", line.strip()) for line in summary("episodes", evaluation.measures)),
        _list("Warnings", evaluation.warnings, "warning"),
        *(_table(table) for table in tables(evaluation.measures, evaluation.blanks)),
        _words(evaluation),
        _list("Worst steps", [str(step) for step in evaluation.wrong_steps]),
        _list("Worst goals", [str(goal) for goal in evaluation.wrong_goals]),
        _list("Forms", [f"{name}: {form}" for name, form in model.forms.items()], "form"),
    ]
    title = escape(model.domain.name)
    body = "\n".join(part for part in parts if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}: evaluation</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _tag(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{escape(text)}</{name}>"


def _list(heading: str, items: Iterable[str], kind: str = "") -> str:
    listed = "\n".join(_tag("li", item, f' class="{kind}"' if kind else "") for item in items)
    return f"{_tag('h2', heading)}\n<ul>\n{listed}\n</ul>" if listed else ""


def _table(table: Table) -> str:
    head = "".join(_cell("th", text, i < table.words) for i, text in enumerate(table.columns))
    rows = "\n".join(
        f"<tr>{''.join(_cell('td', text, i < table.words) for i, text in enumerate(row))}</tr>"
        for row in table.rows
    )
    return f"{_tag('h2', table.heading)}\n<table>\n<tr>{head}</tr>\n{rows}\n</table>"


def _cell(tag: str, text: str, word: bool) -> str:
    return _tag(tag, text, ' class="word"' if word else "")


def _words(evaluation: Evaluation) -> str:
    """What the verdicts that occur mean."""
    said = dict.fromkeys(report.verdict for report in evaluation.blanks.values())
    items = "\n".join(f"<dt><code>{verdict}</code></dt>{_tag('dd', MEANINGS[verdict])}" for verdict in said)
    return f"<dl>\n{items}\n</dl>" if items else ""
