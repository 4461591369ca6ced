"""What the tries begin from: two sets of episodes, two models, a fit in the middle, made once."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.act.onpolicy.killed import run as learn_in
from tests.torture import growing, subject
from tests.torture.corruption import take_apart
from tests.training.rooms import SKETCH, world

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.lang.domain import Domain
from pdsketch.training import trainer
from pdsketch.training.checkpoint import load_checkpoint
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.episode_arrays import EpisodeArrays
from pdsketch.training.data.files import load_episodes, save_episodes
from pdsketch.training.fitting import open_training_set, split_examples
from pdsketch.training.options import Options

OTHER = SKETCH.replace("(domain rooms)", "(domain rooms)\n  ; another text").replace(
    "(:derived (in-last ?r - robot) (??f (at ?r)))",
    "(:derived (in-last ?r - robot) (??f (at ?r)))\n  (:derived (in-first ?r - robot) (??f (at ?r)))",
)
PROBLEM = """(define (problem p) (:domain rooms) (:objects rob - robot b0 b1 - box)
  (:init (= (at rob) [0]) (= (colour b0) 0) (= (colour b1) 2) (= (stands b0) [1]) (= (stands b1) [2]))
  (:goal (and (in-last rob) (exists (?b - box) (and (near rob ?b) (is-blue ?b))))))"""
STEPS = 8
HALF = 3

_root = Path()


def root() -> Path:
    """The folder of all that is made once."""
    return _root


@cache
def domain(text: str = SKETCH) -> Domain:
    """The sketch, loaded once."""
    return pds.parse_domain(text)


@cache
def columns(which: str) -> EpisodeArrays:
    """The episodes ``a`` or ``b``: other numbers of episodes and objects, other goals in other orders."""
    made, episodes = world(8, 0) if which == "a" else world(11, 1, boxes=(2, 5))
    return load_episodes(_saved(episodes, which), made)


def _saved(episodes: Any, which: str) -> Path:
    folder = root() / "data" / which
    if not folder.exists():
        save_episodes(episodes, folder)
    return folder


def training(out: Path, *more: str) -> list[str]:
    """The words of the fit that everything is compared with."""
    words = ["train", str(root() / "rooms.pdsketch"), str(root() / "data" / "a"), "-o", str(out)]
    settings = ["--batch", "16", "--evaluate-every", "1", "--validation", "0.25"]
    steps = [] if "--steps" in more else ["--steps", str(STEPS)]
    return [*words, *settings, *steps, *more]


@cache
def learned() -> dict[str, bytes]:
    """The files of a run of `learn` that nothing disturbs."""
    folder = root() / "learned"
    ended = subject.run(lambda: learn_in(str(folder), None), root(), patience=600)
    assert ended.code == 0, ended.err
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run but locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@dataclass(frozen=True)
class Facts:
    """What was measured while the fixtures were made: seconds of the works that are killed."""

    train: float
    save: float
    megabytes: float


def make(folder: Path) -> Facts:
    """Make everything. Networks are trained in forks: a process that has trained has no forks that can."""
    global _root  # noqa: PLW0603 (set once, before any lane is forked)
    _root = folder
    torch.set_num_threads(1)
    (folder / "rooms.pdsketch").write_text(SKETCH)
    for which in "ab":
        columns(which)
    _warm(folder)
    took = {}
    took["train"] = done(folder, training(folder / "whole"))
    _interrupt(folder)
    for name, text in (("model-a", SKETCH), ("model-b", OTHER)):
        model = pds.Model(domain(text), seed=len(name) + (name == "model-b"))
        model.notes["remark"] = name
        began = time.monotonic()
        model.save(str(folder / name))
        took["save"] = time.monotonic() - began
    nothing = subject.run(lambda: 0, folder)
    return Facts(took["train"], took["save"], nothing.megabytes)


def _interrupt(folder: Path) -> None:
    """A fit that was interrupted after `HALF` of its steps."""

    def work() -> int:
        measure = trainer.measure

        def pressed(*args: Any) -> Any:
            trainer.measure = measure
            signal.raise_signal(signal.SIGINT)
            return measure(*args)

        trainer.measure = pressed
        return subject.command(*training(folder / "half"))()

    ended = subject.run(work, folder)
    assert ended.code == subject.INTERRUPTED, ended.err


def _warm(folder: Path) -> None:
    """Load every module that the tries use: forks have them then."""
    domain_file, problem_file = folder / "domain.pddl", folder / "problem.pddl"
    for kind, (make, (low, _)) in growing.KINDS.items():
        domain_text, problem_text = make(low)
        domain_file.write_text(domain_text)
        problem_file.write_text(problem_text)
        for search in [[]] if kind.startswith("latent") else growing.SEARCHES:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                main(["plan", str(domain_file), str(problem_file), *search, "--max-expansions", "3"])
    for command in ("check", "evaluate", "fmt", "plan", "show", "train", "validate"):
        import_module(f"pdsketch.cli.{command}")
    for name in ("training.fitting", "tensor.store", "draw.svg", "lang.printer", "serve", "editor.server"):
        import_module(f"pdsketch.{name}")


def done(folder: Path, words: list[str]) -> float:
    """Run a command; its seconds."""
    began = time.monotonic()
    ended = subject.run(subject.command(*words), folder)
    assert ended.code == 0, ended.err
    return time.monotonic() - began


# Signatures: two folders with the same one hold the same.


def episodes_in(folder: Path, of: Domain | None = None) -> str:
    """A digest of all that a folder of episodes says."""
    found = load_episodes(folder, of or domain())
    digest = blake2b(repr((found.goals, found.actions, sorted(found.fixed))).encode())
    digest.update(repr([u.objects for u in found.universes]).encode())
    for name in ("length", "universe", "judgements", "goal", "success", "action", "arguments", "executable"):
        digest.update(np.ascontiguousarray(getattr(found, name), dtype=np.int64).tobytes())
    for name in sorted(found.values):
        values = np.ascontiguousarray(found.values[name], dtype=np.float64)
        digest.update(name.encode() + values.tobytes())
    return digest.hexdigest()


def model_in(folder: Path) -> str:
    """A digest of all that a model's folder says."""
    model = pds.load_model(str(folder))
    digest = blake2b(model.domain.source.text.encode())
    digest.update(json.dumps(model.notes, sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.detach().numpy().tobytes())
    return digest.hexdigest()


def step_of(checkpoint: Path) -> int:
    """How far the fit of a checkpoint has come; 0 where there is none."""
    if not checkpoint.exists():
        return 0
    header, _ = take_apart(checkpoint.read_bytes())
    return int(json.loads(header["__metadata__"]["facts"])["step"])


SETTINGS: dict[str, Any] = {"batch": 16, "evaluate_every": 1, "validation": 0.25}
"""Those of `training`."""


def checkpoint_in(path: Path) -> str:
    """A digest of all that a checkpoint of that fit says."""
    fit = _fit()
    found = load_checkpoint(path, fit.model, fit.setup)
    assert found is not None
    digest = blake2b(repr(found.facts).encode())
    for part in (found.weight, found.first, found.kept, found.moment):
        for name, tensor in sorted(part.items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@cache
def _fit() -> trainer.Trainer:
    options = Options.of(steps=STEPS, seed=0, device="cpu", **SETTINGS)
    dataset = put_on_device(columns("a"), torch.device("cpu"))
    training = open_training_set(pds.Model(domain(), seed=0), dataset)
    return trainer.Trainer(training, options, *split_examples(dataset, options))


def resume(path: Path) -> None:
    """Go on from a checkpoint, as far as it has come: nothing is trained."""
    model, data = pds.Model(domain(), seed=0), str(root() / "data" / "a")
    pds.fit(model, data, HALF, 0, checkpoint=str(path), resume=True, device="cpu", **SETTINGS)


def litter(folder: Path, expected: set[str]) -> list[str]:
    """The files of a folder that should not be there."""
    return sorted(set(os.listdir(folder)) - expected) if folder.is_dir() else []
