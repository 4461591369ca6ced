"""Columns → one padded batch of all states, resident on a device, and the examples to draw from it."""

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
    """All states of all episodes, each once, and examples: a state with one of its episode's goals.

    The examples of an episode and a goal are a run, one a state; example ``e + 1``
    follows ``e`` until the last action. An episode without goals is one run.

    On the device, by state ``[s]``: ``states``, ``arguments`` ``[s, k]`` (places on the
    axes of the parameters' types) and ``numbers`` ``[s, v]``. On the host, where
    batches are drawn, by example ``[e]``: ``state`` (which one it is), ``episode``,
    ``goal`` (−1 where there is none, or its success is unknown), ``outcomes``
    (whether it held), ``action`` (−1 after the last action), ``executable`` (−1:
    unknown), and ``once`` (the first example of each state: no state counts twice).
    """

    columns: Columns
    states: StateBatch
    arguments: Tensor
    numbers: Tensor
    state: Array
    episode: Array
    goal: Array
    outcomes: Array
    action: Array
    executable: Array
    once: Array

    def __len__(self) -> int:
        return len(self.episode)

    @property
    def device(self) -> torch.device:
        """Where the states are."""
        return self.states.device

    @cached_property
    def strata(self) -> Array:
        """A number for the action, and for whether the goal held, did not, or is unknown ``[e]``."""
        unknown = 2 * (len(self.columns.actions) + 1)
        found: Array = (self.action + 1) * 2 + np.where(self.goal < 0, unknown, self.outcomes)
        return found

    @cached_property
    def changed(self) -> Array:
        """Whether anything that is observed changed at the step from each example ``[e]``."""
        found = np.zeros(self.states.size, dtype=np.bool_)
        for tensor in self.states.tensors.values():
            if tensor.numel():
                unequal = tensor[1:] != tensor[:-1]
                changed = unequal.flatten(1).any(1) if unequal.dim() > 1 else unequal
                found[:-1] |= changed.cpu().numpy()
        return found[self.state] & (self.action >= 0)

    def rows(self, examples: Array) -> Tensor:
        """The states of some examples, as places on the device."""
        return self.place(self.state[examples])

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
    state, goal, success, once = _examples(columns)
    return Packed(
        columns=columns,
        states=states,
        arguments=torch.from_numpy(arguments).to(device),
        numbers=torch.from_numpy(numbers).to(device),
        state=state,
        episode=episode[state],
        goal=np.where(success < 0, -1, goal),
        outcomes=success > 0,
        action=action[state],
        executable=executable[state],
        once=once,
    )


def _examples(columns: Columns) -> tuple[Array, Array, Array, Array]:
    """The state, the goal and its success of every example, and whether it is its state's first."""
    known = _known(columns)
    bare = np.setdiff1d(np.arange(len(columns)), columns.owner[known])
    judgement = np.concatenate([np.flatnonzero(known), np.full(len(bare), -1)])
    owner = np.concatenate([columns.owner[known], bare])
    order = np.argsort(owner, kind="stable")
    judgement, owner = judgement[order], owner[order]
    length = columns.length[owner]
    run = np.repeat(np.arange(len(owner)), length)
    within = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length)
    goal, success = np.full(len(run), -1), np.full(len(run), -1, dtype=np.int8)
    of = judgement[run]
    asked = of >= 0
    goal[asked] = columns.goal[of[asked]]
    success[asked] = columns.success[columns.verdicts[of[asked]] + within[asked]]
    first = np.diff(owner, prepend=-1) > 0
    return columns.starts[owner][run] + within, goal, success, first[run]


def _known(columns: Columns) -> Array:
    """The judgements that say anything ``[j]``."""
    said = np.concatenate([[0], np.cumsum(columns.success >= 0)])
    found: Array = said[columns.verdicts[1:]] > said[columns.verdicts[:-1]]
    return found


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
