"""Demonstrations as the arrays that learning takes, for one of the sketches."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang import Domain
from pdsketch.training import EpisodeArrays, Recorder
from pdsketch_paper.babyai.data import DataConfig, Demonstration, demonstrations
from pdsketch_paper.babyai.states import objects_of, values_of


def record(episodes: Iterable[Demonstration], domain: Domain) -> EpisodeArrays:
    """The demonstrations as episodes of a sketch.

    ``executable`` is left open: Minigrid takes every action, and a step into a
    wall is an outcome to learn from. PDS-Rob's own precondition excludes it.
    """
    recorder = Recorder(domain)
    for episode in episodes:
        recorder.add(
            objects_of(domain, episode.states),
            values_of(domain, episode.states),
            [(name, "agent") for name in episode.action_names],
            episode.goal,
            episode.success,
        )
    return recorder.arrays()


def generate(config: DataConfig, domain: Domain) -> EpisodeArrays:
    """A data set of a sketch."""
    return record(demonstrations(config), domain)
