"""Codes for values: a finite number of them stands in for every value of a type.

A codebook holds numbers and the codes that stand for them.
A type is cut into *parts*, each with a codebook of its own: ints a dimension each, a vector of floats as a
whole where few combinations were seen (a pose on a grid is one code), latent vectors as a whole by
k-means, else a dimension each. Codes are numbered in the order in which they are met, so that a codebook
can grow without renumbering.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.core import Bools, Floats, Longs
from pdsketch.lang import Domain, Predicate, ValueType, did_you_mean, error
from pdsketch.tensor import CODEBOOKS, COUNTS, codes_of, rows_of, samples_of

# k-means, deterministic: the same rows give the same centroids.

MOST_CENTROIDS: Final = 64
"""Centroids where nobody says how many. Set by hand; the paper takes 128 bins."""

GOOD_ENOUGH: Final = 0.05
"""No more centroids are taken once the error is this part of the standard deviation. Set by hand."""

_ROUNDS: Final = 50


def kmeans(rows: Floats, k: int) -> Floats:
    """At most ``k`` centroids of rows, ``[n, d]``, in lexicographic order.

    Lloyd's algorithm, begun as k-means++ (Arthur and Vassilvitskii, 2007), with the furthest row in the place
    of a random one (Gonzalez, 1985).
    """
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= k:
        return distinct
    chosen = [int(_squared(rows, rows.mean(0, keepdims=True))[:, 0].argmin())]
    nearest = _squared(rows, rows[chosen])[:, 0]
    while len(chosen) < k:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, _squared(rows, rows[chosen[-1:]])[:, 0])
    centroids = rows[chosen]
    for _ in range(_ROUNDS):
        own = closest(rows, centroids)
        sums = np.zeros_like(centroids)
        np.add.at(sums, own, rows)
        counts = np.bincount(own, minlength=len(centroids))[:, None]
        moved = np.where(counts > 0, sums / np.maximum(counts, 1), centroids)
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    found: Floats = np.unique(centroids, axis=0)
    return found


def fitted(rows: Floats) -> Floats:
    """As few centroids as are good enough: 1, 2, 4 … of them."""
    k = 1
    while True:
        centroids = kmeans(rows, k)
        if k >= MOST_CENTROIDS or relative_error(rows, centroids) <= GOOD_ENOUGH:
            return centroids
        k *= 2


def closest(rows: Floats, centroids: Floats) -> Longs:
    """The nearest centroid of each row."""
    step = max(1, 2_000_000 // max(1, len(centroids)))
    parts = [_squared(rows[i : i + step], centroids).argmin(1) for i in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def relative_error(rows: Floats, centroids: Floats) -> float:
    """How far rows are from their centroids: a root mean square, in units of their standard deviation."""
    off = float(((rows - centroids[closest(rows, centroids)]) ** 2).mean())
    spread = float(((rows - rows.mean(0)) ** 2).mean())
    return (off / spread) ** 0.5 if spread > 0 else 0.0


def _squared(rows: Floats, centroids: Floats) -> Floats:
    # |a − b|² = |a|² − 2ab + |b|²: one matrix product in place of all differences. It may round below 0.
    found: Floats = (rows**2).sum(1)[:, None] - 2 * rows @ centroids.T + (centroids**2).sum(1)[None]
    return found


MOST_CODES: Final = 2048
"""Codes of a part; beyond, values count as the nearest code."""

GROWTH: Final = 24
"""Codes that a single number may grow past the range of what is known. Set by hand."""


FARTHEST: Final = float(np.sqrt(np.finfo(np.float64).max))
"""Numbers farther from 0 than so many radii count as that far, and have no code: squares end there."""


@final
class Codebook:
    """The codes of one part of a type: ``values[c]`` are the numbers that code ``c`` stands for.

    ``name`` is the type's, with the part's. Numbers within ``radius`` (of each dimension) of a code have it;
    ``whole`` ones are ints; of declared ``choices`` no others have a code. Where it ``grows``, numbers that
    are near to no code get new ones, up to a limit. ``low`` and ``high`` bound what is known: seen in data,
    in a state or in a formula. A ``closed`` codebook has what was seen in data, and nothing else came up yet:
    then variables have no other values than those that they had in the data. ``kind`` says in a word what the
    codes are; of ``k-means``, each stands for many values, and states add nothing to them.
    """

    def __init__(
        self,
        name: str,
        radius: Floats,
        whole: bool,
        grows: bool,
        kind: str = "values",
        choices: int | None = None,
    ) -> None:
        self.choices = choices
        self.name = name
        self.kind = kind
        self.radius = radius
        self.whole = whole
        self.grows = grows
        self.values: Floats = np.zeros((0, len(radius)))
        self.low: Floats = np.full(len(radius), np.inf)
        self.high: Floats = np.full(len(radius), -np.inf)
        self.grown = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def fixed(self) -> bool:
        """Whether each code stands for many values."""
        return self.kind == "k-means"

    @staticmethod
    def clustered(
        name: str, sample: Floats, tolerance: float, k: int | None, trained: Floats | None = None
    ) -> Codebook:
        """The codes of values by k-means over some that were seen; as many as they ask for, or ``k``.

        ``name`` is the codebook's; ``sample`` holds the values, ``[n, d]``. A code has a radius as large as
        its members are away, and not less than ``tolerance``. ``trained`` are centroids that an encoder was
        trained with.
        """
        centroids = fitted(sample) if k is None else kmeans(sample, k)
        if trained is not None:
            centroids = trained[np.unique(closest(sample, trained))]
        off = np.abs(sample - centroids[closest(sample, centroids)]).max(0)
        book = Codebook(name, np.maximum(off, tolerance), False, False, "k-means")
        book.values = centroids
        book.low, book.high = sample.min(0), sample.max(0)
        return book

    def know(self, numbers: Floats) -> Longs:
        """The codes of numbers that are known, ``[n, d]``; new ones where there were none."""
        if self.fixed:
            return self.nearest(numbers)
        if len(numbers):
            self.low = np.minimum(self.low, numbers.min(0))
            self.high = np.maximum(self.high, numbers.max(0))
        before = len(self)
        codes = self._coded(numbers, np.ones(len(numbers), np.bool_))
        self.closed &= len(self) == before
        return codes

    def admit(self, numbers: Floats) -> Longs:
        """The same without a wider range: constants that a function returns may stand apart from all else."""
        return self._coded(numbers, np.ones(len(numbers), np.bool_))

    def meet(self, numbers: Floats) -> tuple[Longs, Bools]:
        """The codes of computed numbers, and which of these are their own: the others are the nearest.

        New codes are made within the range of what is known, and a few past it.
        """
        if self.fixed or self.closed:
            codes = self.nearest(numbers)
            return codes, self._has_own(numbers, codes)
        inside = (numbers >= self.low - self.radius) & (numbers <= self.high + self.radius)
        codes = self._coded(numbers, np.asarray(inside.all(1)))
        return codes, self._has_own(numbers, codes)

    def is_near(self, numbers: Floats) -> Bools:
        """Whether each of the numbers is within the radius of a code."""
        if not len(self):
            return np.zeros(len(numbers), np.bool_)
        return self._has_own(numbers, self.nearest(numbers))

    def _has_own(self, numbers: Floats, codes: Longs) -> Bools:
        """Whether each of the numbers is within the radius of its code."""
        if not len(self):
            return np.zeros(len(numbers), np.bool_)
        return np.asarray((np.abs(numbers - self.values[codes]) <= self.radius).all(1))

    def nearest(self, numbers: Floats) -> Longs:
        """The nearest code of each row of numbers, in units of the radius; of k-means, by Euclid."""
        if self.fixed:
            return closest(numbers, self.values)
        limit = FARTHEST * self.radius
        if len(self.radius) == 1:
            return _closest_number(np.clip(numbers, -limit, limit) / self.radius, self.values / self.radius)
        if len(numbers) > MOST_CODES:  # equal ones are looked up once
            distinct, inverse = np.unique(numbers, axis=0, return_inverse=True)
            if len(distinct) <= MOST_CODES:
                return self.nearest(distinct)[inverse.reshape(-1)]
        scaled, own = np.clip(numbers, -limit, limit) / self.radius, self.values / self.radius
        found = np.empty(len(numbers), np.int64)
        step = max(1, 4_000_000 // max(1, len(own)))
        for first in range(0, len(numbers), step):
            some = scaled[first : first + step]
            off = np.abs(some[:, 0, None] - own[:, 0])
            for dimension in range(1, own.shape[1]):  # few: one pass over all pairs for each is faster
                np.maximum(off, np.abs(some[:, dimension, None] - own[:, dimension]), out=off)
            found[first : first + step] = off.argmin(1)
        return found

    def _coded(self, numbers: Floats, welcome: Bools) -> Longs:
        """The codes of numbers; those that have none get one where they are welcome, or while it may grow."""
        if not len(numbers):
            return np.zeros(0, np.int64)
        known = self.nearest(numbers) if len(self) else np.zeros(len(numbers), np.int64)
        far = ~self._has_own(numbers, known)
        if not far.any():
            return known
        before = len(self)
        distinct, inverse = np.unique(numbers[far], axis=0, return_inverse=True)
        allowed = np.zeros(len(distinct), np.bool_)
        np.logical_or.at(allowed, inverse.reshape(-1), welcome[far])
        # Those that are welcome first: the few places left for growth are for the others.
        for at in np.argsort(~allowed, kind="stable"):
            if len(self) >= MOST_CODES or not (allowed[at] or (self.grows and self.grown < GROWTH)):
                break  # nor do those that follow get one
            row = distinct[at]
            if len(self) and (np.abs(self.values - row) <= self.radius).all(1).any():
                continue
            if not (np.abs(row) < FARTHEST * self.radius).all():
                continue
            if self.choices is not None and row[0] not in range(self.choices):
                continue
            self.grown += not allowed[at]
            self.values = np.concatenate([self.values, row[None]])
        return known if len(self) == before else self.nearest(numbers)


def _closest_number(numbers: Floats, values: Floats) -> Longs:
    """The place of the closest value of each number, ``[n, 1]`` and ``[m, 1]``; of two, the first."""
    distinct, places = np.unique(values[:, 0], return_index=True)
    above = np.searchsorted(distinct, numbers[:, 0])
    low, high = np.maximum(above - 1, 0), np.minimum(above, len(distinct) - 1)
    off_low, off_high = np.abs(numbers[:, 0] - distinct[low]), np.abs(numbers[:, 0] - distinct[high])
    first, second = places[low], places[high]
    found: Longs = np.where(
        off_low == off_high, np.minimum(first, second), np.where(off_low < off_high, first, second)
    )
    return found


@final
@dataclass(frozen=True, slots=True)
class CodePart:
    """Some dimensions of a type, which have one codebook."""

    book: Codebook
    dimensions: tuple[int, ...]

    def codes(self, numbers: Tensor) -> Tensor:
        """The code of each row of numbers: ``[n, d]`` → ``[n]``."""
        return torch.from_numpy(self.book.nearest(numbers.double().cpu().numpy()))


# How many codes a type is given by a user, checked.


def check_counts(domain: Domain, counts: Mapping[str, int], recorded: Iterable[str]) -> None:
    """Only types of floats of which values were recorded can be given a number of codes."""
    known = {*recorded}
    for name, count in counts.items():
        mine = [p for p in domain.state_predicates if str(p.type) == name]
        if type(count) is not int or count < 1:
            raise error("bad-option", f"`{name}` is given {count!r:.20} codes, and these are a count")
        if not mine:
            help_ = did_you_mean(name, [str(p.type) for p in domain.state_predicates])
            raise error("bad-option", f"no state variable has the type `{name:.80}`", help=help_)
        if mine[0].type.prim != "float32":
            raise error("bad-option", f"`{name}` is no type of floats: each of its values is a code")
        if not any(p.name in known for p in mine):
            raise error(
                "bad-option",
                f"no values of `{name}` were recorded, from which codes could be made",
                help="train the model, or give no number of codes",
            )


MOST_JOINT: Final = 512
"""A vector of floats is one part if no more combinations of its numbers are known.

