"""What states of different sizes share: the axes of predicates, padded; and what a state may lack."""

from __future__ import annotations

import torch
from torch import Tensor

from pdsketch.lang import Domain, Error, did_you_mean, error


def absent(domain: Domain, name: str) -> Error:
    """The error for a predicate that a state has no value for."""
    predicate = domain.predicates.get(name)
    if predicate is None:
        return error(
            "unknown-predicate",
            f"the domain has no predicate `{name}`",
            help=did_you_mean(name, domain.predicates),
        )
    why = {
        "raw": f"`{name}` is absent: only the encoder reads it, and it is not carried from step to step",
        "encoded": f"`{name}` is not encoded yet",
        "derived": f"`{name}` is derived, and not held by a state",
        "external": f"`{name}` is an external function, and not held by a state",
    }.get(predicate.role, f"the state has no value for `{name}`")
    fixes = {
        "raw": "read an encoded predicate instead",
        "encoded": "call `model.encode(state)` first",
        "derived": "ask `model.holds`",
    }
    code = "absent-predicate" if predicate.role == "raw" else "no-value"
    return error(code, why, predicate.span, help=fixes.get(predicate.role))


def padded(name: str, parts: list[Tensor], axes: list[int], domain: Domain) -> list[Tensor]:
    """Tensors grown to common object axes: the last object is repeated, so that networks see real values.

    ``parts`` are the tables ``[state, *objects, *value]`` of the predicate ``name`` in states of ``domain``,
    ``axes`` the sizes that their object axes get. Values whose own shapes differ are an error at the
    predicate.
    """
    own = next((p.shape[1 + len(axes) :] for p in parts if 0 not in p.shape[: 1 + len(axes)]), None)
    padded = []
    for part in parts:
        grown = part
        if own is not None and part.shape[1 + len(axes) :] != own:
            if part.numel():
                raise error(
                    "shape-mismatch",
                    f"`{name}` has values of shape {tuple(own)} in one state and "
                    f"{tuple(part.shape[1 + len(axes) :])} in another",
                    domain.predicates[name].span,
                )
            grown = part.new_zeros(*part.shape[: 1 + len(axes)], *own)
        for axis, wanted in enumerate(axes, start=1):
            found = grown.shape[axis]
            if found == 0 and wanted:
                grown = grown.new_zeros(*grown.shape[:axis], wanted, *grown.shape[axis + 1 :])
            elif found < wanted:
                places = torch.arange(wanted, device=grown.device).clamp(max=found - 1)
                grown = grown.index_select(axis, places)
        padded.append(grown)
    return padded
