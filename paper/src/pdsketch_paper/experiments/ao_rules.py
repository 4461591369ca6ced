"""What AO learns of models with latents: codes by k-means and by VQ, and first-order rules over them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, final, get_args

from pdsketch.abstract import quantise, rules
from pdsketch.tensor import Model
from pdsketch.training import EpisodeArrays
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.experiments.babyai import TrainConfig, train
from pdsketch_paper.experiments.painting_tables import PaintingTraining
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, seeds_for
from pdsketch_paper.experiments.tables import (
    Experiment,
    Records,
    ResultTable,
    made_by,
    seeds_of,
    select,
    spread,
    values_at,
)

Learned = Literal["painting", "latent"]

TITLES: Final[dict[Learned, str]] = {"painting": "Painting Factory", "latent": "BabyAI, PDS-Abs with latents"}

CODES: Final = {"k-means": "k-means", "vq": "VQ, trained on for an epoch"}

_SHOWN: Final[dict[Learned, tuple[str, ...]]] = {
    "painting": ("is-red", "move-into"),
    "latent": ("is-red", "forward", "toggle"),
}
"""Whose rules are printed below the table."""


@final
@dataclass(frozen=True, slots=True)
class RulesConfig:
    """A model, by what it learns, and how it is trained."""

    model: Learned
    train: TrainConfig | PaintingTraining


def measure_rules(config: RulesConfig) -> dict[str, Any]:
    """By kind of codes: each function with its rules and how often they say what the network says."""
    model, episodes = _trained(config.train)
    found: dict[str, Any] = {"k-means": _read(model, _SHOWN[config.model])}
    trained_on = quantise(model, episodes, seed=config.train.seed)
    found["vq"] = _read(trained_on.model, _SHOWN[config.model])
    found["k-means"]["codes_agree"] = trained_on.agreement_before
    found["vq"] |= {"codes_agree": trained_on.agreement, "kept": trained_on.helps}
    return found


def _trained(config: Any) -> tuple[Model, EpisodeArrays]:
    if isinstance(config, TrainConfig):
        model, _ = train(config)
        world = BabyAIWorld(config.objects, config.doors, model.domain)
        return model, world.demonstrations(config.episodes, config.seed)
    from pdsketch_paper.experiments.painting import train_painting
    from pdsketch_paper.painting.adapter import PaintingWorld

    model, _ = train_painting(config)
    return model, PaintingWorld(config.blocks, config.bowls).demonstrations(config.episodes, config.seed)


def _read(model: Model, shown: Iterable[str]) -> dict[str, Any]:
    begun = time.process_time()
    found = rules(model)
    some = tuple(f for f in found.functions if f.owner in shown)
    return {
        "codes": {book.name: len(book.codes) for book in found.codebooks},
        "agreement": [f.agreement for f in found.functions if f.cases],
        "how": dict(Counter("exact" if f.exact else f.compared_on for f in found.functions)),
        "left_out": list(found.left_out),
        "text": replace(found, functions=some, left_out={}).text(),
        "seconds": time.process_time() - begun,
    }


def rules_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[RulesConfig]]:
    """A run for each model and seed."""
    runs = []
    for name in get_args(Learned):
        for seed in seeds_for(seeds, FRESH[:3], quick):
            training: TrainConfig | PaintingTraining = PaintingTraining(4 if quick else 100, seed)
            if name == "latent":
                training = TrainConfig("latent", 12 if quick else 1000, seed, steps=1600)
            if quick:
                training = replace(training, steps=6, batch=16)
            runs.append(ExperimentRun(f"rules-{name}-seed{seed}", measure_rules, RulesConfig(name, training)))
    return runs


def rules_table(records: Records) -> ResultTable:
    """A row for each model and kind of codes; the rules of the first seed stand below."""
    rows, texts = [], []
    for name, title in TITLES.items():
        own = select(records, model=name)
        for codes, how in CODES.items():
            results = values_at(own, codes)
            if not results:
                continue
            agreement = [least for r in results for least in [min(r["agreement"], default=1.0)]]
            feature = [max(r["codes"].values(), default=0) for r in results]
            kinds = sum((Counter(r["how"]) for r in results), Counter[str]())
            rows.append(
                (
                    *(title, how, spread(feature, 0), spread(values_at(own, codes, "codes_agree"))),
                    *(", ".join(f"{n} {kind}" for kind, n in kinds.items()), spread(agreement)),
                    *(
                        str(sum(len(r["left_out"]) for r in results)),
                        spread([r["seconds"] for r in results], 1),
                    ),
                )
            )
        best = values_at(own, "vq") or values_at(own, "k-means")
        texts += [f"; {title}", *(r["text"] for r in best[:1]), ""]
    head = (
        *("model", "codes", "codes of the largest codebook", "functions say the same of codes and values"),
        *("functions, by how their rules are known", "least agreement of rules", "left out", "CPU s"),
    )
    note = (
        f"{seeds_of(records)}. Rules are computed on all combinations of codes where these are few enough, "
        "else learned from samples by FOIL and compared on others; the least agreement is that of the worst "
        f"function. {made_by(records)}"
    )
    return ResultTable("Rules of models with latents", note, head, tuple(rows), "\n".join(texts))


EXPERIMENTS: Final = {"ao-rules": Experiment(rules_runs, rules_table, options=())}
"""What ``pdsketch reproduce`` knows of rules."""
