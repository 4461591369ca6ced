"""Many episodes as a few long arrays: how they are kept in memory and on disk.

Nothing is padded here. The values of a predicate in all states of all episodes
stand one after another; where each state begins follows from the number of its
objects. One episode is made into `Episode` only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.files import block_of, check, digest_json, digest_of
from pdsketch.lang import Action, Domain, ValueType, error, plain
from pdsketch.tensor import State, Universe
from pdsketch.training.data.episode import ActionTuple, Episode

Array = NDArray[Any]

COUNTED: Mapping[str, Any] = {
    "length": np.int64,
    "universe": np.int64,
    "judgements": np.int64,
    "goal": np.int64,
    "success": np.int8,
}
PER_ACTION: Mapping[str, Any] = {
    "action": np.int32,
    "arguments": np.int32,
    "numbers": np.float32,
    "executable": np.int8,
}
"""The arrays of every data set, beside the values of its predicates, and their dtypes in memory."""

DTYPES: Mapping[str, Any] = {"bool": np.bool_, "int64": np.int64, "float32": np.float32}
"""What numbers of each kind are when they are computed with."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class EpisodeArrays:
    """Episodes of one domain, in arrays.

    - per episode ``[n]``: ``length`` (number of states), ``universe`` (index into
      ``universes``) and ``judgements`` (how many goals it was judged by);
    - per judgement ``[j]``, in the order of the episodes: ``goal`` (index into
      ``goals``), and in ``success``, flat, ``length`` numbers (0, 1, or −1 where
      the data does not say);
    - per state, in ``values``: each predicate's numbers, flat; a predicate in
      ``fixed`` never changes within an episode and stands there once per episode;
    - per action, ``length − 1`` of each episode: ``action`` (index into
      ``actions``), ``arguments`` ``[a, k]`` (places in the universe's universe, −1
      for none), ``numbers`` ``[a, v]`` (value arguments side by side) and
      ``executable`` (0, 1, or −1 where the data does not say).

    ``shapes`` are the value axes of each predicate.
    """

    domain: Domain
    universes: tuple[Universe, ...]
    goals: tuple[str, ...]
    actions: tuple[str, ...]
    length: Array
    universe: Array
    judgements: Array
    goal: Array
    success: Array
    action: Array
    arguments: Array
    numbers: Array
    executable: Array
    values: Mapping[str, Array]
    shapes: Mapping[str, tuple[int, ...]]
    fixed: frozenset[str]

    def __repr__(self) -> str:
        """How many episodes and states, of which domain."""
        return f"EpisodeArrays({self.domain.name}: {len(self)} episodes, {int(self.length.sum())} states)"

    def __len__(self) -> int:
        return len(self.length)

    def __iter__(self) -> Iterator[Episode]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> Episode:
        """The episode at a place, as states with tensors."""
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        universe = self.universes[self.universe[at]]
        steps = slice(self.starts[at] - at, self.starts[at + 1] - at - 1)
        tables = {name: self.table(name, at) for name in self.values}
        states = tuple(
            State(self.domain, universe.objects, {name: table[t] for name, table in tables.items()})
            for t in range(self.length[at])
        )
        executable = self.executable[steps]
        return Episode(
            states=states,
            actions=self.actions_of(at),
            goals=self.judged(at),
            executable=tuple(map(bool, executable)) if len(executable) and executable.min() >= 0 else None,
        )

    def actions_of(self, at: int) -> tuple[ActionTuple, ...]:
        """The actions of an episode, as `Episode` has them."""
        universe = self.universes[self.universe[at]]
        first, after = int(self.starts[at]) - at, int(self.starts[at + 1]) - at - 1
        return tuple(self._action(i, universe) for i in range(first, after))

    def judged(self, at: int) -> dict[str, tuple[int | None, ...] | None]:
        """The goals of an episode and whether they held in its states, as `Episode` has them."""
        found: dict[str, tuple[int | None, ...] | None] = {}
        for j in range(int(self.asked[at]), int(self.asked[at + 1])):
            success = self.success[self.verdicts[j] : self.verdicts[j + 1]].tolist()
            known = any(label >= 0 for label in success)
            found[self.goals[self.goal[j]]] = (
                tuple(None if label < 0 else label for label in success) if known else None
            )
        return found

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each column, names and all: two data sets are one if these are the same."""
        found = {
            "goals": digest_json(self.goals),
            "actions": digest_json(self.actions),
            "objects": digest_json([[*map(str, chain(*u.types.items()))] for u in self.universes]),
        }
        found |= {name: block_of(getattr(self, name)).digest for name in (*COUNTED, *PER_ACTION)}
        for name, values in self.values.items():
            kept = f"{self.shapes[name]}{name in self.fixed}"
            found[f"value/{name}"] = digest_of(kept, block_of(values).digest)
        return found

    @cached_property
    def asked(self) -> Array:
        """The place of each episode's first judgement among all judgements ``[n + 1]``."""
        return np.concatenate([[0], np.cumsum(self.judgements, dtype=np.int64)])

    @cached_property
    def owner(self) -> Array:
        """The episode of each judgement ``[j]``."""
        return np.repeat(np.arange(len(self)), self.judgements)

    @cached_property
    def verdicts(self) -> Array:
        """Where the success of each judgement begins ``[j + 1]``."""
        return np.concatenate([[0], np.cumsum(self.length[self.owner], dtype=np.int64)])

    @cached_property
    def starts(self) -> Array:
        """The place of each episode's first state among all states ``[n + 1]``."""
        return np.concatenate([[0], np.cumsum(self.length, dtype=np.int64)])

    @cached_property
    def sizes(self) -> dict[str, Array]:
        """How many numbers one state of each universe holds, by predicate ``[universes]``."""
        return {
            name: np.array(
                [prod((*r.sizes(self.domain.predicates[name]), *self.shapes[name])) for r in self.universes],
                dtype=np.int64,
            ).reshape(-1)
            for name in self.values
        }

    @cached_property
    def offsets(self) -> dict[str, Array]:
        """Where the numbers of each episode begin, by predicate ``[n + 1]``."""
        found = {}
        for name, sizes in self.sizes.items():
            blocks = sizes[self.universe] if len(self.universes) else np.zeros(0, dtype=np.int64)
            times = 1 if name in self.fixed else self.length
            found[name] = np.concatenate([[0], np.cumsum(blocks * times, dtype=np.int64)])
        return found

    def table(self, name: str, at: int) -> Array:
        """The values of a predicate in the states of one episode ``[t, *objects, *shape]``."""
        universe = self.universes[self.universe[at]]
        axes = (*universe.sizes(self.domain.predicates[name]), *self.shapes[name])
        check(self.values[name])
        flat = self.values[name][self.offsets[name][at] : self.offsets[name][at + 1]]
        if name in self.fixed:
            return np.broadcast_to(flat.reshape(1, *axes), (int(self.length[at]), *axes))
        return flat.reshape(int(self.length[at]), *axes)

    def _action(self, at: int, universe: Universe) -> ActionTuple:
        schema = self.domain.actions[self.actions[self.action[at]]]
        return step_of(schema, self.arguments[at], tuple(universe.types), self.numbers[at])


