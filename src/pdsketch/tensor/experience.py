"""What each blank was trained on, so that it can be said which inputs are out of distribution.

For every blank that training reached: the range of each number among its
inputs, the range of differences between two inputs of one type, which choices
occurred (together, where few could), and how many elements sets had. All of it
is running minima and maxima over calls, and plain data in a model's notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import ge, le
from typing import Any, Final, Literal, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import ValueType, error
from pdsketch.tensor.compile.blanks import Callee, Given
from pdsketch.tensor.states.codes import Codes
from pdsketch.tensor.states.values import is_categorical

NOTE: Final = "experience"
"""Where a model's notes keep what its blanks were trained on."""

MOST_TOGETHER: Final = 64
"""Combinations of choices are recorded where at most this many are possible; set by hand."""

MOST_NUMBERS: Final = 64
"""A value of more numbers (an image) is known by their mean, deviation, least and greatest."""

RANGE_MARGIN: Final = 0.05
"""How far past the seen range a number may be, as a part of that range; set by hand."""

_SAMPLED_PER_CALL: Final = 512
"""Entries of a call that are kept to tell how far apart values are."""


Kind = Literal["numbers", "difference", "size", "choices", "together"]


@final
@dataclass(frozen=True, slots=True)
class Feature:
    """Something of the inputs of a blank: numbers ``[*leading, d]``, or choices ``[*leading, n, k]``.

    ``of`` names the inputs. ``held`` ``[*leading]``: which entries are there (elements of a set); None: all.
    ``sizes`` are the numbers of choices that were put ``together``.
    """

    kind: Kind
    of: str
    values: Tensor
    held: Tensor | None = None
    tolerance: float = 0.0
    sizes: tuple[int, ...] = ()

    @property
    def is_choice(self) -> bool:
        """Whether it holds choices, and not numbers."""
        return self.kind in ("choices", "together")

    def entries(self) -> Tensor:
        """All that are there, one behind the other."""
        if self.held is not None:
            return self.values[self.held]
        return self.values.flatten(0, -3 if self.is_choice else -2)


def features(callee: Callee, given: Sequence[Given], leading: int) -> Iterator[Feature]:
    """The features of a call over so many leading axes, always the same ones for a blank."""
    alike: dict[str, list[tuple[int, Tensor]]] = {}
    for i, (value, type_) in enumerate(zip(given, callee.inputs, strict=True), start=1):
        if isinstance(value, tuple):
            held = value[1] > 0.5
            yield _input(f"its input {i}", value[0], type_, leading + 1, held)
            yield Feature("size", f"its input {i}", held.sum(-1, keepdim=True).float())
            continue
        found = _input(f"its input {i}", value, type_, leading)
        yield found
        if not found.is_choice:
            alike.setdefault(f"{type_.alias or type_}{found.values.shape[leading:]}", []).append(
                (i, found.values)
            )
    for same in alike.values():
        for at, (i, a) in enumerate(same):
            for j, b in same[at + 1 :]:
                yield Feature("difference", f"its inputs {i} and {j}", a - b)
    yield from _together(callee, given, leading)


def _input(of: str, value: Tensor, type_: ValueType, n: int, held: Tensor | None = None) -> Feature:
    if is_categorical(type_):
        return Feature("choices", of, value.reshape(*value.shape[:n], -1, value.shape[-1]), held)
    if type_.prim == "bool":
        return Feature("choices", of, torch.stack([1 - value, value], -1).flatten(n, -2), held)
    numbers = value.reshape(*value.shape[:n], -1)
    if numbers.shape[-1] > MOST_NUMBERS:
        spread = numbers.std(-1, correction=0)
        numbers = torch.stack([numbers.mean(-1), spread, numbers.amin(-1), numbers.amax(-1)], -1)
        of += " (mean, deviation, least, greatest)"
    return Feature("numbers", of, numbers, held, type_.tolerance)


def _together(callee: Callee, given: Sequence[Given], leading: int) -> Iterator[Feature]:
    """All choices of a call as one, if there are several and few combinations of them are possible."""
    tables: list[Tensor] = []
    for value, type_ in zip(given, callee.inputs, strict=True):
        if isinstance(value, Tensor) and (is_categorical(type_) or type_.prim == "bool"):
            tables += _input("", value, type_, leading).values.unbind(-2)
    sizes = tuple(t.shape[-1] for t in tables)
    if len(tables) < 2 or prod(sizes) > MOST_TOGETHER:
        return
    joint = tables[0]
    for table in tables[1:]:
        joint = (joint.unsqueeze(-1) * table.unsqueeze(-2)).flatten(-2)
    yield Feature("together", "its choices", joint.unsqueeze(-2), sizes=sizes)


