"""Models on disk: the sketch, the architecture and the weights in one folder. Nothing in it is code.

``sketch.pdsketch`` is the domain's text, ``model.json`` what each blank was
filled with, ``weights.safetensors`` all parameters and buffers. An `Offset` is made
again from what ``model.json`` says. Modules that the user wrote are recorded by
name alone; their weights are kept, and given back to the modules passed to
`load_model`. ``model.json`` knows the digests of the other
two (`files.parts`); all of it is compared before a network is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from pdsketch.files import (
    DTYPES,
    Entry,
    TensorFile,
    blocks_of,
    open_parts,
    read_bytes,
    read_json,
    tensor_bytes,
    tensor_of,
    write_parts,
)
from pdsketch.lang import Blank, Diagnostic, Domain, Error, TNorm, decode_source, error, parse_domain
from pdsketch.nets import (
    BooleanNet,
    Constant,
    Network,
    Offset,
    Signature,
    form_of,
    least_weights,
    outline,
    plain,
)
from pdsketch.tensor.compile.blanks import (
    FORM_KEYS,
    Functions,
    by_full_name,
    by_use,
    formed,
    key_of,
    signature_of,
)
from pdsketch.tensor.model import Model
from pdsketch.tensor.notes import wrong_note

# ``model.json``, read with suspicion, and compared with a sketch and with the user's modules.

_FIELDS: Mapping[str, type] = {
    "tnorm": str,
    "seed": int,
    "bound": dict,
    "blanks": dict,
    "externals": dict,
    "notes": dict,
}
_LARGEST = 1 << 24
"""No axis of a value is longer."""


def bad_model(path: Path, why: str) -> Error:
    """What to say of a folder that holds no model."""
    return error("bad-model", f"this folder holds no model: {why}", file=str(path))


def check_architecture(described: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """What ``model.json`` says, every field of which has the type that it should have."""
    for name, type_ in _FIELDS.items():
        if not isinstance(described.get(name), type_):
            raise bad_model(path, f"`{name}` is missing, or is not what it should be")
    if described["tnorm"] not in get_args(TNorm):
        raise bad_model(path, f"its logic is {described['tnorm']!r:.40}, which is not known")
    shapes = list(described["bound"].values())
    for name, blank in described["blanks"].items():
        if not _is_blank(blank):
            raise bad_model(path, f"`{name:.80}` of `blanks` is not what it should be")
        shapes += blank.get("shapes") or []
    if not all(isinstance(s, list) and all(type(n) is int and 0 <= n < _LARGEST for n in s) for s in shapes):
        raise bad_model(path, "a shape is not what it should be")
    return described


def _is_blank(blank: Any) -> bool:
    return (
        isinstance(blank, dict)
        and isinstance(blank.get("signature"), str)
        and isinstance(blank.get("module"), str)
        and isinstance(blank.get("calls"), list)
        and all(isinstance(call, str) for call in blank["calls"])
        and isinstance(blank.get("shapes", []), list)
        and (blank["module"] != "offset" or blank.get("arguments") in ([0], [1], [0, 1], [1, 0]))
    )


def calls_of(blank: Blank) -> list[str]:
    """How the sketch calls the blank, whatever the spaces between the words."""
    return [" ".join(span.text.split()) for span in blank.spans]


def changed_blanks(domain: Domain, described: Mapping[str, Any], path: Path) -> list[Diagnostic]:
    """How the blanks of a sketch differ from those that the weights were learned for."""
    was: Mapping[str, Any] = described["blanks"]
    problems = []
    for name, blank in domain.blanks.items():
        span = blank.spans[0] if blank.spans else None
        if name not in was:
            message = f"blank `{name}` is new: nothing was learned for it"
        elif was[name]["signature"] != blank.signature:
            message = f"blank `{name}` was {was[name]['signature']}, and is {blank.signature}"
        elif was[name]["calls"] != calls_of(blank):
            before = "; ".join(was[name]["calls"] or ["nothing"])
            message = f"blank `{name}` was called as {before}, and is called as {'; '.join(calls_of(blank))}"
        else:
            continue
        problems.append(Diagnostic("changed-sketch", message, span))
    for name in was:
        if name not in domain.blanks:
            message = f"blank `{name}` is gone, and the model has weights for it"
            problems.append(Diagnostic("changed-sketch", message, file=str(path)))
    return problems


def missing_modules(
    domain: Domain, described: Mapping[str, Any], given: Mapping[str, Any], path: Path
) -> list[Diagnostic]:
    """The user's own modules, which are not stored and must be given again, as far as they are not.

    ``domain`` is the model's, ``described`` the stored description of what fills its blanks, ``given`` the
    modules by name that came with the call, ``path`` the file that a diagnostic is about.
    """
    kinds = {name: described["blanks"][name]["module"] for name in domain.blanks}
    return [
        Diagnostic(
            "missing-module",
            f"blank `{name}` was filled with a {kind} of your own",
            help=f"pass it again: load_model(folder, modules={{'{name}': …}})",
            file=str(path),
        )
        for name, kind in kinds.items()
        if kind in ("module", "function") and name not in given
    ]


SKETCH = "sketch.pdsketch"
ARCHITECTURE = "model.json"
WEIGHTS_FILE = "weights.safetensors"
FORMAT = 7
"""Raised with every change of what weights mean: those of other formats are refused, not misread."""

Folder = str | PathLike[str]


def save_model(model: Model, folder: Folder) -> None:
    """Write a model into a folder, which is made if need be; a model there is replaced as a whole."""
    path = _path(folder)
    try:
        described = json.loads(json.dumps(_described(model), allow_nan=False))
    except (TypeError, ValueError) as why:
        raise error("bad-notes", f"`model.notes` holds what JSON cannot: {why}") from why
    parts: dict[str, Sequence[bytes | memoryview]] = {
        SKETCH: [model.domain.source.text.encode()],
        WEIGHTS_FILE: tensor_bytes(blocks_of(_weights(model.blanks))),
    }
    write_parts(path, ARCHITECTURE, described, parts)


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
        "calls": calls_of(blank),
        "module": _kind(functions, blank.name),
    }
    if described["module"] == "default" and isinstance(network, Network | BooleanNet | Constant):
        described["shapes"] = [list(i.spec.shape) for i in network.signature.inputs]
    for key, part in formed(network).items():
        if part.form is not None:
            described |= {key: part.form.as_json(), f"{key}-rivals": [one.as_json() for one in part.rivals]}
    if isinstance(network, Offset):
        described |= {"module": "offset", "arguments": list(network.arguments)}
    return described


def _kind(functions: Functions, name: str) -> str:
    """``default``, ``module`` (the user's, with weights), ``function``, or ``unbound``."""
    if name in functions.given:
        return "module" if functions.network(name) is not None else "function"
    return "default" if name in functions.calls else "unbound"


def _weights(functions: Functions) -> dict[str, Tensor]:
    """All parameters and buffers."""
    return {
        f"{key}/{name}": tensor
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
    names = [WEIGHTS_FILE] if domain is not None else [SKETCH, WEIGHTS_FILE]
    try:
        with open_parts(path, ARCHITECTURE, names, "bad-model", format=FORMAT) as (content, parts):
            described = check_architecture(content, path / ARCHITECTURE)
            if domain is None:
                domain = _sketch(path / SKETCH, parts[SKETCH].read("bad-model"))
            weights = parts[WEIGHTS_FILE]
            file = TensorFile(weights.file, weights.size, path / WEIGHTS_FILE, "bad-model")
            given = by_full_name(domain, modules or {})
            return _model(domain, described, given, file, path)
    except Error as problem:
        if domain is None and problem.diagnostics[0].file == fspath(path / SKETCH):
            raise _other_sketch(path, problem) from None
        raise


def _sketch(path: Path, data: bytes) -> Domain:
    return parse_domain(decode_source(str(path), data).text, str(path))


def _other_sketch(path: Path, problem: Error) -> Error:
    """What to say of a sketch that is not the one that was saved: what differs, if blanks do."""
    described = check_architecture(read_json(path / ARCHITECTURE, "bad-model"), path / ARCHITECTURE)
    domain = _sketch(path / SKETCH, read_bytes(path / SKETCH, "bad-model"))
    differing = changed_blanks(domain, described, path)
    fix = "to use a changed sketch, pass it: load_model(folder, domain=load_domain(FILE))"
    return Error(differing or [replace(d, help=fix) for d in problem.diagnostics])


def _model(
    domain: Domain, described: Mapping[str, Any], given: dict[str, Any], file: TensorFile, path: Path
) -> Model:
    """The model of a sketch, with its weights from an open file; nothing is made that does not fit."""
    problems = changed_blanks(domain, described, path) or missing_modules(domain, described, given, path)
    if problems:
        raise Error(problems)
    given = _offsets(described, file, path) | given
    wrong = wrong_note(described["notes"], domain, described["bound"])
    if wrong is not None:
        raise bad_model(path / ARCHITECTURE, f"its notes are not those of a model: {wrong}")
    signatures = _signatures(domain, described, given, path)
    problems = [d for name, signature in signatures.items() for d in _unlike(name, signature, file, path)]
    if problems:
        raise Error(problems)
    model = Model(domain, given, tnorm=described["tnorm"], seed=described["seed"])
    for name, signature in signatures.items():
        if name not in model.blanks.calls:
            model.blanks.put(name, model.blanks.default(name, signature))
    _take_weights(model, file, path)
    _take_forms(model, described, path)
    model.bound = {name: tuple(shape) for name, shape in described["bound"].items()}
    model.notes = dict(described["notes"])
    return model.eval()


def _offsets(described: Mapping[str, Any], file: TensorFile, path: Path) -> dict[str, Any]:
    """The relations that are offsets, each of the size that its weights have."""
    found = {}
    for name, blank in described["blanks"].items():
        if blank["module"] != "offset":
            continue
        shift = _stored(file, key_of(name)).get("shift")
        if shift is None or len(shift.shape) not in (1, 2) or min(shift.shape) < 1:
            raise bad_model(path, f"the weights of `{name}` are not those of an Offset")
        modes = shift.shape[0] if len(shift.shape) == 2 else 1
        found[name] = Offset(shift.shape[-1], arguments=blank["arguments"], modes=modes)
    return found


def _signatures(
    domain: Domain, described: Mapping[str, Any], given: Mapping[str, Any], path: Path
) -> dict[str, Signature]:
    """The signatures of default networks, of which a state may have said the dimensions."""
    found = {}
    for name, blank in domain.blanks.items():
        shapes = described["blanks"][name].get("shapes")
        if name in given:
            continue
        if shapes is not None and len(shapes) != len(blank.inputs):
            raise bad_model(path, f"blank `{name}` has {len(blank.inputs)} inputs, and {len(shapes)} shapes")
        own = [i.type.shape for i in blank.inputs]
        told = own if shapes is None else [tuple(shape) for shape in shapes]
        if any(a is not None and a != b for a, b in zip(own, told, strict=True)):
            raise bad_model(path, f"blank `{name}` has other shapes than the sketch says")
        signature = signature_of(blank, told)
        if signature is not None:
            found[name] = by_use(signature, name, domain, given)
    return found


def _unlike(name: str, signature: Signature, file: TensorFile, path: Path) -> list[Diagnostic]:
    """What is wrong with the weights of a default network, by the file's header alone."""
    stored = _stored(file, key_of(name))
    amount = sum(prod(entry.shape) for entry in stored.values())
    if amount < least_weights(signature):
        message = f"`{name}` has {amount} weights, which are too few for its inputs and its value"
        return [Diagnostic("bad-weights", message, file=str(path / WEIGHTS_FILE))]
    return _differing(name, outline(signature), stored, path)


def _take_weights(model: Model, file: TensorFile, path: Path) -> None:
    """Give every network its weights; each must be there, with its dtype and its shape."""
    problems, taken = [], {}
    for name in model.blanks.calls:
        network = model.blanks.network(name)
        stored = _stored(file, key_of(name))
        # A module in place of what was a function, or a default network's, starts with its own weights.
        if network is None or (name in model.blanks.given and not stored):
            continue
        own = {part: (t.dtype, tuple(t.shape)) for part, t in network.state_dict().items()}
        problems += _differing(name, own, stored, path)
        taken[name] = network
    if problems:
        raise Error(problems)
    for name, network in taken.items():
        key = key_of(name)
        with torch.no_grad():
            network.load_state_dict(
                {part: tensor_of(file.block(f"{key}/{part}")) for part in network.state_dict()}
            )


def _take_forms(model: Model, described: Mapping[str, Any], path: Path) -> None:
    """Let the forms that were saved answer for their networks."""
    for name, blank in described["blanks"].items():
        parts = formed(model.blanks.network(name))
        for key in FORM_KEYS:
            if key not in blank:
                continue
            part = parts.get(key)
            rivals = blank.get(f"{key}-rivals", [])
            given = [blank[key], *rivals] if part is not None and isinstance(rivals, list) else []
            forms = [found for one in given if part and (found := form_of(plain(part.signature), one))]
            if part is None or not forms or len(forms) < len(given):
                raise bad_model(path / ARCHITECTURE, f"the form of `{name}` is not what it should be")
            part.form, part.rivals = forms[0], tuple(forms[1:])


def _stored(file: TensorFile, key: str) -> dict[str, Entry]:
    prefix = f"{key}/"
    return {full[len(prefix) :]: e for full, e in file.entries.items() if full.startswith(prefix)}


def _differing(
    name: str, own: Mapping[str, tuple[torch.dtype, tuple[int, ...]]], stored: Mapping[str, Entry], path: Path
) -> list[Diagnostic]:
    """What is wrong with stored weights, compared with those that a module has."""
    wrong = sorted(own.keys() ^ stored.keys())
    message = f"the weights of `{name}` are not those of its module: {', '.join(wrong[:4])}" if wrong else ""
    for part, (dtype, shape) in own.items() if not wrong else ():
        entry = stored[part]
        if entry.shape != shape:
            message = f"`{part}` of `{name}` is stored as {entry.shape}, and the module has {shape}"
        elif DTYPES[entry.dtype] != dtype:
            message = f"`{part}` of `{name}` is stored as {entry.dtype}, and the module has {dtype}"
    return [Diagnostic("bad-weights", message, file=str(path / WEIGHTS_FILE))] if message else []
