"""Derived tables that are blanks of the same arguments, computed together.

``(is-red ?o)``, ``(is-box ?o)`` and ten more are each a blank of
``(item-feature ?o)``. Their arguments are read once, and their networks are
evaluated as one (`nets.together`). Where the argument is an observed int or
Boolean that takes few values, the networks are asked about each value once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Final, cast, final

import torch
from torch import Tensor

from pdsketch.lang import Apply, BlankCall, Each, Expr, ObjectType, Predicate, ValueType, Variable, substitute
from pdsketch.nets import BooleanNet, Together, can_join, is_free
from pdsketch.tensor import Axes, FuzzyLogic, Node, Run, aligned, presented, union

if TYPE_CHECKING:
    from pdsketch.training.time_slice import TimeSlice
    from pdsketch.training.training_set import TrainingSet

MOST_VALUES: Final = 512
"""A variable that takes more values than this is read state by state."""


@final
class Alike:
    """Tables whose bodies are blanks, one each, of the same arguments over the same objects."""

    def __init__(self, training: TrainingSet, tables: Sequence[int]) -> None:
        self.training = training
        self.tables = sorted(tables)
        self.places = torch.tensor(self.tables, device=training.dataset.device)
        self.bodies = [_body(training, table) for table in self.tables]
        self.types = tuple(i.type for i in training.domain.blanks[self.bodies[0].blank].inputs)
        self.objects = [p.type for p in _predicate(training, tables[0]).parameters]
        self._nodes: dict[str, list[Node]] = {}
        self._known: Sequence[object] = ()
        self._together: Together | None = None
        self._values: _Values | None = None
        only = self.bodies[0].args[0] if len(self.types) == 1 else None
        if isinstance(only, Apply) and only.type == self.types[0]:
            self._values = _values(training, training.domain.predicates[only.predicate])

    @property
    def has_values(self) -> bool:
        """Whether the argument takes few values in the data."""
        return self._values is not None

    def networks(self) -> list[BooleanNet] | None:
        """The tables' networks; None where they cannot be evaluated together now."""
        functions = self.training.engine.functions
        found = [functions.calls.get(body.blank) for body in self.bodies]
        if found != self._known:
            self._known, self._together = found, _joined(found)
        if self._together is None or functions.watcher is not None:
            return None
        joined = cast("list[BooleanNet]", found)
        return joined if all(is_free(network) for network in joined) else None

    def evaluate(
        self, current: TimeSlice, networks: Sequence[BooleanNet], which: Tensor, rows: Tensor
    ) -> Tensor:
        """The tables ``which`` (ascending) of these, each in one of ``rows``, ``[row, *objects]``.

        ``current`` is the time slice that holds the rows, ``networks`` those of all tables here, in their
        order: the ones that are asked are evaluated as one.
        """
        asked = _Asked(networks, which)
        nodes = self._arguments(current.logic)
        axes = union(nodes)
        truth = self._by_value(current, asked, rows, nodes[0]) if current.before is None else None
        if truth is None:
            truth = self._by_row(current, asked, rows, nodes, axes)
        for at in range(len(self.objects)):
            if at not in {axis.depth for axis in axes}:
                truth = truth.unsqueeze(1 + at)
        layout = self.training.dataset.states.layout
        return truth.expand(len(rows), *(layout.size(cast(ObjectType, type_)) for type_ in self.objects))

    def _arguments(self, logic: FuzzyLogic) -> list[Node]:
        if logic.name not in self._nodes:
            first = _predicate(self.training, self.tables[0])
            self._nodes[logic.name] = self.training.engine.arguments(first, self.bodies[0], logic)
        return self._nodes[logic.name]

    def _by_value(self, current: TimeSlice, asked: _Asked, rows: Tensor, node: Node) -> Tensor | None:
        """Each network's answer to each value, looked up; None where rows are fewer than values."""
        values = self._values
        if values is None or len(asked.networks) * values.count > len(rows) * values.objects:
            return None
        assert self._together is not None
        flat = self._together(asked.networks, [values.inputs], current.shared).flatten()  # [table · value]
        training = self.training
        states = current.states.index_select(0, rows)
        at = training.dataset.rows(states)
        numbers = values.numbers.index_select(0, at)
        run = training.engine.open(training.batch(states, {values.name: numbers}, at), checked=False)
        index = node(run)
        place = asked.network * values.count
        index = index + place.reshape(-1, *(1,) * (index.dim() - 1))
        return flat.index_select(0, index.flatten()).reshape(index.shape)

    def _by_row(
        self, current: TimeSlice, asked: _Asked, rows: Tensor, nodes: Sequence[Node], axes: Axes
    ) -> Tensor:
        """Each network on the rows in which its table is wanted, padded to the longest."""
        training = self.training
        assert self._together is not None
        here = torch.zeros(len(current), dtype=torch.bool, device=rows.device)
        here[rows] = True
        some, at = here.nonzero().squeeze(1), (here.cumsum(0) - 1).index_select(0, rows)
        run = current.open(some, training.schedule.table_reads[self.tables[0]], ())
        sizes = tuple(run.size(axis) for axis in axes)
        if not prod(sizes):
            return torch.zeros(len(rows), *sizes, device=training.dataset.device)
        most = max(asked.counts)
        places = torch.zeros(len(asked.networks), most, dtype=torch.int64, device=rows.device)
        places[asked.network, asked.order] = at
        given = [_given(run, node, axes, type_, sizes) for node, type_ in zip(nodes, self.types, strict=True)]
        flat = places.flatten()
        args = [g.index_select(0, flat).reshape(len(places), -1, *g.shape[1 + len(axes) :]) for g in given]
        whole = self._together(asked.networks, args, current.shared).reshape(-1, *sizes)
        # Of networks that are asked equally often, the answers are in order already.
        if len(whole) == len(rows):
            return whole
        return whole.index_select(0, asked.network * most + asked.order)


