"""Runs a notebook's cells as Jupyter does, without Jupyter: what the last line of a cell gives is shown.

``python -m tests.examples.notebooks FILE`` writes the outputs into the file.
"""

from __future__ import annotations

import ast
import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run_cell(source: str, names: dict[str, Any], title: str) -> list[Output]:
    """The outputs of one cell, in the notebook format."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, title, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), title, "eval"), names)
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append(
            {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
        )
    return outputs


def run(path: Path) -> list[tuple[Output, list[Output]]]:
    """Each cell of code, with what it shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    return [
        (cell, run_cell("".join(cell["source"]), names, f"{path.name}[{i}]")) for i, cell in enumerate(cells)
    ]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write(path: Path) -> None:
    """Keep the outputs in the notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    shown = iter(run(path))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(shown)[1]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
