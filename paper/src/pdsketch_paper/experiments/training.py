"""A fit with the settings of a run's config: one call for every domain of the tables."""

from __future__ import annotations

from typing import Any, Protocol

from pdsketch.tensor import Model
from pdsketch.training import Report, Source, fit


class Training(Protocol):
    """What the config of a trained model says, whichever its domain is."""

    @property
    def seed(self) -> int:
        """Of data and weights."""

    @property
    def steps(self) -> int:
        """Of the fit."""

    @property
    def batch(self) -> int:
        """Examples of a step."""

    @property
    def learning_rate(self) -> float:
        """At its highest."""


def fit_model(model: Model, episodes: Source, config: Training, **more: Any) -> tuple[Model, Report]:
    """The model, fitted as a config says, and the report of its fit."""
    report = fit(
        model,
        episodes,
        steps=config.steps,
        batch=config.batch,
        learning_rate=config.learning_rate,
        seed=config.seed,
        **more,
    )
    return model, report
