"""A data set as training sees it: all states, resident on a device or gathered from the host, and examples.

Predicates that fit into a budget of memory lie on the device, padded and in the
dtype that they are computed with. Others, the largest first, stay on the host as
`EpisodeArrays` has them, and are padded and converted for the states of one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import ObjectType
from pdsketch.tensor import StateBatch, layout_of
from pdsketch.training.data.episode_arrays import Array, EpisodeArrays
from pdsketch.training.data.host_table import HostTable

GIB: Final = 1 << 30

ON_CPU: Final = 2.0
"""GiB of values that are resident on a CPU: half of the 4 GiB that a fit should do with. A constant, so that
what a fit does depends on no machine."""

ON_GPU: Final = 0.25
"""The part of a GPU's memory for resident values: training takes several times what it reads."""

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

    On the device, by state ``[s]``: ``states`` (the resident predicates; the others are
    ``gathered``), ``arguments`` ``[s, k]`` (places on the axes of the parameters' types) and
    ``numbers`` ``[s, v]``. On the host, where batches are drawn, by example ``[e]``: ``state``
    (which one it is), ``episode``, ``goal`` (−1 where there is none, or its success is unknown), ``outcomes``
    (whether it held), ``action`` (−1 after the last action), ``executable`` (−1:
    unknown), and ``once`` (the first example of each state: no state counts twice).
    Those that every step reads are on the device, too (``examples``).
    """

    arrays: EpisodeArrays
    states: StateBatch
    gathered: Mapping[str, HostTable]
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
        unknown = 2 * (len(self.arrays.actions) + 1)
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
        for table in self.gathered.values():
            found[:-1] |= table.changes()
        return found[self.state] & (self.action >= 0)

    def __contains__(self, name: str) -> bool:
        return name in self.arrays.values

    def values(self, name: str, at: Tensor) -> Tensor:
        """The values of a predicate in the states at some places, padded, on the device."""
        if name in self.gathered:
            return self.gathered[name].take(at.cpu().numpy(), self.device)
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
        return self.gathered[name].take(some, self.device)

    def at_once(self, most: int) -> int:
        """How many states to work on at a time: so many, or fewer where gathered values take much memory."""
        each = sum(table.bytes_per_state for table in self.gathered.values())
        return max(1, min(most, AT_ONCE // max(1, each)))

    def parts(self, examples: Array, most: int) -> list[Array]:
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
        gathered={name: tables[name] for name in gathered},
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


def _too_large(tables: Mapping[str, HostTable], budget: float) -> set[str]:
    """The largest predicates, until the others fit."""
    order = sorted(tables, key=lambda name: -tables[name].bytes)
    left, found = sum(table.bytes for table in tables.values()), set[str]()
    for name in order:
        if left <= budget:
            break
        found.add(name)
        left -= tables[name].bytes
    return found


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
