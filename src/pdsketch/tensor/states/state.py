"""States: objects by type, one tensor a predicate; and batches of them, padded and masked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product, zip_longest
from os import PathLike
from pathlib import PurePath
from typing import Any, final, overload

import torch
from torch import Tensor

from pdsketch.files import write_output
from pdsketch.lang import (
    Data,
    Domain,
    Error,
    Expr,
    Fact,
    ObjectType,
    Problem,
    Source,
    did_you_mean,
    error,
    html_table,
    parse_goal,
    plain,
    problem_text,
    short,
    show_atom,
    shown,
)
from pdsketch.tensor.states.universe import ObjectLayout, Universe, layout_for, layout_of
from pdsketch.tensor.states.validation import validated, values_of
from pdsketch.tensor.states.values import harden, unify

# What states of different sizes share: the axes of predicates, padded; and what a state may lack.


def absent(domain: Domain, name: str) -> Error:
    """The error for a predicate that a state has no value for."""
    predicate = domain.predicates.get(name)
    if predicate is None:
        return error(
            "unknown-predicate",
            f"the domain has no predicate `{name}`",
            help=did_you_mean(name, domain.predicates),
        )
    why = {
        "raw": f"`{name}` is absent: only the encoder reads it, and it is not carried from step to step",
        "encoded": f"`{name}` is not encoded yet",
        "derived": f"`{name}` is derived, and not held by a state",
        "external": f"`{name}` is an external function, and not held by a state",
    }.get(predicate.role, f"the state has no value for `{name}`")
    fixes = {
        "raw": "read an encoded predicate instead",
        "encoded": "call `model.encode(state)` first",
        "derived": "ask `model.holds`",
    }
    code = "absent-predicate" if predicate.role == "raw" else "no-value"
    return error(code, why, predicate.span, help=fixes.get(predicate.role))


def padded(name: str, parts: list[Tensor], axes: list[int], domain: Domain) -> list[Tensor]:
    """Tensors grown to common object axes: the last object is repeated, so that networks see real values.

    ``parts`` are the tables ``[state, *objects, *value]`` of the predicate ``name`` in states of ``domain``,
    ``axes`` the sizes that their object axes get. Values whose own shapes differ are an error at the
    predicate.
    """
    own = next((p.shape[1 + len(axes) :] for p in parts if 0 not in p.shape[: 1 + len(axes)]), None)
    padded = []
    for part in parts:
        grown = part
        if own is not None and part.shape[1 + len(axes) :] != own:
            if part.numel():
                raise error(
                    "shape-mismatch",
                    f"`{name}` has values of shape {tuple(own)} in one state and "
                    f"{tuple(part.shape[1 + len(axes) :])} in another",
                    domain.predicates[name].span,
                )
            grown = part.new_zeros(*part.shape[: 1 + len(axes)], *own)
        for axis, wanted in enumerate(axes, start=1):
            found = grown.shape[axis]
            if found == 0 and wanted:
                grown = grown.new_zeros(*grown.shape[:axis], wanted, *grown.shape[axis + 1 :])
            elif found < wanted:
                places = torch.arange(wanted, device=grown.device).clamp(max=found - 1)
                grown = grown.index_select(axis, places)
        padded.append(grown)
    return padded


_CPU = torch.device("cpu")


def same_domain(a: Domain, b: Domain) -> bool:
    """Whether two domains are one: the same object, or the same text loaded twice."""
    return a is b or a.source.text == b.source.text


def difference(theirs: Domain, ours: Domain) -> str | None:
    """A help line where two versions of a domain have one name: the first line in which they differ."""
    if theirs.name != ours.name:
        return None
    lines = zip_longest(theirs.source.text.splitlines(), ours.source.text.splitlines(), fillvalue="")
    for number, (their, our) in enumerate(lines, start=1):
        for a, b in zip_longest(their.split(), our.split(), fillvalue=""):
            if a != b:
                return f"they differ from line {number} on: `{a:.60}` there, and `{b:.60}` here"
    return None


@final
class StateBatch:
    """Several states of one domain, possibly with different objects.

    ``tensors[p]`` is ``[state, *object axes, *value axes]``. The axis of a type is as long as in the state
    with most objects of it; states with fewer are padded by repeating their last object, and masked wherever
    that matters. ``size`` states of ``domain`` there are; ``rows[i]`` says which of the universes of
    ``layout`` state ``i`` has; None: all have the one there is.
    """

    __slots__ = ("_cache", "domain", "layout", "rows", "size", "tensors")

    def __init__(
        self, domain: Domain, layout: ObjectLayout, rows: Tensor | None, size: int, tensors: dict[str, Tensor]
    ) -> None:
        self.domain = domain
        self.layout = layout
        self.rows = rows
        self.size = size
        self.tensors = tensors
        self._cache: dict[Any, Tensor | None] = {}

    @staticmethod
    def of(states: Sequence[State]) -> StateBatch:
        """The states as one batch, in their order."""
        if isinstance(states, StateBatch):
            return states
        if isinstance(states, State):
            return states.batch
        states = list(states)
        if not states or not all(isinstance(state, State) for state in states):
            found = "none was given" if not states else f"a {type(states[0]).__name__} was given"
            raise error("bad-batch", f"a batch is made of one or more states, and {found}")
        groups: dict[Any, list[int]] = {}
        for i, state in enumerate(states):
            shapes = tuple((name, t.shape, t.dtype) for name, t in state.batch.tensors.items())
            groups.setdefault((shapes, id(state.domain)), []).append(i)
        joined = concat([_stacked([states[i].batch for i in group]) for group in groups.values()])
        if len(groups) == 1:
            return joined
        places = torch.tensor([i for group in groups.values() for i in group])
        return joined.select(places.argsort().to(joined.device))

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.layout.device

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[State]:
        return (self[i] for i in range(self.size))

    @overload
    def __getitem__(self, i: int) -> State: ...
    @overload
    def __getitem__(self, i: slice) -> StateBatch: ...
    @overload
    def __getitem__(self, i: str) -> Tensor: ...
    def __getitem__(self, i: int | slice | str) -> State | StateBatch | Tensor:
        """State ``i``, some of the states, or the padded tensor of a predicate."""
        if isinstance(i, str):
            return self.tensor(i.lower())
        if isinstance(i, slice):
            return self.select(torch.arange(self.size, device=self.device)[i])
        if not -self.size <= i < self.size:
            raise IndexError(f"state {i} of a batch of {self.size}")
        i %= self.size
        universe = self.universe(i)
        tensors = {}
        for name, tensor in self.tensors.items():
            one = tensor[i : i + 1]
            for axis, type_ in enumerate(self.domain.predicates[name].object_types, start=1):
                count = len(universe.members(type_))
                one = one if one.shape[axis] == count else one.narrow(axis, 0, count)
            tensors[name] = one
        return State._of(StateBatch(self.domain, layout_of((universe,), self.device), None, 1, tensors))

    def __repr__(self) -> str:
        return f"StateBatch({self.size} states of `{self.domain.name}`)"

    def universe(self, i: int) -> Universe:
        """The objects of state ``i``."""
        return self.layout.universes[0 if self.rows is None else int(self.rows[i])]

    def tensor(self, name: str) -> Tensor:
        """The padded tensor of a predicate, ``[state, *objects, *value]``."""
        found = self.tensors.get(name)
        if found is None:
            raise absent(self.domain, name)
        return found

    def to(self, device: torch.device | str) -> StateBatch:
        """The same states on a device."""
        device = torch.device(device)
        if device == self.device:
            return self
        tensors = {name: tensor.to(device) for name, tensor in self.tensors.items()}
        rows = None if self.rows is None else self.rows.to(device)
        return StateBatch(self.domain, layout_of(self.layout.universes, device), rows, self.size, tensors)

    def select(self, index: Tensor) -> StateBatch:
        """Some of the states, by their places (an int64 tensor); a place may occur more than once."""
        tensors = {name: tensor.index_select(0, index) for name, tensor in self.tensors.items()}
        rows = None if self.rows is None else self.rows.index_select(0, index)
        return StateBatch(self.domain, self.layout, rows, index.shape[0], tensors)

    def span(self, some: slice) -> StateBatch:
        """Some of the states that stand behind each other; nothing is copied."""
        if some.start == 0 and some.stop >= self.size:
            return self
        tensors = {name: tensor[some] for name, tensor in self.tensors.items()}
        rows = None if self.rows is None else self.rows[some]
        return StateBatch(self.domain, self.layout, rows, some.stop - some.start, tensors)

    def with_tensors(self, tensors: dict[str, Tensor], size: int | None = None) -> StateBatch:
        """The same objects with other values; ``size`` says that each state occurs that many times over."""
        if size is None or size == self.size:
            return StateBatch(self.domain, self.layout, self.rows, self.size, tensors)
        times = size // max(self.size, 1)
        rows = None if self.rows is None else self.rows.repeat_interleave(times)
        return StateBatch(self.domain, self.layout, rows, size, tensors)

    def crisp(self) -> StateBatch:
        """The same states with Booleans and ints rounded."""
        predicates = self.domain.predicates
        tensors = {name: harden(tensor, predicates[name].type) for name, tensor in self.tensors.items()}
        return self.with_tensors(tensors)

    def count(self, type_: ObjectType) -> int:
        """How long the (padded) axis of a type is."""
        return self.layout.size(type_)

    def mask(self, type_: ObjectType) -> Tensor | None:
        """Which places on the axis of a type hold an object, ``[state, n]``; None: all do."""
        return self._by_row(("mask", type_), self.layout.mask(type_))

    def ids(self, type_: ObjectType) -> Tensor:
        """The identities of the objects on an axis, ``[state or 1, n]``."""
        found = self._by_row(("ids", type_), self.layout.ids(type_))
        assert found is not None
        return found

    def map(self, inner: ObjectType, outer: ObjectType) -> Tensor | None:
        """Where the objects of one axis stand on another, ``[state or 1, n]``; None: at the same places."""
        return self._by_row(("map", inner, outer), self.layout.map(inner, outer))

    def lookup(self, name: str, type_: ObjectType) -> Tensor:
        """Where an object stands on the axis of a type, ``[state or 1]``; an `Error` if a state lacks it."""
        key = ("lookup", name, type_)
        found = self._cache.get(key)
        if found is None:
            table, everywhere = self.layout.lookup(name, type_)
            rows = self._by_row(("places", name, type_), table)
            assert rows is not None
            found = self._cache[key] = rows.reshape(-1)
            if not everywhere and bool((found < 0).any()):
                raise self.universe(int((found < 0).int().argmax())).stranger(name, type_)
        return found

    def _by_row(self, key: Any, table: Tensor | None) -> Tensor | None:
        """The row of each state in a table over universes."""
        if table is None or self.rows is None or table.shape[0] == 1:
            return table
        if key not in self._cache:
            self._cache[key] = table.index_select(0, self.rows)
        return self._cache[key]


def concat(batches: Sequence[StateBatch]) -> StateBatch:
    """The states of several batches, one batch after the other."""
    first = batches[0]
    if len(batches) == 1:
        return first
    domain = first.domain
    for other in batches[1:]:
        _check_alike(first, other)
    names = [name for name in first.tensors if all(name in b.tensors for b in batches)]
    size = sum(b.size for b in batches)
    if all(b.layout is first.layout for b in batches):
        layout = first.layout
        rows = None if first.rows is None else torch.cat([b.rows for b in batches if b.rows is not None])
    else:
        layout, rows = _merged(batches)
    tensors = {}
    for name in names:
        parts = unify([b.tensors[name] for b in batches], domain.predicates[name].type)
        axes = [layout.size(type_) for type_ in domain.predicates[name].object_types]
        tensors[name] = torch.cat(padded(name, parts, axes, domain))
    return StateBatch(domain, layout, rows, size, tensors)


def _check_alike(first: StateBatch, other: StateBatch) -> None:
    if not same_domain(first.domain, other.domain):
        raise error(
            "other-domain",
            f"a state of `{other.domain.name}` and one of `{first.domain.name}` cannot be in one batch",
            help=difference(other.domain, first.domain)
            or "load the domain once, and make all states with it",
        )
    for name in first.tensors.keys() ^ other.tensors.keys():
        if first.domain.predicates[name].role != "raw":
            raise error(
                "half-encoded",
                f"some of the states have a value for `{name}`, and others do not",
                help="encode all of them, or none",
            )


def _merged(batches: Sequence[StateBatch]) -> tuple[ObjectLayout, Tensor | None]:
    """One layout for the universes of all, and which of them each state has."""
    places: dict[int, int] = {}
    universes: list[Universe] = []
    rows = []
    for batch in batches:
        here = []
        for universe in batch.layout.universes:
            if id(universe) not in places:
                places[id(universe)] = len(universes)
                universes.append(universe)
            here.append(places[id(universe)])
        table = torch.tensor(here, device=batch.device)
        rows.append(table.expand(batch.size) if batch.rows is None else table[batch.rows])
    layout = layout_of(tuple(universes), batches[0].device)
    return layout, None if len(universes) == 1 else torch.cat(rows)


def _stacked(batches: list[StateBatch]) -> StateBatch:
    """Batches whose tensors have the same shapes, one after the other."""
    first = batches[0]
    if len(batches) == 1:
        return first
    layout, rows = _merged(batches)
    tensors = {name: torch.cat([b.tensors[name] for b in batches]) for name in first.tensors}
    return StateBatch(first.domain, layout, rows, sum(b.size for b in batches), tensors)


@final
class State:
    """One state: a batch of one.

    ``objects`` lists the objects by their most specific type; ``values`` gives
    one array a predicate: one axis an object argument, then the value's own
    axes. The axis of a type runs over the domain's constants first, then over
    the objects as listed, subtypes included. Values for derived predicates are
    refused, except encoded ones, which then count as encoded.
    """

    __slots__ = ("batch",)

    def __init__(
        self, domain: Domain, objects: Mapping[str, Sequence[str]], values: Mapping[str, Any]
    ) -> None:
        if not isinstance(domain, Domain):
            found = type(domain).__name__
            raise error("bad-domain", f"a State takes a Domain first, and a {found} was given")
        layout = layout_for(domain, objects)
        self.batch = StateBatch(domain, layout, None, 1, validated(layout.universes[0], values))

    @staticmethod
    def _of(batch: StateBatch) -> State:
        state = object.__new__(State)
        state.batch = batch
        return state

    @staticmethod
    def of_problem(problem: Problem) -> State:
        """The initial state of a problem, whose objects may be written in any order."""
        written = Universe.known(problem.domain, problem.universe)
        universe = Universe.of(problem.domain, written.objects)
        tensors = validated(universe, values_of(problem, universe))
        return State._of(StateBatch(problem.domain, layout_of((universe,), _CPU), None, 1, tensors))

    @property
    def domain(self) -> Domain:
        """The domain that the state belongs to."""
        return self.batch.domain

    @property
    def objects(self) -> dict[str, tuple[str, ...]]:
        """The objects by type, without the domain's constants."""
        return self.batch.layout.universes[0].objects

    @property
    def universe(self) -> Mapping[str, ObjectType]:
        """Every object, constants first, and its type."""
        return self.batch.layout.universes[0].types

    @property
    def values(self) -> dict[str, Tensor]:
        """The tensor of each predicate that the state holds."""
        return {name: tensor[0] for name, tensor in self.batch.tensors.items()}

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.batch.device

    def members(self, type_: ObjectType | str) -> tuple[str, ...]:
        """The objects along the axis of a type."""
        wanted = ObjectType((type_,)) if isinstance(type_, str) else type_
        return self.batch.layout.universes[0].members(wanted)

    def to(self, device: torch.device | str) -> State:
        """The same state on a device."""
        moved = self.batch.to(device)
        return self if moved is self.batch else State._of(moved)

    def crisp(self) -> State:
        """The same state with Booleans and ints rounded."""
        return State._of(self.batch.crisp())

    def __getitem__(self, name: str) -> Tensor:
        return self.batch.tensor(name.lower())[0]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self.batch.tensors

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        mine, theirs = self.batch.tensors, other.batch.tensors
        if self.batch.layout.universes != other.batch.layout.universes or mine.keys() != theirs.keys():
            return False
        types = self.domain.predicates
        pairs = [unify([mine[name], theirs[name].to(self.device)], types[name].type) for name in mine]
        return all(torch.equal(a, b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        objects = "; ".join(f"{type_}: {' '.join(names)}" for type_, names in self.objects.items())
        return f"State({self.domain.name}; {objects or 'no objects'}; {', '.join(self.batch.tensors)})"

    def _repr_html_(self) -> str:
        """A table of predicates and their values, for notebooks."""
        return html_of(self)


# States as notebooks show them.

MOST_ROWS = 20
"""Values of a predicate that are shown; set by hand."""

MOST_NUMBERS = 16
"""Numbers of a value that are shown; set by hand."""


def html_of(state: State) -> str:
    """A table of predicates and their values."""
    rows = []
    for name, tensor in state.values.items():
        axes = [state.members(type_) for type_ in state.domain.predicates[name].object_types]
        values = tensor.reshape(-1, *tensor.shape[len(axes) :])
        atoms = ((name, *objects) for objects in product(*axes))
        for atom, value in islice(zip(atoms, values, strict=True), MOST_ROWS):
            rows.append((show_atom(atom), _text(value)))
        if len(values) > MOST_ROWS:
            rows.append((f"{name} …", f"{len(values)} values"))
    return html_table(f"State of {state.domain.name}", rows)


def _text(value: Tensor) -> str:
    if value.numel() > MOST_NUMBERS:
        return f"{' × '.join(map(str, value.shape))} numbers"
    given: Any = value.tolist()
    return shown(short(plain(given)))


# States as problems: what a world shows, as a file that any command takes.


def problem_of(state: State, goal: str | Expr, name: str = "problem") -> Problem:
    """The problem of reaching a goal from a state; Booleans and ints are rounded."""
    if not isinstance(state, State):
        raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
    checked = parse_goal(goal, state.domain, state.universe) if isinstance(goal, str) else goal
    return Problem(
        name,
        state.domain,
        Source(name, ""),
        state.objects,
        state.universe,
        dict(facts_of(state.crisp())),
        checked,
        "cost" if state.domain.has_costs else "unit",
    )


def write_problem(state: State, goal: str | Expr, path: str | PathLike[str]) -> None:
    """Write a state and a goal as a problem file.

    ``load_problem(path, domain).state`` is the state again. Encoded variables are
    written as they are, so that the problem begins from what was encoded.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", PurePath(path).stem.lower())
    text = problem_text(problem_of(state, goal, name if name[:1].isalpha() else f"problem-{name}"))
    write_output(path, text)


def facts_of(state: State) -> Iterator[tuple[Fact, Data]]:
    """Every ground atom with its value; Booleans that are false are left out."""
    for name, tensor in state.values.items():
        predicate = state.domain.predicates[name]
        axes = [state.members(type_) for type_ in predicate.object_types]
        values: Any = tensor.reshape(-1, *tensor.shape[len(axes) :]).tolist()
        for objects, value in zip(product(*axes), values, strict=True):
            if not predicate.type.is_bool:
                yield (name, *objects), short(plain(value))
            elif value:
                yield (name, *objects), True
