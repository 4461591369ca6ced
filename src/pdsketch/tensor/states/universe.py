"""The objects of states, and where each stands on the axes of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from pdsketch.lang import (
    Domain,
    Expr,
    Hierarchy,
    ObjectType,
    Predicate,
    did_you_mean,
    error,
    is_object_name,
    parse_goal,
)

_KEPT = 1024
"""How many formulas a universe keeps, and how many layouts are found again; then all begins anew."""

_KNOWN: WeakValueDictionary[tuple[int, tuple[tuple[str, ObjectType], ...]], Universe] = WeakValueDictionary()


@final
class Universe:
    """The objects of a state, the domain's constants first. One instance for each set of objects.

    ``types`` maps each object to its most specific type, in the order of the
    axes: constants as declared, then objects as ``objects`` lists them.
    """

    __slots__ = ("__weakref__", "_at", "_formulas", "_members", "domain", "types", "validations")

    def __init__(self, domain: Domain, types: Mapping[str, ObjectType]) -> None:
        self.domain = domain
        self.types = dict(types)
        self._formulas: dict[str, Expr] = {}
        self.validations: dict[tuple[Any, ...], Any] = {}
        self._members: dict[ObjectType, tuple[str, ...]] = {}
        self._at: dict[ObjectType, dict[str, int]] = {}

    @staticmethod
    def of(domain: Domain, objects: Mapping[str, Sequence[str]]) -> Universe:
        """The universe of these objects, listed by type."""
        types = dict(domain.constants)
        for name, type_ in _listed(domain, objects):
            if name in types and (name not in domain.constants or types[name] != type_):
                raise error(
                    "duplicate-object",
                    f"`{name}` is listed as a {type_} and is already a {types[name]}",
                    help="list each object once, under its most specific type",
                )
            types[name] = type_
        return Universe.known(domain, types)

    @staticmethod
    def known(domain: Domain, types: Mapping[str, ObjectType]) -> Universe:
        """The one universe with these objects, the constants included."""
        key = (id(domain), tuple(types.items()))
        universe = _KNOWN.get(key)
        if universe is None:
            universe = _KNOWN[key] = Universe(domain, types)
        return universe

    def formula(self, text: str) -> Expr:
        """A formula over these objects, read and checked once. Raises `Error` if it does not fit them."""
        found = self._formulas.get(text)
        if found is None:
            if len(self._formulas) >= _KEPT:
                self._formulas.clear()
            found = self._formulas[text] = parse_goal(text, self.domain, self.types)
        return found

    @property
    def objects(self) -> dict[str, tuple[str, ...]]:
        """The objects by type, without the constants: what `State` takes."""
        listed: dict[str, list[str]] = {}
        for name, type_ in self.types.items():
            if name not in self.domain.constants:
                listed.setdefault(str(type_), []).append(name)
        return {type_: tuple(names) for type_, names in listed.items()}

    def sizes(self, predicate: Predicate) -> tuple[int, ...]:
        """How long the object axes of a predicate's table are."""
        return tuple(len(self.members(type_)) for type_ in predicate.object_types)

    def members(self, type_: ObjectType) -> tuple[str, ...]:
        """The objects along the axis of a type."""
        found = self._members.get(type_)
        if found is None:
            found = self._members[type_] = self.domain.hierarchy.members(type_, self.types)
        return found

    def find(self, name: str, type_: ObjectType) -> int:
        """Where an object stands on the axis of a type; −1 if it is not there."""
        index = self._at.get(type_)
        if index is None:
            index = self._at[type_] = {member: i for i, member in enumerate(self.members(type_))}
        return index.get(name, -1)

    def at(self, name: str, type_: ObjectType) -> int:
        """Where an object stands on the axis of a type. Raises `Error` if it is not there."""
        found = self.find(name, type_)
        if found < 0:
            raise self.stranger(name, type_)
        return found

    def stranger(self, name: str, type_: ObjectType) -> Exception:
        """The error for an object that is not on an axis."""
        if name in self.types:
            return error("type-mismatch", f"`{name}` is a {self.types[name]}, and a {type_} was wanted")
        return error(
            "unknown-object",
            f"the state has no object `{name}`",
            help=did_you_mean(name, self.members(type_)) or _some(self.members(type_), str(type_)),
        )


def _some(names: Sequence[str], kind: str) -> str:
    return f"its objects of type {kind}: {', '.join(names[:8])}" if names else f"it has no {kind}"


def _listed(domain: Domain, objects: Any) -> list[tuple[str, ObjectType]]:
    """Every object with its type; what users give is checked here."""
    if not isinstance(objects, Mapping):
        found = type(objects).__name__
        raise error("bad-objects", f"`objects` maps types to lists of names, and is a {found}")
    listed = []
    for key, names in objects.items():
        listable = isinstance(names, Sequence) and not isinstance(names, str)
        if not listable or not all(isinstance(name, str) for name in names):
            raise error("bad-objects", f"`objects[{key!r}]` is a list of names, and is {names!r}")
        type_ = object_type(domain.hierarchy, str(key))
        for name in names:
            if not is_object_name(name):
                raise error(
                    "bad-objects",
                    f"{name!r:.60} cannot name an object: in a formula or a plan it is not read as a name",
                    help="a name has no spaces, brackets, commas, quotes, `;` or `$`, "
                    "and does not begin with `?`, `:`, `=` or `-`",
                )
            listed.append((name.lower(), type_))
    return listed


