"""All states of a problem, explored through the reference semantics, with exact distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tests.strategies.exploration import changing_numbers, is_small, key
from tests.strategies.sample import Sample

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.semantics import EvaluationContext, apply_at, bind, encode
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr

Facts = dict[Any, Any]


@dataclass
class Graph:
    """States in the order of their cost, the cheapest first (Dijkstra).

    The first ``expanded`` states have ``edges`` (step, cost, state) and a truth of the
    ``goals``. ``complete``: these are all states. ``refused``: in some state some step
    has no meaning (assignments that disagree, a division by zero).
    """

    states: list[Facts]
    edges: list[list[tuple[Step, float, int]]] = field(default_factory=list)
    goals: list[bool] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[tuple[int, Step] | None] = field(default_factory=list)
    complete: bool = False
    refused: bool = False

    @property
    def expanded(self) -> int:
        return len(self.edges)

    @property
    def optimum(self) -> float | None:
        """What the cheapest plan costs; None: there is none among these states."""
        return next((self.costs[i] for i in range(self.expanded) if self.goals[i]), None)

    @property
    def plan(self) -> list[Step] | None:
        """A cheapest plan."""
        at = next((i for i in range(self.expanded) if self.goals[i]), None)
        if at is None:
            return None
        steps: list[Step] = []
        while (parent := self.parents[at]) is not None:
            at, step = parent
            steps.append(step)
        return steps[::-1]

    @property
    def outcome(self) -> str:
        """What kind of problem this is."""
        plan = self.plan
        if plan is None:
            return "unsolvable" if self.complete else "open"
        return "holds at once" if not plan else "one step" if len(plan) == 1 else "several steps"

    def judge(self, sample: Sample) -> None:
        """Ask for the goal of a sample, which may differ from the one that was explored in its goal alone."""
        world, goal = sample.world, sample.problem.goal
        self.goals = [
            bool(EvaluationContext(world, facts).value(goal, {})) for facts in self.states[: self.expanded]
        ]

    def holds_at_first(self, sample: Sample, formula: Expr) -> bool:
        """Whether a formula holds in the first state."""
        return bool(EvaluationContext(sample.world, self.states[0]).value(formula, {}))

    def distances(self, price: Callable[[float], float] = float) -> list[float]:
        """From each state of a complete graph the cost of a cheapest plan, infinite where there is none."""
        assert self.complete
        into: list[list[tuple[float, int]]] = [[] for _ in self.states]
        for i, edges in enumerate(self.edges):
            for _, cost, j in edges:
                into[j].append((price(cost), i))
        far = [math.inf] * len(self.states)
        queue = [(0.0, i) for i, goal in enumerate(self.goals) if goal]
        while queue:
            paid, j = heappop(queue)
            if paid >= far[j]:
                continue
            far[j] = paid
            for cost, i in into[j]:
                if paid + cost < far[i]:
                    heappush(queue, (paid + cost, i))
        return far


def explore(sample: Sample, limit: int) -> Graph:
    """The states of a sample, at most ``limit`` of them expanded. Large numbers are not followed."""
    world, problem = sample.world, sample.problem
    raw = {p.name for p in sample.domain.predicates.values() if p.role == "raw"}
    start = {fact: value for fact, value in encode(world, problem.init).items() if fact[0] not in raw}
    found = [start]
    numbers = {key(start): 0}
    paid, depth, parent = [0.0], [0], [None]
    order: list[int] = []
    edges: dict[int, list[tuple[Step, float, int]]] = {}
    ties = count()
    queue: list[tuple[float, int, int]] = [(0.0, next(ties), 0)]
    steps = [(step, sample.domain.actions[step[0]], bind(world, step)) for step in sample.steps]
    cut = refused = False
    changing = changing_numbers(sample.domain)
    while queue and len(order) < limit:
        so_far, _, i = heappop(queue)
        if i in edges:
            continue
        order.append(i)
        moment = EvaluationContext(world, found[i])
        edges[i] = []
        for step, action, bindings in steps:
            try:
                if not moment.value(action.precondition, bindings):
                    continue
                price = _price(problem.metric, action.cost, moment, bindings)
                after = apply_at(moment, step)
            except Error:
                refused = True
                continue
            if not is_small(after, changing):
                cut = True
                continue
            j = numbers.setdefault(key(after), len(found))
            if j == len(found):
                found.append(after)
                paid.append(math.inf)
                depth.append(0)
                parent.append(None)
            edges[i].append((step, price, j))
            if so_far + price < paid[j]:
                paid[j], depth[j], parent[j] = so_far + price, depth[i] + 1, (i, step)
                heappush(queue, (paid[j], next(ties), j))
    # Expanded states first, in the order of their cost.
    order += [i for i in range(len(found)) if i not in edges]
    place = {i: k for k, i in enumerate(order)}
    graph = Graph(
        states=[found[i] for i in order],
        edges=[[(s, c, place[j]) for s, c, j in edges[i]] for i in order if i in edges],
        costs=[paid[i] for i in order],
        depths=[depth[i] for i in order],
        parents=[None if (p := parent[i]) is None else (place[p[0]], p[1]) for i in order],
        complete=len(edges) == len(found) and not cut,
        refused=refused,
    )
    graph.judge(sample)
    return graph


def _price(metric: str, cost: Any, moment: EvaluationContext, bindings: Any) -> float:
    if metric != "cost":
        return 1.0
    return 0.0 if cost is None else float(moment.value(cost, bindings))
