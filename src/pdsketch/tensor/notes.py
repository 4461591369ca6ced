"""Notes of a model of unknown origin: those that the package reads are as `fit` leaves them.

A key that the package does not know is the user's own, and may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import prod
from sys import float_info
from typing import Any, Final

from pdsketch.lang import Domain
from pdsketch.tensor.experience import NOTE as EXPERIENCE
from pdsketch.tensor.states.codes import (
    CODEBOOKS,
    CORRECTIONS,
    COUNTS,
    ENTRIES,
    MOST_VALUES,
    NOTE as CODES,
    ROWS,
    SAMPLES,
    SPREAD,
    WEIGHTS,
)

TRAINED: Final = "trained"
VERDICTS: Final = "verdicts"
EXAMPLES: Final = "examples"
"""On how many answers the rarest case of each form rests."""


def wrong_note(notes: Mapping[str, Any], domain: Domain, bound: Mapping[str, Any]) -> str | None:
    """What is wrong with the notes of a model of the domain; ``bound`` are shapes that states told."""

    def is_code(name: str, value: Any) -> bool:
        predicate = domain.predicates.get(name)
        if predicate is None or predicate.type.prim != "float32":
            return False
        shape = predicate.type.shape if predicate.type.shape is not None else bound.get(name)
        return _is_codes(value, None if shape is None else prod(shape))

    def is_rows(name: str, value: Any) -> bool:
        predicate = domain.predicates.get(name)
        if predicate is None or predicate.type.prim == "bool":
            return False
        shape = predicate.type.shape if predicate.type.shape is not None else bound.get(name)
        sizes = {None if shape is None else prod(shape)} - {None}
        return _is_list(value, lambda row: _is_list(row, _is_number)) and len(sizes | {*map(len, value)}) <= 1

    def is_spread(name: str, value: Any) -> bool:
        return is_rows(name, [value]) and min(value, default=0.0) >= 0

    def is_codebook(name: str, value: Any) -> bool:
        sizes = {prod(p.type.shape or ()) for p in domain.predicates.values() if str(p.type) == name}
        rows = _is_list(value, lambda row: _is_list(row, _is_number)) and len(value) > 0
        return rows and bool(sizes) and {*map(len, value)} == sizes

    checks: dict[str, Callable[[str, Any], bool]] = {
        CODES: is_code,
        ROWS: is_rows,
        SAMPLES: is_rows,
        CORRECTIONS: _is_correction,
        CODEBOOKS: is_codebook,
        EXAMPLES: lambda name, value: name in domain.blanks and type(value) is int and value >= 0,
        COUNTS: lambda _, value: type(value) is int and value > 0,
        SPREAD: is_spread,
        EXPERIENCE: lambda name, value: name in domain.blanks and _is_list(value, _is_record),
        VERDICTS: lambda name, value: name in domain.blanks and isinstance(value, str),
    }
    if not _is_list(notes.get(TRAINED, []), lambda name: isinstance(name, str)):
        return f"`{TRAINED}` lists no blanks"
    for key, is_right in checks.items():
        note = notes.get(key, {})
        if not isinstance(note, dict):
            return f"`{key}` is not what it should be"
        for name, value in note.items():
            if not is_right(name, value):
                return f"`{key}` of `{name:.80}` is not what it should be"
    return None


def _is_correction(name: str, value: Any) -> bool:
    """Whether this is the digest of some weights, or cases of functions, each with its result."""
    if name == WEIGHTS:
        return isinstance(value, str)

    def is_values(values: Any) -> bool:
        return _is_list(values, lambda numbers: _is_list(numbers, _is_number))

    def is_entry(entry: Any) -> bool:
        return (
            isinstance(entry, list)
            and len(entry) == 3
            and isinstance(entry[0], str)
            and is_values(entry[1])
            and (entry[2] is None or is_values(entry[2]))
        )

    return name == ENTRIES and _is_list(value, is_entry)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -float_info.max <= value <= float_info.max
    )


def _is_list(value: Any, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(is_right, value))


def _is_codes(value: Any, dimensions: int | None) -> bool:
    if not isinstance(value, dict):
        return False
    values: Any = value.get("values")
    steps: Any = value.get("steps")
    return (
        _is_list(steps, lambda step: _is_number(step) and step > 0)
        and _is_list(values, _is_ascending)
        and len(values) == len(steps)
        and dimensions in (None, len(steps))
    )


def _is_ascending(values: Any) -> bool:
    few = _is_list(values, _is_number) and len(values) <= MOST_VALUES
    return few and all(a < b for a, b in pairwise(values))


def _is_record(value: Any) -> bool:
    """Whether this is what was seen of one feature: choices, or the ends of ranges."""
    if not isinstance(value, dict):
        return False
    if "seen" in value:
        rows = [] if value["seen"] is None else value["seen"]
        return _is_list(rows, lambda row: _is_list(row, lambda n: type(n) is int and n >= 0))
    ends: list[Any] = [value.get(name) for name in ("low", "high", "least", "most")]
    return all(_is_list(end, _is_number) for end in ends) and len(set(map(len, ends))) == 1
