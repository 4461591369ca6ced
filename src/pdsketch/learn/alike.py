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

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.domain import Predicate
from pdsketch.lang.substitute import substitute
from pdsketch.lang.terms import Apply, BlankCall, Each, Expr, Variable
from pdsketch.lang.types import ObjectType, ValueType
from pdsketch.learn.columns import Array
from pdsketch.nets.nested import Told
from pdsketch.nets.together import Together, can_join, is_free
from pdsketch.nets.verdict import Verdict
from pdsketch.tensor.calls import presented
from pdsketch.tensor.logic import Logic
from pdsketch.tensor.node import Axes, Node, Run, aligned, union
from pdsketch.tensor.scope import parameters

if TYPE_CHECKING:
    from pdsketch.learn.frame import Frame
    from pdsketch.learn.study import Study

MOST_VALUES: Final = 512
"""A variable that takes more values than this is read state by state."""


@final
class Alike:
    """Tables whose bodies are blanks, one each, of the same arguments over the same objects."""

    def __init__(self, study: Study, tables: Sequence[int]) -> None:
        self.study = study
        self.tables = np.array(tables)
        self.bodies = [_body(study, table) for table in tables]
        self.types = tuple(i.type for i in study.domain.blanks[self.bodies[0].blank].inputs)
        self.axes, self._env = parameters(_predicate(study, tables[0]))
        self._nodes: dict[str, list[Node]] = {}
        self._known: Sequence[object] = ()
        self._together: Together | None = None
        self._values: _Values | None = None
        only = self.bodies[0].args[0] if len(self.types) == 1 else None
        if isinstance(only, Apply) and only.type == self.types[0]:
            self._values = _values(study, study.domain.predicates[only.predicate])

    @property
    def has_values(self) -> bool:
        """Whether the argument takes few values in the data."""
        return self._values is not None

    def networks(self) -> list[Verdict] | None:
        """The tables' networks; None where they cannot be evaluated together now."""
        functions = self.study.engine.functions
        found = [functions.calls.get(body.blank) for body in self.bodies]
        if found != self._known:
            self._known, self._together = found, _joined(found)
        if self._together is None or functions.watcher is not None:
            return None
        verdicts = cast("list[Verdict]", found)
        turn = verdicts[0].turn
        return verdicts if all(v.turn == turn and is_free(v) for v in verdicts) else None

    def evaluate(self, frame: Frame, networks: Sequence[Verdict], which: Array, rows: Array) -> Tensor:
        """The tables ``which`` (ascending) of these, each in one of ``rows``, ``[row, *objects]``."""
        members, table, counts = np.unique(which, return_inverse=True, return_counts=True)
        order = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        asked = _Asked([networks[at] for at in members.tolist()], table, order, counts)
        nodes = self._arguments(frame.logic)
        axes = union(nodes)
        truth = self._by_value(frame, asked, rows, nodes[0]) if frame.before is None else None
        if truth is None:
            truth = self._by_row(frame, asked, rows, nodes, axes)
        for at, axis in enumerate(self.axes):
            if axis not in axes:
                truth = truth.unsqueeze(1 + at)
        layout = self.study.packed.states.layout
        return truth.expand(len(rows), *(layout.size(cast(ObjectType, axis.type)) for axis in self.axes))

    def _arguments(self, logic: Logic) -> list[Node]:
        if logic.name not in self._nodes:
            lowering = self.study.engine.lowering(logic)
            args = zip(self.bodies[0].args, self.types, strict=True)
            self._nodes[logic.name] = [lowering.as_type(arg, type_, self._env) for arg, type_ in args]
        return self._nodes[logic.name]

    def _by_value(self, frame: Frame, asked: _Asked, rows: Array, node: Node) -> Tensor | None:
        """Each network's answer to each value, looked up; None where rows are fewer than values."""
        values = self._values
        levels = 1 if asked.turn is None else len(asked.networks[0].levels)
        if values is None or len(asked.networks) * levels * values.count > len(rows) * values.objects:
            return None
        assert self._together is not None
        inputs, told = values.inputs(levels)
        flat = torch.cat(
            [self._together(alike, [inputs], told, frame.shared).flatten() for alike in asked.by_level()]
        )  # [table · level · value]
        study = self.study
        numbers = values.numbers.index_select(0, study.packed.rows(frame.states[rows]))
        run = study.engine.open(study.batch(frame.states[rows], {values.name: numbers}), checked=False)
        index = node(run)
        place = asked.at_level()[asked.table] * (levels * values.count)
        offset = study.packed.place(place).reshape(-1, *(1,) * (index.dim() - 1))
        index = index + offset
        if asked.turn is not None:
            index = index + asked.levels(index.shape[1:], study) * values.count
        return flat.index_select(0, index.flatten()).reshape(index.shape)

    def _by_row(self, frame: Frame, asked: _Asked, rows: Array, nodes: Sequence[Node], axes: Axes) -> Tensor:
        """Each network on the rows in which its table is wanted, padded to the longest."""
        study = self.study
        assert self._together is not None
        some, at = np.unique(rows, return_inverse=True)
        run = frame.open(some, study.plan.table_reads[int(self.tables[0])], ())
        sizes = tuple(run.size(axis) for axis in axes)
        if not prod(sizes):
            return torch.zeros(len(rows), *sizes, device=study.packed.device)
        most = int(asked.counts.max())
        places = np.zeros((len(asked.networks), most), dtype=np.int64)
        places[asked.at_level()[asked.table], asked.order] = at
        given = [_given(run, node, axes, type_, sizes) for node, type_ in zip(nodes, self.types, strict=True)]
        told = None if asked.turn is None else asked.told(most * prod(sizes), study)
        parts, first = [], 0
        for alike in asked.by_level():
            own = study.packed.place(places[first : first + len(alike)].ravel())
            args = [g.index_select(0, own).reshape(len(alike), -1, *g.shape[1 + len(axes) :]) for g in given]
            parts.append(self._together(alike, args, told, frame.shared).reshape(-1, *sizes))
            first += len(alike)
        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        if len(whole) == len(rows):
            return whole
        return whole.index_select(0, study.packed.place(asked.at_level()[asked.table] * most + asked.order))


