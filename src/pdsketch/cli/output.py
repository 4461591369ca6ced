"""What every command writes: people read stderr and text, machines read one JSON object on stdout.

Exit codes follow Fast Downward's; `finish` is the only place that prints JSON.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, Final, TextIO

from pdsketch.lang.diagnostics import Diagnostic, as_json, render

OK: Final = 0
DIFFERENT: Final = 1
"""`check` found errors, `fmt --check` would rewrite, `validate` refused a plan."""
USAGE: Final = 2
UNSOLVABLE: Final = 11
GAVE_UP: Final = 12
OUT_OF_MEMORY: Final = 22
OUT_OF_TIME: Final = 23
BAD_INPUT: Final = 31
"""Also the answer "not yet"."""
INTERRUPTED: Final = 130

EXIT_OF_STATUS: Final[Mapping[str, int]] = {
    "solved": OK,
    "unsolvable": UNSOLVABLE,
    "gave-up": GAVE_UP,
    "out-of-memory": OUT_OF_MEMORY,
    "out-of-time": OUT_OF_TIME,
}
"""The exit code of each status of a search."""


class UsageError(Exception):
    """The command line itself is wrong: exit code 2. Further lines of the message show the usage."""


def finish(
    code: int,
    payload: Mapping[str, Any],
    *,
    json: bool,
    diagnostics: Iterable[Diagnostic] = (),
    text: str = "",
) -> int:
    """End a command: diagnostics to stderr; to stdout ``payload`` as JSON, or else ``text``.

    ``diagnostics`` joins the payload under that name. Returns ``code``, so that
    a command ends with ``return finish(…)``.
    """
    found = list(diagnostics)
    say_all(found)
    if json:
        print(to_json({**payload, "diagnostics": [as_json(d) for d in found]}))
    elif text:
        print(text)
    return code


def to_json(payload: Mapping[str, Any]) -> str:
    """One line of strict JSON: infinities and NaN become null, arrays become lists."""
    return dumps(_plain(payload), allow_nan=False)


def _plain(value: Any) -> Any:
    """The value in JSON's own kinds."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):  # an array, a tensor, or one of their scalars
        return _plain(value.tolist())
    return str(value)


def say_all(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr, in colour on a terminal."""
    color = wants_color(sys.stderr)
    for diagnostic in diagnostics:
        print(render(diagnostic, color=color), file=sys.stderr)


def say(message: str) -> None:
    """Write one line of progress or of reasons to stderr."""
    print(message, file=sys.stderr, flush=True)


def wants_color(stream: TextIO) -> bool:
    """Whether to colour: on a terminal that can, unless ``NO_COLOR`` is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
