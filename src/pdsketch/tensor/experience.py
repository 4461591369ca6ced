"""What is not known of a blank: where it is asked what the data do not decide.

Where a form answers, this is where a rival denies what it says: another form that explains the data as well.
Where a network does, it is what never occurred among the combinations of choices that it was trained on. Of
both it is what lies beyond the ranges of numbers and differences, and sets of other sizes. The seen choices
and the ends of ranges are kept in the model's notes, as plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import Tensor

from pdsketch.lang import Domain, Predicate, ValueType, error
from pdsketch.nets import open_answers
from pdsketch.tensor.compile.blanks import Callee, Functions, Given
from pdsketch.tensor.states.codes import Codes
from pdsketch.tensor.states.values import is_categorical

if TYPE_CHECKING:
    from pdsketch.tensor.model import Model
    from pdsketch.tensor.states.state import StateBatch

NOTE: Final = "experience"
"""Where a model's notes keep what its networks were trained on."""

LABELS: Final = "labels"
"""Where they keep the labels that the data had, by type."""

MOST_SEEN: Final = 4096
"""So many combinations of choices are kept of a blank; where there are more, none is strange; set by hand."""

MOST_NUMBERS: Final = 64
"""A value of more numbers (an image) is known by their mean, deviation, least and greatest."""

RANGE_MARGIN: Final = 0.05
"""How far past the seen range a number may be, as a part of that range; set by hand."""

_SAMPLED_PER_CALL: Final = 512
"""Entries of a call that are kept to tell how far apart values are."""

SHOWN: Final = 6
"""Numbers or names that a sentence shows."""


@final
@dataclass(frozen=True, slots=True)
class Feature:
    """Something of the inputs of a network: numbers or, where there is no ``tolerance``, choices.

    ``of`` says which; ``values`` are ``[*leading, d]``, those of a set ``[*leading, n, d]``, of which the
    elements that are ``held`` are there. ``is_size``: it is the size of a set.
    """

    of: str
    values: Tensor
    tolerance: float | None
    held: Tensor | None = None
    is_size: bool = False


def features(callee: Callee, given: Sequence[Given], leading: int) -> Iterator[Feature]:
    """The features of a call over so many leading axes, always the same ones for a blank."""
    choices: list[Tensor] = []
    alike: dict[str, list[tuple[int, Tensor]]] = {}
    for i, (value, type_) in enumerate(zip(given, callee.inputs, strict=True), start=1):
        if isinstance(value, tuple):
            held = value[1] > 0.5
            elements, tolerance = _read(value[0], type_, leading + 1)
            yield Feature(f"an element of its input {i}", elements, tolerance, held)
            size = held.sum(-1, keepdim=True).float()
            yield Feature(f"the size of its input {i}", size, 0.0, is_size=True)
            continue
        read, tolerance = _read(value, type_, leading)
        if tolerance is None:
            choices.append(read)
            continue
        is_long = value.shape[leading:].numel() > MOST_NUMBERS
        summary = " (mean, deviation, least, greatest)" if is_long else ""
        yield Feature(f"its input {i}{summary}", read, tolerance)
        alike.setdefault(f"{type_.alias or type_}{read.shape[leading:]}", []).append((i, read))
    for same in alike.values():
        for at, (i, a) in enumerate(same):
            for j, b in same[at + 1 :]:
                yield Feature(f"the difference of its inputs {i} and {j}", a - b, 0.0)
    if choices:
        yield Feature("its choices", torch.cat(choices, -1), None)


