"""Narrowed tasks searched in one call: what a search reads is made, and A* runs, in one compiled kernel.

For small tasks, making arrays ready one by one from Python takes longer than the search. What is made here
is what `prepare_axioms`, `make_successor_generator` and `relax` make, and the search is that of `advance`,
which ends as soon as it meets the goal that it would expand next.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pdsketch.budget import current
from pdsketch.heuristics import Rows, relax_narrowed, sort, work_of
from pdsketch.kernels import Bools, Ints, Longs, kernel, set_true
from pdsketch.search.packed.advance import (
    CURRENT,
    EVALUATED,
    EXPANDED,
    GENERATED,
    GOAL,
    GROW_NODES,
    GROW_QUEUE,
    GROW_TABLE,
    N_COUNTERS,
    Buffers,
    CompiledTask,
    KernelSettings,
    advance,
)
from pdsketch.search.packed.nodes import Nodes
from pdsketch.search.packed.queue import Queue
from pdsketch.search.packed.successor_generator import SuccessorGenerator, fill, merge, share
from pdsketch.task import Axioms, DraftRows, Narrowed, narrow

UNSOLVABLE: Final = 9
"""An answer beside those of `advance`: the goal is out of reach even in the relaxed task."""

_FIRST_ROOM: Final = 1 << 8
_MOST_ROOM: Final = 1 << 13
"""States that a search has room for: enough for most; then, as it begins anew, at most. Larger ones are for
the engine, which can grow. Set by hand."""


class Whole(NamedTuple):
    """The answer of a search, what it took, and the plan: operators of the draft."""

    answer: int
    expanded: int
    evaluated: int
    generated: int
    plan: list[int]


class _Searched(NamedTuple):
    """The same in arrays, and the conditions that were looked at."""

    answer: int
    expanded: int
    evaluated: int
    generated: int
    plan: Ints
    spent: float


@kernel
def axioms_of(task: Narrowed) -> Axioms:
    """The task's axioms, ready for `evaluate_axioms`."""
    n_facts, n_rules = len(task.kept), len(task.axiom_heads)
    starts = np.zeros(2 * n_facts + 1, np.int32)
    for literal in task.bodies:
        starts[literal + 1] += 1
    literals, n_literals = np.empty(2 * n_facts, np.int32), 0
    closed, n_closed = np.empty(n_facts, np.int32), 0
    for literal in range(2 * n_facts):
        if starts[literal + 1] > 0 and literal >> 1 < task.n_basic:
            literals[n_literals] = literal
            n_literals += 1
        elif starts[literal + 1] > 0 and literal & 1:
            closed[n_closed] = literal >> 1
            n_closed += 1
    for literal in range(2 * n_facts):
        starts[literal + 1] += starts[literal]
    items, at = np.empty(len(task.bodies), np.int32), starts.copy()
    sizes, empty, n_empty = np.empty(n_rules, np.int32), np.empty(n_rules, np.int32), 0
    layer_of, top = np.full(n_facts, -1, np.int32), 0
    for rule in range(n_rules):
        sizes[rule] = task.bodies_starts[rule + 1] - task.bodies_starts[rule]
        if sizes[rule] == 0:
            empty[n_empty] = rule
            n_empty += 1
        for i in range(task.bodies_starts[rule], task.bodies_starts[rule + 1]):
            items[at[task.bodies[i]]] = rule
            at[task.bodies[i]] += 1
        layer_of[task.axiom_heads[rule]] = task.axiom_layers[rule]
        top = max(top, task.axiom_layers[rule])
    # Those of each layer, the lowest first; facts that no rule derives are in layer -1.
    closed_starts, closed_items = np.zeros(top + 3, np.int32), np.empty(n_closed, np.int32)
    n_layers, count = 0, 0
    for layer in range(-1, top + 1):
        before = count
        for i in range(n_closed):
            if layer_of[closed[i]] == layer:
                closed_items[count] = closed[i]
                count += 1
        if count > before:
            n_layers += 1
            closed_starts[n_layers] = count
    return Axioms(
        task.n_basic,
        n_facts - task.n_basic,
        literals[:n_literals],
        starts,
        items,
        sizes,
        task.axiom_heads,
        empty[:n_empty],
        closed_starts[: n_layers + 1],
        closed_items,
        np.zeros(n_rules, np.int32),
        np.zeros(2 * n_facts + 1, np.int32),
    )


