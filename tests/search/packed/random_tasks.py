"""Random grounded tasks with negations, conditional effects, axioms and free operators; and their optima."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

import numpy as np
from hypothesis import strategies as st

from pdsketch.core import Task
from pdsketch.core.rows import csr_of


@st.composite
def tasks(draw, *, axioms=True):
    basic = draw(st.integers(1, 6))
    derived = draw(st.integers(0, 3)) if axioms else 0
    total = basic + derived

    def literals(below, most):
        return draw(st.lists(st.integers(0, 2 * below - 1), max_size=most, unique=True))

    operators, effects, conditions, heads, costs, pres = [], [], [], [], [], []
    for i in range(draw(st.integers(1, 6))):
        operators.append((f"o{i}",))
        pres.append(literals(total, 3))
        costs.append(draw(st.sampled_from([0, 1, 1, 2, 5, 0.5])))
        own = []
        for _ in range(draw(st.integers(0, 3))):
            own.append(len(conditions))
            conditions.append(literals(total, 2) if draw(st.booleans()) else [])
            heads.append(literals(basic, 3))
        effects.append(own)
    rules = []
    for d in range(derived):
        for _ in range(draw(st.integers(0, 2))):
            body = [x for x in literals(total, 3) if not (x >= 2 * (basic + d) and x & 1)]
            rules.append((d, basic + d, body))
    rules = _stratified(rules, basic)
    return Task(
        facts=tuple((f"f{i}",) for i in range(total)),
        n_basic=basic,
        init=np.array([draw(st.booleans()) for _ in range(basic)] + [False] * derived, np.bool_),
        goal=np.array(literals(total, 3), np.int32),
        operators=tuple(operators),
        costs=np.array(costs, np.float64),
        preconditions=csr_of(pres),
        effects=csr_of(effects),
        conditions=csr_of(conditions),
        heads=csr_of(heads),
        axiom_heads=np.array([head for _, head, _ in rules], np.int32),
        axiom_bodies=csr_of([body for _, _, body in rules]),
        axiom_layers=np.array([layer for layer, _, _ in rules], np.int32),
    )


def _stratified(rules, basic):
    """Rules whose layers rise with negation: a fact's layer is its number, unless a loop joins several."""
    derived = {head for _, head, _ in rules}
    layer = dict.fromkeys(derived, 0)
    for _ in range(2 * len(derived) + 2):
        for _, head, body in rules:
            for x in body:
                if x >> 1 in derived:
                    layer[head] = max(layer[head], layer[x >> 1] + (x & 1))
    if any(level > len(derived) for level in layer.values()):  # negation in a loop: leave negations out
        rules = [(d, h, [x for x in body if x < 2 * basic or not x & 1]) for d, h, body in rules]
        layer = dict.fromkeys(derived, 0)
    return sorted((layer[head], head, body) for _, head, body in rules)


def holds(x, state):
    return state[x >> 1] != bool(x & 1)


def closed(task, state):
    """The state with its derived facts, layer by layer."""
    state = list(state[: task.n_basic]) + [False] * (task.n_facts - task.n_basic)
    for layer in sorted(set(task.axiom_layers.tolist())):
        changed = True
        while changed:
            changed = False
            for rule in np.flatnonzero(task.axiom_layers == layer):
                head = task.axiom_heads[rule]
                if not state[head] and all(holds(x, state) for x in task.axiom_bodies[rule]):
                    state[head] = changed = True
    return tuple(bool(x) for x in state)


def successors(task, state):
    for operator in range(len(task.operators)):
        if all(holds(x, state) for x in task.preconditions[operator]):
            made = [
                int(x)
                for effect in task.effects[operator]
                if all(holds(c, state) for c in task.conditions[effect])
                for x in task.heads[effect]
            ]
            after = list(state)
            for x in sorted(made, key=lambda x: -(x & 1)):
                after[x >> 1] = not x & 1
            yield operator, closed(task, after)


def is_goal(task, state):
    return all(holds(x, state) for x in task.goal)


def optimum(task, state=None):
    """The cost of a cheapest plan from a state, or infinity."""
    ties = count()
    queue = [(0.0, next(ties), closed(task, task.init) if state is None else state)]
    done = set()
    while queue:
        paid, _, state = heappop(queue)
        if state in done:
            continue
        done.add(state)
        if is_goal(task, state):
            return paid
        for operator, after in successors(task, state):
            heappush(queue, (paid + task.costs[operator], next(ties), after))
    return np.inf


def replay(task, plan):
    """The cost of a plan; None if it is not one."""
    state, paid = closed(task, task.init), 0.0
    for operator in plan:
        options = dict(successors(task, state))
        if operator not in options:
            return None
        state, paid = options[operator], paid + task.costs[operator]
    return paid if is_goal(task, state) else None