@final
class _Asked:
    """Networks, and for each of many rows which one is asked (``table``), as which of its rows (``order``).

    ``counts`` are the numbers of rows of each network.
    """

    def __init__(self, networks: list[Verdict], table: Array, order: Array, counts: Array) -> None:
        self.networks = networks
        self.table = table
        self.order = order
        self.counts = counts
        self.turn = networks[0].turn
        groups: dict[int, list[int]] = {}
        for at, network in enumerate(networks):
            groups.setdefault(network.level if self.turn is None else 0, []).append(at)
        self._groups = list(groups.values())

    def by_level(self) -> list[list[Verdict]]:
        """The networks of each level."""
        return [[self.networks[at] for at in group] for group in self._groups]

    def at_level(self) -> Array:
        """Where each network comes if those of one level follow each other."""
        found = np.zeros(len(self.networks), dtype=np.int64)
        found[np.concatenate([np.array(group) for group in self._groups])] = np.arange(len(found))
        return found

    def told(self, count: int, study: Study) -> Told:
        """The levels drawn for each network's first examples."""
        assert self.turn is not None
        return Told.drawn(count, self.turn, len(self.networks[0].levels), study.packed.device)

    def levels(self, sizes: Sequence[int], study: Study) -> Tensor:
        """The level drawn for each row and its objects ``[row, *sizes]``."""
        drawn = self.told(int(self.counts.max()) * prod(sizes), study).levels
        return drawn.reshape(-1, *sizes).index_select(0, study.packed.place(self.order))


@final
class _Values:
    """The values that a variable takes in the data; ``numbers [s, *objects]``: which of them it has where."""

    def __init__(self, name: str, values: Tensor, numbers: Tensor) -> None:
        self.name = name
        self.count = len(values)
        self.objects = prod(numbers.shape[1:])
        self.numbers = numbers
        self._values = values
        self._inputs: dict[int, tuple[Tensor, Told | None]] = {}

    def inputs(self, levels: int) -> tuple[Tensor, Told | None]:
        """All values at each level ``[1, level · value, *axes]``, and these levels."""
        if levels not in self._inputs:
            own = self._values.dim() - 1
            self._inputs[levels] = (
                self._values.repeat(levels, *(1,) * own).unsqueeze(0),
                Told.each(self.count, levels, self._values.device) if levels > 1 else None,
            )
        return self._inputs[levels]


def _values(study: Study, predicate: Predicate) -> _Values | None:
    """The values of an observed int with choices or Boolean, unless they are many."""
    tensor = study.packed.states.tensors.get(predicate.name)
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
    verdicts = [network for network in networks if isinstance(network, Verdict) and can_join(network)]
    if len(verdicts) < len(networks) or any(v.signature != verdicts[0].signature for v in verdicts):
        return None
    return Together(verdicts[0])


def groups(study: Study, tables: Iterable[int]) -> dict[int, Alike]:
    """The group of each table that has one: of tables that read no other."""
    found: dict[object, list[int]] = {}
    for table in tables:
        predicate = _predicate(study, table)
        body = predicate.body
        if (
            not isinstance(body, BlankCall)
            or not body.args
            or not predicate.type.is_bool
            or predicate.name in study.domain.recursive
            or study.plan.callees[table]
            or any(isinstance(arg, Each) for arg in body.args)
            or not all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        ):
            continue
        inputs = tuple(i.type for i in study.domain.blanks[body.blank].inputs)
        objects = tuple(p.type for p in predicate.parameters)
        found.setdefault((_anonymous(body.args, predicate), inputs, objects), []).append(table)
    return {
        table: group
        for alike in found.values()
        for group in [Alike(study, alike)]
        for table in alike
        if len(alike) > 1 or group.has_values
    }


def _anonymous(args: Iterable[Expr], predicate: Predicate) -> tuple[Expr, ...]:
    """Arguments in which parameters are named by their places."""
    names: dict[str, Expr] = {p.name: Variable(f"${at}", p.type) for at, p in enumerate(predicate.parameters)}
    return tuple(substitute(arg, names) for arg in args)


def _predicate(study: Study, table: int) -> Predicate:
    return study.domain.predicates[study.tables[table]]


def _body(study: Study, table: int) -> BlankCall:
    body = _predicate(study, table).body
    assert isinstance(body, BlankCall)
    return body
