"""Episodes → arrays: one `Recorder.add` an episode, with whole arrays and no `State` objects.

Generators of data use it directly; a list of `Episode` goes the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, final

import numpy as np

from pdsketch.lang import Domain, Predicate, ValueType, check_number, did_you_mean, error, flat
from pdsketch.tensor import Universe
from pdsketch.training.data.episode import (
    ActionTuple,
    Episode,
    Success,
    check_actions,
    check_bits,
    check_goal,
    check_success,
    judged,
)
from pdsketch.training.data.episode_arrays import PER_ACTION, Array, EpisodeArrays, as_given, narrow, width_of

_NO_GOALS: Mapping[str, Success] = {}


@final
class Recorder:
    """Collects episodes of one domain; `arrays` is what was collected."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._universes: dict[tuple[tuple[str, tuple[str, ...]], ...], int] = {}
        self._universe_list: list[Universe] = []
        self._goals: dict[str, int] = {}
        self._actions = {name: at for at, name in enumerate(domain.actions)}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._values: dict[str, list[Array]] = {}
        self._heads: list[tuple[int, int, int]] = []
        self._asked: list[int] = []
        self._success: list[Array] = []
        self._executable: list[Array] = []
        self._steps: list[ActionTuple] = []
        self._step_universes: list[Universe] = []

    def add(
        self,
        objects: Mapping[str, Sequence[str]],
        values: Mapping[str, Any],
        actions: Sequence[ActionTuple],
        goal: str | None = None,
        success: Success = None,
        executable: Sequence[bool] | None = None,
        *,
        goals: Mapping[str, Success] = _NO_GOALS,
    ) -> None:
        """Add an episode; ``values`` holds one array ``[states, *objects, *shape]`` per predicate.

        ``objects`` are the names by type, in the order of the arrays; ``actions``, one fewer than states, are
        steps such as ``("move", "rob", "a")``. ``goal`` is a formula and ``success`` its truth in each state,
        with None where nobody knows. ``executable`` says of each action whether it could be carried out.
        ``goals`` are any number of goals with their success, beside ``goal`` or without it.
        """
        universe_at = self._universe(objects)
        universe = self._universe_list[universe_at]
        count = len(actions) + 1
        asked = judged(goal, success, goals)
        check_success(asked, count)
        if executable is not None:
            check_bits("executable", executable)
            if len(executable) != len(actions):
                raise error("bad-episode", f"{len(actions)} actions have {len(executable)} executable values")
        tables = self._tables(universe, values, count)
        checked = check_actions(universe, actions)
        goals_at = [self._goal(goal, universe) for goal in asked]
        for name, table in tables.items():
            self._values.setdefault(name, []).append(table)
        self._heads.append((count, universe_at, len(asked)))
        self._asked += goals_at
        self._success += [_labels(success, count) for success in asked.values()]
        unknown = np.full(len(actions), -1, dtype=np.int8)
        self._executable.append(unknown if executable is None else np.asarray(executable, dtype=np.int8))
        self._steps.extend(checked)
        self._step_universes.extend([universe] * len(checked))

    def add_episode(self, episode: Episode) -> None:
        """Add an episode made of states."""
        first = episode.states[0]
        names = tuple(first.values)
        values = {
            name: np.stack([np.asarray(state[name].detach().cpu()) for state in episode.states])
            for name in names
        }
        self.add(first.objects, values, episode.actions, executable=episode.executable, goals=episode.goals)

    def arrays(self) -> EpisodeArrays:
        """Everything added so far."""
        heads = np.array(self._heads, dtype=np.int64).reshape(-1, 3)
        action, arguments, numbers = self._encode_actions()
        values, fixed = {}, set()
        for name, tables in self._values.items():
            if all(len(t) == 1 or bool((t == t[:1]).all()) for t in tables):
                fixed.add(name)
                tables = [t[:1] for t in tables]  # noqa: PLW2901
            flat = np.concatenate([t.reshape(-1) for t in tables])
            values[name] = narrow(flat)
        return EpisodeArrays(
            domain=self.domain,
            universes=tuple(self._universe_list),
            goals=tuple(self._goals),
            actions=tuple(self._actions),
            length=heads[:, 0],
            universe=heads[:, 1],
            judgements=heads[:, 2],
            goal=np.array(self._asked, dtype=np.int64),
            success=_join(self._success, np.int8),
            action=action,
            arguments=arguments,
            numbers=numbers,
            executable=_join(self._executable, np.int8),
            values=values,
            shapes=dict(self._shapes),
            fixed=frozenset(fixed),
        )

    def _universe(self, objects: Mapping[str, Sequence[str]]) -> int:
        key = tuple((type_, tuple(names)) for type_, names in objects.items() if len(names))
        if key not in self._universes:
            self._universes[key] = len(self._universe_list)
            self._universe_list.append(Universe.of(self.domain, dict(key)))
        return self._universes[key]

    def _goal(self, goal: str, universe: Universe) -> int:
        check_goal(universe, goal)
        return self._goals.setdefault(goal, len(self._goals))

    def _tables(self, universe: Universe, values: Mapping[str, Any], count: int) -> dict[str, Array]:
        lowered = {name.lower(): value for name, value in values.items()}
        if self._values and lowered.keys() != self._values.keys():
            odd = sorted(lowered.keys() ^ self._values.keys())
            raise error("bad-episode", f"`{odd[0]}` is given in some episodes and not in others")
        return {name: self._table(universe, name, value, count) for name, value in lowered.items()}

    def _table(self, universe: Universe, name: str, value: Any, count: int) -> Array:
        predicate = given(self.domain, name)
        try:
            table = np.asarray(value)
        except (TypeError, ValueError):
            table = np.zeros(0, dtype=object)
        check_numbers(predicate, table)
        table = as_given(table, predicate.type.prim)
        objects = universe.sizes(predicate)
        shape = self._shape(predicate, table.shape[1 + len(objects) :])
        wanted = (count, *objects, *shape)
        if table.shape != wanted:
            raise error(
                "shape-mismatch",
                f"`{name}` has shape {table.shape}; {count} states with these objects need {wanted}",
            )
        return table

    def _shape(self, predicate: Predicate, found: tuple[int, ...]) -> tuple[int, ...]:
        declared = predicate.type.shape
        return self._shapes.setdefault(predicate.name, found if declared is None else declared)

    def _encode_actions(self) -> tuple[Array, Array, Array]:
        schemas = self.domain.actions.values()
        arity = max((len(s.parameters) for s in schemas), default=0)
        width = max((sum(map(width_of, value_types(s.parameters))) for s in schemas), default=0)
        action = np.zeros(len(self._steps), dtype=PER_ACTION["action"])
        arguments = np.full((len(self._steps), arity), -1, dtype=PER_ACTION["arguments"])
        numbers = np.zeros((len(self._steps), width), dtype=np.float32)
        known: dict[tuple[int, ActionTuple], tuple[list[int], list[float]]] = {}
        for at, (step, universe) in enumerate(zip(self._steps, self._step_universes, strict=True)):
            key = (id(universe), step)
            if key not in known:
                index = {name: i for i, name in enumerate(universe.types)}
                places = [index[a] if isinstance(a, str) else -1 for a in step[1:]]
                known[key] = places, [x for a in step[1:] if not isinstance(a, str) for x in flat(a)]
            places, given_numbers = known[key]
            action[at] = self._actions[step[0]]
            arguments[at, : len(places)] = places
            numbers[at, : len(given_numbers)] = given_numbers
        return action, arguments, numbers


