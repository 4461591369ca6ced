"""What a fit is made from: sketch, modules, data and options. Only a fit of the same can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from pdsketch.files import digest_of
from pdsketch.tensor import Model
from pdsketch.training.data.episode_arrays import EpisodeArrays
from pdsketch.training.options import Options

NOTE: Final = "made_from"
"""Where a model's notes keep what its last fit was made from."""

_NOT_PART_OF_THE_RESULT: Final = (
    "steps",
    "callback",
    "resume",
    "checkpoint",
    "log",
    "progress",
    "time_limit",
    "resident_gib",
)
_MOST_NAMED: Final = 6
"""Names that an error lists."""


def setup_of(model: Model, arrays: EpisodeArrays, options: Options) -> dict[str, Any]:
    """The sketch and each column of the data as digests, the user's modules and the options by name."""
    names = [f.name for f in fields(Options) if f.name not in _NOT_PART_OF_THE_RESULT]
    return {
        "sketch": digest_of(model.domain.source.text),
        "modules": sorted(model.blanks.given),
        "data": arrays.digests,
        "options": {name: getattr(options, name) for name in names},
    }


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How two fits differ, a phrase each."""
    found = []
    if was.get("sketch") != now["sketch"]:
        found.append("the sketch is another one")
    if was.get("modules") != now["modules"]:
        before, after = (_listed(one) for one in (was.get("modules"), now["modules"]))
        found.append(f"the modules given were {before}, and are {after}")
    columns = [name for name, *_ in _unequal(was.get("data"), now["data"])]
    if columns:
        rest = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
        named = ", ".join(f"`{name}`" for name in columns[:_MOST_NAMED])
        found.append(f"the data differ in {named}{rest}")
    for name, before, after in _unequal(was.get("options"), now["options"]):
        found.append(f"option `{name}` was {before!r:.40}, and is {after!r:.40}")
    return found


def _listed(names: Any) -> str:
    return ", ".join(map(str, names[:_MOST_NAMED])) or "none" if isinstance(names, list) else "none"


def _unequal(was: Any, now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    before = was if isinstance(was, dict) else {}
    for name in dict.fromkeys([*before, *now]):
        if name not in before or name not in now or before[name] != now[name]:
            yield name, before.get(name), now.get(name)
