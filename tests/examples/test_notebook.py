"""The notebook runs as it stands, and the outputs that it keeps are what its cells show."""

from __future__ import annotations

import re
from pathlib import Path

from tests.examples.notebooks import run

ROOT = Path(__file__).parents[2]


def shape_of(outputs):
    """Outputs without their numbers: times differ."""
    found = []
    for output in outputs:
        data = output.get("data", {"text/plain": output.get("text", [])})
        found += [(kind, re.sub(r"[\d.,e-]+", "#", "".join(text))[:60]) for kind, text in data.items()]
    return found


def test_every_cell_runs_and_shows_what_is_kept(monkeypatch):
    monkeypatch.chdir(ROOT)
    cells = run(ROOT / "examples" / "notebook.ipynb")
    for cell, outputs in cells:
        assert shape_of(outputs) == shape_of(cell["outputs"]), "".join(cell["source"])
    shown = ["".join(o["data"].get("text/html", [])) for _, outputs in cells for o in outputs if "data" in o]
    assert sum("<table>" in html for html in shown) >= 5  # domains, the problem, the model, the state
    assert shown[-1].count("<li><code>(right rob)</code></li>") == 4  # a plan
    assert any(html.startswith("<pre>finished") and "Blanks" in html for html in shown)  # a report