def object_type(hierarchy: Hierarchy, text: str) -> ObjectType:
    """The object type that ``item`` or ``(either item door)`` names."""
    words = text.lower().replace("(", " ").replace(")", " ").split()
    names = tuple(words[1:] if words[:1] == ["either"] else [text.lower()])
    for name in names:
        if name not in hierarchy.names:
            raise error(
                "unknown-type",
                f"`{name}` is not an object type of the domain",
                help=did_you_mean(name, hierarchy.names),
            )
    return ObjectType(names)


@final
class ObjectLayout:
    """Where the objects of several universes stand in one batch: padded axes, masks and index maps.

    A tensor over the universes has a first axis of size 1 where they all agree,
    so that nothing is gathered or masked that need not be.
    """

    def __init__(self, universes: tuple[Universe, ...], device: torch.device) -> None:
        self.universes = universes
        self.device = device
        self._sizes: dict[ObjectType, int] = {}
        self._masks: dict[ObjectType, Tensor | None] = {}
        self._ids: dict[ObjectType, Tensor] = {}
        self._maps: dict[tuple[ObjectType, ObjectType], Tensor | None] = {}
        self._lookups: dict[tuple[str, ObjectType], tuple[Tensor, bool]] = {}

    def size(self, type_: ObjectType) -> int:
        """How long the axis of a type is."""
        size = self._sizes.get(type_)
        if size is None:
            size = self._sizes[type_] = max((len(u.members(type_)) for u in self.universes), default=0)
        return size

    def mask(self, type_: ObjectType) -> Tensor | None:
        """Which places on the axis hold an object, ``[universe, n]``; None: all do."""
        if type_ not in self._masks:
            counts = [len(u.members(type_)) for u in self.universes]
            full = all(count == self.size(type_) for count in counts)
            with torch.inference_mode(False):  # what is kept must also serve where gradients flow
                places = torch.arange(self.size(type_), device=self.device)
                here = torch.tensor(counts, device=self.device)
                self._masks[type_] = None if full else places < here[:, None]
        return self._masks[type_]

    def real(self, types: Sequence[ObjectType], rows: Tensor) -> Tensor | None:
        """Which entries hold objects, ``[row, *objects]``, in tables of the universes ``rows``; None: all."""
        found: Tensor | None = None
        for at, type_ in enumerate(types):
            mask = self.mask(type_)
            if mask is not None:
                here = mask.index_select(0, rows)
                here = here.reshape(len(rows), *(1,) * at, mask.shape[1], *(1,) * (len(types) - at - 1))
                found = here if found is None else found & here
        return None if found is None else found.expand(len(rows), *map(self.size, types))

    def ids(self, type_: ObjectType) -> Tensor:
        """The identity of each object on the axis, ``[universe or 1, n]``; the same on every axis."""
        if type_ not in self._ids:
            rows = []
            for universe in self.universes:
                order = {name: i for i, name in enumerate(universe.types)}
                rows.append([order[name] for name in universe.members(type_)])
            self._ids[type_] = self._table(rows, self.size(type_))
        return self._ids[type_]

    def map(self, inner: ObjectType, outer: ObjectType) -> Tensor | None:
        """Where each object of one axis stands on another, ``[universe or 1, n]``; None: as on its own."""
        key = (inner, outer)
        if key not in self._maps:
            rows = [[u.at(name, outer) for name in u.members(inner)] for u in self.universes]
            same = all(row == list(range(len(row))) for row in rows) and self.size(inner) == self.size(outer)
            self._maps[key] = None if same else self._table(rows, self.size(inner))
        return self._maps[key]

    def lookup(self, name: str, type_: ObjectType) -> tuple[Tensor, bool]:
        """Where an object stands on the axis of a type, ``[universe or 1, 1]``, and whether all have it.

        Those that do not have it hold −1.
        """
        key = (name, type_)
        if key not in self._lookups:
            found = [u.find(name, type_) for u in self.universes]
            self._lookups[key] = self._table([[i] for i in found], 1), -1 not in found
        return self._lookups[key]

    def _table(self, rows: list[list[int]], width: int) -> Tensor:
        padded = [row + [0] * (width - len(row)) for row in rows]
        if all(row == padded[0] for row in padded):
            padded = padded[:1]
        with torch.inference_mode(False):
            return torch.tensor(padded, dtype=torch.int64, device=self.device).reshape(len(padded), width)


_LAYOUTS: WeakValueDictionary[tuple[tuple[int, ...], str], ObjectLayout] = WeakValueDictionary()


def layout_of(universes: tuple[Universe, ...], device: torch.device) -> ObjectLayout:
    """The one layout of these universes on a device."""
    key = (tuple(map(id, universes)), str(device))
    layout = _LAYOUTS.get(key)
    if layout is None:
        layout = _LAYOUTS[key] = ObjectLayout(universes, device)
    return layout


_RECENT: dict[Any, ObjectLayout] = {}


def layout_for(domain: Domain, objects: Mapping[str, Sequence[str]]) -> ObjectLayout:
    """The layout, on the host, of a state with these objects. That of the next such state is ready."""
    key: list[Any] = [id(domain)]
    try:
        for type_, names in objects.items():
            # What is a string or an array of names must be looked at first.
            key += (type_, tuple(names) if isinstance(names, (list, tuple)) else [])
        found = _RECENT.get(tuple(key))
    except (AttributeError, TypeError):
        return _layout(domain, objects)
    if found is None:
        found = _layout(domain, objects)
        if len(_RECENT) >= _KEPT:
            _RECENT.clear()
        _RECENT[tuple(key)] = found  # which holds the domain, so that its id stays its own
    return found


def _layout(domain: Domain, objects: Any) -> ObjectLayout:
    return layout_of((Universe.of(domain, objects),), torch.device("cpu"))