def value_types(parameters: Iterable[Any]) -> list[ValueType]:
    """The value types among an action's parameters."""
    return [p.type for p in parameters if isinstance(p.type, ValueType)]


def given(domain: Domain, name: str) -> Predicate:
    """The predicate of that name, if a state may give its values."""
    predicate = domain.predicates.get(name)
    if predicate is None:
        hint = did_you_mean(name, domain.predicates)
        raise error("unknown-predicate", f"there is no predicate `{name}`", help=hint)
    if predicate.role not in ("observed", "raw", "encoded"):
        raise error("derived-value", f"`{name}` is {predicate.role}: its values are not given with a state")
    return predicate


def check_numbers(predicate: Predicate, table: Array) -> None:
    """Refuse what is no number, and numbers that the predicate's type cannot hold."""
    type_ = predicate.type
    if table.dtype.kind not in "biuf":
        raise error("bad-value", f"`{predicate.name}` is no array of numbers, but of {table.dtype}")
    if not table.size:
        return
    # Python's numbers, which neither wrap nor round; NaN is the least and the greatest wherever it is.
    doubtful = [table.min().item(), table.max().item()]
    if table.dtype.kind == "f" and type_.prim != "float32" and all(map(isfinite, doubtful)):
        doubtful += table[table != np.floor(table)][:1].tolist()
    for number in doubtful:
        check_number(f"an entry of `{predicate.name}`", type_, number)


def arrays_of(episodes: Iterable[Episode], domain: Domain) -> EpisodeArrays:
    """Episodes as arrays."""
    recorder = Recorder(domain)
    for episode in episodes:
        recorder.add_episode(episode)
    return recorder.arrays()


def _labels(success: Success, count: int) -> Array:
    """Success as it is kept: −1 where it is not known."""
    if success is None:
        return np.full(count, -1, dtype=np.int8)
    if isinstance(success, np.ndarray):
        return success.astype(np.int8)
    return np.array([-1 if label is None else int(label) for label in success], dtype=np.int8)


def _join(parts: list[Array], dtype: Any) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)


# Several sets of episodes as one.


def join_episodes(parts: Iterable[EpisodeArrays], domain: Domain) -> EpisodeArrays:
    """The episodes of all parts, one part after the other; no `State` is made on the way."""
    recorder = Recorder(domain)
    for arrays in parts:
        for at in range(len(arrays)):
            steps = slice(int(arrays.starts[at]) - at, int(arrays.starts[at + 1]) - at - 1)
            executable = arrays.executable[steps]
            recorder.add(
                arrays.universes[arrays.universe[at]].objects,
                {name: arrays.table(name, at) for name in arrays.values},
                arrays.actions_of(at),
                executable=executable.tolist() if len(executable) and executable.min() >= 0 else None,
                goals=arrays.judged(at),
            )
    return recorder.arrays()
