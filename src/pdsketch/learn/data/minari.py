"""Episodes from and to Minari, the standard for offline reinforcement learning data.

Minari's spaces are the same in all episodes, so that only episodes with the
same objects, and actions without value arguments, can be exported.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Domain
from pdsketch.learn.data.episode_arrays import EpisodeArrays
from pdsketch.learn.data.recorder import Recorder

KEY = "pdsketch"

Reader = Callable[[Any], Mapping[str, Any]]
"""A Minari episode → the arguments of `Recorder.add`: objects, values, actions, goal, success (or goals)."""


def export_minari(arrays: EpisodeArrays, dataset_id: str) -> Any:
    """Write episodes as a Minari data set, and return it.

    An observation is a dictionary of the predicates; an action is the number of
    a ground action; the reward of a step is the success of the episode's first goal
    after it. All goals and their success (−1: unknown) stand in the infos.
    """
    import minari
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer

    if len(arrays.universes) != 1:
        raise error(
            "not-for-minari",
            f"the episodes have {len(arrays.universes)} different sets of objects; Minari holds one",
            help="export the episodes of one set of objects at a time",
        )
    if arrays.numbers.shape[1]:
        raise error("not-for-minari", "actions with value arguments have no place in Minari's Discrete space")
    ground: dict[tuple[Any, ...], int] = {}
    buffers = []
    for at in range(len(arrays)):
        buffers.append(_buffer(EpisodeBuffer, arrays, at, ground))
    observation = spaces.Dict(
        {
            name: spaces.Box(-np.inf, np.inf, arrays.table(name, 0).shape[1:], np.float64)
            for name in arrays.values
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it would like to know an author and a link to code
        dataset = minari.create_dataset_from_buffers(
            dataset_id=dataset_id,
            buffer=buffers,
            observation_space=observation,
            action_space=spaces.Discrete(max(1, len(ground))),
        )
    universe = arrays.universes[0]
    facts = {"objects": universe.objects, "goals": arrays.goals, "actions": [list(a) for a in ground]}
    dataset.storage.update_metadata({KEY: json.dumps(facts)})
    return dataset


def _buffer(kind: Any, arrays: EpisodeArrays, at: int, ground: dict[tuple[Any, ...], int]) -> Any:
    episode = arrays[at]
    actions = [ground.setdefault(action, len(ground)) for action in episode.actions]
    length = int(arrays.length[at])
    judgements = slice(arrays.asked[at], arrays.asked[at + 1])
    bounds = arrays.verdicts[judgements.start], arrays.verdicts[judgements.stop]
    success = arrays.success[bounds[0] : bounds[1]].reshape(-1, length).astype(np.float64)
    won = success[0, 1:] > 0 if len(success) else np.zeros(len(actions), dtype=np.bool_)
    last = np.arange(len(actions)) == len(actions) - 1
    executable = [True] * len(actions) if episode.executable is None else list(episode.executable)
    return kind(
        observations={name: arrays.table(name, at).astype(np.float64) for name in arrays.values},
        actions=np.array(actions, dtype=np.int64),
        rewards=won.astype(np.float64).tolist(),
        terminations=(last & won).tolist(),
        truncations=(last & ~won).tolist(),
        infos={
            "goal": np.tile(arrays.goal[judgements], (length, 1)),
            "success": success.T,
            "executable": np.array([*executable, True]),
        },
    )


def import_minari(dataset: Any, domain: Domain, reader: Reader | None = None) -> EpisodeArrays:
    """The episodes of a Minari data set (or of its name) for a domain.

    A data set that was not exported from here needs a ``reader`` that says what
    an episode's observations and actions mean.
    """
    import minari

    if isinstance(dataset, str):
        dataset = minari.load_dataset(dataset)
    reader = reader or _own_reader(dataset)
    recorder = Recorder(domain)
    for episode in dataset.iterate_episodes():
        recorder.add(**reader(episode))
    return recorder.arrays()


def _own_reader(dataset: Any) -> Reader:
    text = dataset.storage.metadata.get(KEY)
    if text is None:
        raise error(
            "not-for-minari",
            f"data set `{dataset.spec.dataset_id}` does not say what its observations mean",
            help="pass a `reader` that turns an episode into objects, values, actions, goal and success",
        )
    facts = json.loads(text)

    def read(episode: Any) -> Mapping[str, Any]:
        named = [facts["goals"][int(at)] for at in episode.infos["goal"][0]]
        success = [[None if s < 0 else s for s in labels] for labels in episode.infos["success"].T]
        return {
            "objects": facts["objects"],
            "values": dict(episode.observations),
            "actions": [tuple(facts["actions"][int(a)]) for a in episode.actions],
            "goals": dict(zip(named, success, strict=True)),
            "executable": [bool(x) for x in episode.infos["executable"][:-1]],
        }

    return read
