"""Episodes from and to Minari, the standard for offline reinforcement learning data.

Minari's spaces are the same in all episodes: where these have different numbers of objects,
observations are padded with zeros, and cut to the episode's objects when they are read.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from pdsketch.extras import missing_extra
from pdsketch.lang import Domain, error
from pdsketch.tensor import Universe
from pdsketch.training import (
    DTYPES,
    ActionTuple,
    Array,
    Episode,
    EpisodeArrays,
    Recorder,
    arrays_of,
    step_of,
)

KEY = "pdsketch"
"""Under which the metadata of a data set says what its numbers stand for."""

Reader = Callable[[Any], Mapping[str, Any]]
"""A Minari episode → the arguments of `Recorder.add`: objects, values, actions, goal, success (or goals)."""

_PARTS = ("domain", "constants", "universes", "goals", "actions")


def write_minari(
    episodes: EpisodeArrays | Iterable[Episode],
    dataset_id: str,
    *,
    author: str | None = None,
    author_email: str | None = None,
    algorithm_name: str | None = None,
    code_permalink: str | None = None,
    description: str | None = None,
) -> Any:
    """Write episodes as the Minari data set ``dataset_id``, and return it.

    An observation of the ``episodes`` is a dictionary of the predicates; an action is the number of a ground
    action, beside the numbers of its value arguments where there are any; the reward of a step is the success
    of the episode's first goal after it. All goals and their success (−1: unknown) stand in the infos.
    ``author``, ``author_email``, ``algorithm_name``, ``code_permalink`` and ``description`` are Minari's
    metadata.
    """
    minari = _minari()
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer

    arrays = _arrays(episodes)
    if arrays.length.min() < 2:
        raise error("not-for-minari", "an episode has no actions, and in Minari each has one at least")
    shapes = _shapes(arrays)
    _check_id(minari, dataset_id)
    ground: dict[tuple[Any, ...], int] = {}
    buffers = [EpisodeBuffer(**_buffer(arrays, at, ground, shapes)) for at in range(len(arrays))]
    actions: Any = spaces.Discrete(max(1, len(ground)))
    if arrays.numbers.shape[1]:
        numbers = spaces.Box(-np.inf, np.inf, arrays.numbers.shape[1:], np.float32)
        actions = spaces.Dict({"action": actions, "numbers": numbers})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it would like to know an author and a link to code
        dataset = minari.create_dataset_from_buffers(
            dataset_id=dataset_id,
            buffer=buffers,
            observation_space=spaces.Dict(
                {name: _box(spaces, arrays.domain, name, shape) for name, shape in shapes.items()}
            ),
            action_space=actions,
            author=author,
            author_email=author_email,
            algorithm_name=algorithm_name,
            code_permalink=code_permalink,
            description=description,
        )
    facts = {
        "domain": arrays.domain.name,
        "constants": list(arrays.domain.constants),
        "universes": [universe.objects for universe in arrays.universes],
        "goals": arrays.goals,
        "actions": [[arrays.actions[action], *places] for action, *places in ground],
    }
    dataset.storage.update_metadata({KEY: json.dumps(facts)})
    return dataset


def read_minari(
    dataset: Any, domain: Domain, reader: Reader | None = None, *, download: bool = False
) -> EpisodeArrays:
    """The episodes of a Minari data set, as states and actions of ``domain``.

    ``dataset`` is a ``MinariDataset``, its id (``download``: from Minari's server, if it is not on this
    machine), or its folder. One that `write_minari` did not write needs a ``reader`` that says what an
    episode's observations and actions mean: a function to the arguments of `Recorder.add`, which are objects,
    values, actions, and goal with success, or goals.
    """
    opened = _opened(dataset, download)
    read = reader or _own_reader(opened, domain)
    recorder = Recorder(domain)
    for episode in opened.iterate_episodes():
        found: Any = read(episode)
        if not isinstance(found, Mapping) or not {"objects", "values", "actions"} <= found.keys():
            raise error(
                "not-for-minari",
                f"a reader returns a dictionary with objects, values and actions, and not {found!r:.60}",
                help='such as {"objects": {"robot": ["r"]}, "values": {"at": …}, "actions": [("go", "r")]}',
            )
        recorder.add(**found)
    return recorder.arrays()


def _minari() -> Any:
    try:
        import minari
    except ModuleNotFoundError as absent:
        if absent.name != "minari":
            raise
        raise missing_extra("minari", "minari") from None
    return minari


def _arrays(episodes: EpisodeArrays | Iterable[Episode]) -> EpisodeArrays:
    listed = episodes if isinstance(episodes, EpisodeArrays) else list(episodes)
    if not len(listed):
        raise error("no-episodes", "there are no episodes to write")
    if isinstance(listed, EpisodeArrays):
        return listed
    if not all(isinstance(episode, Episode) for episode in listed):
        raise error("bad-episode", "`write_minari` takes episodes", help="see pds.Episode and pds.record")
    return arrays_of(listed, listed[0].states[0].domain)


def _shapes(arrays: EpisodeArrays) -> dict[str, tuple[int, ...]]:
    """The shape of each predicate's table in one state, with room for the objects of every episode."""
    found = {}
    for name in arrays.values:
        sizes = [universe.sizes(arrays.domain.predicates[name]) for universe in arrays.universes]
        found[name] = (*map(max, zip(*sizes, strict=True)), *arrays.shapes[name])
    return found


