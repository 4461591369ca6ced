"""PDS-Abs with factored and with undivided states: what the division is worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal, final, get_args

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract import Abstraction, FactReader, abstraction_of, compile_and_or
from pdsketch.budget import Budget, LimitError
from pdsketch.heuristics import EngineEvaluator
from pdsketch.lang import Domain, load_domain
from pdsketch.search import plan
from pdsketch.task import UNREACHABLE
from pdsketch.tensor import Codes, Model, State, StateBatch, note_codes, note_rows
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import Module, exact_modules
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.babyai.world import problem_seed
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import Records, ResultTable, every, made_by, values_at

_DIRECTIONS: Final = 4
_CHOICES: Final = 11
_POSE: Final = slice(0, 2)
_CODE: Final = slice(2, 5)

KIND: Final = slice(2, 4)
"""Where the kind and the colour of a thing stand in its vector."""


@cache
def _sketch() -> Domain:
    return load_domain(Path(__file__).parent / "holistic.pdsketch")


def holistic_model() -> Model:
    """The sketch with exact modules, made of those of PDS-Abs."""
    domain = _sketch()
    return Model(domain, modules=_modules(exact_modules("abs"), set(domain.blanks)))


def joined(state: State) -> State:
    """A state of PDS-Abs as one of the holistic sketch."""
    robot = torch.cat([state["robot-pose"], state["robot-direction"].float().unsqueeze(-1)], dim=-1)
    things = torch.cat([state["item-pose"], state["item-feature"].float()], dim=-1)
    objects = {name: state.members(name) for name in ("item", "wall")}
    values = {"robot-state": np.asarray(robot), "thing-state": np.asarray(things)}
    return State(_sketch(), objects=objects, values=values)


def _direction(robot: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(robot[..., 2].round().long(), _DIRECTIONS).to(robot)


def _code(thing: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(thing[..., _CODE].round().long(), _CHOICES).to(thing)


def _of_code(module: Module) -> Module:
    return lambda thing: module(_code(thing))


def _modules(factored: dict[str, Module], blanks: set[str]) -> dict[str, Module]:
    """The same functions, which take what they need out of the vectors, and put back what they change."""
    front, toggled = factored["action::forward::g"], factored["action::toggle::f"]
    vanishes, gone = factored["derived::can-vanish::f"], factored["action::toggle::g"]

    def turn(name: str) -> Module:
        def turned(robot: Tensor) -> Tensor:
            after = factored[f"action::{name}::f"](_direction(robot)).argmax(-1, keepdim=True)
            return torch.cat([robot[..., _POSE], after.to(robot)], dim=-1)

        return turned

    def passes(robot: Tensor, faced: tuple[Tensor, Tensor]) -> Tensor:
        things, weights = faced
        return factored["action::forward::f"](robot, (_code(things), weights))

    def moved(robot: Tensor) -> Tensor:
        return torch.cat([front(robot[..., _POSE], _direction(robot)), robot[..., 2:]], dim=-1)

    def carried(thing: Tensor) -> Tensor:
        return _placed(thing, factored["action::pickup::f"]())

    def dropped(robot: Tensor, thing: Tensor) -> Tensor:
        return _placed(thing, front(robot[..., _POSE], _direction(robot)))

    def toggle(thing: Tensor) -> Tensor:
        code = _code(thing)
        pose = torch.where(vanishes(code).unsqueeze(-1) > 0.5, gone().to(thing), thing[..., _POSE])
        return torch.cat([pose, toggled(code).argmax(-1).to(thing)], dim=-1)

    modules = {name: _of_code(module) for name, module in factored.items() if name in blanks}
    return modules | {
        "derived::robot-holding::f": lambda thing: factored["derived::robot-holding::f"](thing[..., _POSE]),
        "derived::robot-facing::f": lambda robot, thing: factored["derived::robot-facing::f"](
            robot[..., _POSE], _direction(robot), thing[..., _POSE]
        ),
        "action::lturn::f": turn("lturn"),
        "action::rturn::f": turn("rturn"),
        "action::forward::f": passes,
        "action::forward::g": moved,
        "action::pickup::f": carried,
        "action::drop::f": dropped,
        "action::toggle::f": toggle,
    }


def _placed(thing: Tensor, pose: Tensor) -> Tensor:
    """The thing with another pose."""
    return torch.cat([pose.to(thing).expand(*thing.shape[:-1], 2), thing[..., _CODE]], dim=-1)


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


def factor_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[FactorsConfig]]:
    """A run for each kind of states and seed."""
    own = seeds_for(seeds, FRESH[:3], quick)
    configs = {f"factors-{k}-seed{s}": FactorsConfig(k, s) for k in get_args(States) for s in own}
    return runs_of(measure_factors, configs, quick, problems=1, demonstrations=10, objects=1, doors=1)


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
            kept.extend_codes([batch.tensors], [goal])
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
    evaluator = EngineEvaluator(abstraction.task, "ff", per_effect=abstraction.per_effect)
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
        rooms = [room for rooms in values_at(records, "rooms", states=kind) for room in rooms]
        if not rooms:
            continue
        whole = [room for room in rooms if "seconds" in room]
        codes = (f"{median(room[name] for room in rooms):,.0f}" for name in ("codebooks", "codes"))
        rows.append((title, *codes, *_cells(rooms, whole)))
    config = records[0]["config"]
    note = (
        f"Exact modules; medians over {len(every(records, 'seed'))} seeds and "
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
