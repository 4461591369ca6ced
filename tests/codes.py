"""Every diagnostic code, of all rooms, with what it means: the table of ``docs/diagnostics.md``."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "diagnostics.md"

LISTED: list[tuple[str, str]] = re.findall(
    r"^\| `([a-z0-9-]+)` \| (.*) \|$",
    PAGE.read_text(encoding="utf-8").partition("## Examples")[0],
    re.MULTILINE,
)

CODES = dict(LISTED)