def _read(value: Tensor, type_: ValueType, leading: int) -> tuple[Tensor, float | None]:
    """An argument as numbers, with its tolerance, or as choices."""
    if is_categorical(type_):
        return value.argmax(-1).reshape(*value.shape[:leading], -1), None
    flat = value.reshape(*value.shape[:leading], -1)
    if type_.prim == "bool":
        return (flat > 0.5).long(), None
    if flat.shape[-1] > MOST_NUMBERS:
        spread = flat.std(-1, correction=0)
        flat = torch.stack([flat.mean(-1), spread, flat.amin(-1), flat.amax(-1)], -1)
    return flat.float(), type_.tolerance


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
            values = feature.values
            extent.take(values.flatten(0, -2) if feature.held is None else values[feature.held])

    def write(self, notes: dict[str, Any]) -> None:
        """Record in a model's notes; blanks that were not called keep what was known of them."""
        found = {name: [e.as_json() for e in extents] for name, extents in self._seen.items()}
        notes[NOTE] = {**notes.get(NOTE, {}), **found}


@final
class _Extent:
    """What was seen of one feature, over calls."""

    def __init__(self, feature: Feature) -> None:
        self.tolerance, self.is_size = feature.tolerance, feature.is_size
        self.low: Tensor | None = None
        self.high: Tensor | None = None
        self.sample: list[Tensor] = []
        self.rows: Tensor | None = None

    def take(self, entries: Tensor) -> None:
        """Take in some values."""
        if not len(entries):
            return
        entries = entries.cpu()
        if self.tolerance is None:
            rows = entries if self.rows is None else torch.cat([self.rows, entries])
            self.rows = torch.unique(rows, dim=0)[: MOST_SEEN + 1]
            return
        low, high = torch.aminmax(entries, dim=0)
        self.low = low if self.low is None else torch.minimum(self.low, low)
        self.high = high if self.high is None else torch.maximum(self.high, high)
        self.sample.append(entries[:: max(1, len(entries) // _SAMPLED_PER_CALL)])

    def as_json(self) -> dict[str, Any]:
        """The seen choices; or the range seen, ``low`` to ``high``, and accepted, ``least`` to ``most``."""
        if self.tolerance is None:
            rows = [] if self.rows is None else self.rows.tolist()
            return {"seen": rows if len(rows) <= MOST_SEEN else None}
        if self.low is None or self.high is None:
            return {"low": [], "high": [], "least": [], "most": []}
        if self.is_size:
            # Twice as many are much like those that were seen; none are not like some.
            least, most = self.low.clamp(max=1), 2 * self.high
        else:
            margin = self._margin(self.low, self.high)
            least, most = self.low - margin, self.high + margin
        ends = {"low": self.low, "high": self.high, "least": least, "most": most}
        return {name: end.tolist() for name, end in ends.items()}

    def _margin(self, low: Tensor, high: Tensor) -> Tensor:
        """Half the spacing of the seen values, or a small part of their range."""
        assert self.tolerance is not None
        spacing = torch.tensor(Codes.of(torch.cat(self.sample), self.tolerance).steps).to(low)
        width = high - low
        width = torch.where(width > 0, width, width.max())
        least = torch.full_like(width, self.tolerance)
        return torch.stack([spacing / 2, width * RANGE_MARGIN, least]).amax(0)


@final
@dataclass(frozen=True, slots=True)
class Doubt:
    """Which entries of a call are not known, ``[*leading]``, and what to say of one of them."""

    rows: Tensor
    words: Callable[[tuple[int, ...]], str]


def doubt_of(
    functions: Functions,
    notes: Mapping[str, Any],
    callee: Callee,
    given: Sequence[Given],
    leading: torch.Size,
) -> Doubt | None:
    """What is not known of a call of a function; None: all is.

    ``notes`` are those of the model of the ``functions``, ``callee`` is the one that is called, ``given`` are
    the arguments over ``leading`` axes.
    """
    if 0 in leading:
        return None
    module = functions.calls.get(callee.name)
    parts = [part for part in (module, getattr(module, "gate", None)) if getattr(part, "form", None)]
    opened = [one for part in parts if (one := open_answers(part, given)) is not None]
    if opened and bool((rows := torch.stack(opened).any(0)).any()):
        return Doubt(rows, lambda at: f"is a guess on {_asked(callee, given, at)}: the data do not decide")
    records = notes.get(NOTE, {}).get(callee.name)
    return None if not records else _strange(records, callee, given, leading, choices=not parts)


def largest_set(notes: Mapping[str, Any], blank: str, before: Sequence[ValueType]) -> int | None:
    """The size of the largest set on which a blank was trained, whose inputs before are of some types."""
    own = [type_ for type_ in before if not is_categorical(type_)]  # an entry each, then the set's elements
    records = notes.get(NOTE, {}).get(blank, ())[len(own) + 1 : len(own) + 2]
    return next((int(record["high"][0]) for record in records if record.get("high")), None)


def _strange(
    records: Sequence[Mapping[str, Any]],
    callee: Callee,
    given: Sequence[Given],
    leading: torch.Size,
    *,
    choices: bool,
) -> Doubt | None:
    """What of a call is unlike all that a blank was trained on: numbers and, unless a form tells, choices."""
    axes, found = len(leading), list[tuple[Tensor, Feature, Mapping[str, Any]]]()
    for record, feature in zip(records, features(callee, given, axes), strict=False):
        if feature.tolerance is None and not choices:
            continue
        outside = _outside(record, feature, callee.name)
        if bool(outside.any()):
            found.append((outside, feature, record))
    if not found:
        return None

    def words(at: tuple[int, ...]) -> str:
        outside, feature, record = next(one for one in found if bool(one[0][at].any()))
        value = feature.values[at]
        if outside.dim() > axes:
            value = value[int(outside[at].nonzero()[0])]
        return f"was never trained on {_numbers(value.tolist())} as {feature.of} (seen: {_said(record)})"

    rows = [outside.any(-1) if outside.dim() > axes else outside for outside, _, _ in found]
    return Doubt(torch.stack(rows).any(0), words)


def _outside(record: Mapping[str, Any], feature: Feature, blank: str) -> Tensor:
    """Where a feature of a blank is outside what was seen, over its leading axes (a set's own axis last)."""
    values, width = feature.values, feature.values.shape[-1]
    seen, low = record.get("seen", []), record.get("low")
    wrong = low is not None and len(low) not in (0, width)
    if (
        (feature.tolerance is None) != ("seen" in record)
        or wrong
        or any(len(row) != width for row in seen or ())
    ):
        raise error(
            "bad-notes",
            f"what the model's notes say of `{blank}` does not fit {feature.of}",
            help="train the model again",
        )
    if feature.tolerance is None:
        known = torch.tensor(seen or [], dtype=torch.int64, device=values.device).reshape(-1, width)
        found = ~torch.isin(_hashed(values), _hashed(known)) & (seen is not None)
    elif not low:
        found = torch.ones(values.shape[:-1], dtype=torch.bool, device=values.device)
    else:
        least, most = (torch.tensor(record[end], device=values.device) for end in ("least", "most"))
        found = ((values < least) | (values > most)).any(-1)
    return found if feature.held is None or found.dim() < feature.held.dim() else found & feature.held


def _hashed(rows: Tensor) -> Tensor:
    """A number for each row of choices, ``[..., d]`` → ``[...]``; of different rows it differs."""
    found = torch.zeros(rows.shape[:-1], dtype=torch.int64, device=rows.device)
    for column in rows.unbind(-1):
        found = found * 0x5851F42D4C957F2D + column + 1  # Knuth's multiplier; it wraps
    return found


def note_labels(notes: dict[str, Any], domain: Domain, seen: Mapping[str, Tensor]) -> None:
    """Record the labels among the values ``seen`` of variables, ``[n, d]`` each, by the name of a type."""
    found: dict[str, set[int]] = {}
    for predicate in _labelled(domain):
        if predicate.name in seen:
            labels = seen[predicate.name].unique().tolist()  # type: ignore[no-untyped-call]
            found.setdefault(str(predicate.type), set()).update(labels)
    notes[LABELS] = {name: sorted(labels) for name, labels in found.items()}


def strange_labels(model: Model, batch: StateBatch) -> Iterator[str]:
    """What to say of labels in states that no state of the training data had, once a type."""
    seen = dict[str, list[int]](model.notes.get(LABELS, {}))
    for predicate in _labelled(model.domain):
        labels = batch.tensor(predicate.name).unique().tolist()  # type: ignore[no-untyped-call]
        known = seen.get(str(predicate.type)) or labels
        if new := sorted({*labels} - {*known}):
            del seen[str(predicate.type)]
            yield (
                f"`{predicate.name}` has {_numbers(new)} here, and no {predicate.type} of the training data "
                f"had (seen: {known[0]} to {known[-1]}): no blank knows such labels; a quantity, as a "
                "coordinate, is a float32[tolerance=0.3], which has differences"
            )


def _labelled(domain: Domain) -> Iterator[Predicate]:
    """The observed variables whose values are labels."""
    for predicate in domain.state_predicates:
        if predicate.role != "encoded" and is_categorical(predicate.type) and predicate.type.prim != "bool":
            yield predicate


@final
class Watch:
    """Notices where blanks of a model are asked what is not known: give it to `Functions.watched`.

    ``owners`` says to whom each state of the batch at hand belongs. Blanks that training never reached are
    noticed, too, unless they are the user's, or nothing was trained at all.
    """

    def __init__(self, model: Model, owners: Sequence[int] = ()) -> None:
        self._functions, self._notes = model.blanks, model.notes
        self._known = frozenset({*model.notes.get("trained", ()), *model.blanks.given})
        self.untrained = bool(model.notes.get("trained"))
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
        doubt = doubt_of(self._functions, self._notes, callee, given, leading)
        if doubt is not None:
            self._say(callee.name, doubt)

    def _say(self, blank: str, doubt: Doubt) -> None:
        """Note the first strange place of each owner that has none of this blank yet."""
        rows = doubt.rows if doubt.rows.dim() else doubt.rows.reshape(1)
        for row in rows.reshape(rows.shape[0], -1).any(1).nonzero().squeeze(1).tolist():
            owners = self.owners if rows.shape[0] == 1 else [self.owners[row]]
            new = [owner for owner in owners if blank not in self._said.setdefault(owner, {})]
            if new:
                place = (row, *rows[row].nonzero()[0].tolist()) if doubt.rows.dim() else ()
                for owner in new:
                    self._said[owner][blank] = f"`{blank}` {doubt.words(place)}"

    def sentences(self, owner: int) -> tuple[str, ...]:
        """What to say to an owner, one sentence a blank."""
        return tuple(self._said.get(owner, {}).values())


def _asked(callee: Callee, given: Sequence[Given], at: tuple[int, ...]) -> str:
    """What a call asks at one place."""
    said = []
    for value, type_ in zip(given, callee.inputs, strict=True):
        if isinstance(value, tuple):
            said.append(f"a set of {int((value[1][at] > 0.5).sum())}")
            continue
        read, _ = _read(value[at].unsqueeze(0), type_, 1)
        said.append(_numbers(read[0].tolist()))
    return ", ".join(said)


def _said(record: Mapping[str, Any]) -> str:
    """What was seen."""
    if "seen" in record:
        rows = record["seen"] or []
        return "; ".join(map(_numbers, rows[:SHOWN])) + ("; …" if len(rows) > SHOWN else "") or "none"
    return f"{_numbers(record['low'])} to {_numbers(record['high'])}" if record["low"] else "none"


def _numbers(values: Sequence[float]) -> str:
    shown = ", ".join(f"{v + 0.0:.3g}" for v in values[:SHOWN])
    return shown if len(values) == 1 else f"[{shown}{', …' if len(values) > SHOWN else ''}]"