def _check_id(minari: Any, dataset_id: str) -> None:
    from minari.dataset.minari_dataset import parse_dataset_id

    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):
        raise error(
            "not-for-minari", f"{dataset_id!r} is no id of Minari", help='ids are such as "rooms/walks-v0"'
        ) from None
    if dataset_id in minari.list_local_datasets():
        raise error(
            "not-for-minari",
            f"there is a data set `{dataset_id}` already",
            help=f'take the next version, or minari.delete_dataset("{dataset_id}")',
        )


def _box(spaces: Any, domain: Domain, name: str, shape: tuple[int, ...]) -> Any:
    dtype = DTYPES[domain.predicates[name].type.prim]
    if dtype is np.float32:
        return spaces.Box(-np.inf, np.inf, shape, np.float32)
    if dtype is np.bool_:
        return spaces.Box(0, 1, shape, np.int8)
    limits = np.iinfo(np.int64)
    return spaces.Box(limits.min, limits.max, shape, np.int64)


def _buffer(
    arrays: EpisodeArrays,
    at: int,
    ground: dict[tuple[Any, ...], int],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, Any]:
    length = int(arrays.length[at])
    steps = slice(int(arrays.starts[at]) - at, int(arrays.starts[at]) - at + length - 1)
    keys = np.column_stack([arrays.action[steps, None], arrays.arguments[steps]]).tolist()
    actions: Any = np.array([ground.setdefault(tuple(key), len(ground)) for key in keys], dtype=np.int64)
    if arrays.numbers.shape[1]:
        actions = {"action": actions, "numbers": arrays.numbers[steps].astype(np.float32)}
    judgements = slice(arrays.asked[at], arrays.asked[at + 1])
    bounds = arrays.verdicts[judgements.start], arrays.verdicts[judgements.stop]
    success = arrays.success[bounds[0] : bounds[1]].reshape(-1, length).astype(np.float64)
    won = success[0, 1:] > 0 if len(success) else np.zeros(length - 1, dtype=np.bool_)
    last = np.arange(length - 1) == length - 2
    return {
        "observations": {name: _observed(arrays, name, at, shape) for name, shape in shapes.items()},
        "actions": actions,
        "rewards": won.astype(np.float64).tolist(),
        "terminations": (last & won).tolist(),
        "truncations": (last & ~won).tolist(),
        "infos": {
            "goal": np.tile(arrays.goal[judgements], (length, 1)),
            "success": success.T,
            "executable": np.array([*arrays.executable[steps], -1]),
            "universe": np.full(length, arrays.universe[at]),
        },
    }


def _observed(arrays: EpisodeArrays, name: str, at: int, shape: tuple[int, ...]) -> Array:
    dtype = DTYPES[arrays.domain.predicates[name].type.prim]
    table = arrays.table(name, at)
    padded = np.zeros((len(table), *shape), np.int8 if dtype is np.bool_ else dtype)
    padded[tuple(map(slice, table.shape))] = table
    return padded


