"""A data set as training sees it: all states, resident on a device or gathered from the host, and examples.

Predicates that fit into a budget of memory lie on the device, padded and in the
dtype that they are computed with. Others, the largest first, stay on the host as
`EpisodeArrays` has them, and are padded and converted for the states of one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final, NamedTuple, final

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from pdsketch.files import check, release
from pdsketch.lang import ObjectType
from pdsketch.tensor import StateBatch, layout_of
from pdsketch.training.data.episode_arrays import Array, EpisodeArrays

# One predicate of a data set on the host, as it is stored, and as padded tensors of some of its states.

_DTYPES: Final = {"bool": torch.bool, "int64": torch.int64, "float32": torch.float32}

_CHUNK: Final = 64 << 20
"""Bytes of stored values that are gone through at a time."""


@final
class HostTable:
    """The values of a predicate in every state ``[s, *objects, *shape]``, of which some are taken.

    They lie one after the other, in whatever dtype they were stored: ``offsets [s]``
    says where each state begins, ``sizes`` how many objects each universe has along
    each axis. What is taken is padded by repeating the last object.
    """

    def __init__(self, arrays: EpisodeArrays, name: str, universe: Array) -> None:
        predicate = arrays.domain.predicates[name]
        self.shape = arrays.shapes[name]
        self.dtype = _DTYPES[predicate.type.prim]
        self._values = arrays.values[name]
        self._fixed = name in arrays.fixed
        self._offsets = _state_offsets(arrays, name)
        self._last = np.zeros(len(universe), dtype=np.bool_)
        self._last[arrays.starts[1:] - 1] = True
        axes = [u.sizes(predicate) for u in arrays.universes]
        self.objects = tuple(max((a[i] for a in axes), default=0) for i in range(len(predicate.parameters)))
        # Universes of the same sizes are taken together.
        kinds = {sizes: at for at, sizes in enumerate(dict.fromkeys(axes))}
        self._sizes = list(kinds)
        self._kind = np.array([kinds[sizes] for sizes in axes], dtype=np.int64)[universe]
        self._touched = 0

    @property
    def bytes_per_state(self) -> int:
        """What the values of one state take, padded and converted."""
        return prod((*self.objects, *self.shape)) * self.dtype.itemsize

    @property
    def bytes(self) -> int:
        """What all values take, padded and converted."""
        return len(self._offsets) * self.bytes_per_state

    def all(self, device: torch.device) -> Tensor:
        """The values in every state."""
        found = torch.zeros(len(self._offsets), *self.objects, *self.shape, dtype=self.dtype, device=device)
        for states in self._parts():
            found[states[0] : states[-1] + 1] = self.take(states, device)
        return found

    def take(self, states: Array, device: torch.device) -> Tensor:
        """The values in some states; they are converted on the device, where they take more memory."""
        kinds = np.unique(self._kind[states])
        if len(kinds) == 1:
            return self._alike(states, self._sizes[kinds[0]], device)
        found = torch.zeros(len(states), *self.objects, *self.shape, dtype=self.dtype, device=device)
        for kind in kinds.tolist():
            rows = np.flatnonzero(self._kind[states] == kind)
            found[torch.from_numpy(rows).to(device)] = self._alike(states[rows], self._sizes[kind], device)
        return found

    def _alike(self, states: Array, sizes: tuple[int, ...], device: torch.device) -> Tensor:
        """The values in states with the same numbers of objects."""
        block = torch.from_numpy(self._stored(states, prod((*sizes, *self.shape))))
        if device.type == "cuda":
            block = block.pin_memory().to(device, non_blocking=True)
        block = block.reshape(len(states), *sizes, *self.shape).to(self.dtype)
        for axis, (size, wanted) in enumerate(zip(sizes, self.objects, strict=True), start=1):
            if size < wanted and block.numel():
                block = block.index_select(axis, torch.arange(wanted, device=device).clamp(max=size - 1))
        if block.shape[1 : 1 + len(sizes)] != self.objects:  # no object to repeat
            return torch.zeros(len(states), *self.objects, *self.shape, dtype=self.dtype, device=device)
        return block

    def _stored(self, states: Array, width: int) -> Array:
        """So many numbers of each of some states, as they are stored ``[state, width]``."""
        if not len(states) or not width:
            return np.zeros((len(states), width), dtype=self._values.dtype)
        check(self._values)
        # A view of every window, of which only the rows asked for are copied: no loop over states.
        found: Array = sliding_window_view(self._values, width)[self._offsets[states]]
        self._touched += found.nbytes
        # Pages of a mapped file count as memory of the process until they are given back.
        if self._touched > _CHUNK:
            release(self._values)
            self._touched = 0
        return found

    def _parts(self) -> Iterator[Array]:
        """All states in order, as many at a time as a chunk holds."""
        many = max(1, _CHUNK // max(1, self.bytes_per_state))
        for first in range(0, len(self._offsets), many):
            yield np.arange(first, min(first + many, len(self._offsets)))

    def changes(self) -> Array:
        """Whether the values change at the step from each state but the last of all ``[s - 1]``."""
        found = np.zeros(max(0, len(self._offsets) - 1), dtype=np.bool_)
        for states in () if self._fixed else self._parts():
            moving = states[~self._last[states]]
            for kind, sizes in enumerate(self._sizes):
                rows, width = moving[self._kind[moving] == kind], prod((*sizes, *self.shape))
                found[rows] = (self._stored(rows, width) != self._stored(rows + 1, width)).any(1)
        return found

    def hashes(self) -> Array:
        """A number for the values of each state ``[s]``, the same where they are."""
        found = np.zeros(len(self._offsets), dtype=np.int64)
        factors = np.random.default_rng(0).integers(1, 2**62, size=prod((*self.objects, *self.shape))) * 2 + 1
        for states in self._parts():
            for kind, sizes in enumerate(self._sizes):
                rows = states[self._kind[states] == kind]
                stored = self._stored(rows, prod((*sizes, *self.shape)))
                if stored.dtype.kind == "f":
                    stored = (stored + 0.0).astype(np.float32).view(np.int32)  # -0 is 0
                with np.errstate(over="ignore"):
                    mixed = stored.astype(np.int64) * factors[: stored.shape[1]]
                    found[rows] = (mixed ^ (mixed >> 29)).sum(1)
        return found


def _state_offsets(arrays: EpisodeArrays, name: str) -> Array:
    """Where the numbers of each state begin."""
    offsets = arrays.offsets[name][:-1]
    if name in arrays.fixed:
        each: Array = np.repeat(offsets, arrays.length)
        return each
    within = np.arange(int(arrays.length.sum())) - np.repeat(arrays.starts[:-1], arrays.length)
    size = arrays.sizes[name][arrays.universe] if len(arrays.universes) else np.zeros(0, dtype=np.int64)
    found: Array = np.repeat(offsets, arrays.length) + within * np.repeat(size, arrays.length)
    return found


GIB: Final = 1 << 30

ON_CPU: Final = 2.0
"""GiB of values that are resident on a CPU: half of the 4 GiB that a fit should do with. A constant, so that
what a fit does depends on no machine."""

ON_GPU: Final = 0.25
"""The part of a GPU's memory for resident values: training takes several times what it reads."""

