"""Factored states beside undivided ones: codes, rules, grounding, the heuristic, and expansions.

The same rooms and missions, with exact modules. Codes are those of the values that demonstrations show, as
`fit` records them: of a vector as a whole where few differ, else of each dimension. In ``joint`` each
undivided thing has one code, whatever their number; they are those of the things in one room.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Any, Final, Literal, final, get_args

import torch

from pdsketch.abstract import Abstraction, FactReader, abstraction_of, compile_and_or
from pdsketch.budget import Budget, LimitError
from pdsketch.heuristics import KernelEvaluator
from pdsketch.search import plan
from pdsketch.task import UNREACHABLE
from pdsketch.tensor import Codes, Model, State, StateBatch, note_codes, note_rows
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.states import load_sketch
from pdsketch_paper.babyai.world import problem_seed
from pdsketch_paper.experiments.holistic import KIND, holistic_model, joined
from pdsketch_paper.experiments.runs import ExperimentRun
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by

States = Literal["factored", "undivided", "joint", "base"]

TITLES: dict[States, str] = {
    "factored": "PDS-Abs: factored",
    "undivided": "PDS-Abs, undivided",
    "joint": "PDS-Abs, undivided, one code for a thing",
    "base": "PDS-Base",
}

LIMIT: Final = 120.0
"""Seconds of the processor for the rules of one room; PDS-Base takes 28."""

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

    def in_world(self, **options: Any) -> FactorsConfig:
        """The same in other rooms."""
        return replace(self, **options)


def factor_runs(seeds: int, quick: bool) -> list[ExperimentRun[FactorsConfig]]:
    """A run for each kind of states and seed."""
    configs = [FactorsConfig(kind, seed) for kind in get_args(States) for seed in range(seeds)]
    if quick:
        configs = [replace(c, problems=1, demonstrations=10, objects=1, doors=1) for c in configs]
    return [ExperimentRun(f"factors-{c.states}-seed{c.seed}", measure_factors, c) for c in configs]


def measure_factors(config: FactorsConfig) -> dict[str, Any]:
    """Measure each room with a model that knows nothing of the others."""
    seen = _demonstrated(config)
    _warm_up()
    seeds = [problem_seed(config.seed, index, "factors") for index in range(config.problems)]
    return {"rooms": [_measure_room(config, seen, seed) for seed in seeds]}


@cache
def _warm_up() -> None:
    """Ground and search something small, once a process: no room is measured while packages are imported."""
    config = FactorsConfig("factored", 0, demonstrations=1, objects=1, doors=1)
    _measure_room(config, _demonstrated(config), 0)


def _model(config: FactorsConfig) -> tuple[Model, Callable[[State], State]]:
    """A new model, and how it sees a state of the world."""
    if config.states in ("undivided", "joint"):
        return holistic_model(), joined
    name: Literal["abs", "base"] = "abs" if config.states == "factored" else "base"
    return Model(load_sketch(name), modules=exact_modules(name)), lambda state: state


def _world(config: FactorsConfig) -> BabyAIWorld:
    return BabyAIWorld(config.objects, config.doors, "base" if config.states == "base" else "abs")


def _demonstrated(config: FactorsConfig) -> list[State]:
    demonstrations = _world(config).demonstrations(config.demonstrations, config.seed)
    return [state for episode in demonstrations for state in episode.states]


def _note(model: Model, states: list[State], room: State | None) -> None:
    """Record the values of state variables; of things, those of the kinds that stand in a room."""
    seen = {
        p.name: torch.cat([s[p.name].reshape(-1, *(p.type.shape or (1,))) for s in states])
        for p in model.domain.state_predicates
    }
    if room is not None:
        here = {tuple(kind) for kind in room["thing-state"][:, KIND].tolist()}
        every = seen["thing-state"].unique(dim=0)  # type: ignore[no-untyped-call]
        known = [tuple(kind) in here for kind in every[:, KIND].tolist()]
        seen["thing-state"] = every[torch.tensor(known)]
    floats = {name: values for name, values in seen.items() if values.is_floating_point()}
    codes = {n: Codes.of(values, model.domain.predicates[n].type.tolerance) for n, values in floats.items()}
    note_codes(model.notes, codes)
    note_rows(model.notes, seen, codes)


def _measure_room(config: FactorsConfig, seen: list[State], seed: int) -> dict[str, Any]:
    model, view = _model(config)
    world = _world(config)
    state = view(world.reset(seed))
    _note(model, [view(other) for other in seen], state if config.states == "joint" else None)
    batch, goal = state.batch, model.formula(state.batch, world.goal)
    kept, started = abstraction_of(model), time.process_time()
    with torch.inference_mode(), Budget(LIMIT, clock=time.process_time).running():
        try:
            kept.learn([batch.tensors], [goal])
            relations = len(kept.symbolic.facts)
        except LimitError:
            return {**_codes(model), "limit": LIMIT}
        rules, started = time.process_time() - started, time.process_time()
        abstraction = compile_and_or(model, batch.universe(0).types, goal, batch)
        first, started = time.process_time() - started, time.process_time()
        abstraction = compile_and_or(model, batch.universe(0).types, goal, batch)
        again = time.process_time() - started
    results = {
        "blind": plan(model, state, world.goal, heuristic="blind", max_expansions=config.expansions),
        "ao": plan(model, state, world.goal, heuristic="ao", max_expansions=config.expansions),
    }
    return {
        **_codes(model),
        "relations": relations,
        "facts": abstraction.task.n_basic,
        "operators": len(abstraction.steps),
        "within_reach": abstraction.task.facts[:1] != (UNREACHABLE,),
        **{f"expanded_{name}": result.expanded for name, result in results.items()},
        **{f"solved_{name}": result.solved for name, result in results.items()},
        "seconds": {
            "rules": rules,
            "first_grounding": first,
            "grounding": again,
            "heuristic": _heuristic_seconds(model, abstraction, batch),
        },
    }


def _codes(model: Model) -> dict[str, int]:
    """How many codes there are, in how many codebooks."""
    books = abstraction_of(model).books.books()
    return {"codes": sum(map(len, books)), "codebooks": len([*books])}


def _heuristic_seconds(model: Model, abstraction: Abstraction, batch: StateBatch) -> float:
    """Reading the facts off a state and evaluating hFF of them, in a batch: seconds a state."""
    reader = FactReader(model, [abstraction], [batch.universe(0)])
    evaluator = KernelEvaluator(abstraction.task, "ff", per_effect=abstraction.per_effect)
    many, problems = batch.select(torch.zeros(MANY, dtype=torch.int64)), torch.zeros(MANY, dtype=torch.int64)

    def evaluate() -> None:
        evaluator.values(abstraction.states(reader.read(many, problems).numpy()))

    with torch.inference_mode():
        evaluate()  # expressions are lowered
        started = time.process_time()
        evaluate()
    return (time.process_time() - started) / MANY


def factor_table(records: Records) -> ResultTable:
    """A row for each kind of states: medians over the rooms of all seeds."""
    rows = []
    for kind, title in TITLES.items():
        rooms = [
            room
            for record in records
            if record["config"]["states"] == kind
            for room in record["result"]["rooms"]
        ]
        if not rooms:
            continue
        whole = [room for room in rooms if "seconds" in room]
        codes = (f"{median(room[name] for room in rooms):,.0f}" for name in ("codebooks", "codes"))
        rows.append((title, *codes, *_cells(rooms, whole)))
    config = records[0]["config"]
    note = (
        f"Exact modules; medians over {len({record['config']['seed'] for record in records})} seeds and "
        f"{config['problems']} rooms of {config['objects']}+{config['doors']} each; of facts, grounding and "
        f"the heuristic, over rooms whose goal is within reach of codes that were seen. {made_by(records)}"
    )
    head = (
        *(
            "states",
            "codebooks",
            "codes",
            "rules: rows",
            "rules: s",
            "within reach",
            "facts",
            "grounding: ms, first",
            "ms, again",
        ),
        *("heuristic: ms a state", "expanded: blind", "expanded: AO"),
    )
    return ResultTable("BabyAI: factored and undivided states", note, head, tuple(rows))


def _cells(rooms: list[Mapping[str, Any]], whole: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """What is known of whole abstractions."""
    if not whole:
        return ("–", f"over {rooms[0]['limit']:.0f}", *["–"] * 7)
    reached = [room for room in whole if room["within_reach"]]

    def middle(name: str, of: Sequence[Mapping[str, Any]] = whole) -> float:
        return float(median(room[name] for room in of))

    def seconds(name: str, of: Sequence[Mapping[str, Any]] = whole) -> float:
        return float(median(room["seconds"][name] for room in of))

    ground = ("–",) * 4
    if reached:
        ground = (
            f"{middle('facts', reached):,.0f}",
            f"{1000 * seconds('first_grounding', reached):.0f}",
            f"{1000 * seconds('grounding', reached):.1f}",
            f"{1000 * seconds('heuristic', reached):.3f}",
        )
    return (
        f"{middle('relations'):,.0f}",
        f"{seconds('rules'):.1f}",
        f"{len(reached)} of {len(rooms)}",
        *ground,
        f"{middle('expanded_blind'):.0f}",
        f"{middle('expanded_ao'):.0f}",
    )
