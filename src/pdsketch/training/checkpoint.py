"""A fit in the middle: one safetensors file from which it goes on as if it had never stopped.

The file is replaced in one move, so that a kill at any moment leaves the old
one or the new one. It holds data alone: tensors, and a JSON text beside them,
which says what the fit is made from (`setup_of`) and knows the tensors' digest.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

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
    digest_of,
    make_folder,
    opened,
    parse_json,
    sealed,
    tensor_bytes,
    tensor_of,
    write_file,
)
from pdsketch.lang import Error, error
from pdsketch.tensor import SHOWN, Model
from pdsketch.training.data.episode_arrays import EpisodeArrays
from pdsketch.training.options import Options

if TYPE_CHECKING:
    from pdsketch.training.trainer import Trainer

_FORMAT = "pdsketch-checkpoint-7"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
_KINDS = ("weight", "moment", "first", "kept")
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

    ``weight`` are the model's parameters and buffers, ``moment`` the optimiser's memory (``exp_avg/NAME`` and
    so on, by parameter), ``first`` the weights that each round begins with, ``kept`` those of the best round
    (empty before its end), ``facts`` whatever else is plain data.
    """

    weight: Weights
    moment: Weights
    first: Weights
    kept: Weights
    facts: FitProgress

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All of them by the names that they have in the file."""
        return {f"{kind}/{name}": t for kind in _KINDS for name, t in getattr(self, kind).items()}


def moments_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory, by the names of the model's parameters."""
    states = {name: optimiser.state.get(parameter) for name, parameter in model.named_parameters()}
    return {f"{key}/{name}": state[key] for name, state in states.items() if state for key in _MOMENTS}


def restore_moments(model: nn.Module, optimiser: torch.optim.Optimizer, moments: Weights) -> None:
    """The inverse of `moments_of`."""
    parameters = dict(model.named_parameters())
    for name in {full.partition("/")[2] for full in moments}:
        place = parameters[name]
        steps_on = place.device if optimiser.defaults.get("fused") else "cpu"
        optimiser.state[place] = {
            key: moments[f"{key}/{name}"].to(steps_on if key == "step" else place.device) for key in _MOMENTS
        }


def save_checkpoint(path: Name, checkpoint: Checkpoint, setup: Mapping[str, Any]) -> None:
    """Write the file, whole or not at all; ``setup`` is what the fit is made from."""
    blocks = blocks_of(checkpoint.tensors)
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
            weight, moment, first, kept = (_of_kind(blocks, kind) for kind in _KINDS)
            found = Checkpoint(weight, moment, first, kept, facts)
            if facts.began > facts.step or not found.first or bool(facts.round) != bool(found.kept):
                raise _bad(path, "damaged: what it says of its rounds does not fit together")
    except Error as problem:
        raise Error([replace(d, help=_HELP) for d in problem.diagnostics]) from None
    return found


def _of_kind(blocks: Mapping[str, Block], kind: str) -> Weights:
    return {key[len(kind) + 1 :]: tensor_of(b) for key, b in blocks.items() if key.startswith(f"{kind}/")}


def _check_shapes(path: Name, entries: Mapping[str, Entry], model: nn.Module) -> None:
    """Refuse tensors that are not those of the model, by the file's header alone."""
    own = {name: _like(t) for name, t in model.state_dict().items()}
    kinds: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
    for key, entry in entries.items():
        kind, _, name = key.partition("/")
        kinds.setdefault(kind, {})[name] = (entry.dtype, entry.shape)
    if kinds["weight"] != own:
        raise _bad(path, "belongs to a model with other networks")
    moments = kinds.pop("moment")
    parameters = {name: _like(p) for name, p in model.named_parameters()}
    count = (TAGS[torch.get_default_dtype()], ())
    wanted = {
        f"{key}/{name}": count if key == "step" else parameters.get(name)
        for name in {full.partition("/")[2] for full in moments}
        for key in _MOMENTS
    }
    whole = all(kind in ({}, own) for kind in kinds.values())
    if not whole or len(kinds) != len(_KINDS) - 1 or moments != wanted:
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
    moments, rounds = moments_of(trainer.model, trainer.optimiser), trainer.rounds
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
    trainer.model.load_state_dict(dict(found.weight))
    restore_moments(trainer.model, trainer.optimiser, found.moment)
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


# What a fit is made from: sketch, modules, data and options. Only a fit of the same can be resumed.

MADE_FROM: Final = "made_from"
"""Where a model's notes keep what its last fit was made from."""

_NOT_PART_OF_THE_RESULT: Final = (
    "steps",
    "callback",
    "resume",
    "checkpoint",
    "log",
    "progress",
    "time_limit",
    "resident_gib",
)


def setup_of(model: Model, arrays: EpisodeArrays, options: Options) -> dict[str, Any]:
    """The sketch and each column of the data as digests, the user's modules and the options by name."""
    names = [f.name for f in fields(Options) if f.name not in _NOT_PART_OF_THE_RESULT]
    return {
        "sketch": digest_of(model.domain.source.text),
        "modules": sorted(model.blanks.given),
        "data": arrays.digests,
        "options": {name: getattr(options, name) for name in names},
    }


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How two fits differ, a phrase each."""
    found = []
    if was.get("sketch") != now["sketch"]:
        found.append("the sketch is another one")
    if was.get("modules") != now["modules"]:
        before, after = (_listed(one) for one in (was.get("modules"), now["modules"]))
        found.append(f"the modules given were {before}, and are {after}")
    columns = [name for name, *_ in _unequal(was.get("data"), now["data"])]
    if columns:
        rest = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
        named = ", ".join(f"`{name}`" for name in columns[:SHOWN])
        found.append(f"the data differ in {named}{rest}")
    for name, before, after in _unequal(was.get("options"), now["options"]):
        found.append(f"option `{name}` was {before!r:.40}, and is {after!r:.40}")
    return found


def _listed(names: Any) -> str:
    return ", ".join(map(str, names[:SHOWN])) or "none" if isinstance(names, list) else "none"


def _unequal(was: Any, now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    before = was if isinstance(was, dict) else {}
    for name in dict.fromkeys([*before, *now]):
        if name not in before or name not in now or before[name] != now[name]:
            yield name, before.get(name), now.get(name)
