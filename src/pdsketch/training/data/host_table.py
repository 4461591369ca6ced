"""One predicate of a data set on the host, as it is stored, and as padded tensors of some of its states."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from math import prod
from typing import Final, final

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from pdsketch.files import check, release
from pdsketch.training.data.episode_arrays import Array, EpisodeArrays

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
        found: Array = sliding_window_view(self._values, width)[self._offsets[states]]
        self._touched += found.nbytes
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
        for states in self._parts():
            for kind, sizes in enumerate(self._sizes):
                rows = states[self._kind[states] == kind]
                stored = self._stored(rows, prod((*sizes, *self.shape)))
                if stored.dtype.kind == "f":
                    stored = stored + 0.0  # -0 is 0
                found[rows] = [_hash(row.tobytes()) for row in stored]
        return found


def _hash(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


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
