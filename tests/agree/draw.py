"""Random cases that are worth asking about: with something to search, and goals of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tests.agree.case import Case
from tests.agree.graph import Facts, Graph, explore
from tests.strategies.choices import Choices, Seeded
from tests.strategies.oracle import told
from tests.strategies.sample import Sample

from pdsketch.lang.load import parse_goal

Make = Callable[[Choices], Sample]
"""Makes a sample with the goal `OPEN`, which is chosen once its states are known."""

OPEN = "(and)"
TRIES = 3
LIVELY = 4
"""So many states are enough to search."""


def draw(kind: str, make: Make, seed: int, limit: int, goals: int) -> Case:
    """The case of a seed; so many cases in a row have one domain and state, and differ in their goals."""
    sample, explored = _drawn(make, seed // goals, limit)
    graph = replace(explored)
    sample = with_goal(sample, _goal(Seeded(-seed - 1), sample, graph))
    graph.judge(sample)
    case = Case(kind, sample, limit)
    case.__dict__["graph"] = graph
    return case


@lru_cache(maxsize=1)
def _drawn(make: Make, seed: int, limit: int) -> tuple[Sample, Graph]:
    """Of a few samples, the first in which something happens, and its states."""
    for attempt in range(TRIES):
        sample = make(Seeded(seed * TRIES + attempt))
        graph = explore(sample, limit)
        if len(graph.states) >= LIVELY:
            break
    return sample, graph


def with_goal(sample: Sample, goal: str) -> Sample:
    """The sample with a goal in the place of the open one."""
    before, _, behind = sample.problem_text.rpartition(OPEN)
    changed = replace(sample, problem_text=f"{before}{goal}{behind}")
    changed.__dict__["domain"] = sample.domain
    return changed


def _goal(chance: Choices, sample: Sample, graph: Graph) -> str:
    """A goal: that something is as in a state far away, a formula, or what seems possible and may not be."""
    states = graph.states[: graph.expanded]
    kind = chance.number(0, 9)
    if kind < 5 and len(states) > 1:
        return _as_in(chance, sample, states[0], [chance.pick(states[len(states) // 2 :])])
    if kind < 7 and len(states) > 1:
        return _as_in(chance, sample, states[0], [chance.pick(states), chance.pick(states)])
    formulas = chance.some(sample.formulas, len(sample.formulas), len(sample.formulas), unique=True)
    if kind < 9:
        for text in formulas:
            if not graph.holds_at_first(sample, parse_goal(text, sample.problem)):
                return text
    return formulas[0]


def _as_in(chance: Choices, sample: Sample, first: Facts, targets: list[Facts]) -> str:
    """Some of what is different in some states, but for what the goal holds already."""
    held = sample.problem_text.rpartition("(:goal")[2]
    parts = []
    for target in targets:
        changed = [fact for fact in {**first, **target} if first.get(fact, False) != target.get(fact, False)]
        different = [fact for fact in changed if told(fact, True) not in held]
        picked = chance.some(different, min(1, len(different)), 4, unique=True) if different else []
        parts += [told(fact, target.get(fact, False)) for fact in picked]
    return f"(and {' '.join(parts)})"