@final
class ExperienceRecorder:
    """Gathers what blanks are called on: give it to `Functions.watched`, then `write` it down."""

    def __init__(self, blanks: Iterable[str]) -> None:
        self._blanks = frozenset(blanks)
        self._seen: dict[str, list[_Extent]] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, _result: Tensor) -> None:
        """Take in one call."""
        if callee.name not in self._blanks or 0 in leading:
            return
        found = list(features(callee, given, len(leading)))
        extents = self._seen.setdefault(callee.name, [_Extent(feature) for feature in found])
        for extent, feature in zip(extents, found, strict=True):
            extent.take(feature.entries())

    def write(self, notes: dict[str, Any]) -> None:
        """Record in a model's notes; blanks that were not called keep what was known of them."""
        found = {name: [e.as_json() for e in extents] for name, extents in self._seen.items()}
        notes[NOTE] = {**notes.get(NOTE, {}), **found}


@final
class _Extent:
    """The least and the greatest of one feature, over calls."""

    def __init__(self, feature: Feature) -> None:
        self.kind = feature.kind
        self.is_choice = feature.is_choice
        self.tolerance = feature.tolerance
        self.low: Tensor | None = None
        self.high: Tensor | None = None
        self.sample: list[Tensor] = []

    def take(self, entries: Tensor) -> None:
        """Take in some values."""
        if not len(entries):
            return
        low, high = (t.cpu() for t in torch.aminmax(entries, dim=0))
        self.low = low if self.low is None else torch.minimum(self.low, low)
        self.high = high if self.high is None else torch.maximum(self.high, high)
        if self.kind in ("numbers", "difference"):
            self.sample.append(entries[:: max(1, len(entries) // _SAMPLED_PER_CALL)].cpu())

    def as_json(self) -> dict[str, Any]:
        """The seen choices; or the range seen, ``low`` to ``high``, and accepted, ``least`` to ``most``."""
        if self.is_choice:
            rows = [] if self.high is None else [r.nonzero().squeeze(1).tolist() for r in self.high > 0.5]
            return {"seen": rows}
        if self.low is None or self.high is None:
            return {"low": [], "high": [], "least": [], "most": []}
        if self.kind == "size":
            # Twice as many are much like those that were seen; none are not like some.
            least, most = self.low.clamp(max=1), 2 * self.high
        else:
            margin = self._margin(self.low, self.high)
            least, most = self.low - margin, self.high + margin
        ends = {"low": self.low, "high": self.high, "least": least, "most": most}
        return {name: end.tolist() for name, end in ends.items()}

    def _margin(self, low: Tensor, high: Tensor) -> Tensor:
        """Half the spacing of the seen values, or a small part of their range."""
        spacing = torch.tensor(Codes.of(torch.cat(self.sample), self.tolerance).steps).to(low)
        width = high - low
        width = torch.where(width > 0, width, width.max())
        least = torch.full_like(width, self.tolerance)
        return torch.stack([spacing / 2, width * RANGE_MARGIN, least]).amax(0)


def out_of_distribution(record: Mapping[str, Any], feature: Feature, blank: str) -> Tensor:
    """Where a feature of a blank is outside what was seen, over its leading axes (a set's own axis last)."""
    values = feature.values
    if not _fits(record, feature):
        raise error(
            "bad-notes",
            f"what the model's notes say of `{blank}` does not fit {feature.of}",
            help="train the model again",
        )
    if feature.is_choice:
        known = torch.zeros(values.shape[-2:], dtype=torch.bool)
        for row, choices in zip(known, record["seen"], strict=False):
            row[choices] = True
        found = ((values > 0.5) & ~known.to(values.device)).flatten(-2).any(-1)
    elif not record["low"]:
        found = torch.ones(values.shape[:-1], dtype=torch.bool, device=values.device)
    else:
        least, most = (torch.tensor(record[end], device=values.device) for end in ("least", "most"))
        found = ((values < least) | (values > most)).any(-1)
    return found if feature.held is None else found & feature.held


def is_familiar(record: Mapping[str, Any], feature: Feature) -> bool:
    """Whether a feature is seen at a glance to be in distribution: by its extremes over all entries."""
    if not _fits(record, feature):
        return False
    entries = feature.entries()
    if not len(entries):
        return True
    if feature.is_choice:
        highest = entries.amax(0).tolist()
        return len(highest) == len(record["seen"]) and all(
            choice in seen
            for chosen, seen in zip(highest, record["seen"], strict=True)
            for choice, held in enumerate(chosen)
            if not held <= 0.5
        )
    if not record["low"]:
        return False
    least, most = torch.aminmax(entries, dim=0)
    return all(map(ge, least.tolist(), record["least"])) and all(map(le, most.tolist(), record["most"]))


def _fits(record: Mapping[str, Any], feature: Feature) -> bool:
    rows, width = feature.values.shape[-2:] if feature.is_choice else (0, feature.values.shape[-1])
    if feature.is_choice:
        seen = record.get("seen")
        return seen is not None and len(seen) <= rows and all(max(row, default=0) < width for row in seen)
    return "low" in record and len(record["low"]) in (0, width)


@final
class Watch:
    """Notices where blanks are called outside what they were trained on: give it to `Functions.watched`.

    ``owners`` says to whom each state of the batch at hand belongs. Blanks that
    training never reached are noticed, too, unless they are ``given``, or nothing was trained at all.
    """

    def __init__(self, notes: Mapping[str, Any], given: Iterable[str], owners: Sequence[int] = ()) -> None:
        self._records: Mapping[str, Any] = notes.get(NOTE, {})
        self._known = frozenset({*notes.get("trained", ()), *given})
        self.untrained = bool(notes.get("trained"))
        self.owners = owners
        self._said: dict[int, dict[str, str]] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, _result: Tensor) -> None:
        """Look at one call."""
        if 0 in leading:
            return
        if self.untrained and callee.name not in self._known:
            for owner in self.owners:
                sentence = f"`{callee.name}` was never trained: what it says is a guess"
                self._said.setdefault(owner, {}).setdefault(callee.name, sentence)
        records = self._records.get(callee.name, ())
        for record, feature in zip(records, features(callee, given, len(leading)), strict=False):
            if is_familiar(record, feature):
                continue
            outside = out_of_distribution(record, feature, callee.name)
            if bool(outside.any()):
                self._say(callee.name, record, feature, outside)

    def _say(self, blank: str, record: Mapping[str, Any], feature: Feature, outside: Tensor) -> None:
        """Note the first strange place of each owner that has none of this blank yet."""
        for row in outside.reshape(outside.shape[0], -1).any(1).nonzero().squeeze(1).tolist():
            owners = self.owners if outside.shape[0] == 1 else [self.owners[row]]
            new = [owner for owner in owners if blank not in self._said.setdefault(owner, {})]
            if new:
                value = feature.values[row][tuple(outside[row].nonzero()[0].tolist())]
                sentence = f"`{blank}` was never trained {in_words(feature, record, value)}"
                for owner in new:
                    self._said[owner][blank] = f"{sentence}: what it says there is a guess"

    def sentences(self, owner: int) -> tuple[str, ...]:
        """What to say to an owner, one sentence a blank."""
        return tuple(self._said.get(owner, {}).values())


def in_words(feature: Feature, record: Mapping[str, Any], value: Tensor) -> str:
    """What a value is, and what was seen instead."""
    match feature.kind:
        case "choices":
            seen = "; ".join(", ".join(map(str, row)) or "none" for row in record["seen"])
            return f"on {_listed(value.argmax(-1).tolist())} as {feature.of} (seen: {seen})"
        case "together":
            chosen = np.unravel_index(int(value[0].argmax()), feature.sizes)
            return f"on {_listed([int(c) for c in chosen])} together as {feature.of}"
        case "size":
            seen = f"{record['low'][0]:g} to {record['high'][0]:g}" if record["low"] else "none"
            return f"on a set of {float(value[0]):g} as {feature.of} (seen: {seen})"
        case kind:
            seen = f"{_vector(record['low'])} to {_vector(record['high'])}" if record["low"] else "none"
            near = "near difference" if kind == "difference" else "near"
            return f"{near} {_vector(value.tolist())} of {feature.of} (seen: {seen})"


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _vector(values: Sequence[float]) -> str:
    shown = ", ".join(f"{v + 0.0:.3g}" for v in values[:6])
    return f"[{shown}{', …' if len(values) > 6 else ''}]"
