"""What the declarations of options say elsewhere: the tables of the documents, the types for type checkers.

``python -m tests.docs.generated`` writes them where they stand, between a line with ``begin: NAME`` and one
with ``end: NAME``; `test_options` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from pdsketch.act import LearnOptions
from pdsketch.options import default_of
from pdsketch.search import PlanOptions
from pdsketch.search.options import UNSET
from pdsketch.training import Options
from pdsketch.training.options import DataOptions, LossOptions, OptimiserOptions, OutputOptions

ROOT = Path(__file__).parents[2]
GROUPS = (OptimiserOptions, DataOptions, LossOptions, OutputOptions)


def generated() -> Iterator[tuple[str, str, str]]:
    """The file, the name and the text of each."""
    yield (
        "src/pdsketch/search/options.py",
        "_PlanOptions",
        typed_dict(
            "_PlanOptions",
            PlanOptions,
            "What is common to both kinds of planning.",
            without=("search", "heuristic_costs"),
            unset=UNSET,
        ),
    )
    meaning = "The options of `fit` beside steps and seed, for type checkers and editors; see `Options`."
    text = typed_dict("FitOptions", Options, meaning, without=("steps", "seed"))
    yield "src/pdsketch/training/options.py", "FitOptions", text
    meaning = "The options of `learn`, for type checkers and editors; see `LearnOptions`."
    text = typed_dict("LearnKeywords", LearnOptions, meaning)
    yield "src/pdsketch/act/onpolicy/options.py", "LearnKeywords", text
    yield "docs/planning.md", "PlanOptions", table(PlanOptions)
    yield "docs/on-policy.md", "LearnOptions", table(LearnOptions)
    for kind in GROUPS:
        yield "docs/when-it-does-not-learn.md", kind.__name__, table(kind)


def with_it(page: str, name: str, text: str) -> str:
    """The page with the text at its place."""
    place = re.compile(rf"(\bbegin: {name}\b[^\n]*\n)(.*?)([^\n]*\bend: {name}\b)", re.DOTALL)
    found, times = place.subn(lambda m: m[1] + text + m[3], page)
    assert times == 1, name
    return found


def table(kind: type) -> str:
    """The table of the options in the documents."""
    shown = ((one, repr(default_of(one)).replace("'", '"')) for one in fields(kind))
    rows = (
        f"| `{one.name}` | {default} | {f'of {of}s alone: ' if (of := one.metadata['of']) else ''}"
        f"{one.metadata['meaning']} |\n"
        for one, default in shown
    )
    return f"\n| option | default | meaning |\n|---|---|---|\n{''.join(rows)}\n"


def typed_dict(
    name: str, kind: type, meaning: str, without: Sequence[str] = (), unset: Sequence[str] = ()
) -> str:
    """The source of the options' ``TypedDict``; None stands for the default of those in ``unset``, too."""
    lines = [f'class {name}(TypedDict, total=False):\n    """{meaning}"""\n\n']
    for one in fields(kind):
        if one.name not in without:
            none = " | None" if one.name in unset and not str(one.type).endswith("| None") else ""
            lines.append(f"    {one.name}: {one.type}{none}\n")
    return "".join([*lines, "\n\n"])


if __name__ == "__main__":
    for file, name, text in generated():
        path = ROOT / file
        path.write_text(with_it(path.read_text(encoding="utf-8"), name, text), encoding="utf-8")
