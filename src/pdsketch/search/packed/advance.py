"""The search loops: one kernel that goes on until it has an answer or needs something from Python.

Eager search (A*, weighted A*, greedy) takes a node from the open list and
evaluates each of its successors. Lazy greedy search takes an operator with the
state it is to be applied in, and evaluates the state only then; two open lists
take turns, one with all operators, one with the preferred ones, and progress
gives the second one `BOOST` turns.

Ties: A* and weighted A* order by f, then h; greedy searches by h; then first
in, first out, successors in the order of the tree of preconditions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.heuristics.axioms import Axioms, evaluate_axioms
from pdsketch.heuristics.bits import Words
from pdsketch.heuristics.compiled import kernel
from pdsketch.heuristics.explore import Work
from pdsketch.heuristics.registry import evaluate, is_goal
from pdsketch.heuristics.relaxation import Relaxation
from pdsketch.search.packed.nodes import CLOSED, DEAD, OPEN, Nodes, find
from pdsketch.search.packed.operators import Operators, applicable, apply
from pdsketch.search.packed.queue import Queue, pop, push
from pdsketch.task.task import Floats, Ints

PAUSED, SOLVED, EXHAUSTED, GROW_NODES, GROW_TABLE, GROW_QUEUE, ENOUGH, STUCK, NEW = range(9)

BOOST = 1000

# What `Room.counters` counts.
COUNT, EXPANDED, EVALUATED, GENERATED, GOAL, CURRENT, NEXT, FOUND, TURN, PREFERRED_TURN, IMPROVED = range(11)
N_COUNTERS = 11


class Settings(NamedTuple):
    """Which search: the heuristic's code, lazy or not, whether to open improved states again, the weights.

    After ``patience`` evaluations without a lower h the search is stuck.
    """

    heuristic: int
    lazy: bool
    reopen: bool
    g_weight: float
    h_weight: float
    most_expansions: int
    patience: int


class Knowledge(NamedTuple):
    """What a search knows of its task."""

    operators: Operators
    axioms: Axioms
    relaxation: Relaxation
    work: Work
    init: Words


class Room(NamedTuple):
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
def _add(nodes: Nodes, room: Room, slot: int, parent: int, operator: int) -> int:
    """A new node for the state in ``room.packed``."""
    node = room.counters[COUNT]
    room.counters[COUNT] += 1
    nodes.states[node] = room.packed
    nodes.parent[node] = parent
    nodes.operator[node] = operator
    nodes.status[node] = OPEN
    nodes.table[slot] = node
    return node  # type: ignore[no-any-return]


@kernel
def _enqueue(settings: Settings, nodes: Nodes, queue: Queue, node: int) -> None:
    h = nodes.h[node]
    key = settings.g_weight * nodes.g[node] + settings.h_weight * h
    push(queue, key, h if settings.g_weight > 0 else 0.0, node)


@kernel
def _first(know: Knowledge, settings: Settings, nodes: Nodes, room: Room) -> int:
    """Enter the initial state."""
    room.packed[:] = know.init
    node = _add(nodes, room, -find(nodes, room.packed) - 1, -1, -1)
    nodes.g[node] = 0.0
    return _met(know, settings, room)


@kernel
def _met(know: Knowledge, settings: Settings, room: Room) -> int:
    """The newest node, whose state is in ``room.packed``: write it out; greedy searches stop at a goal."""
    _unpack(room.packed, know.axioms, room.after)
    if settings.g_weight == 0 and is_goal(know.relaxation, room.after):
        room.counters[GOAL] = room.counters[COUNT] - 1
        return SOLVED
    return NEW


@kernel
def _take(know: Knowledge, settings: Settings, nodes: Nodes, queue: Queue, room: Room) -> int:
    """Remove the best open node and find its operators."""
    counters = room.counters
    while queue.counts[0] > 0:
        if counters[EXPANDED] >= settings.most_expansions:
            return ENOUGH
        node = pop(queue)
        if nodes.status[node] != OPEN:
            continue
        nodes.status[node] = CLOSED
        counters[EXPANDED] += 1
        _unpack(nodes.states[node], know.axioms, room.state)
        if settings.g_weight > 0 and is_goal(know.relaxation, room.state):
            counters[GOAL] = node
            return SOLVED
        counters[CURRENT] = node
        counters[NEXT] = 0
        counters[FOUND] = applicable(know.operators, room.state, room.found)
        return PAUSED
    return EXHAUSTED


@kernel
def _successor(know: Knowledge, settings: Settings, nodes: Nodes, queue: Queue, room: Room) -> int:
    """Make the next successor of the current node."""
    counters = room.counters
    current = counters[CURRENT]
    operator = room.found[counters[NEXT]]
    counters[NEXT] += 1
    counters[GENERATED] += 1
    apply(know.operators, room.state, operator, room.packed)
    g = nodes.g[current] + know.operators.costs[operator]
    node = find(nodes, room.packed)
    if node >= 0:
        if settings.reopen and g < nodes.g[node] and nodes.status[node] != DEAD:
            nodes.g[node] = g
            nodes.parent[node] = current
            nodes.operator[node] = operator
            nodes.status[node] = OPEN
            _enqueue(settings, nodes, queue, node)
        return PAUSED
    node = _add(nodes, room, -node - 1, current, operator)
    nodes.g[node] = g
    return _met(know, settings, room)


@kernel
def _expand_lazily(
    know: Knowledge, nodes: Nodes, queue: Queue, preferred: Queue, room: Room, node: int
) -> None:
    """Put all operators of the state in ``room.after`` into the open lists, with its h."""
    h = nodes.h[node]
    nodes.status[node] = CLOSED
    room.counters[EXPANDED] += 1
    mark = room.counters[EXPANDED]
    for i in range(know.work.counts[0]):
        room.preferred_marks[know.work.preferred[i]] = mark
    count = applicable(know.operators, room.after, room.found)
    for i in range(count):
        operator = room.found[i]
        item = (node << 32) | operator
        push(queue, h, 0.0, item)
        if room.preferred_marks[operator] == mark:
            push(preferred, h, 0.0, item)


@kernel
def _lazy_step(
    know: Knowledge, settings: Settings, nodes: Nodes, queue: Queue, preferred: Queue, room: Room
) -> int:
    """Take an operator from one of the open lists and make its state."""
    counters = room.counters
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
    _unpack(nodes.states[parent], know.axioms, room.state)
    apply(know.operators, room.state, operator, room.packed)
    place = find(nodes, room.packed)
    if place >= 0:
        return PAUSED
    node = _add(nodes, room, -place - 1, parent, operator)
    nodes.g[node] = nodes.g[parent] + know.operators.costs[operator]
    return _met(know, settings, room)


@kernel
def advance(  # noqa: PLR0912
    know: Knowledge,
    settings: Settings,
    nodes: Nodes,
    queue: Queue,
    preferred: Queue,
    room: Room,
    budget: int,
) -> int:
    """Search until there is an answer, more room is needed, or after about ``budget`` evaluations."""
    counters = room.counters
    if budget == 0:
        return PAUSED
    enough = counters[EVALUATED] + budget
    steps = 64 * budget
    width = len(room.found) if settings.lazy else 1
    while counters[EVALUATED] < enough and steps > 0:
        steps -= 1
        if counters[COUNT] >= len(nodes.g):
            return GROW_NODES
        if 2 * counters[COUNT] >= len(nodes.table):
            return GROW_TABLE
        if queue.counts[0] + width > len(queue.keys) or preferred.counts[0] + width > len(preferred.keys):
            return GROW_QUEUE
        if counters[COUNT] == 0:
            answer = _first(know, settings, nodes, room)
        elif settings.lazy:
            if counters[EXPANDED] >= settings.most_expansions:
                return ENOUGH
            answer = _lazy_step(know, settings, nodes, queue, preferred, room)
        elif counters[CURRENT] < 0:
            answer = _take(know, settings, nodes, queue, room)
        else:
            answer = PAUSED
            if counters[NEXT] < counters[FOUND]:
                answer = _successor(know, settings, nodes, queue, room)
            if counters[NEXT] >= counters[FOUND]:
                counters[CURRENT] = -1
        if answer == NEW:
            node = counters[COUNT] - 1
            h = evaluate(settings.heuristic, know.relaxation, know.work, room.after)
            counters[EVALUATED] += 1
            nodes.h[node] = h
            if h == np.inf:
                nodes.status[node] = DEAD
            elif settings.lazy:
                if h < room.best[0]:
                    counters[PREFERRED_TURN] -= BOOST
                _expand_lazily(know, nodes, queue, preferred, room, node)
            else:
                _enqueue(settings, nodes, queue, node)
            if h < room.best[0]:
                room.best[0] = h
                counters[IMPROVED] = counters[EVALUATED]
            elif counters[EVALUATED] - counters[IMPROVED] >= settings.patience:
                return STUCK
        elif answer != PAUSED:
            return answer
    return PAUSED
