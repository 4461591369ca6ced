"""The search loops: one kernel that goes on until it has an answer or needs something from Python.

The kernel is a coroutine by hand. It cannot allocate, look at a clock or be interrupted; where that is needed
it returns an answer that says so, and Python calls it again with the same arrays (grown, if it asked for
that). All that it must remember in between is in `Buffers`, the nodes and the open lists, so that a call
goes on where the last one stopped, in the middle of an expansion, too.

Eager search (A*, weighted A*, greedy) takes a node from the open list and
evaluates each of its successors. Lazy greedy search takes an operator with the
state it is to be applied in, and evaluates the state only then; two open lists
take turns, one with all operators, one with the preferred ones, and progress
gives the second one `BOOST` turns (Richter & Helmert 2009).

Ties: A* and weighted A* order by f, then h; greedy searches by h; then first
in, first out, successors in the order of the tree of preconditions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.heuristics import Relaxation, Work, evaluate, is_goal
from pdsketch.kernels import Floats, Ints, Words, kernel
from pdsketch.search.packed.nodes import CLOSED, DEAD, OPEN, Nodes, find
from pdsketch.search.packed.queue import Queue, pop, push
from pdsketch.search.packed.successor_generator import SuccessorGenerator, applicable, apply
from pdsketch.task import Axioms, evaluate_axioms

# What a step answers. NEW stays inside of `advance`: a state to evaluate.
PAUSED, SOLVED, EXHAUSTED, GROW_NODES, GROW_TABLE, GROW_QUEUE, ENOUGH, STUCK, NEW = range(9)

BOOST = 1000
"""Turns of the preferred operators for each new lowest h, as in LAMA (Richter & Westphal 2010)."""

# What `Buffers.counters` holds. CURRENT is the node in expansion, -1 between two expansions.
COUNT, EXPANDED, EVALUATED, GENERATED, GOAL, CURRENT, NEXT, FOUND, TURN, PREFERRED_TURN, IMPROVED = range(11)
N_COUNTERS = 11


class KernelSettings(NamedTuple):
    """Which search: the heuristic's code, lazy or not, whether to open improved states again, the weights.

    After ``patience`` evaluations without a lower h the search is stuck. ``early``: a goal that would be the
    next to be expanded is not put into the open list first; all operators must cost the same.
    """

    heuristic: int
    lazy: bool
    reopen: bool
    g_weight: float
    h_weight: float
    most_expansions: int
    patience: int
    early: bool


class CompiledTask(NamedTuple):
    """What a search knows of its task."""

    generator: SuccessorGenerator
    axioms: Axioms
    relaxation: Relaxation
    work: Work
    init: Words


class Buffers(NamedTuple):
    """What a search holds between two calls, beside its nodes and open lists.

    ``state`` and ``after`` are unpacked states, derived facts included; ``found``
    lists the operators of the node at hand; ``best`` is the lowest h so far.
    """

    state: Words
    after: Words
    packed: Words
    found: Ints
    counters: NDArray[np.int64]
    best: Floats
    preferred_marks: NDArray[np.int64]


@kernel
def _unpack(packed: Words, axioms: Axioms, state: Words) -> None:
    """The state in full: basic facts from ``packed``, derived ones from the axioms."""
    for word in range(len(packed)):
        state[word] = packed[word]
    for word in range(len(packed), len(state)):
        state[word] = np.uint64(0)
    evaluate_axioms(axioms, state)


@kernel
def _add(nodes: Nodes, buffers: Buffers, slot: int, parent: int, operator: int) -> int:
    """A new node for the state in ``buffers.packed``."""
    node = buffers.counters[COUNT]
    buffers.counters[COUNT] += 1
    states, packed = nodes.states, buffers.packed
    for word in range(len(packed)):
        states[node, word] = packed[word]
    nodes.parent[node] = parent
    nodes.operator[node] = operator
    nodes.status[node] = OPEN
    nodes.table[slot] = node
    return node  # type: ignore[no-any-return]


@kernel
def _enqueue(settings: KernelSettings, nodes: Nodes, queue: Queue, node: int) -> None:
    h = nodes.h[node]
    key = settings.g_weight * nodes.g[node] + settings.h_weight * h
    push(queue, key, h if settings.g_weight > 0 else 0.0, node)


@kernel
def _first(task: CompiledTask, settings: KernelSettings, nodes: Nodes, buffers: Buffers) -> int:
    """Enter the initial state."""
    for word in range(len(buffers.packed)):
        buffers.packed[word] = task.init[word]
    node = _add(nodes, buffers, -find(nodes, buffers.packed) - 1, -1, -1)
    nodes.g[node] = 0.0
    return _met(task, settings, buffers)


@kernel
def _met(task: CompiledTask, settings: KernelSettings, buffers: Buffers) -> int:
    """The newest node, whose state is in ``buffers.packed``: write it out; greedy searches stop at a goal."""
    _unpack(buffers.packed, task.axioms, buffers.after)
    if settings.g_weight == 0 and is_goal(task.relaxation, buffers.after):
        buffers.counters[GOAL] = buffers.counters[COUNT] - 1
        return SOLVED
    return NEW


@kernel
def _take(task: CompiledTask, settings: KernelSettings, nodes: Nodes, queue: Queue, buffers: Buffers) -> int:
    """Remove the best open node and find its operators."""
    counters = buffers.counters
    while queue.counts[0] > 0:
        if counters[EXPANDED] >= settings.most_expansions:
            return ENOUGH
        node = pop(queue)
        if nodes.status[node] != OPEN:
            continue
        nodes.status[node] = CLOSED
        counters[EXPANDED] += 1
        _unpack(nodes.states[node], task.axioms, buffers.state)
        if settings.g_weight > 0 and is_goal(task.relaxation, buffers.state):
            counters[GOAL] = node
            return SOLVED
        counters[CURRENT] = node
        counters[NEXT] = 0
        counters[FOUND] = applicable(task.generator, buffers.state, buffers.found)
        return PAUSED
    return EXHAUSTED


@kernel
def _successor(
    task: CompiledTask, settings: KernelSettings, nodes: Nodes, queue: Queue, buffers: Buffers
) -> int:
    """Make the next successor of the current node."""
    counters = buffers.counters
    current = counters[CURRENT]
    operator = buffers.found[counters[NEXT]]
    counters[NEXT] += 1
    counters[GENERATED] += 1
    apply(task.generator, buffers.state, operator, buffers.packed)
    g = nodes.g[current] + task.generator.costs[operator]
    node = find(nodes, buffers.packed)
    if node >= 0:
        if settings.reopen and g < nodes.g[node] and nodes.status[node] != DEAD:
            nodes.g[node] = g
            nodes.parent[node] = current
            nodes.operator[node] = operator
            nodes.status[node] = OPEN
            _enqueue(settings, nodes, queue, node)
        return PAUSED
    node = _add(nodes, buffers, -node - 1, current, operator)
    nodes.g[node] = g
    return _met(task, settings, buffers)


@kernel
def _expand_lazily(
    task: CompiledTask, nodes: Nodes, queue: Queue, preferred: Queue, buffers: Buffers, node: int
) -> None:
    """Put all operators of the state in ``buffers.after`` into the open lists, with its h."""
    h = nodes.h[node]
    nodes.status[node] = CLOSED
    buffers.counters[EXPANDED] += 1
    mark = buffers.counters[EXPANDED]
    for i in range(task.work.counts[0]):
        buffers.preferred_marks[task.work.preferred[i]] = mark
    count = applicable(task.generator, buffers.after, buffers.found)
    for i in range(count):
        operator = buffers.found[i]
        item = (node << 32) | operator
        push(queue, h, 0.0, item)
        if buffers.preferred_marks[operator] == mark:
            push(preferred, h, 0.0, item)


@kernel
def _lazy_step(
    task: CompiledTask,
    settings: KernelSettings,
    nodes: Nodes,
    queue: Queue,
    preferred: Queue,
    buffers: Buffers,
) -> int:
    """Take an operator from one of the open lists and make its state."""
    counters = buffers.counters
    if preferred.counts[0] > 0 and (queue.counts[0] == 0 or counters[PREFERRED_TURN] <= counters[TURN]):
        counters[PREFERRED_TURN] += 1
        item = pop(preferred)
    elif queue.counts[0] > 0:
        counters[TURN] += 1
        item = pop(queue)
    else:
        return EXHAUSTED
    parent = item >> 32
    operator = item & 0xFFFFFFFF
    counters[GENERATED] += 1
    _unpack(nodes.states[parent], task.axioms, buffers.state)
    apply(task.generator, buffers.state, operator, buffers.packed)
    place = find(nodes, buffers.packed)
    if place >= 0:
        return PAUSED
    node = _add(nodes, buffers, -place - 1, parent, operator)
    nodes.g[node] = nodes.g[parent] + task.generator.costs[operator]
    return _met(task, settings, buffers)


@kernel
def _is_last(
    task: CompiledTask, settings: KernelSettings, nodes: Nodes, queue: Queue, buffers: Buffers, node: int
) -> bool:
    """Whether the newest node, in ``buffers.after``, is a goal that comes before all that may be open."""
    if buffers.counters[EXPANDED] >= settings.most_expansions or not is_goal(task.relaxation, buffers.after):
        return False
    key = settings.g_weight * nodes.g[node]
    if queue.counts[0] == 0 or key < queue.keys[0, 0]:
        return True
    return key == queue.keys[0, 0] and queue.keys[0, 1] > 0  # type: ignore[no-any-return]


@kernel
def advance(  # noqa: PLR0912
    task: CompiledTask,
    settings: KernelSettings,
    nodes: Nodes,
    queue: Queue,
    preferred: Queue,
    buffers: Buffers,
    budget: int,
) -> int:
    """Search until there is an answer, more room is needed, or after about ``budget`` evaluations."""
    counters = buffers.counters
    if budget == 0:  # only to be compiled
        return PAUSED
    enough = counters[EVALUATED] + budget
    steps = 64 * budget  # where few successors are new, the clock is looked at all the same
    width = len(buffers.found) if settings.lazy else 1
    while counters[EVALUATED] < enough and steps > 0:
        steps -= 1
        # Yield before a step for which there may be no room: nothing has changed yet, and it is done again.
        if counters[COUNT] >= len(nodes.g):
            return GROW_NODES
        if 2 * counters[COUNT] >= len(nodes.table):
            return GROW_TABLE
        if queue.counts[0] + width > len(queue.keys) or preferred.counts[0] + width > len(preferred.keys):
            return GROW_QUEUE
        if counters[COUNT] == 0:
            answer = _first(task, settings, nodes, buffers)
        elif settings.lazy:
            if counters[EXPANDED] >= settings.most_expansions:
                return ENOUGH
            answer = _lazy_step(task, settings, nodes, queue, preferred, buffers)
        elif counters[CURRENT] < 0:
            answer = _take(task, settings, nodes, queue, buffers)
        else:  # resume the expansion of CURRENT: NEXT of its FOUND operators have been applied
            answer = PAUSED
            if counters[NEXT] < counters[FOUND]:
                answer = _successor(task, settings, nodes, queue, buffers)
            if counters[NEXT] >= counters[FOUND]:
                counters[CURRENT] = -1
        if answer == NEW:
            node = counters[COUNT] - 1
            if settings.early and _is_last(task, settings, nodes, queue, buffers, node):
                counters[GOAL] = node
                return SOLVED
            h = evaluate(settings.heuristic, task.relaxation, task.work, buffers.after)
            counters[EVALUATED] += 1
            nodes.h[node] = h
            if h == np.inf:
                nodes.status[node] = DEAD
            elif settings.lazy:
                if h < buffers.best[0]:
                    counters[PREFERRED_TURN] -= BOOST
                _expand_lazily(task, nodes, queue, preferred, buffers, node)
            else:
                _enqueue(settings, nodes, queue, node)
            if h < buffers.best[0]:
                buffers.best[0] = h
                counters[IMPROVED] = counters[EVALUATED]
            elif counters[EVALUATED] - counters[IMPROVED] >= settings.patience:
                return STUCK
        elif answer != PAUSED:
            return answer
    return PAUSED