def _opened(dataset: Any, download: bool) -> Any:
    minari = _minari()
    if isinstance(dataset, minari.MinariDataset):
        return dataset
    if not isinstance(dataset, str | os.PathLike):
        raise error("not-for-minari", f"a Minari data set, its id or folder was wanted, not {dataset!r:.60}")
    name = os.fspath(dataset)
    folder = os.path.join(name, "data")
    if os.path.isdir(folder):
        return minari.MinariDataset(folder)
    try:
        return minari.load_dataset(name, download=download)
    except (FileNotFoundError, ValueError, TypeError):
        known = sorted(minari.list_local_datasets())
        raise error(
            "not-for-minari",
            f"there is no Minari data set `{name}` on this machine",
            help=f"there are: {', '.join(known[:10]) or 'none'}; `download=True` asks Minari's server",
        ) from None


def _own_reader(dataset: Any, domain: Domain) -> Reader:
    name = dataset.spec.dataset_id
    text = dataset.storage.metadata.get(KEY)
    if text is None:
        raise error(
            "not-for-minari",
            f"data set `{name}` does not say what its observations mean",
            help="pass a `reader` that turns an episode into objects, values, actions, goal and success",
        )
    try:
        facts = json.loads(text)
        if not all(isinstance(facts[part], list | str) for part in _PARTS):
            raise ValueError(text)
    except (ValueError, KeyError, TypeError):
        raise error("not-for-minari", f"what data set `{name}` says of its observations is damaged") from None
    universes = [Universe.of(domain, objects) for objects in facts["universes"]]
    observed = _check_space(dataset, domain, facts, universes)
    places = [tuple(universe.types) for universe in universes]
    cuts = [[universe.sizes(domain.predicates[name]) for name in observed] for universe in universes]

    def read(episode: Any) -> Mapping[str, Any]:
        infos = episode.infos
        at = int(infos["universe"][0])
        named = [facts["goals"][int(goal)] for goal in infos["goal"][0]]
        success = [[None if s < 0 else s for s in labels] for labels in infos["success"].T]
        executable = infos["executable"][:-1]
        return {
            "objects": universes[at].objects,
            "values": {
                predicate: episode.observations[predicate][(slice(None), *map(slice, sizes))]
                for predicate, sizes in zip(observed, cuts[at], strict=True)
            },
            "actions": _steps(domain, facts["actions"], places[at], episode.actions),
            "goals": dict(zip(named, success, strict=True)),
            "executable": [bool(x) for x in executable] if (executable >= 0).all() else None,
        }

    return read


def _check_space(
    dataset: Any, domain: Domain, facts: Mapping[str, Any], universes: list[Universe]
) -> list[str]:
    """The predicates to read: those of the domain, each observed in the shape that the domain says."""
    name = dataset.spec.dataset_id
    unknown = {action for action, *_ in facts["actions"]} - domain.actions.keys()
    if unknown or facts["constants"] != list(domain.constants):
        what = f"the action `{min(unknown)}`" if unknown else f"the constants {facts['constants']}"
        raise error(
            "not-for-minari",
            f"data set `{name}` of domain `{facts['domain']}` has {what}; domain `{domain.name}` has not",
        )
    space = dataset.spec.observation_space
    shapes = {key: box.shape for key, box in getattr(space, "spaces", {}).items()}
    observed = []
    for predicate in domain.predicates.values():
        if predicate.role not in ("observed", "raw") and predicate.name not in shapes:
            continue
        value, found = predicate.type.shape, shapes.get(predicate.name)
        sizes = tuple(map(max, zip(*(universe.sizes(predicate) for universe in universes), strict=True)))
        wanted = (*sizes, *(value or ()))
        if found is None or (found if value is not None else found[: len(sizes)]) != wanted:
            raise error(
                "not-for-minari",
                f"data set `{name}` has {'nothing' if found is None else f'arrays {found}'}"
                f" for `{predicate.name}`; {wanted} is wanted",
                help="read it with the domain that it was written with, or pass a `reader`",
            )
        observed.append(predicate.name)
    return observed


def _steps(domain: Domain, ground: list[Any], names: tuple[str, ...], actions: Any) -> list[ActionTuple]:
    """Numbers of ground actions, and of value arguments, as steps."""
    at, numbers = (actions["action"], actions["numbers"]) if isinstance(actions, dict) else (actions, None)
    steps = []
    for i, which in enumerate(at):
        action, *places = ground[int(which)]
        own = np.zeros(0) if numbers is None else numbers[i]
        steps.append(step_of(domain.actions[action], places, names, own))
    return steps
