"""The relaxed exploration: hmax and hadd of all propositions, and the relaxed plan of hFF.

hmax and hadd are Bonet & Geffner's (2001), hFF is Hoffmann & Nebel's (2001), with supporters by hadd.
Propositions are settled in the order of their cost, as in Dijkstra's algorithm.
Small costs wait in buckets (last in, first out), large ones in a binary heap. A
unary operator is triggered when its last condition is settled. The exploration
ends when all goals are settled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdsketch.heuristics.relaxation import COUNT_BITS, Relaxation
from pdsketch.kernels import ONE, Indices, Ints, Longs, Words, all_hold, holds, kernel, lowest
from pdsketch.task import Task

BUCKETS = 1024
UNREACHED = 1 << 40
_COUNT = (1 << COUNT_BITS) - 1
_KEY_BITS = 24

# Costs stop growing at `_CAP`; so does the state of an operator, which adds them up, at `_FULL`. The state
# and the cost of one more condition are together less than the largest int, and the cost in a state that is
# full is more than `_CAP`.
_CAP = 1 << 38
_FULL = 1 << 61


class Work(NamedTuple):
    """Room for explorations of one relaxation; it is used again for every state.

    ``cost`` and ``supporter`` (the unary operator that made it cheapest, -1 for
    what held already) are the result, by proposition. ``preferred`` starts with
    the preferred operators of the last state; ``counts`` holds their number, the
    number of the current evaluation, and the length of the heap.
    """

    state: Longs
    cost: Longs
    supporter: Ints
    buckets: Ints
    entry: Indices
    next: Ints
    heap: Longs
    stack: Indices
    proposition_marks: Longs
    group_marks: Longs
    operator_marks: Longs
    preferred: Ints
    counts: Longs


def make_work(task: Task, relaxation: Relaxation) -> Work:
    """Room for explorations of ``relaxation``."""
    propositions = len(relaxation.is_goal)
    entries = propositions + len(relaxation.heads) + 1
    groups = int(relaxation.group.max(initial=0)) + 1
    return Work(
        state=relaxation.initial.copy(),
        cost=np.zeros(propositions, np.int64),
        supporter=np.zeros(propositions, np.int32),
        buckets=np.full(BUCKETS, -1, np.int32),
        entry=np.zeros(entries, np.uint32),
        next=np.zeros(entries, np.int32),
        heap=np.zeros(entries, np.int64),
        stack=np.zeros(propositions + 1, np.uint32),
        proposition_marks=np.zeros(propositions, np.int64),
        group_marks=np.zeros(groups, np.int64),
        operator_marks=np.zeros(len(task.operators) + 1, np.int64),
        preferred=np.zeros(len(task.operators) + 1, np.int32),
        counts=np.zeros(3, np.int64),
    )


@kernel
def _heap_push(heap: Longs, size: int, key: int) -> None:
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key


@kernel
def _heap_pop(heap: Longs, size: int) -> int:
    top = heap[0]
    key = heap[size - 1]
    size -= 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return top  # type: ignore[no-any-return]


@kernel
def _enqueue(
    lists: tuple[Ints, Indices, Ints, Longs], head: int, charge: int, used: int, waiting: int, top: int
) -> tuple[int, int, int]:
    """Put a proposition into the bucket of its cost, or into the heap if that is large.

    ``used`` entries of buckets and ``waiting`` ones of the heap are taken, ``top`` is the last bucket that is
    not empty; returns them as they are then.
    """
    buckets, entry, link, heap = lists
    if charge < BUCKETS:
        entry[used] = head
        link[used] = buckets[charge]
        buckets[charge] = used
        return used + 1, waiting, max(top, charge)
    _heap_push(heap, waiting, (charge << _KEY_BITS) | head)
    return used, waiting + 1, top


@kernel
def _start(relaxation: Relaxation, work: Work, state: Words) -> int:
    """Put what holds in the state into the first bucket; returns the number of entries used."""
    positive, cost, entry, link = relaxation.positive, work.cost, work.entry, work.next
    used = 0
    for word in range(len(state)):
        bits = state[word]
        while bits != 0:
            fact = word * 64 + lowest(bits)
            bits &= bits - ONE
            proposition = positive[fact]
            if proposition >= 0:
                cost[proposition] = 0
                entry[used] = proposition
                link[used] = used - 1
                used += 1
    for fact in relaxation.negated:
        if not holds(2 * fact, state):
            proposition = relaxation.negative[fact]
            cost[proposition] = 0
            entry[used] = proposition
            link[used] = used - 1
            used += 1
    work.buckets[0] = used - 1
    return used


@kernel
def explore(relaxation: Relaxation, work: Work, state: Words, maximum: bool) -> bool:  # noqa: PLR0912, PLR0915
    """Compute the costs of propositions until all goals have theirs; False if some goal has none.

    ``maximum`` chooses hmax over hadd. ``state`` holds derived facts, too.
    """
    operators, cost, supporter = work.state, work.cost, work.supporter
    buckets, entry, link = work.buckets, work.entry, work.next
    lists = (buckets, entry, link, work.heap)
    uses_starts, uses = relaxation.uses_starts, relaxation.uses
    edges_starts, edges = relaxation.edges_starts, relaxation.edges
    heads_starts, heads, is_goal = relaxation.heads_starts, relaxation.heads, relaxation.is_goal
    initial = relaxation.initial
    for i in range(len(initial)):
        operators[i] = initial[i]
    cost[:] = UNREACHED
    supporter[:] = -1
    left = len(relaxation.goal)
    if left == 0:
        return True
    used = _start(relaxation, work, state)
    waiting = 0
    top = 0
    for unary in relaxation.free:
        charge = relaxation.base[unary]
        for j in range(heads_starts[unary], heads_starts[unary + 1]):
            head = heads[j]
            if charge < cost[head]:
                cost[head] = charge
                supporter[head] = unary
                used, waiting, top = _enqueue(lists, head, charge, used, waiting, top)
    now = 0
    while True:
        while now <= top and buckets[now] < 0:
            now += 1
        if now <= top:
            at = buckets[now]
            buckets[now] = link[at]
            proposition = entry[at]
            price = now
        elif waiting > 0:
            key = _heap_pop(work.heap, waiting)
            waiting -= 1
            proposition = np.uint32(key & ((1 << _KEY_BITS) - 1))
            price = key >> _KEY_BITS
        else:
            return False
        if cost[proposition] < price:
            continue
        if is_goal[proposition]:
            left -= 1
            if left == 0:
                for i in range(now, min(top, BUCKETS - 1) + 1):
                    buckets[i] = -1
                return True
        for i in range(edges_starts[proposition], edges_starts[proposition + 1]):
            head = edges[i, 0]
            charge = min(price + edges[i, 2], _CAP)
            if charge < cost[head]:
                cost[head] = charge
                supporter[head] = edges[i, 1]
                used, waiting, top = _enqueue(lists, head, charge, used, waiting, top)
        step = -1 if maximum else (price << COUNT_BITS) - 1
        for i in range(uses_starts[proposition], uses_starts[proposition + 1]):
            unary = uses[i]
            now_left = operators[unary] + step
            if now_left > _FULL:
                now_left = _FULL | (now_left & _COUNT)
            operators[unary] = now_left
            if now_left & _COUNT == 0:
                charge = now_left >> COUNT_BITS
                if maximum:
                    charge += price
                charge = min(charge, _CAP)
                for j in range(heads_starts[unary], heads_starts[unary + 1]):
                    head = heads[j]
                    if charge < cost[head]:
                        cost[head] = charge
                        supporter[head] = unary
                        used, waiting, top = _enqueue(lists, head, charge, used, waiting, top)


@kernel
def relaxed_plan(relaxation: Relaxation, work: Work, state: Words) -> int:
    """The cost of the relaxed plan that the supporters make up, after an exploration with hadd.

    Collects in ``work.preferred`` its operators that can be applied in ``state``.
    """
    counts, stack = work.counts, work.stack
    counts[1] += 1
    mark = counts[1]
    goal, marks = relaxation.goal, work.proposition_marks
    size = len(goal)
    for i in range(size):
        stack[i] = goal[i]
        marks[goal[i]] = mark
    total = 0
    found = 0
    while size > 0:
        size -= 1
        unary = work.supporter[stack[size]]
        if unary < 0:
            continue
        part = relaxation.group[unary]
        if part >= 0 and work.group_marks[part] != mark:
            work.group_marks[part] = mark
            total += relaxation.base[unary]
        ready = True
        for i in range(relaxation.conditions_starts[unary], relaxation.conditions_starts[unary + 1]):
            condition = relaxation.conditions[i]
            if work.cost[condition] != 0:
                ready = False
            if work.proposition_marks[condition] != mark:
                work.proposition_marks[condition] = mark
                stack[size] = condition
                size += 1
        operator = relaxation.owner[unary]
        if ready and operator >= 0 and work.operator_marks[operator] != mark:
            first, end = (
                relaxation.preconditions_starts[operator],
                relaxation.preconditions_starts[operator + 1],
            )
            if all_hold(relaxation.preconditions, first, end, state):
                work.operator_marks[operator] = mark
                work.preferred[found] = operator
                found += 1
    counts[0] = found
    return total
