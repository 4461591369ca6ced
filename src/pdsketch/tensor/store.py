"""Models on disk: the sketch, the architecture and the weights in one folder. Nothing in it is code.

``sketch.pdsketch`` is the domain's text, ``model.json`` what each blank was
filled with, ``weights.safetensors`` all parameters and buffers. Modules that the
user wrote are recorded by name alone; their weights are kept, and given back to
the modules passed to `load_model`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike, fspath, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from pdsketch.lang.diagnostics import Diagnostic, Error, error
from pdsketch.lang.domain import Blank, Domain
from pdsketch.lang.load import parse_domain, read_source
from pdsketch.nets.default import Constant, Network
from pdsketch.nets.verdict import Verdict
from pdsketch.tensor.blanks import Functions, key_of, signature_of
from pdsketch.tensor.model import Model

SKETCH = "sketch.pdsketch"
ARCHITECTURE = "model.json"
WEIGHTS = "weights.safetensors"
FORMAT = 1

Folder = str | PathLike[str]


def save_model(model: Model, folder: Folder) -> None:
    """Write a model into a folder, which is made if need be."""
    path = _path(folder)
    try:
        text = json.dumps(_described(model), indent=1, allow_nan=False)
    except (TypeError, ValueError) as why:
        raise error("bad-notes", f"`model.notes` holds what JSON cannot: {why}") from why
    try:
        path.mkdir(parents=True, exist_ok=True)
        _write(path / SKETCH, lambda at: at.write_text(model.domain.source.text, encoding="utf-8"))
        _write(path / WEIGHTS, lambda at: save_file(_weights(model.blanks), at))
        _write(path / ARCHITECTURE, lambda at: at.write_text(text, encoding="utf-8"))
    except OSError as why:
        raise error(
            "cannot-write", f"the model cannot be written: {why.strerror or why}", file=fspath(folder)
        ) from why


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the file, then put it in place, so that no half-written file is ever read."""
    beside = path.with_name(path.name + ".part")
    write(beside)
    replace(beside, path)


def _described(model: Model) -> dict[str, Any]:
    functions = model.blanks
    externals = [name for name in functions.given if name not in model.domain.blanks]
    return {
        "format": FORMAT,
        "domain": model.domain.name,
        "tnorm": model.logic.name,
        "seed": model.seed,
        "bound": {name: list(shape) for name, shape in model.bound.items()},
        "blanks": {name: _filled(blank, functions) for name, blank in model.domain.blanks.items()},
        "externals": {name: _kind(functions, name) for name in externals},
        "notes": model.notes,
    }


def _filled(blank: Blank, functions: Functions) -> dict[str, Any]:
    """What a blank looks like in the sketch, and what it was filled with."""
    network = functions.network(blank.name)
    described: dict[str, Any] = {
        "signature": blank.signature,
        "calls": _calls(blank),
        "module": _kind(functions, blank.name),
    }
    if described["module"] == "default" and isinstance(network, Network | Verdict | Constant):
        inputs = () if isinstance(network, Constant) else network.signature.inputs
        described["shapes"] = [list(i.spec.shape) for i in inputs]
    return described


def _calls(blank: Blank) -> list[str]:
    """How the sketch calls the blank, whatever the spaces between the words."""
    return [" ".join(span.text.split()) for span in blank.spans]


def _kind(functions: Functions, name: str) -> str:
    """``default``, ``module`` (the user's, with weights), ``function``, or ``unbound``."""
    if name in functions.given:
        return "module" if functions.network(name) is not None else "function"
    return "default" if name in functions.calls else "unbound"


def _weights(functions: Functions) -> dict[str, Tensor]:
    """All parameters and buffers; each tensor a copy, since modules may share them."""
    return {
        f"{key}/{name}": tensor.detach().cpu().clone().contiguous()
        for key, network in functions.networks.items()
        for name, tensor in network.state_dict().items()
    }


def _path(folder: Any) -> Path:
    if not isinstance(folder, str | PathLike):
        raise error("bad-folder", f"a folder's name was wanted, and a {type(folder).__name__} was given")
    return Path(folder)


def load_model(
    folder: Folder, modules: Mapping[str, Callable[..., Any]] | None = None, *, domain: Domain | None = None
) -> Model:
    """The model that `save_model` wrote.

    ``modules`` gives the user's own modules again; ``domain`` takes the place of
    the sketch in the folder. A sketch whose blanks are not those the weights
    were learned for is an `Error` that names each of them.
    """
    path = _path(folder)
    if modules is not None and not isinstance(modules, Mapping):
        found = type(modules).__name__
        raise error("bad-module", f"`modules` maps names of blanks to functions, and is a {found}")
    if not path.is_dir():
        raise error("no-such-folder", "there is no such folder", file=fspath(folder))
    described = _architecture(path / ARCHITECTURE)
    if domain is None:
        source = read_source(path / SKETCH)
        domain = parse_domain(source.text, source.name)
    _check_sketch(domain, described, path)
    given = {str(name).lower(): module for name, module in (modules or {}).items()}
    _check_given(domain, described, given, path)
    try:
        model = Model(domain, given, tnorm=described["tnorm"], seed=described["seed"])
        for name, blank in domain.blanks.items():
            if name not in model.blanks.calls:
                _fill(model, blank, described["blanks"][name].get("shapes"), path)
        _take_weights(model, path / WEIGHTS)
    except RuntimeError as why:
        raise _bad(path, f"its networks cannot be made: {why}") from why
    model.bound = {name: tuple(shape) for name, shape in described["bound"].items()}
    model.notes = described["notes"]
    return model