Set by hand: a pose in a room of 20 by 20.
"""

MOST_CHOICES: Final = 64
"""Declared choices that are codes from the beginning where no data says which of them occur."""


@final
class Codebooks:
    """The codebooks of a domain's types, and which codes each state variable can have.

    ``domains[p][i]`` are the codes of part ``i`` of the predicate ``p``, in the order in which they were met.
    """

    def __init__(
        self,
        domain: Domain,
        notes: Mapping[str, Any],
        counts: Mapping[str, int] | None = None,
        *,
        bins: bool = False,
    ) -> None:
        """The codes that a fit has recorded; ``counts`` says how many types of floats have.

        They are for the types of ``domain``, and recorded in a model's ``notes``. ``bins``: numbers with many
        values get codes now, and not only once they are met.
        """
        self.domain = domain
        self._codes = codes_of(notes)
        self._rows = rows_of(notes)
        self._samples = samples_of(notes)
        self._trained = {} if counts else dict(notes.get(CODEBOOKS, {}))
        self._counts = {**notes.get(COUNTS, {}), **(counts or {})}
        self._bins = bins
        check_counts(domain, self._counts, {*self._rows, *self._samples})
        self._parts: dict[str, tuple[CodePart, ...]] = {}
        self._components: dict[tuple[str, int], Codebook] = {}
        self.domains: dict[str, list[dict[int, None]]] = {}
        for predicate in domain.state_predicates:
            if not predicate.type.is_bool:
                self.domains[predicate.name] = [{} for _ in self.parts(predicate.type)]
                self._learn(predicate)
        for predicate in domain.state_predicates:
            if predicate.name in self._rows and predicate.type.shape not in ((), None):
                for part in self.parts(predicate.type):
                    part.book.closed = len(part.dimensions) > 1 and not part.book.fixed

    def parts(self, type_: ValueType) -> tuple[CodePart, ...]:
        """The parts of a type. Types of one name share them."""
        name = str(type_)
        if name not in self._parts:
            self._parts[name] = tuple(self._cut(name, type_))
        return self._parts[name]

    def is_joint(self, type_: ValueType) -> bool:
        """Whether the values of a type have codes as a whole, which stand for all of its numbers."""
        parts = self.parts(type_)
        return len(parts) == 1 and len(parts[0].dimensions) > 1 and not parts[0].book.fixed

    def component(self, type_: ValueType, place: int) -> tuple[CodePart, Longs]:
        """The codes of one number of a joint type, and which of these each of the type's codes has."""
        ((whole, _),) = ((part.book, part.dimensions) for part in self.parts(type_))
        key = str(type_), place
        if key not in self._components:
            name, own = f"{whole.name}.{place}", slice(place, place + 1)
            self._components[key] = Codebook(name, whole.radius[own], whole.whole, False)
        book = self._components[key]
        return CodePart(book, (0,)), book.know(whole.values[:, place : place + 1])

    def is_near(self, name: str, table: Tensor) -> list[Bools]:
        """Which values of a state variable have a code of their own, part by part; else it is the nearest."""
        type_ = self.domain.predicates[name].type
        numbers = table.detach().double().cpu().reshape(-1, _size(type_)).numpy()
        return [part.book.is_near(numbers[:, list(part.dimensions)]) for part in self.parts(type_)]

    def error(self, name: str, place: int) -> float | None:
        """How far the values that a fit has recorded of a part are from their codes, in deviations."""
        seen = self.recorded(name)
        part = self.parts(self.domain.predicates[name].type)[place]
        if seen is None or not len(part.book):
            return None
        own = seen[:, list(part.dimensions)]
        values = part.book.values[part.book.nearest(own)]
        spread = float(((own - own.mean(0)) ** 2).mean())
        return (float(((own - values) ** 2).mean()) / spread) ** 0.5 if spread > 0 else 0.0

    def recorded(self, name: str) -> Floats | None:
        """The values that a fit has recorded of a state variable, ``[n, d]``."""
        listed = self._rows.get(name) or self._samples.get(name)
        if not listed:
            return None
        return np.array(listed, np.float64).reshape(len(listed), -1)

    @property
    def seen(self) -> dict[str, Longs]:
        """The combinations of codes that a fit has recorded of state variables, a column a part."""
        found = {}
        for name in self._rows:
            shape = self.domain.predicates[name].type.shape or ()
            rows = torch.tensor(self._rows[name], dtype=torch.float64).reshape(-1, *shape)
            found[name] = np.stack(self.codes(name, rows), -1)
        return found

    def books(self) -> Iterable[Codebook]:
        """All codebooks."""
        own = [part.book for parts in self._parts.values() for part in parts]
        return [*own, *self._components.values()]

    @property
    def sizes(self) -> tuple[object, ...]:
        """How many codes there are, and how many each state variable can have: they only grow."""
        domains = [tuple(map(len, parts)) for parts in self.domains.values()]
        return (*map(len, self.books()), *domains)

    def observe(self, name: str, table: Tensor) -> list[Longs]:
        """The codes of a state variable in some states, ``[state, *objects, *value]``, taken in as known."""
        found = self.codes(name, table)
        for place, codes in enumerate(found):
            known = self.domains[name][place]
            met = dict.fromkeys(codes.tolist())
            if met.keys() - known.keys():
                known.update(met)
        return found

    def codes(self, name: str, table: Tensor) -> list[Longs]:
        """The codes of known values of a state variable, part by part."""
        return self.know_values(self.domain.predicates[name].type, table)

    def value_of(self, type_: ValueType, codes: Sequence[Longs]) -> Tensor:
        """The values of a type that codes of its parts stand for, ``[n, *shape]``."""
        n = len(codes[0]) if codes else 0
        size = _size(type_)
        numbers = np.zeros((n, size))
        for part, own in zip(self.parts(type_), codes, strict=True):
            if len(part.book):
                numbers[:, list(part.dimensions)] = part.book.values[own]
        tensor = torch.from_numpy(numbers).reshape(n, *(type_.shape or ()))
        if type_.prim == "bool":
            return tensor > 0.5
        return tensor.round().long() if type_.prim == "int64" else tensor.float()

    def know_values(self, type_: ValueType, values: Tensor) -> list[Longs]:
        """The codes of values of a type, ``[…, *shape]``, part by part."""
        numbers = values.detach().double().cpu().reshape(-1, _size(type_)).numpy()
        return [part.book.know(numbers[:, list(part.dimensions)]) for part in self.parts(type_)]

    def know_choices(self, type_: ValueType) -> list[Longs]:
        """The codes of all declared choices of a type, part by part, if they are not too many."""
        choices = type_.choices if (type_.choices or 0) <= MOST_CHOICES else 0
        every = np.arange(float(choices or 0)).reshape(-1, 1)
        whole = type_.choices is not None
        return [part.book.know(every) if whole else np.zeros(0, np.int64) for part in self.parts(type_)]

    def _cut(self, name: str, type_: ValueType) -> Iterable[CodePart]:
        size = _size(type_)
        if type_.prim != "float32":
            for i in range(size):
                own = name if size == 1 else f"{name}.{i}"
                kind = "choices" if type_.choices is not None else "values"
                book = Codebook(own, np.full(1, 0.4), True, type_.choices is None, kind, type_.choices)
                yield CodePart(book, (i,))
            return
        mine = [p.name for p in self.domain.state_predicates if str(p.type) == name]
        encoded = any(self.domain.predicates[n].role == "encoded" for n in mine)
        if name in {*self._counts, *self._trained} or (size > 1 and encoded and not self._few(mine, size)):
            recorded = [seen for n in mine if (seen := self.recorded(n)) is not None]
            if recorded:
                every = np.concatenate(recorded)
                trained = np.array(self._trained[name]) if name in self._trained else None
                book = Codebook.clustered(name, every, type_.tolerance, self._counts.get(name), trained)
                yield CodePart(book, tuple(range(size)))
                return
        steps = self._steps(mine, size, type_)
        if size == 1 or self._few(mine, size) or self._is_proposed(name, mine, size):
            yield CodePart(Codebook(name, steps, False, size == 1), tuple(range(size)))
            return
        for i in range(size):
            yield CodePart(Codebook(f"{name}.{i}", steps[i : i + 1], False, True), (i,))

    def _steps(self, names: Sequence[str], size: int, type_: ValueType) -> Floats:
        """How near numbers are one code: half the spacing that was recorded, or the tolerance."""
        known = [np.array(self._codes[n].steps) / 2 for n in names if n in self._codes]
        if known:
            least: Floats = np.minimum.reduce(known)
            return least * 0.999
        return np.full(size, type_.tolerance)

    def _few(self, names: Sequence[str], size: int) -> bool:
        """Whether few combinations are known of vectors of a type, or nothing is."""
        seen = 0
        for name in names:
            if name in self._rows:
                seen += len(self._rows[name])
            elif name in self._codes:
                seen += prod(len(v) or MOST_JOINT + 1 for v in self._codes[name].values)
        return seen <= MOST_JOINT and size <= 64

    def _is_proposed(self, name: str, mine: Sequence[str], size: int) -> bool:
        """Whether vectors of a type with many values are arguments of actions.

        Then few of them come up in a problem: those of its state, and those that are proposed.
        """
        many = any(not values for n in mine if n in self._codes for values in self._codes[n].values)
        taken = {str(p.type) for action in self.domain.actions.values() for p in action.parameters}
        return many and name in taken and size <= 64

    def _learn(self, predicate: Predicate) -> None:
        """The codes that a fit has recorded."""
        name, type_ = predicate.name, predicate.type
        size = _size(type_)
        if name in self._rows:
            rows = torch.tensor(self._rows[name], dtype=torch.float64).reshape(-1, size)
            self.observe(name, rows.reshape(-1, *(type_.shape or ())))
            return
        codes = self._codes.get(name)
        if any(part.book.fixed for part in self.parts(type_)):
            seen = self.recorded(name)
            if seen is not None:
                self.observe(name, torch.from_numpy(seen).reshape(-1, *(type_.shape or ())))
            return
        if codes is None:
            for own, every in zip(self.domains[name], self.know_choices(type_), strict=True):
                own.update(dict.fromkeys(every.tolist()))
            return
        parts = self.parts(type_)
        if len(parts) == 1 and size > 1:
            grids = np.meshgrid(*(np.array(v) for v in codes.values), indexing="ij")
            rows = torch.from_numpy(np.stack([g.reshape(-1) for g in grids], -1))
            self.observe(name, rows.reshape(-1, *(type_.shape or ())))
        else:
            for place, part in enumerate(parts):
                numbers = np.array(codes.values[part.dimensions[0]], np.float64).reshape(-1, 1)
                recorded = self.recorded(name)
                if self._bins and not len(numbers) and recorded is not None:
                    part.book.kind = "bins"
                    numbers = fitted(recorded[:, list(part.dimensions)])
                self.domains[name][place].update(dict.fromkeys(part.book.know(numbers).tolist()))


def _size(type_: ValueType) -> int:
    """How many numbers a value has."""
    return prod(type_.shape or ())