def step_of(schema: Action, places: Sequence[int], names: Sequence[str], numbers: Array) -> ActionTuple:
    """An action, by its ``schema``: objects by their ``places`` among ``names``, values from ``numbers``."""
    words: list[Any] = [schema.name]
    used = 0
    for place, parameter in zip(places, schema.parameters, strict=False):
        if isinstance(parameter.type, ValueType):
            width = width_of(parameter.type)
            words.append(argument_of(parameter.type, numbers[used : used + width]))
            used += width
        else:
            words.append(names[place])
    return tuple(words)


def width_of(type_: ValueType) -> int:
    """How many numbers a value argument of an action holds."""
    if type_.shape is None:
        raise error("unknown-dimensions", f"an action takes a `{type_}`, whose dimensions are not known")
    return int(np.prod(type_.shape, dtype=np.int64))


def argument_of(type_: ValueType, numbers: Array) -> Any:
    """Numbers side by side as the argument of an action: a number, or (nested) tuples of numbers."""
    return plain(np.reshape(numbers, type_.shape or ()).astype(DTYPES[type_.prim]).tolist())


def as_given(table: Array, prim: str) -> Array:
    """A table as it is collected: integers of one or two bytes as they were given, so that pictures stay
    small; all else in the dtype of its type. The dtype never changes what a number means.
    """
    if prim != "bool" and table.dtype.kind in "iu" and table.itemsize <= 2:
        return table.copy()
    return table.astype(DTYPES[prim], copy=False)


def narrow(values: Array) -> Array:
    """The same numbers in the smallest dtype that holds them exactly."""
    if values.dtype == np.bool_:
        return values
    for dtype in (np.int8, np.uint8, np.int16, np.int32):
        limits = np.iinfo(dtype)
        if not len(values):
            return values.astype(dtype)
        if values.min() < limits.min or values.max() > limits.max:
            continue
        small = values.astype(dtype, copy=False)
        if values.dtype.kind in "iu" or np.array_equal(small, values):
            return small
    return values