def _bad(path: Path, why: str) -> Error:
    return error("bad-model", f"this folder holds no model: {why}", file=str(path))


_FIELDS: Mapping[str, type] = {
    "tnorm": str,
    "seed": int,
    "bound": dict,
    "blanks": dict,
    "externals": dict,
    "notes": dict,
}


def _architecture(path: Path) -> dict[str, Any]:
    """``model.json``, every field of which has the type it should have."""
    source = read_source(path)
    try:
        described = json.loads(source.text)
    except (ValueError, RecursionError) as why:
        raise _bad(path, f"it is no JSON: {why}") from why
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise _bad(path, f"its format is not {FORMAT}")
    for name, type_ in _FIELDS.items():
        if not isinstance(described.get(name), type_):
            raise _bad(path, f"`{name}` is missing, or is not what it should be")
    shapes = list(described["bound"].values())
    for blank in described["blanks"].values():
        if not isinstance(blank, dict) or not isinstance(blank.get("signature"), str):
            raise _bad(path, "`blanks` is not what it should be")
        shapes += blank.get("shapes") or []
    if not all(
        isinstance(s, list) and all(isinstance(n, int) and 0 <= n < 1 << 24 for n in s) for s in shapes
    ):
        raise _bad(path, "a shape is not what it should be")
    return described


def _check_sketch(domain: Domain, described: Mapping[str, Any], path: Path) -> None:
    """Compare the blanks of a sketch with those that the weights were learned for."""
    was: Mapping[str, Any] = described["blanks"]
    problems = []
    for name, blank in domain.blanks.items():
        span = blank.spans[0] if blank.spans else None
        if name not in was:
            problems.append(
                Diagnostic("changed-sketch", f"blank `{name}` is new: nothing was learned for it", span)
            )
        elif was[name]["signature"] != blank.signature:
            message = f"blank `{name}` was {was[name]['signature']}, and is {blank.signature}"
            problems.append(Diagnostic("changed-sketch", message, span))
        elif was[name].get("calls") != _calls(blank):
            before = "; ".join(map(str, was[name].get("calls") or ["nothing"]))
            message = f"blank `{name}` was called as {before}, and is called as {'; '.join(_calls(blank))}"
            problems.append(Diagnostic("changed-sketch", message, span))
    for name in was:
        if name not in domain.blanks:
            message = f"blank `{name}` is gone, and the model has weights for it"
            problems.append(Diagnostic("changed-sketch", message, file=str(path)))
    if problems:
        raise Error(problems)


def _check_given(domain: Domain, described: Mapping[str, Any], given: Mapping[str, Any], path: Path) -> None:
    """The user's own modules are not stored, and must be given again."""
    problems = [
        Diagnostic(
            "missing-module",
            f"blank `{name}` was filled with a {described['blanks'][name].get('module')} of your own",
            help=f"pass it again: load_model(folder, modules={{'{name}': …}})",
            file=str(path),
        )
        for name in domain.blanks
        if described["blanks"][name].get("module") in ("module", "function") and name not in given
    ]
    if problems:
        raise Error(problems)


def _fill(model: Model, blank: Blank, shapes: Any, path: Path) -> None:
    """Make the default network of a blank whose dimensions a state had said."""
    if shapes is None:
        return
    if len(shapes) != len(blank.inputs):
        raise _bad(path, f"blank `{blank.name}` has {len(blank.inputs)} inputs, and {len(shapes)} shapes")
    signature = signature_of(blank, [tuple(shape) for shape in shapes])
    assert signature is not None
    model.blanks.put(blank.name, model.blanks.default(blank.name, signature))


def _take_weights(model: Model, path: Path) -> None:
    """Give every network its weights; each must be there, with its shape."""
    if not path.is_file():
        raise error("no-such-file", "there is no such file", file=str(path))
    try:
        stored = load_file(path)
    except (SafetensorError, OSError, ValueError) as why:
        raise _bad(path, f"its weights cannot be read: {why}") from why
    problems = []
    for name in model.blanks.calls:
        network = model.blanks.network(name)
        # A module in place of what was a function, or a default network's, starts with its own weights.
        fresh = name in model.blanks.given and not any(k.startswith(f"{key_of(name)}/") for k in stored)
        if network is not None and not fresh:
            problems += _give(network, key_of(name), stored, name, path)
    if problems:
        raise Error(problems)


def _give(
    network: nn.Module, key: str, stored: Mapping[str, Tensor], name: str, path: Path
) -> list[Diagnostic]:
    found = {full[len(key) + 1 :]: t for full, t in stored.items() if full.startswith(f"{key}/")}
    own = network.state_dict()
    wrong = sorted(own.keys() ^ found.keys())
    if wrong:
        message = f"the weights of `{name}` are not those of its module: {', '.join(wrong[:4])}"
        return [Diagnostic("bad-weights", message, file=str(path))]
    for part, tensor in own.items():
        if tensor.shape != found[part].shape:
            shapes = f"{tuple(found[part].shape)}, and the module has {tuple(tensor.shape)}"
            return [Diagnostic("bad-weights", f"`{part}` of `{name}` is stored as {shapes}", file=str(path))]
    with torch.no_grad():
        network.load_state_dict(found)
    return []