ROWS: Final = 4096
"""Examples that are worked on at a time, and enough to measure by: an accuracy or a deviation is then off by
1 % at most."""

AT_ONCE: Final = 32 << 20
"""Bytes of values that are worked on at a time outside of training; networks take several times as much."""


class Examples(NamedTuple):
    """What `DeviceDataset` says of each example, on the device ``[e]``."""

    state: Tensor
    goal: Tensor
    outcomes: Tensor
    action: Tensor
    executable: Tensor


@final
@dataclass(frozen=True, eq=False)
class DeviceDataset:
    """All states of all episodes, each once, and examples: a state with one of its episode's goals.

    The examples of an episode and a goal are a run, one a state; example ``e + 1``
    follows ``e`` until the last action. An episode without goals is one run.

    ``tables`` are the values of each predicate as they are stored, on the host. On the
    device, by state ``[s]``: ``states`` (the resident predicates; the others are
    ``gathered``), ``arguments`` ``[s, k]`` (places on the axes of the parameters' types) and
    ``numbers`` ``[s, v]``. On the host, where batches are drawn, by example ``[e]``: ``state``
    (which one it is), ``episode``, ``goal`` (−1 where there is none, or its success is unknown), ``outcomes``
    (whether it held), ``action`` (−1 after the last action), ``executable`` (−1:
    unknown), and ``once`` (the first example of each state: no state counts twice).
    Those that every step reads are on the device, too (``examples``).
    """

    arrays: EpisodeArrays
    states: StateBatch
    tables: Mapping[str, HostTable]
    gathered: frozenset[str]
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
    def kinds(self) -> Array:
        """A number for the kind of each example ``[e]``: its action, whether the goal held, did not, or is
        unknown, and whether the step was refused, or changed anything that is observed.
        """
        changed = np.zeros(self.states.size, dtype=np.bool_)
        for table in self.tables.values():
            changed[:-1] |= table.changes()
        unknown = 2 * (len(self.arrays.actions) + 1)
        strata = (self.action + 1) * 2 + np.where(self.goal < 0, unknown, self.outcomes)
        found: Array = 4 * strata + 2 * (changed[self.state] & (self.action >= 0)) + (self.executable == 0)
        return found

    def hashes(self) -> Array:
        """A number for each state ``[s]``, the same where its objects and all that is observed are."""
        rows = self.states.rows
        found = np.zeros(self.states.size, np.int64) if rows is None else rows.cpu().numpy().astype(np.int64)
        for name in sorted(self.tables):
            found = found * 31 + self.tables[name].hashes()
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.arrays.values

    def values(self, name: str, at: Tensor) -> Tensor:
        """The values of a predicate in the states at some places, padded, on the device."""
        if name in self.gathered:
            return self.tables[name].take(at.cpu().numpy(), self.device)
        return self.states.tensor(name).index_select(0, at)

    def batch(self, at: Tensor) -> StateBatch:
        """The states at some places, with everything that is known of them."""
        tensors = {name: self.values(name, at) for name in self.arrays.values}
        return self.states.select(at).with_tensors(tensors)

    def sample(self, name: str) -> Tensor:
        """The values of a predicate in all states; of a gathered one in some, evenly spread."""
        if name not in self.gathered:
            return self.states.tensor(name)
        size = self.states.size
        some = np.linspace(0, size - 1, min(size, self.at_once(size))).astype(np.int64)
        return self.tables[name].take(some, self.device)

    def at_once(self, most: int) -> int:
        """How many states to work on at a time: so many, or fewer where gathered values take much memory."""
        each = sum(self.tables[name].bytes_per_state for name in self.gathered)
        return max(1, min(most, AT_ONCE // max(1, each)))

    def parts(self, examples: Array, most: int = ROWS) -> list[Array]:
        """Examples in parts to be worked on at a time, of at most so many."""
        if not len(examples):
            return []
        resident = sum(tensor[:1].nbytes for tensor in self.states.tensors.values())
        many = self.at_once(min(most, AT_ONCE // max(1, resident)))
        return np.array_split(examples, -(-len(examples) // many))

    @cached_property
    def examples(self) -> Examples:
        """The examples on the device."""
        arrays = (self.state, self.goal, self.outcomes, self.action, self.executable)
        return Examples(*(torch.from_numpy(np.ascontiguousarray(a)).to(self.device) for a in arrays))

    def rows(self, examples: Tensor) -> Tensor:
        """The states of some examples."""
        return self.examples.state.index_select(0, examples)

    def place(self, index: Array) -> Tensor:
        """Indices drawn on the host, on the device."""
        return torch.from_numpy(np.ascontiguousarray(index, dtype=np.int64)).to(self.device)


def put_on_device(
    arrays: EpisodeArrays, device: torch.device, resident_gib: float | None = None
) -> DeviceDataset:
    """The data set of some episodes, with at most so many GiB of their values resident on the device."""
    layout = layout_of(arrays.universes, device)
    episode = np.repeat(np.arange(len(arrays)), arrays.length)
    universe = arrays.universe[episode]
    tables = {name: HostTable(arrays, name, universe) for name in arrays.values}
    gathered = _too_large(tables, _budget(device) if resident_gib is None else resident_gib * GIB)
    tensors = {name: table.all(device) for name, table in tables.items() if name not in gathered}
    rows = torch.from_numpy(universe).to(device) if len(arrays.universes) > 1 else None
    states = StateBatch(arrays.domain, layout, rows, len(episode), tensors)
    last = np.zeros(len(episode), dtype=np.bool_)
    last[arrays.starts[1:] - 1] = True
    action = np.full(len(episode), -1, dtype=np.int64)
    action[~last] = arrays.action
    executable = np.full(len(episode), -1, dtype=np.int8)
    executable[~last] = arrays.executable
    arguments = np.zeros((len(episode), arrays.arguments.shape[1]), dtype=np.int64)
    arguments[~last] = _places(arrays, universe[~last])
    numbers = np.zeros((len(episode), arrays.numbers.shape[1]), dtype=np.float32)
    numbers[~last] = arrays.numbers
    state, goal, success, once = _examples(arrays)
    return DeviceDataset(
        arrays=arrays,
        states=states,
        tables=tables,
        gathered=gathered,
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


def _budget(device: torch.device) -> float:
    """How many bytes of values are resident on a device, unless the user says so."""
    if device.type != "cuda":
        return ON_CPU * GIB
    return ON_GPU * float(torch.cuda.get_device_properties(device).total_memory)


def _too_large(tables: Mapping[str, HostTable], budget: float) -> frozenset[str]:
    """The largest predicates, until the others fit."""
    order = sorted(tables, key=lambda name: -tables[name].bytes)
    left, found = sum(table.bytes for table in tables.values()), set[str]()
    for name in order:
        if left <= budget:
            break
        found.add(name)
        left -= tables[name].bytes
    return frozenset(found)


def _examples(arrays: EpisodeArrays) -> tuple[Array, Array, Array, Array]:
    """The state, the goal and its success of every example, and whether it is its state's first."""
    known = _known(arrays)
    bare = np.setdiff1d(np.arange(len(arrays)), arrays.owner[known])
    judgement = np.concatenate([np.flatnonzero(known), np.full(len(bare), -1)])
    owner = np.concatenate([arrays.owner[known], bare])
    order = np.argsort(owner, kind="stable")
    judgement, owner = judgement[order], owner[order]
    length = arrays.length[owner]
    run = np.repeat(np.arange(len(owner)), length)
    within = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length)
    goal, success = np.full(len(run), -1), np.full(len(run), -1, dtype=np.int8)
    of = judgement[run]
    asked = of >= 0
    goal[asked] = arrays.goal[of[asked]]
    success[asked] = arrays.success[arrays.verdicts[of[asked]] + within[asked]]
    first = np.diff(owner, prepend=-1) > 0
    return arrays.starts[owner][run] + within, goal, success, first[run]


def _known(arrays: EpisodeArrays) -> Array:
    """The judgements that say anything ``[j]``."""
    said = np.concatenate([[0], np.cumsum(arrays.success >= 0)])
    found: Array = said[arrays.verdicts[1:]] > said[arrays.verdicts[:-1]]
    return found


def _places(arrays: EpisodeArrays, universe: Array) -> Array:
    """The objects of each action as places on the axes of its parameters' types."""
    found = np.zeros(arrays.arguments.shape, dtype=np.int64)
    most = max((len(u.types) for u in arrays.universes), default=0)
    tables: dict[ObjectType, Array] = {}
    for at, name in enumerate(arrays.actions):
        chosen = np.flatnonzero(arrays.action == at)
        for place, parameter in enumerate(arrays.domain.actions[name].parameters):
            if not isinstance(parameter.type, ObjectType):
                continue
            if parameter.type not in tables:
                tables[parameter.type] = _axis_table(arrays, parameter.type, most)
            table = tables[parameter.type]
            found[chosen, place] = table[universe[chosen], arrays.arguments[chosen, place]]
    return found


def _axis_table(arrays: EpisodeArrays, type_: ObjectType, most: int) -> Array:
    table = np.zeros((len(arrays.universes), most), dtype=np.int64)
    for at, universe in enumerate(arrays.universes):
        axis = {name: i for i, name in enumerate(universe.members(type_))}
        table[at, : len(universe.types)] = [axis.get(name, 0) for name in universe.types]
    return table
