"""Which derived facts depend on themselves."""

from __future__ import annotations

from pdsketch.task.task import Task


def components(task: Task) -> list[int]:
    """For each fact a number; two derived facts share one if each depends on the other.

    Tarjan's algorithm without recursion, over the positive literals of the bodies.
    """
    below: dict[int, list[int]] = {}
    for rule, head in enumerate(task.axiom_heads.tolist()):
        body = task.axiom_bodies[rule].tolist()
        below.setdefault(head, []).extend(x >> 1 for x in body if not x & 1 and x >> 1 >= task.n_basic)
    number = list(range(task.n_facts))
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    for root, reads in below.items():
        if root in index:
            continue
        walk = [(root, iter(reads))]
        index[root] = low[root] = len(index)
        open_.append(root)
        is_open.add(root)
        while walk:
            fact, rest = walk[-1]
            for next_ in rest:
                if next_ not in index:
                    index[next_] = low[next_] = len(index)
                    open_.append(next_)
                    is_open.add(next_)
                    walk.append((next_, iter(below.get(next_, ()))))
                    break
                if next_ in is_open:
                    low[fact] = min(low[fact], index[next_])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[fact])
                if low[fact] == index[fact]:
                    while True:
                        member = open_.pop()
                        is_open.discard(member)
                        number[member] = fact
                        if member == fact:
                            break
    return number