@kernel
def _ranked(task: Narrowed) -> tuple[Rows, Ints]:
    """Preconditions by the ranks of their literals, each sorted, and the literal of every rank."""
    counts = np.zeros(2 * len(task.kept), np.int64)
    for literal in task.preconditions:
        counts[literal] += 1
    keys, n = np.empty(len(counts), np.int64), 0
    for literal in range(len(counts)):
        if counts[literal] > 0:
            keys[n] = (np.int64(literal & 1) << 62) | (counts[literal] << 31) | literal
            n += 1
    sort(keys, 0, n)
    rank, literals = counts, np.empty(n, np.int32)
    for i in range(n):
        literals[i] = keys[i] & ((1 << 31) - 1)
        rank[literals[i]] = i
    items = np.empty(len(task.preconditions), np.int32)
    for i in range(len(items)):
        items[i] = rank[task.preconditions[i]]
    for op in range(len(task.chosen)):
        sort(items, task.preconditions_starts[op], task.preconditions_starts[op + 1])
    return (task.preconditions_starts, items), literals


@kernel
def generator_of(task: Narrowed) -> SuccessorGenerator:
    """The task's operators, ready for `applicable` and `apply`."""
    n_ops, n_facts = len(task.chosen), len(task.kept)
    rows, literals_of = _ranked(task)
    order, spare = np.arange(n_ops).astype(np.int32), np.empty(n_ops, np.int32)
    width = 1
    while width < n_ops:
        merge(rows[0], rows[1], order, spare, width)
        order, spare = spare, order
        width *= 2
    shared = np.zeros(n_ops, np.int32)
    share(rows[0], rows[1], order, shared)
    row_starts, longest, free = np.zeros(n_ops + 1, np.int32), 0, 0
    for i in range(n_ops):
        length = rows[0][order[i] + 1] - rows[0][order[i]]
        longest = max(longest, length)
        free += length == 0
        row_starts[i + 1] = row_starts[i] + length - shared[i] + 1
    literals = np.empty(len(rows[1]), np.int32)
    for i in range(len(literals)):
        literals[i] = literals_of[rows[1][i]]
    nodes, skips = np.empty(row_starts[n_ops], np.int32), np.empty(row_starts[n_ops], np.int32)
    for i in range(len(skips)):
        skips[i] = i + 1
    fill(rows[0], literals, order, shared, nodes, skips, np.empty(longest + 1, np.int32))
    roots, roots_end = np.zeros(n_facts, np.int32), np.zeros(n_facts, np.int32)
    negative = free
    for i in range(free, n_ops):
        first = literals[rows[0][order[i]]]
        if first & 1 == 0:
            if roots_end[first >> 1] == 0:
                roots[first >> 1] = row_starts[i]
            roots_end[first >> 1] = row_starts[i + 1]
            negative = i + 1
    spare_bits = np.uint64(task.n_basic & 63)
    one, none = np.uint64(1), np.uint64(0)
    return SuccessorGenerator(
        nodes,
        skips,
        free,
        roots,
        roots_end,
        # 64 bits, as from Python: `advance` and what it calls are compiled once for both.
        np.int64(row_starts[negative]),  # type: ignore[arg-type]
        task.effects_starts,
        task.effects,
        task.conditions_starts,
        task.conditions,
        task.heads_starts,
        task.heads,
        task.costs,
        (one << spare_bits) - one if spare_bits else ~none,
    )


@kernel
def work_for(task: Narrowed) -> int:
    """How many conditions an evaluation looks at: those of effects, and three times those of axioms.

    An axiom is a unary operator, and another for the negation of its head, which has its literals, too.
    """
    return 1 + len(task.conditions) + 3 * len(task.bodies)


@kernel
def _plan(task: Narrowed, nodes: Nodes, node: int) -> Ints:
    """The operators that lead to a node."""
    length, at = 0, node
    while at >= 0 and nodes.parent[at] >= 0:
        at = nodes.parent[at]
        length += 1
    found = np.empty(length, np.int32)
    while length > 0:
        length -= 1
        found[length] = task.chosen[nodes.operator[node]]
        node = nodes.parent[node]
    return found


