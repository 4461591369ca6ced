"""Train a baseline from episodes, with the settings that a fit has."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Unpack, overload

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Domain, did_you_mean, error
from pdsketch.training import Array, FitOptions, Options, Source, clip, learning_rate, make_optimiser
from pdsketch_paper.baselines.cloning import BehaviourCloning
from pdsketch_paper.baselines.cost_to_go import CostToGo
from pdsketch_paper.baselines.decision_transformer import MixedTransformer, SuccessTransformer
from pdsketch_paper.baselines.demonstrations import Demonstrations, open_demonstrations
from pdsketch_paper.baselines.dreamer.agent import Dreamer
from pdsketch_paper.baselines.dreamer.options import BaselineOptions, with_dreamer
from pdsketch_paper.baselines.dreamer.training import train_dreamer
from pdsketch_paper.baselines.graph import Shapes
from pdsketch_paper.baselines.network import AgentBaseline, Baseline

AgentKind = Literal["bc", "dt-s", "dt-s+f", "dreamer"]
Measure = Callable[[Demonstrations, Tensor], Tensor]
Maker = Callable[[Domain, Shapes, Sequence[str] | None], Baseline]

BASELINES: Final[Mapping[str, Maker]] = {
    one.KIND: one for one in (BehaviourCloning, SuccessTransformer, MixedTransformer, CostToGo, Dreamer)
}
"""The baselines by name."""

_ENOUGH_TO_SPLIT: Final = 200
"""From so many episodes on, a tenth is held out, as in a fit."""

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
    Of the settings of a fit, these count: ``batch`` (256), ``learning_rate`` (1e-3), ``warmup``,
    ``weight_decay``, ``clip``, ``validation``, ``evaluate_every``, ``device``. Where episodes are held out,
    the weights under which they are likeliest are kept. ``notes`` of what is returned say how it went.
    A ``dreamer`` keeps its last weights, and takes more (`BaselineOptions`).
    """
    make = find_baseline(kind)
    given, own = with_dreamer(kind, settings)
    options = Options.of(steps=steps, seed=seed, **{**_DEFAULTS, **given})
    began = time.perf_counter()
    device = _device(options.device)
    demonstrations = open_demonstrations(episodes, domain, device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make(domain, demonstrations.shapes, types).to(device)
    network.standardise(demonstrations)
    train, held_out = _split(network.examples(demonstrations), demonstrations, options)
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


_DEFAULTS: Final[FitOptions] = {"batch": 256, "learning_rate": 1e-3, "clip": 1.0, "weight_decay": 1e-2}


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
        clip(parameters, options.clip)
        for group in optimiser.param_groups:
            group["lr"] = options.learning_rate * learning_rate(step, options.steps, options.warmup)
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


def _split(examples: Array, demonstrations: Demonstrations, options: Options) -> tuple[Array, Array]:
    """The examples of the training episodes, and of those held out."""
    episodes = demonstrations.dataset.episode[examples]
    count = len(demonstrations.dataset.arrays)
    share = options.validation
    if share is None:
        share = 0.1 if count >= _ENOUGH_TO_SPLIT else 0.0
    order = np.random.default_rng([options.seed, 0]).permutation(count)
    held = np.zeros(count, dtype=np.bool_)
    held[order[: min(count - 1, round(share * count))]] = True
    return examples[~held[episodes]], examples[held[episodes]]


def _device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or "cpu")
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as why:
        reason = str(why).splitlines()[0]
        raise error("no-device", f"there is no device `{name}` here: {reason}") from None
    return device
