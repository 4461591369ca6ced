"""PDS-Abs, whose states are factored, beside PDS-Base, which has one code for a thing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Final, Literal, final, get_args

import torch

from pdsketch.abstract import Abstraction, FactReader, abstraction_of, compile_and_or
from pdsketch.budget import LimitError
from pdsketch.heuristics import EngineEvaluator
from pdsketch.search import plan
from pdsketch.task import UNREACHABLE
from pdsketch.tensor import Codes, Model, State, StateBatch, note_codes, note_rows
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.babyai.world import problem_seed
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import Records, ResultTable, every, made_by, values_at

States = Literal["abs", "base"]

TITLES: dict[States, str] = {"abs": "PDS-Abs: factored", "base": "PDS-Base: one code for a thing"}

MANY: Final = 256
"""States whose heuristic values are timed together."""


@final
@dataclass(frozen=True, slots=True)
class FactorsConfig:
    """One kind of states, and the rooms that it is measured in."""

    states: States
    seed: int
    problems: int = 2
    demonstrations: int = 200
    objects: int = 4
    doors: int = 4
    expansions: int = 500


def factor_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[FactorsConfig]]:
    """A run for each kind of states and seed."""
    own = seeds_for(seeds, FRESH[:3], quick)
    configs = {f"factors-{k}-seed{s}": FactorsConfig(k, s) for k in get_args(States) for s in own}
    return runs_of(measure_factors, configs, quick, problems=1, demonstrations=10, objects=1, doors=1)


def measure_factors(config: FactorsConfig) -> dict[str, Any]:
    """Measure each room with a model that knows nothing of the others."""
    _warm_up()
    seen = _demonstrated(config)
    seeds = [problem_seed(config.seed, index, "factors") for index in range(config.problems)]
    return {"rooms": [_measure_room(config, seen, seed) for seed in seeds]}


@cache
def _warm_up() -> None:
    """Ground and search something small, once a process: no room is measured while packages are imported."""
    config = FactorsConfig("abs", 0, demonstrations=1, objects=1, doors=1)
    _measure_room(config, _demonstrated(config), 0)


def _demonstrated(config: FactorsConfig) -> list[State]:
    world = BabyAIWorld(config.objects, config.doors, config.states)
    demonstrations = world.demonstrations(config.demonstrations, config.seed)
    return [state for episode in demonstrations for state in episode.states]


def _note(model: Model, states: Sequence[State]) -> None:
    """Record the values of state variables."""
    seen = {
        p.name: torch.cat([s[p.name].reshape(-1, *(p.type.shape or (1,))) for s in states])
        for p in model.domain.state_predicates
    }
    floats = {name: values for name, values in seen.items() if values.is_floating_point()}
    codes = {n: Codes.of(values, model.domain.predicates[n].type.tolerance) for n, values in floats.items()}
    note_codes(model.notes, codes)
    note_rows(model.notes, seen, codes)


def _measure_room(config: FactorsConfig, seen: Sequence[State], seed: int) -> dict[str, Any]:
    model = Model(load_sketch(config.states), modules=exact_modules(config.states))
    world = BabyAIWorld(config.objects, config.doors, config.states)
    state = world.reset(seed)
    _note(model, seen)
    batch, goal = state.batch, model.formula(state.batch, world.goal)
    kept, started = abstraction_of(model), time.process_time()
    with torch.inference_mode():
        kept.extend_codes([batch.tensors], [goal])
        books = kept.books.books()
        found: dict[str, Any] = {
            "codes": sum(map(len, books)),
            "codebooks": len([*books]),
            "relations": len(kept.symbolic.facts),
            "rules_s": time.process_time() - started,
        }
        started = time.process_time()
        try:
            abstraction = compile_and_or(model, batch.universe(0).types, goal, batch)
        except LimitError:  # what it takes is measured here, and too much is a figure, too
            return found
        grounding = time.process_time() - started
    results = {
        name: plan(model, state, world.goal, heuristic=name, max_expansions=config.expansions)
        for name in ("blind", "ao")
    }
    return found | {
        "facts": abstraction.task.n_basic,
        "within_reach": abstraction.task.facts[:1] != (UNREACHABLE,),
        **{f"expanded_{name}": result.expanded for name, result in results.items()},
        "grounding_ms": 1000 * grounding,
        "heuristic_ms": 1000 * _heuristic_seconds(model, abstraction, batch),
    }


def _heuristic_seconds(model: Model, abstraction: Abstraction, batch: StateBatch) -> float:
    """Reading the facts off a state and evaluating hFF of them, in a batch: seconds a state."""
    reader = FactReader(model, [abstraction], [batch.universe(0)])
    evaluator = EngineEvaluator(abstraction.task, "ff", per_effect=abstraction.per_effect)
    many, problems = batch.select(torch.zeros(MANY, dtype=torch.int64)), torch.zeros(MANY, dtype=torch.int64)

    def evaluate() -> None:
        evaluator.values(abstraction.states(reader.read(many, problems).numpy()))

    with torch.inference_mode():
        evaluate()  # expressions are lowered
        started = time.process_time()
        evaluate()
    return (time.process_time() - started) / MANY


COLUMNS: Final = {
    "codebooks": ("codebooks", 0),
    "codes": ("codes", 0),
    "relations": ("rules: rows", 0),
    "rules_s": ("rules: s", 1),
    "facts": ("facts", 0),
    "grounding_ms": ("grounding: ms", 1),
    "heuristic_ms": ("heuristic: ms a state", 3),
    "expanded_blind": ("expanded: blind", 0),
    "expanded_ao": ("expanded: AO", 0),
}
"""What is shown of what is measured, its title, and its digits."""


def factor_table(records: Records) -> ResultTable:
    """A row for each kind of states: medians over the rooms of all seeds."""
    rows = []
    for kind, title in TITLES.items():
        rooms = [room for rooms in values_at(records, "rooms", states=kind) for room in rooms]
        if rooms:
            cells = (_middle([r[name] for r in rooms if name in r], n) for name, (_, n) in COLUMNS.items())
            reached = sum(room.get("within_reach", False) for room in rooms)
            rows.append((title, *cells, f"{reached} of {len(rooms)}"))
    config = records[0]["config"]
    note = (
        f"Exact modules; medians over {len(every(records, 'seed'))} seeds and {config['problems']} rooms of "
        f"{config['objects']}+{config['doors']} each. *Within reach*: rooms whose goal can be reached over "
        f"codes that were seen; –: grounding takes more memory than there is. {made_by(records)}"
    )
    head = ("states", *(title for title, _ in COLUMNS.values()), "within reach")
    return ResultTable("BabyAI: factored and undivided states", note, head, tuple(rows))


def _middle(values: Sequence[float], digits: int) -> str:
    return f"{median(values):,.{digits}f}" if values else "–"
