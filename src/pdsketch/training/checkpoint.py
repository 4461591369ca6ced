"""A fit in the middle: one safetensors file from which it goes on as if it had never stopped.

The file is replaced in one move, so that a kill at any moment leaves the old
one or the new one. It holds data alone: tensors, and a JSON text beside them,
which says what the fit is made from (`setup`) and knows the tensors' digest.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn

from pdsketch.files import (
    TAGS,
    Block,
    Entry,
    TensorFile,
    blocks_of,
    check_seal,
    digest_blocks,
    make_folder,
    opened,
    parse_json,
    sealed,
    tensor_bytes,
    tensor_of,
    write_file,
)
from pdsketch.lang import Error, error
from pdsketch.training.setup import differences

if TYPE_CHECKING:
    from pdsketch.training.trainer import Trainer

_FORMAT = "pdsketch-checkpoint-7"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
_CODE = "bad-checkpoint"

Name = str | os.PathLike[str]
Weights = Mapping[str, Tensor]


class OverwriteWarning(UserWarning):
    """A checkpoint of another fit is about to be written over."""


@final
@dataclass(frozen=True)
class FitProgress:
    """How far a fit has come, as plain data; the trainer says what each of it means."""

    step: int
    history: list[dict[str, float]]
    sums: dict[str, float]
    counts: dict[str, int]
    round: int
    began: int


@final
@dataclass(frozen=True, eq=False)
class Checkpoint:
    """How far a fit has come.

    ``weights`` are the model's parameters and buffers, ``moments`` the optimiser's memory by parameter,
    ``first`` the weights that each round begins with, ``kept`` those of the best round (empty before its
    end), ``facts`` whatever else is plain data.
    """

    weights: Weights
    moments: Mapping[str, Weights]
    first: Weights
    kept: Weights
    facts: FitProgress


def moments_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, dict[str, Tensor]]:
    """The optimiser's memory, by the names of the model's parameters."""
    found = {}
    for name, parameter in model.named_parameters():
        state = optimiser.state.get(parameter)
        if state:
            found[name] = {key: state[key] for key in _MOMENTS}
    return found


def restore_moments(
    model: nn.Module, optimiser: torch.optim.Optimizer, moments: Mapping[str, Weights]
) -> None:
    """The inverse of `moments_of`."""
    parameters = dict(model.named_parameters())
    for name, state in moments.items():
        place = parameters[name]
        step_device = place.device if optimiser.defaults.get("fused") else "cpu"
        optimiser.state[place] = {
            key: value.to(step_device if key == "step" else place.device) for key, value in state.items()
        }


def save_checkpoint(path: Name, checkpoint: Checkpoint, setup: Mapping[str, Any]) -> None:
    """Write the file, whole or not at all; ``setup`` is what the fit is made from."""
    tensors = {f"weight/{name}": t for name, t in checkpoint.weights.items()}
    tensors |= {f"first/{name}": t for name, t in checkpoint.first.items()}
    tensors |= {f"kept/{name}": t for name, t in checkpoint.kept.items()}
    for name, state in checkpoint.moments.items():
        tensors |= {f"moment/{key}/{name}": t for key, t in state.items()}
    blocks = blocks_of(tensors)
    facts = {**asdict(checkpoint.facts), "setup": setup, "tensors": digest_blocks(blocks)}
    make_folder(Path(path).parent)
    metadata = {"format": _FORMAT, "facts": json.dumps(sealed(facts))}
    write_file(path, tensor_bytes(blocks, metadata))


def load_checkpoint(path: Name, model: nn.Module, setup: Mapping[str, Any]) -> Checkpoint | None:
    """The checkpoint of a fit of this model from this setup; None where there is none yet.

    ``path`` is its file; its weights must have the shapes of those of ``model``, and what the fit was made
    from must be this ``setup``. A damaged checkpoint, or one of another fit, is an `Error` that says what
    differs.
    """
    if not os.path.lexists(path):
        return None
    try:
        with opened(path, _CODE) as (handle, size):
            file = TensorFile(handle, size, path, _CODE)
            if file.metadata.get("format") != _FORMAT:
                raise _bad(path, "not a checkpoint of a fit")
            content = parse_json(file.metadata.get("facts", "").encode(), path, _CODE)
            facts = _facts(path, content)
            differing = differences(content["setup"], json.loads(json.dumps(setup)))
            if differing:
                raise _bad(path, f"belongs to another fit: {'; '.join(differing)}")
            _check_shapes(path, file.entries, model)
            blocks = file.blocks()
            if digest_blocks(blocks) != content["tensors"]:
                raise _bad(path, "damaged: its tensors are not those that were written")
            found = _checkpoint(blocks, facts)
            _check_course(path, found)
    except Error as problem:
        raise Error([replace(d, help=_HELP) for d in problem.diagnostics]) from None
    return found


def _check_course(path: Name, found: Checkpoint) -> None:
    """Refuse rounds that cannot be."""
    facts = found.facts
    if facts.began > facts.step or not found.first or bool(facts.round) != bool(found.kept):
        raise _bad(path, "damaged: what it says of its rounds does not fit together")


def _checkpoint(blocks: Mapping[str, Block], facts: FitProgress) -> Checkpoint:
    found: dict[str, dict[str, Tensor]] = {"weight": {}, "first": {}, "kept": {}}
    moments: dict[str, dict[str, Tensor]] = {}
    for key, block in blocks.items():
        kind, _, name = key.partition("/")
        if kind == "moment":
            which, _, name = name.partition("/")
            moments.setdefault(name, {})[which] = tensor_of(block)
        else:
            found[kind][name] = tensor_of(block)
    return Checkpoint(found["weight"], moments, found["first"], found["kept"], facts)


def _check_shapes(path: Name, entries: Mapping[str, Entry], model: nn.Module) -> None:
    """Refuse tensors that are not those of the model, by the file's header alone."""
    own = {name: _like(t) for name, t in model.state_dict().items()}
    kinds: dict[str, dict[str, Any]] = {"weight": {}, "first": {}, "kept": {}, "moment": {}}
    for key, entry in entries.items():
        kind, _, name = key.partition("/")
        kinds.setdefault(kind, {})[name] = (entry.dtype, entry.shape)
    if kinds["weight"] != own:
        raise _bad(path, "belongs to a model with other networks")
    moments = kinds.pop("moment")
    parameters = {name: _like(p) for name, p in model.named_parameters()}
    trained = {name.partition("/")[2] for name in moments}
    count = (TAGS[torch.get_default_dtype()], ())
    wanted = {
        f"{key}/{name}": count if key == "step" else parameters.get(name)
        for name in trained
        for key in _MOMENTS
    }
    whole = all(kind in ({}, own) for kind in kinds.values())
    if not whole or len(kinds) != 3 or moments != wanted:
        raise _bad(path, "damaged: its tensors are not those of a fit")


