"""Train a baseline from episodes, with the settings that a fit has, and keep it in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Literal, Unpack, overload

import numpy as np
import torch
from torch import Tensor

from pdsketch.files import DTYPES, TensorFile, blocks_of, open_parts, tensor_bytes, tensor_of, write_parts
from pdsketch.lang import Domain, Error, decode_source, did_you_mean, error, parse_domain
from pdsketch.tensor import SKETCH, WEIGHTS_FILE, Folder
from pdsketch.training import (
    Array,
    FitOptions,
    Options,
    Source,
    clip,
    find_device,
    learning_rate,
    make_optimiser,
    split_examples,
)
from pdsketch_paper.baselines.cost_to_go import CostToGo
from pdsketch_paper.baselines.dreamer.agent import Dreamer
from pdsketch_paper.baselines.dreamer.training import MOST_NORM, BaselineOptions, train_dreamer, with_dreamer
from pdsketch_paper.baselines.graph import Shapes, read_predicates
from pdsketch_paper.baselines.imitation import BehaviourCloning, MixedTransformer, SuccessTransformer
from pdsketch_paper.baselines.network import AgentBaseline, Baseline, Demonstrations, open_demonstrations

AgentKind = Literal["bc", "dt-s", "dt-s+f", "dreamer"]
Measure = Callable[[Demonstrations, Tensor], Tensor]
Maker = Callable[[Domain, Shapes, Sequence[str] | None], Baseline]

BASELINES: Final[Mapping[str, Maker]] = {
    one.KIND: one for one in (BehaviourCloning, SuccessTransformer, MixedTransformer, CostToGo, Dreamer)
}
"""The baselines by name."""

_AT_ONCE: Final = 512
"""Examples that are measured at a time."""


def find_baseline(kind: object) -> Maker:
    """The baseline of that name."""
    if not isinstance(kind, str) or kind not in BASELINES:
        listed = ", ".join(BASELINES)
        raise error(
            "unknown-option",
            f"there is no baseline {kind!r:.40}",
            help=did_you_mean(str(kind), BASELINES) or f"the baselines: {listed}",
        )
    return BASELINES[kind]


@overload
def train_baseline(
    kind: AgentKind,
    domain: Domain,
    episodes: Source,
    steps: int = 2000,
    seed: int = 0,
    *,
    types: Sequence[str] | None = None,
    **settings: Unpack[BaselineOptions],
) -> AgentBaseline: ...
@overload
def train_baseline(
    kind: Literal["gnn"],
    domain: Domain,
    episodes: Source,
    steps: int = 2000,
    seed: int = 0,
    *,
    types: Sequence[str] | None = None,
    **settings: Unpack[BaselineOptions],
) -> CostToGo: ...
def train_baseline(
    kind: AgentKind | Literal["gnn"],
    domain: Domain,
    episodes: Source,
    steps: int = 2000,
    seed: int = 0,
    *,
    types: Sequence[str] | None = None,
    **settings: Unpack[BaselineOptions],
) -> Baseline:
    """A baseline of that kind, trained from the episodes that a model would be fitted to.

    ``types`` names the types of the objects that count; the others are not seen, and None sees all.
    Of the settings of a fit, these count: ``batch`` (256), ``learning_rate`` (1e-3),
    ``weight_decay`` (1e-2), ``validation``, ``evaluate_every``, ``device``. Where episodes are held out,
    the weights under which they are likeliest are kept. ``notes`` of what is returned say how it went.
    A ``dreamer`` keeps its last weights, and takes more (`BaselineOptions`).
    """
    make = find_baseline(kind)
    given, own = with_dreamer(kind, settings)
    options = Options.of(steps=steps, seed=seed, **{**_DEFAULTS, **given})
    began = time.perf_counter()
    device = find_device(options.device, torch.device("cpu"))
    demonstrations = open_demonstrations(episodes, domain, device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make(domain, demonstrations.shapes, types).to(device)
    network.standardise(demonstrations)
    examples = network.examples(demonstrations)
    parts = split_examples(demonstrations.dataset, options)
    train, held_out = (examples[np.isin(examples, part)] for part in parts)
    if not len(train):
        raise error(
            "no-episodes",
            "no episode shows how a goal is reached",
            help="a baseline learns from the actions before the first state in which a goal held",
        )
    if isinstance(network, Dreamer):
        more = train_dreamer(network, demonstrations, options, train, own)
    else:
        more = {"best_step": _run(network.train(), demonstrations, options, train, held_out)}
    network.eval()
    network.notes = {
        "steps": options.steps,
        "seed": options.seed,
        "batch": options.batch,
        "learning_rate": options.learning_rate,
        "weight_decay": options.weight_decay,
        "episodes": len(np.unique(demonstrations.dataset.episode[train])),
        "examples": len(train),
        "score": _mean(network.score, demonstrations, train),
        "held_out_score": _mean(network.score, demonstrations, held_out) if len(held_out) else None,
        **more,
        "seconds": round(time.perf_counter() - began, 1),
    }
    return network


_DEFAULTS: Final[FitOptions] = {"batch": 256, "learning_rate": 1e-3, "weight_decay": 1e-2}


def _run(
    network: Baseline, demonstrations: Demonstrations, options: Options, train: Array, held_out: Array
) -> int:
    """All steps; the weights that are left are those of the step that is returned."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimiser = make_optimiser(parameters, options)
    draw = np.random.default_rng([options.seed, 1])
    queue = np.empty(0, dtype=np.int64)
    best, best_score, kept = options.steps, -np.inf, None
    for step in range(options.steps):
        if len(queue) < min(options.batch, len(train)):
            queue = network.shuffled(train, demonstrations, draw)
        some, queue = queue[: options.batch], queue[options.batch :]
        loss = network.loss(demonstrations, demonstrations.dataset.place(some))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        clip(parameters, MOST_NORM)
        for group in optimiser.param_groups:
            group["lr"] = options.learning_rate * learning_rate(step, options.steps)
        optimiser.step()
        if len(held_out) and ((step + 1) % options.evaluate_every == 0 or step + 1 == options.steps):
            found = _mean(network.eval().likelihood, demonstrations, held_out)
            network.train()
            if found >= best_score:
                best, best_score = step + 1, found
                kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    if kept is not None:
        network.load_state_dict(kept)
    return best


@torch.no_grad()
def _mean(measure: Measure, demonstrations: Demonstrations, examples: Array) -> float:
    """The mean of a measure on some examples."""
    parts: list[Tensor] = [
        measure(demonstrations, demonstrations.dataset.place(some))
        for some in demonstrations.dataset.parts(examples, _AT_ONCE)
    ]
    scores = torch.cat(parts)
    return float(scores.mean()) if len(scores) else 0.0


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
        shapes, types = _shapes(domain, content.get("shapes"), path), content.get("types")
        if types is not None and not (isinstance(types, list) and all(isinstance(t, str) for t in types)):
            raise _bad(path, "`types` is not what it should be")
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
        warmth = content.get("temperature", 0.0)
        if isinstance(warmth, bool) or not isinstance(warmth, int | float) or not 0 <= warmth < inf:
            raise _bad(path, "`temperature` is not what it should be")
        baseline.temperature = float(warmth)
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


def _bad(path: Path, why: str) -> Error:
    return error("bad-model", f"this folder holds no baseline: {why}", file=str(path / MANIFEST))
