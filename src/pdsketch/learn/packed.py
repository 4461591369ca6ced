"""Columns → one padded batch of all states, resident on a device, from which steps are drawn by index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.types import ObjectType
from pdsketch.learn.columns import Array, Columns, sizes_of
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import layout_of

_DTYPES = {"bool": torch.bool, "int64": torch.int64, "float32": torch.float32}


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """All states of all episodes, in their order; state ``s + 1`` follows ``s`` within an episode.

    On the device: ``states``, ``success`` ``[s]``, ``arguments`` ``[s, k]`` (places
    on the axes of the parameters' types) and ``numbers`` ``[s, v]``. On the host,
    where batches are drawn: ``episode``, ``goal``, ``action`` (−1 after the last
    action of an episode), ``executable`` (−1: unknown), all ``[s]``.
    """

    columns: Columns
    states: StateBatch
    success: Tensor
    arguments: Tensor
    numbers: Tensor
    episode: Array
    goal: Array
    action: Array
    executable: Array

    def __len__(self) -> int:
        return len(self.episode)

    @property
    def device(self) -> torch.device:
        """Where the states are."""
        return self.states.device

    @cached_property
    def outcomes(self) -> Array:
        """``success`` on the host."""
        return self.columns.success.astype(np.bool_)

    def place(self, index: Array) -> Tensor:
        """Indices drawn on the host, on the device."""
        tensor = torch.from_numpy(np.ascontiguousarray(index, dtype=np.int64))
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)


def pack(columns: Columns, device: torch.device) -> Packed:
    """Pad everything once."""
    layout = layout_of(columns.universes, device)
    episode = np.repeat(np.arange(len(columns)), columns.length)
    universe = columns.universe[episode]
    tensors = {name: _padded(columns, name, universe).to(device) for name in columns.values}
    rows = torch.from_numpy(universe).to(device) if len(columns.universes) > 1 else None
    states = StateBatch(columns.domain, layout, rows, len(episode), tensors)
    last = np.zeros(len(episode), dtype=np.bool_)
    last[columns.starts[1:] - 1] = True
    action = np.full(len(episode), -1, dtype=np.int64)
    action[~last] = columns.action
    executable = np.full(len(episode), -1, dtype=np.int8)
    executable[~last] = columns.executable
    arguments = np.zeros((len(episode), columns.arguments.shape[1]), dtype=np.int64)
    arguments[~last] = _places(columns, universe[~last])
    numbers = np.zeros((len(episode), columns.numbers.shape[1]), dtype=np.float32)
    numbers[~last] = columns.numbers
    return Packed(
        columns=columns,
        states=states,
        success=torch.from_numpy(columns.success.astype(np.float32)).to(device),
        arguments=torch.from_numpy(arguments).to(device),
        numbers=torch.from_numpy(numbers).to(device),
        episode=episode,
        goal=columns.goal[episode],
        action=action,
        executable=executable,
    )


def _padded(columns: Columns, name: str, universe: Array) -> Tensor:
    """The values of a predicate in every state, objects padded by repeating the last one."""
    predicate = columns.domain.predicates[name]
    shape = columns.shapes[name]
    axes = [sizes_of(u, predicate) for u in columns.universes]
    longest = tuple(max((a[i] for a in axes), default=0) for i in range(len(predicate.parameters)))
    out = torch.zeros(len(universe), *longest, *shape, dtype=_DTYPES[predicate.type.prim])
    offsets = _state_offsets(columns, name)
    by_axes: dict[tuple[int, ...], list[int]] = {}
    for at, sizes in enumerate(axes):
        by_axes.setdefault(sizes, []).append(at)
    for sizes, members in by_axes.items():
        states = np.flatnonzero(np.isin(universe, members))
        width = int(np.prod((*sizes, *shape), dtype=np.int64))
        if not len(states) or not width:
            continue
        flat = columns.values[name][offsets[states][:, None] + np.arange(width)]
        block = torch.from_numpy(flat.reshape(len(states), *sizes, *shape))
        for axis, (size, wanted) in enumerate(zip(sizes, longest, strict=True), start=1):
            if size < wanted:
                block = block.index_select(axis, torch.arange(wanted).clamp(max=size - 1))
        out[torch.from_numpy(states)] = block.to(out.dtype)
    return out


def _state_offsets(columns: Columns, name: str) -> Array:
    """Where the numbers of each state begin."""
    offsets = columns.offsets[name][:-1]
    if name in columns.fixed:
        each: Array = np.repeat(offsets, columns.length)
        return each
    within = np.arange(int(columns.length.sum())) - np.repeat(columns.starts[:-1], columns.length)
    size = columns.sizes[name][columns.universe] if len(columns.universes) else np.zeros(0, dtype=np.int64)
    found: Array = np.repeat(offsets, columns.length) + within * np.repeat(size, columns.length)
    return found


def _places(columns: Columns, universe: Array) -> Array:
    """The objects of each action as places on the axes of its parameters' types."""
    found = np.zeros(columns.arguments.shape, dtype=np.int64)
    most = max((len(u.types) for u in columns.universes), default=0)
    tables: dict[ObjectType, Array] = {}
    for at, name in enumerate(columns.actions):
        chosen = np.flatnonzero(columns.action == at)
        for place, parameter in enumerate(columns.domain.actions[name].parameters):
            if not isinstance(parameter.type, ObjectType):
                continue
            if parameter.type not in tables:
                tables[parameter.type] = _axis_table(columns, parameter.type, most)
            table = tables[parameter.type]
            found[chosen, place] = table[universe[chosen], columns.arguments[chosen, place]]
    return found


def _axis_table(columns: Columns, type_: ObjectType, most: int) -> Array:
    table = np.zeros((len(columns.universes), most), dtype=np.int64)
    for at, universe in enumerate(columns.universes):
        axis = {name: i for i, name in enumerate(universe.members(type_))}
        table[at, : len(universe.types)] = [axis.get(name, 0) for name in universe.types]
    return table