@final
class _Asked:
    """The networks that are asked, and how often (``counts``).

    For each of many rows: which ``network`` is asked, as which of its rows (``order``).
    """

    def __init__(self, networks: Sequence[BooleanNet], which: Tensor) -> None:
        """``which`` of the networks each row asks, ascending."""
        counts = torch.bincount(which, minlength=len(networks))
        begins = counts.cumsum(0) - counts
        self.order = torch.arange(len(which), device=which.device) - begins.index_select(0, which)
        sizes = counts.tolist()
        members = [at for at in range(len(networks)) if sizes[at]]
        self.networks = [networks[at] for at in members]
        self.counts = [sizes[at] for at in members]
        if len(members) == len(networks):
            self.network = which
        else:
            place = [members.index(at) if sizes[at] else 0 for at in range(len(networks))]
            self.network = torch.tensor(place, device=which.device).index_select(0, which)


@final
class _Values:
    """The values that a variable takes in the data, as networks see them, ``inputs [1, value, *axes]``;
    ``numbers [s, *objects]``: which of them it has where.
    """

    def __init__(self, name: str, values: Tensor, numbers: Tensor) -> None:
        self.name = name
        self.count = len(values)
        self.objects = prod(numbers.shape[1:])
        self.numbers = numbers
        self.inputs = values.unsqueeze(0)


def _values(training: TrainingSet, predicate: Predicate) -> _Values | None:
    """The values of an observed int with choices or Boolean, unless they are many."""
    tensor = training.dataset.states.tensors.get(predicate.name)
    observed = predicate.role == "observed"
    if not observed or tensor is None or tensor.is_floating_point() or not tensor.numel():
        return None
    objects = tensor.shape[: 1 + len(predicate.parameters)]
    flat = tensor.reshape(prod(objects), -1).long()
    if int(flat.min()) < 0 or (int(flat.max()) + 1) ** flat.shape[1] >= 1 << 62:
        return None
    powers = torch.tensor([(int(flat.max()) + 1) ** i for i in range(flat.shape[1])], device=flat.device)
    keys = (flat * powers).sum(1)  # CUDA multiplies no matrices of ints
    found, numbers = torch.unique(keys, return_inverse=True)
    if len(found) > MOST_VALUES:
        return None
    values = torch.empty(len(found), flat.shape[1], dtype=torch.int64, device=flat.device)
    values[numbers] = flat
    values = values.reshape(len(found), *tensor.shape[len(objects) :]).to(tensor.dtype)
    return _Values(predicate.name, presented(values, predicate.type, 1), numbers.reshape(objects))


def _given(run: Run, node: Node, axes: Axes, type_: ValueType, sizes: tuple[int, ...]) -> Tensor:
    """An argument as networks see it, ``[state, *sizes, *axes]``."""
    shown = presented(aligned(node, axes)(run), type_, 1 + len(axes))
    return shown.expand(run.batch.size, *sizes, *shown.shape[1 + len(axes) :])


def _joined(networks: Sequence[object]) -> Together | None:
    """What evaluates these networks together, if they can be."""
    joined = [network for network in networks if isinstance(network, BooleanNet) and can_join(network)]
    if len(joined) < len(networks) or any(v.signature != joined[0].signature for v in joined):
        return None
    return Together(joined[0])


def groups(training: TrainingSet, tables: Iterable[int]) -> dict[int, Alike]:
    """The group of each table that has one: of tables that read no other."""
    found: dict[object, list[int]] = {}
    for table in tables:
        predicate = _predicate(training, table)
        body = predicate.body
        if (
            not isinstance(body, BlankCall)
            or not body.args
            or not predicate.type.is_bool
            or predicate.name in training.domain.recursive
            or training.schedule.callees[table]
            or any(isinstance(arg, Each) for arg in body.args)
            or not all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        ):
            continue
        inputs = tuple(i.type for i in training.domain.blanks[body.blank].inputs)
        objects = tuple(p.type for p in predicate.parameters)
        found.setdefault((_anonymous(body.args, predicate), inputs, objects), []).append(table)
    return {
        table: group
        for alike in found.values()
        for group in [Alike(training, alike)]
        for table in alike
        if len(alike) > 1 or group.has_values
    }


def _anonymous(args: Iterable[Expr], predicate: Predicate) -> tuple[Expr, ...]:
    """Arguments in which parameters are named by their places."""
    names: dict[str, Expr] = {p.name: Variable(f"${at}", p.type) for at, p in enumerate(predicate.parameters)}
    return tuple(substitute(arg, names) for arg in args)


def _predicate(training: TrainingSet, table: int) -> Predicate:
    return training.domain.predicates[training.tables[table]]


def _body(training: TrainingSet, table: int) -> BlankCall:
    body = _predicate(training, table).body
    assert isinstance(body, BlankCall)
    return body
