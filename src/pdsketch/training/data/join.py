"""Several sets of episodes as one."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang import Domain
from pdsketch.training.data.episode_arrays import EpisodeArrays
from pdsketch.training.data.recorder import Recorder


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