def _like(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    return TAGS.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 1 << 53)


def _is_finite(value: Any) -> bool:
    return type(value) is float and isfinite(value)


def _all(
    kind: type[list[Any]] | type[dict[Any, Any]], is_right: Callable[[Any], bool]
) -> Callable[[Any], bool]:
    """Whether all values of a list, or of a dictionary, are right."""
    return lambda values: (
        isinstance(values, kind)
        and all(is_right(value) for value in (values.values() if isinstance(values, dict) else values))
    )


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "step": _is_count,
    "history": _all(list, lambda row: _all(dict, _is_number)(row) and _is_finite(row.get("step"))),
    "sums": _all(dict, _is_number),
    "counts": _all(dict, lambda count: _is_count(count) and count > 0),
    "round": _is_count,
    "began": _is_count,
    "setup": lambda value: isinstance(value, dict),
    "tensors": lambda value: isinstance(value, str),
}


def _facts(path: Name, content: Any) -> FitProgress:
    if not isinstance(content, dict):
        raise _bad(path, "not a checkpoint of a fit")
    check_seal(content, path, _CODE)
    for name, is_right in _CHECKS.items():
        if name not in content or not is_right(content[name]):
            raise _bad(path, f"damaged: `{name}` is not what it should be")
    if content["sums"].keys() != content["counts"].keys():
        raise _bad(path, "damaged: `counts` are not those of `sums`")
    return FitProgress(**{field.name: content[field.name] for field in fields(FitProgress)})


_HELP = "delete the file, or fit without `resume` (train: --force), to begin anew"


def _bad(path: Name, message: str) -> Error:
    return error(_CODE, message, file=os.fspath(path))


# A fit under way, in and out.


def save(trainer: Trainer) -> None:
    """Write the checkpoint of a fit that has one."""
    if trainer.options.checkpoint is None:
        return
    facts = FitProgress(
        step=trainer.step,
        history=trainer.history,
        sums={name: float(total) for name, total in trainer.means.sums.items()},
        counts=trainer.means.counts,
        round=trainer.rounds.round,
        began=trainer.rounds.began,
    )
    moments = moments_of(trainer.model, trainer.optimiser)
    rounds = trainer.rounds
    found = Checkpoint(trainer.model.state_dict(), moments, rounds.first, rounds.kept, facts)
    save_checkpoint(trainer.options.checkpoint, found, trainer.setup)


def resume(trainer: Trainer) -> bool:
    """Take over the checkpoint, if there is one and it was asked for."""
    path = trainer.options.checkpoint
    if path is None:
        return False
    if not trainer.options.resume:
        if Path(path).exists():
            message = f"{path} holds a checkpoint, which is written over: `resume` goes on from it"
            warnings.warn(message, OverwriteWarning, stacklevel=4)
        return False
    found = load_checkpoint(path, trainer.model, trainer.setup)
    if found is None:
        _say(trainer, f"nothing to resume: there is no {path}")
        return False
    _restore(trainer, found)
    _say(trainer, f"resumes {path}, at step {trainer.step} of {trainer.options.steps}")
    return True


def _restore(trainer: Trainer, found: Checkpoint) -> None:
    device, facts = trainer.training.dataset.device, found.facts
    trainer.model.load_state_dict(dict(found.weights))
    restore_moments(trainer.model, trainer.optimiser, found.moments)
    trainer.step = trainer.resumed = facts.step
    trainer.history = list(facts.history)
    trainer.means.sums = {
        name: torch.tensor(total, dtype=torch.float64, device=device) for name, total in facts.sums.items()
    }
    trainer.means.counts = dict(facts.counts)
    trainer.rounds.first = {name: t.to(device) for name, t in found.first.items()}
    trainer.rounds.round, trainer.rounds.began = facts.round, facts.began
    if found.kept:
        trainer.rounds.restore({name: t.to(device) for name, t in found.kept.items()})


def _say(trainer: Trainer, message: str) -> None:
    if trainer.options.progress:
        sys.stderr.write(f"fit: {message}\n")
        sys.stderr.flush()
