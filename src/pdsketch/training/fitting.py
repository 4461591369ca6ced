"""`fit`: episodes in, a trained model and a report out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Unpack

import numpy as np
import torch

from pdsketch.files import lock_file
from pdsketch.lang import Domain, error
from pdsketch.progress import ticking
from pdsketch.tensor import Model, difference, same_domain
from pdsketch.training.checkpoint import MADE_FROM
from pdsketch.training.data.device_dataset import DeviceDataset, put_on_device
from pdsketch.training.data.episode import Episode
from pdsketch.training.data.episode_arrays import Array, EpisodeArrays
from pdsketch.training.data.files import load_episodes
from pdsketch.training.data.recorder import arrays_of
from pdsketch.training.diagnosis import Evaluation, Report, examine
from pdsketch.training.options import FitOptions, Options
from pdsketch.training.progress import FitInterrupted
from pdsketch.training.trainer import Trainer
from pdsketch.training.training_set import TrainingSet

Source = EpisodeArrays | Iterable[Episode] | str | os.PathLike[str]

_ENOUGH_TO_SPLIT = 200
"""From so many episodes on, a tenth is held out; set by hand."""


def fit(
    model: Model,
    episodes: Source,
    steps: int = Options.steps,
    seed: int = Options.seed,
    **settings: Unpack[FitOptions],
) -> Report:
    """Train the blanks of a model on episodes: a list, arrays, or a folder on disk.

    ``model`` is changed in place and left in evaluation mode; it also remembers (``model.notes``) which
    blanks were trained and on what, what the report says of each, how finely its variables are told apart,
    and the noise of its encodings. ``steps`` batches of examples are drawn from ``episodes``; ``seed``
    decides which, and which episodes are held out. ``settings`` are the other fields of `Options`.

    Ctrl-C ends the fit after the step at hand, as a `KeyboardInterrupt`: the checkpoint is written, and the
    model left with the best weights so far.
    """
    options = Options.of(steps=steps, seed=seed, **settings)
    started = time.perf_counter()
    if not isinstance(model, Model):
        raise error("bad-model", f"`fit` takes a Model, not a {type(model).__name__}")
    device = find_device(options.device, model.device)
    arrays = gather(episodes, model.domain)
    model.to(device)
    dataset = put_on_device(arrays, device, options.resident_gib)
    training = open_training_set(model, dataset)
    train, held_out = split_examples(dataset, options)
    trainer = Trainer(training, options, train, held_out)
    loaded = time.perf_counter() - started
    model.train()
    try:
        with _locked(options):
            status = trainer.run()
    finally:
        model.eval()
    if status == "interrupted":
        raise FitInterrupted(trainer.step, options.checkpoint)
    model.notes[MADE_FROM] = trainer.setup
    trainer.seconds["data"] += loaded
    return _report(trainer, status, time.perf_counter() - started)


@contextmanager
def _locked(options: Options) -> Iterator[None]:
    """Within, no other fit writes the same checkpoint or log."""
    with ExitStack() as stack:
        for path in (options.checkpoint, options.log):
            if path is not None:
                stack.enter_context(lock_file(path))
        yield


@ticking("evaluating")
def evaluate(
    model: Model, episodes: Source, *, device: str | None = None, resident_gib: float | None = None
) -> Evaluation:
    """Measure a model on episodes: goals, effects, blanks, the worst predictions, and warnings.

    ``model`` and ``episodes`` are as for `fit`; nothing is trained. ``device`` is where it is done, by
    torch's name (the model's own unless given), ``resident_gib`` how much of the data may lie there at once.
    """
    place = find_device(device, model.device)
    arrays = gather(episodes, model.domain)
    model.to(place).eval()
    training = open_training_set(model, put_on_device(arrays, place, resident_gib))
    return examine(training, np.arange(len(training.dataset)))[0]


def find_device(name: str | None, otherwise: torch.device) -> torch.device:
    """The device of that name, if this machine has it; where none is named, the other."""
    if name is None:
        return otherwise
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as why:
        reason = str(why).splitlines()[0]
        raise error("no-device", f"there is no device `{name}` here: {reason}") from None
    return device


def gather(episodes: Source, domain: Domain) -> EpisodeArrays:
    """Episodes from wherever they are, as arrays of the domain."""
    if isinstance(episodes, str | os.PathLike):
        arrays = load_episodes(Path(episodes), domain)
    elif isinstance(episodes, EpisodeArrays):
        arrays = episodes
    elif not isinstance(episodes, Iterable):
        raise error("bad-episode", f"`fit` takes episodes, and a {type(episodes).__name__} was given")
    else:
        listed = list(episodes)
        for at, episode in enumerate(listed):
            if not isinstance(episode, Episode):
                raise error("bad-episode", f"episode {at} is a {type(episode).__name__}, not an Episode")
            if not same_domain(episode.states[0].domain, domain):
                raise error(
                    "other-domain",
                    f"episode {at} belongs to another domain than the model",
                    help=difference(episode.states[0].domain, domain),
                )
        arrays = arrays_of(listed, domain)
    if not len(arrays):
        raise error("no-episodes", "there are no episodes to learn from")
    if not same_domain(arrays.domain, domain):
        raise error(
            "other-domain",
            "the episodes belong to another domain than the model",
            help=difference(arrays.domain, domain),
        )
    return arrays


def open_training_set(model: Model, dataset: DeviceDataset) -> TrainingSet:
    """A training set; the model learns the dimensions that its sketch leaves out."""
    needed = [p.name for p in model.domain.predicates.values() if p.role == "observed"]
    for name in needed:
        if name not in dataset:
            raise error("no-value", f"the episodes hold no values for `{name}`")
    model.bind(dataset.batch(torch.zeros(1, dtype=torch.int64, device=dataset.device)))
    return TrainingSet(model, dataset)


def split_examples(dataset: DeviceDataset, options: Options) -> tuple[Array, Array]:
    """The examples of the training episodes, and of those held out."""
    count = len(dataset.arrays)
    share = options.validation
    if share is None:
        share = 0.1 if count >= _ENOUGH_TO_SPLIT else 0.0
    out = min(count - 1, round(share * count))
    order = np.random.default_rng([options.seed, 0]).permutation(count)
    held = np.zeros(count, dtype=np.bool_)
    held[order[:out]] = True
    of_state = held[dataset.episode]
    return np.flatnonzero(~of_state), np.flatnonzero(of_state)


def _report(trainer: Trainer, status: str, total: float) -> Report:
    training = trainer.training
    found, held_out = examine(training, trainer.train, trainer.held_out, reached=trainer.reached())
    last = trainer.history[-1] if trainer.history else {}
    known = ("goal", "transition", "lookahead", "precondition")
    episodes = training.dataset.episode
    return Report(
        status=status,
        steps=trainer.step,
        resumed=trainer.resumed,
        episodes=len(np.unique(episodes[trainer.train])),
        held_out_episodes=len(np.unique(episodes[trainer.held_out])),
        losses={name: last[name] for name in known if name in last},
        train=found.measures,
        held_out=held_out,
        blanks=found.blanks,
        warnings=(*found.warnings, *trainer.starts.unsettled()),
        wrong_steps=found.wrong_steps,
        wrong_goals=found.wrong_goals,
        seconds={**trainer.seconds, "total": total},
        history=trainer.history,
    )
