"""A fit in the middle: one safetensors file from which it goes on as if it had never stopped.

The file is replaced in one move, so that a kill at any moment leaves the old
one or the new one. It holds data alone: tensors, and a JSON text beside them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pdsketch.lang.diagnostics import Diagnostic, Error

_FORMAT = "pdsketch-checkpoint-1"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@final
@dataclass(frozen=True, eq=False)
class Checkpoint:
    """How far a fit has come.

    ``weights`` are the model's parameters and buffers, ``moments`` the
    optimiser's memory by parameter, ``best`` the best weights so far (empty
    without early stopping), ``earlier`` those that the fit may go back to,
    ``facts`` whatever else is plain data.
    """

    weights: Mapping[str, Tensor]
    moments: Mapping[str, Mapping[str, Tensor]]
    best: Mapping[str, Tensor]
    earlier: Mapping[str, Tensor]
    facts: Mapping[str, Any]


def moments_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, dict[str, Tensor]]:
    """The optimiser's memory, by the names of the model's parameters."""
    found = {}
    for name, parameter in model.named_parameters():
        state = optimiser.state.get(parameter)
        if state:
            found[name] = {key: state[key] for key in _MOMENTS}
    return found


def restore_moments(
    model: nn.Module, optimiser: torch.optim.Optimizer, moments: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """The inverse of `moments_of`."""
    parameters = dict(model.named_parameters())
    for name, state in moments.items():
        place = parameters[name]
        step_device = place.device if optimiser.defaults.get("fused") else "cpu"
        optimiser.state[place] = {
            key: value.to(step_device if key == "step" else place.device) for key, value in state.items()
        }


def save_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write the file, whole or not at all."""
    tensors = {f"weight/{name}": t for name, t in checkpoint.weights.items()}
    tensors |= {f"best/{name}": t for name, t in checkpoint.best.items()}
    tensors |= {f"earlier/{name}": t for name, t in checkpoint.earlier.items()}
    for name, state in checkpoint.moments.items():
        tensors |= {f"moment/{key}/{name}": t for key, t in state.items()}
    # Clones: parameters may share memory, which the format refuses.
    plain = {name: t.detach().cpu().clone().contiguous() for name, t in tensors.items()}
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".part")
    save_file(plain, draft, metadata={"format": _FORMAT, "facts": json.dumps(checkpoint.facts)})
    os.replace(draft, target)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint | None:
    """Read a checkpoint; None where there is none yet."""
    if not os.path.exists(path):
        return None
    weights: dict[str, Tensor] = {}
    best: dict[str, Tensor] = {}
    earlier: dict[str, Tensor] = {}
    moments: dict[str, dict[str, Tensor]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise _bad(path, "not a checkpoint of a fit")
            facts = json.loads(metadata["facts"])
            for key in file.keys():  # noqa: SIM118 (not a mapping)
                kind, _, name = key.partition("/")
                if kind == "moment":
                    which, _, name = name.partition("/")
                    moments.setdefault(name, {})[which] = file.get_tensor(key)
                else:
                    {"weight": weights, "best": best, "earlier": earlier}[kind][name] = file.get_tensor(key)
    except (SafetensorError, OSError, ValueError, KeyError) as problem:
        if isinstance(problem, Error):
            raise
        raise _bad(path, f"cannot be read: {problem}") from None
    return Checkpoint(weights, moments, best, earlier, facts)


def check_alike(path: str | os.PathLike[str], checkpoint: Checkpoint, model: nn.Module, setup: Any) -> None:
    """Refuse to resume a fit of another model, other data or other settings."""
    state = model.state_dict()
    if state.keys() != checkpoint.weights.keys() or any(
        state[name].shape != t.shape for name, t in checkpoint.weights.items()
    ):
        raise _bad(path, "belongs to a model with other networks")
    if checkpoint.facts.get("setup") != json.loads(json.dumps(setup)):
        raise _bad(path, "belongs to a fit with other settings or other data")


def _bad(path: str | os.PathLike[str], message: str) -> Error:
    return Error(
        [
            Diagnostic(
                "bad-checkpoint",
                message,
                file=str(path),
                help="delete the file, or fit without `resume`, to begin anew",
            )
        ]
    )
