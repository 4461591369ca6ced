"""Which blanks of BabyAI's sketches are learned exactly, and whether reports say which are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Domain, ObjectType
from pdsketch.tensor import Model, StateBatch
from pdsketch.training import Report
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import Module, SketchName, exact_modules
from pdsketch_paper.experiments.babyai import TOLERANCE
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by, rate, select, values_at

SURE: Final = "learned"
"""A verdict that a blank should have if it is right, and no other."""


@final
class Asked:
    """An exact function that remembers what it is asked."""

    def __init__(self, exact: Module) -> None:
        self.exact = exact
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Tensor:
        """Its answer."""
        self.calls.append(args)
        return self.exact(*args)


@torch.no_grad()
def judged(model: Model, report: Report, sketch: SketchName, seed: int, scenes: int) -> dict[str, Any]:
    """Of each blank the part of inputs on which it differs from the exact function, and its verdict.

    The inputs are those that exact functions are asked in ``scenes`` of as many fresh rooms, somewhere on the
    way of an expert, by all predicates and all actions.
    """
    draw = np.random.default_rng(seed)
    episodes = BabyAIWorld(sketch=model.domain).demonstrations(scenes, seed, split="words")
    states = StateBatch.of([one.states[int(draw.integers(len(one.states)))] for one in episodes])
    return {
        name: {
            "wrong": _wrong(model, name, one),
            "verdict": report.blanks[name].verdict,
            "form": str(model.forms.get(name, "network")),
        }
        for name, one in _asked(sketch, model.domain, states).items()
    }


def _asked(sketch: SketchName, domain: Domain, states: StateBatch) -> dict[str, Asked]:
    found = {name: Asked(exact) for name, exact in exact_modules(sketch).items()}
    model = Model(domain, modules=dict(found))
    for name, predicate in domain.predicates.items():
        of_objects = all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        if predicate.role == "derived" and predicate.type.is_bool and of_objects:
            variables = [p.name for p in predicate.parameters]
            over = " ".join(f"{p.name} - {p.type}" for p in predicate.parameters)
            model.holds(states, f"(exists ({over}) ({name} {' '.join(variables)}))", crisp=True)
    for name in domain.actions:
        model.step(states, (name, "agent"), crisp=True)
    return {name: one for name, one in found.items() if name in domain.blanks}


def _wrong(model: Model, name: str, exact: Asked) -> float:
    """The part of inputs on which a blank says something else."""
    network, returns = model.blanks.network(name), model.domain.blanks[name].returns
    assert network is not None
    bad, count = 0, 0
    for args in exact.calls or [()]:
        said = network(*args)
        wanted = exact.exact(*args).to(torch.float32).reshape(said.shape)
        if returns.choices is not None:
            off = said.argmax(-1) != wanted.argmax(-1)
        elif returns.prim == "bool":
            off = (said > 0.5) != (wanted > 0.5)
        else:
            off = (said - wanted).abs() > TOLERANCE
        own = len(returns.shape or ()) + (not returns.shape and returns.choices is None)
        each = off.flatten(-own).any(-1) if own else off
        bad, count = bad + int(each.sum()), count + each.numel()
    return bad / max(1, count)


def word_table(titles: dict[SketchName, str], records: Records) -> ResultTable:
    """A row for each model and a last one for all seeds; what is wrong stands below."""
    rows, texts = [], []
    settings = {(r["config"]["train"]["sketch"], r["config"]["train"]["episodes"]): None for r in records}
    for sketch, episodes in settings:
        own = select(records, sketch=sketch, episodes=episodes)
        for some in [*([record] for record in own), own]:
            name = str(some[0]["config"]["train"]["seed"]) if len(some) == 1 else "all"
            loops = (rate(values_at(some, "4+4", loop, "success")) for loop in ("open", "closed"))
            rows.append((titles[sketch], f"{episodes:,}", name, *loops, *_counted(some)))
        texts += [text for record in own for text in _listed(record)]
    head = (
        *("model", "demonstrations", "seed", "open loop", "closed loop"),
        *("blanks wrong", "of these doubted", "right ones doubted"),
    )
    config = records[0]["config"]
    note = (
        f"{config['problems']} held-out problems a seed in rooms of 4 objects and 4 doors. A blank is "
        f"*wrong* if it differs anywhere from the exact function in {config['scenes']:,} fresh scenes; it is "
        f"*doubted* if the report of its fit does not call it {SURE}. {made_by(records)}"
    )
    return ResultTable("BabyAI: blanks learned exactly", note, head, tuple(rows), "\n".join(texts))


def _counted(records: Records) -> tuple[str, str, str]:
    """How many blanks are wrong, how many of these are doubted, and how many of the right ones."""
    blanks = [one for blanks in values_at(records, "blanks") for one in blanks.values()]
    bad = [one["verdict"] != SURE for one in blanks if one["wrong"]]
    good = [one["verdict"] != SURE for one in blanks if not one["wrong"]]
    return str(len(bad)), str(sum(bad)), f"{sum(good)} of {len(good)}"


def _listed(record: dict[str, Any]) -> Sequence[str]:
    """Each blank of a run that is wrong."""
    return [
        f"{record['name']} {name}: wrong on {one['wrong']:.4f}, {one['verdict']}: {one['form'][:120]}"
        for name, one in record["result"]["blanks"].items()
        if one["wrong"]
    ]
