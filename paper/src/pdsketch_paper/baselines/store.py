"""Baselines on disk, as models are: the sketch, a manifest and the weights in one folder, and no code."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import torch

from pdsketch.files import DTYPES, TensorFile, blocks_of, open_parts, tensor_bytes, tensor_of, write_parts
from pdsketch.lang import Domain, Error, decode_source, error, parse_domain
from pdsketch.tensor import SKETCH, WEIGHTS_FILE, Folder
from pdsketch_paper.baselines.cost_to_go import CostToGo
from pdsketch_paper.baselines.graph import read_predicates
from pdsketch_paper.baselines.network import AgentBaseline, Baseline
from pdsketch_paper.baselines.training import find_baseline

MANIFEST: Final = "baseline.json"
FORMAT: Final = 2
"""1: without weights for the variables of goals."""

_LARGEST: Final = 1 << 24
"""No axis of a value is longer."""


def save_baseline(baseline: Baseline, folder: Folder) -> None:
    """Write a baseline into a folder, which is made if need be; one that is there is replaced as a whole."""
    content = {
        "format": FORMAT,
        "kind": baseline.KIND,
        "domain": baseline.domain.name,
        "types": baseline.types,
        "shapes": {name: list(shape) for name, shape in baseline.shapes.items()},
        "notes": baseline.notes,
        "temperature": baseline.temperature if isinstance(baseline, AgentBaseline) else 0.0,
    }
    parts: dict[str, Sequence[bytes | memoryview]] = {
        SKETCH: [baseline.domain.source.text.encode()],
        WEIGHTS_FILE: tensor_bytes(blocks_of(baseline.state_dict())),
    }
    write_parts(Path(folder), MANIFEST, content, parts)


def load_baseline(folder: Folder) -> Baseline:
    """The baseline that was saved in a folder."""
    if not isinstance(folder, str | PathLike):
        raise error("bad-folder", f"a folder's name was wanted, and a {type(folder).__name__} was given")
    path = Path(folder)
    if not path.is_dir():
        raise error("no-such-folder", "there is no such folder", file=fspath(folder))
    with open_parts(path, MANIFEST, [SKETCH, WEIGHTS_FILE], "bad-model", format=FORMAT) as (content, parts):
        sketch = path / SKETCH
        domain = parse_domain(decode_source(str(sketch), parts[SKETCH].read("bad-model")).text, str(sketch))
        make = find_baseline(content.get("kind"))
        shapes, types = _shapes(domain, content.get("shapes"), path), _types(content.get("types"), path)
        with torch.device("meta"):
            outline = {
                name: (t.dtype, tuple(t.shape))
                for name, t in make(domain, shapes, types).state_dict().items()
            }
        weights = parts[WEIGHTS_FILE]
        file = TensorFile(weights.file, weights.size, path / WEIGHTS_FILE, "bad-model")
        stored = {name: (DTYPES[entry.dtype], entry.shape) for name, entry in file.entries.items()}
        if stored != outline:
            wrong = sorted(name for name in outline | stored if outline.get(name) != stored.get(name))
            raise file.bad(f"its weights are not those of the baseline: {', '.join(wrong[:4])}")
        baseline = make(domain, shapes, types)
        baseline.load_state_dict({name: tensor_of(file.block(name)) for name in stored})
    if isinstance(baseline, AgentBaseline):
        baseline.temperature = _temperature(content.get("temperature", 0.0), path)
    baseline.notes = content["notes"] if isinstance(content.get("notes"), dict) else {}
    return baseline.eval()


def load_agent(folder: Folder) -> AgentBaseline:
    """The baseline of a folder, if it is one that acts."""
    baseline = load_baseline(folder)
    if not isinstance(baseline, AgentBaseline):
        raise error("bad-agent", f"the baseline `{baseline.KIND}` does not act", file=fspath(folder))
    return baseline


def load_heuristic(folder: Folder) -> CostToGo:
    """The baseline of a folder, if it is one that estimates costs: ``plan --heuristic gnn:FOLDER``."""
    baseline = load_baseline(folder)
    if not isinstance(baseline, CostToGo):
        raise error("bad-option", f"the baseline `{baseline.KIND}` in {fspath(folder)} estimates no costs")
    return baseline


def _shapes(domain: Domain, given: Any, path: Path) -> dict[str, tuple[int, ...]]:
    """The value axes of the predicates that are read, if they can be those of the sketch."""
    found = {}
    for predicate in read_predicates(domain):
        shape = given.get(predicate.name) if isinstance(given, dict) else None
        if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < _LARGEST for n in shape):
            raise _bad(path, f"the shape of `{predicate.name}` is not what it should be")
        if predicate.type.shape is not None and tuple(shape) != predicate.type.shape:
            raise _bad(path, f"`{predicate.name}` has another shape than the sketch says")
        found[predicate.name] = tuple(shape)
    return found


def _temperature(given: Any, path: Path) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < inf:
        raise _bad(path, "`temperature` is not what it should be")
    return float(given)


def _types(given: Any, path: Path) -> list[str] | None:
    if given is not None and not (isinstance(given, list) and all(isinstance(name, str) for name in given)):
        raise _bad(path, "`types` is not what it should be")
    return given


def _bad(path: Path, why: str) -> Error:
    return error("bad-model", f"this folder holds no baseline: {why}", file=str(path / MANIFEST))