@kernel
def _run(
    task: CompiledTask, settings: KernelSettings, room: int, basic: int, full: int
) -> tuple[int, Nodes, Longs]:
    """Search with room for so many states: the answer, the states and the counters."""
    n_ops = len(task.generator.costs)
    counters = np.zeros(N_COUNTERS, np.int64)
    counters[GOAL] = counters[CURRENT] = -1
    buffers = Buffers(
        np.zeros(full, np.uint64),
        np.zeros(full, np.uint64),
        np.zeros(basic, np.uint64),
        np.zeros(n_ops + 1, np.int32),
        counters,
        np.full(1, np.inf),
        np.full(n_ops + 1, -1, np.int64),
    )
    nodes = Nodes(
        np.empty((room, basic), np.uint64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float64),
        np.empty(room, np.float64),
        np.empty(room, np.int8),
        np.full(2 * room, -1, np.int32),
    )
    queue = Queue(np.empty((2 * room, 2)), np.empty((2 * room, 2), np.int64), np.zeros(2, np.int64))
    none = Queue(np.empty((1, 2)), np.empty((1, 2), np.int64), np.zeros(2, np.int64))
    return advance(task, settings, nodes, queue, none, buffers, 1 << 40), nodes, counters


@kernel
def _search_whole(
    rows: DraftRows, init: Bools, settings: KernelSettings, work: float, per_effect: bool
) -> _Searched:
    task = narrow(rows, init)
    if not task.solvable:
        return _Searched(UNSOLVABLE, 0, 0, 0, task.chosen[:0], 0.0)
    n_ops, n_facts = len(task.chosen), len(task.kept)
    most = min(settings.most_expansions, int(np.ceil(work / work_for(task))))
    basic = max(1, (task.n_basic + 63) // 64)
    full = max(1, (n_facts + 63) // 64)
    relaxation = relax_narrowed(task, per_effect)
    start = np.zeros(basic, np.uint64)
    for fact in range(task.n_basic):
        if task.init[fact]:
            set_true(fact, start)
    compiled = CompiledTask(
        generator_of(task), axioms_of(task), relaxation, work_of(relaxation, n_ops), start
    )
    limited = KernelSettings(
        settings.heuristic,
        False,
        settings.reopen,
        settings.g_weight,
        settings.h_weight,
        most,
        settings.patience,
        True,
    )
    room = _FIRST_ROOM
    while True:
        answer, nodes, counters = _run(compiled, limited, room, basic, full)
        if answer not in (GROW_NODES, GROW_TABLE, GROW_QUEUE) or room == _MOST_ROOM:
            break
        room = _MOST_ROOM
    return _Searched(
        answer,
        counters[EXPANDED],
        counters[EVALUATED],
        counters[GENERATED],
        _plan(task, nodes, counters[GOAL]),
        float(counters[EVALUATED] * work_for(task)),
    )


@kernel
def _search_each(
    rows: DraftRows, inits: Bools, settings: KernelSettings, work: float, per_effect: bool
) -> tuple[Longs, Ints]:
    """Search from one initial state after the other, until they have taken ``work`` together.

    Returns for each that it came to the answer, what it took, and where its plan ends among all operators.
    """
    found = np.empty((len(inits), 5), np.int64)
    plans, end, spent, count = np.empty(16 * len(inits), np.int32), 0, 0.0, 0
    while count < len(inits) and spent < work:
        one = _search_whole(rows, inits[count], settings, work, per_effect)
        if end + len(one.plan) > len(plans):
            longer = np.empty(2 * (end + len(one.plan)), np.int32)
            for i in range(end):
                longer[i] = plans[i]
            plans = longer
        for operator in one.plan:
            plans[end] = operator
            end += 1
        found[count, 0], found[count, 1], found[count, 2] = one.answer, one.expanded, one.evaluated
        found[count, 3], found[count, 4] = one.generated, end
        spent += one.spent
        count += 1
    return found[:count], plans[:end]


def search_whole(
    rows: DraftRows, inits: Bools, settings: KernelSettings, work: float, per_effect: bool
) -> list[Whole]:
    """Narrow a draft to initial states, ``[state, fact]``, and search each eagerly.

    What there is no room for is not finished. ``work`` bounds the expansions, too: those times the conditions
    of unary operators. The budget is asked whenever as much has been spent, on however many states.
    """
    budget, answers = current(), list[Whole]()
    while len(answers) < len(inits):
        budget.check()
        found, plans = _search_each(rows, inits[len(answers) :], settings, work, per_effect)
        at = 0
        for answer, expanded, evaluated, generated, end in found.tolist():
            answers.append(Whole(answer, expanded, evaluated, generated, plans[at:end].tolist()))
            at = end
    return answers
