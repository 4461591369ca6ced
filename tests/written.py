"""What is shown to people stands in ``tests/written``, and is compared as a whole.

A change of what is shown is made there, too: ``WRITE=1 python -m pytest TESTS`` writes it anew, for review by
eye. Nothing here depends on the machine, the terminal or what was learned.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "written"


def is_written(name: str, text: str) -> None:
    """What is shown is what stands in the file of that name."""
    path = FOLDER / name
    shown = re.sub(r"[ \t]+$", "", text.replace(str(ROOT), "ROOT"), flags=re.MULTILINE)
    if os.environ.get("WRITE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8"), f"{name} says otherwise"
