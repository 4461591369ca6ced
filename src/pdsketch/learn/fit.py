"""`fit`: episodes in, a trained model and a report out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pdsketch.files.lock import lock_file
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Domain
from pdsketch.learn.columns import Array, Columns
from pdsketch.learn.episodes import Episode
from pdsketch.learn.examine import Examination
from pdsketch.learn.files import load_episodes
from pdsketch.learn.interrupt import Interrupted
from pdsketch.learn.notes import note_verdicts, take_notes
from pdsketch.learn.options import Options
from pdsketch.learn.packed import Packed, pack
from pdsketch.learn.recorder import columns_of
from pdsketch.learn.report import Evaluation, Report
from pdsketch.learn.setup import NOTE as MADE_FROM
from pdsketch.learn.study import Study
from pdsketch.learn.trainer import Trainer
from pdsketch.tensor.model import Model
from pdsketch.tensor.state import same_domain

Source = Columns | Iterable[Episode] | str | os.PathLike[str]

_ENOUGH_TO_SPLIT = 200


def fit(model: Model, episodes: Source, steps: int = 2000, seed: int = 0, **settings: Any) -> Report:
    """Train the blanks of a model on episodes: a list, columns, or a folder on disk.

    ``settings`` are the fields of `Options`. The model is changed in place and
    left in evaluation mode; it also remembers (``model.notes``) which blanks were
    trained and on what, what the report says of each, how finely its variables are
    told apart, and the noise of its encodings.

    Ctrl-C ends the fit after the step at hand, as a `KeyboardInterrupt`: the checkpoint is written, and the
    model left with the best weights so far.
    """
    options = Options.of(steps=steps, seed=seed, **settings)
    started = time.perf_counter()
    if not isinstance(model, Model):
        raise error("bad-model", f"`fit` takes a Model, not a {type(model).__name__}")
    device = _device(options.device, model)
    columns = gather(episodes, model.domain)
    model.to(device)
    packed = pack(columns, device)
    study = open_study(model, packed)
    train, held_out = _split(packed, options)
    trainer = Trainer(study, options, train, held_out)
    loaded = time.perf_counter() - started
    model.train()
    try:
        with _locked(options):
            status = trainer.run()
    finally:
        model.eval()
    if status == "interrupted":
        raise Interrupted(trainer.step, options.checkpoint)
    take_notes(study, trainer.train, trainer.reached())
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


def evaluate(model: Model, episodes: Source, *, device: str | None = None) -> Evaluation:
    """Measure a model on episodes: goals, effects, blanks, the worst predictions, and warnings."""
    place = _device(device, model)
    columns = gather(episodes, model.domain)
    model.to(place).eval()
    study = open_study(model, pack(columns, place))
    found = Examination(study, np.arange(len(study.packed)), elsewhere=True)
    return Evaluation(found.blanks, found.warnings, found.wrong_steps, found.wrong_goals, found.measures)


def _device(name: str | None, model: Model) -> torch.device:
    """The device of that name, if this machine has it."""
    if name is None:
        return model.device
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as why:
        reason = str(why).splitlines()[0]
        raise error("no-device", f"there is no device `{name}` here: {reason}") from None
    return device


def gather(episodes: Source, domain: Domain) -> Columns:
    """Episodes from wherever they are, as columns of the domain."""
    if isinstance(episodes, str | os.PathLike):
        columns = load_episodes(Path(episodes), domain)
    elif isinstance(episodes, Columns):
        columns = episodes
    elif not isinstance(episodes, Iterable):
        raise error("bad-episode", f"`fit` takes episodes, and a {type(episodes).__name__} was given")
    else:
        listed = list(episodes)
        for at, episode in enumerate(listed):
            if not isinstance(episode, Episode):
                raise error("bad-episode", f"episode {at} is a {type(episode).__name__}, not an Episode")
            if not same_domain(episode.states[0].domain, domain):
                raise error("other-domain", f"episode {at} belongs to another domain than the model")
        columns = columns_of(listed, domain)
    if not len(columns):
        raise error("no-episodes", "there are no episodes to learn from")
    if not same_domain(columns.domain, domain):
        raise error("other-domain", "the episodes belong to another domain than the model")
    return columns


def open_study(model: Model, packed: Packed) -> Study:
    """A study; the model learns the dimensions that its sketch leaves out."""
    needed = [p.name for p in model.domain.predicates.values() if p.role == "observed"]
    for name in needed:
        if name not in packed.states.tensors:
            raise error("no-value", f"the episodes hold no values for `{name}`")
    first = packed.states.select(torch.zeros(1, dtype=torch.int64, device=packed.device))
    model.bind(first)
    return Study(model, packed)


def _split(packed: Packed, options: Options) -> tuple[Array, Array]:
    """The examples of the training episodes, and of those held out."""
    count = len(packed.columns)
    share = options.validation
    if share is None:
        share = 0.1 if count >= _ENOUGH_TO_SPLIT else 0.0
    out = min(count - 1, round(share * count))
    order = np.random.default_rng([options.seed, 0]).permutation(count)
    held = np.zeros(count, dtype=np.bool_)
    held[order[:out]] = True
    of_state = held[packed.episode]
    return np.flatnonzero(~of_state), np.flatnonzero(of_state)


def _report(trainer: Trainer, status: str, total: float) -> Report:
    study = trainer.study
    found = Examination(study, trainer.train, trainer.held_out)
    note_verdicts(study.model.notes, {name: blank.verdict for name, blank in found.blanks.items()})
    last = trainer.history[-1] if trainer.history else {}
    known = ("goal", "transition", "lookahead", "precondition")
    episodes = study.packed.episode
    return Report(
        status=status,
        steps=trainer.step,
        resumed=trainer.resumed,
        episodes=len(np.unique(episodes[trainer.train])),
        held_out_episodes=len(np.unique(episodes[trainer.held_out])),
        losses={name: last[name] for name in known if name in last},
        train=found.measures,
        held_out=found.held_out,
        blanks=found.blanks,
        warnings=found.warnings,
        wrong_steps=found.wrong_steps,
        wrong_goals=found.wrong_goals,
        seconds={**trainer.seconds, "total": total},
        history=trainer.history,
    )
