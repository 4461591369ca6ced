"""A grounded task, run slowly and obviously."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from pdsketch.core import Task

State = frozenset[int]


def holds(literals, state: State) -> bool:
    return all((int(literal) >> 1 in state) == (literal % 2 == 0) for literal in literals)


def derived(task: Task, basic: State) -> State:
    """The basic facts of a state and everything that the axioms derive, layer by layer."""
    state = set(basic)
    for layer in sorted(set(task.axiom_layers.tolist())):
        rules = [a for a in range(len(task.axiom_heads)) if task.axiom_layers[a] == layer]
        changed = True
        while changed:
            changed = False
            for a in rules:
                if task.axiom_heads[a] not in state and holds(task.axiom_bodies[a], state):
                    state.add(int(task.axiom_heads[a]))
                    changed = True
    return frozenset(state)


def successor(task: Task, state: State, operator: int) -> State:
    fired = [e for e in task.effects[operator] if holds(task.conditions[e], state)]
    literals = [int(literal) for e in fired for literal in task.heads[e]]
    deleted = {literal >> 1 for literal in literals if literal % 2}
    added = {literal >> 1 for literal in literals if not literal % 2}
    basic = {f for f in state if f < task.n_basic}
    return derived(task, frozenset((basic - deleted) | added))


def initial(task: Task) -> State:
    return derived(task, frozenset(f for f in range(task.n_facts) if task.init[f]))


def optimum(task: Task, limit: int = 100_000) -> tuple[float | None, list[tuple[str, ...]]]:
    """The cost of the cheapest plan and such a plan; None and no plan if there is none."""
    ties = count()
    queue: list = [(0.0, next(ties), initial(task), ())]
    seen: set[State] = set()
    while queue and len(seen) < limit:
        paid, _, state, plan = heappop(queue)
        if state in seen:
            continue
        seen.add(state)
        if holds(task.goal, state):
            return paid, [task.operators[o] for o in plan]
        for o in range(len(task.operators)):
            if holds(task.preconditions[o], state):
                after = successor(task, state, o)
                if after not in seen:
                    heappush(queue, (paid + task.costs[o], next(ties), after, (*plan, o)))
    return None, []
