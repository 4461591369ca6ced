"""Which derived facts depend on themselves."""

from __future__ import annotations

import numpy as np

from pdsketch.kernels.arrays import Ints
from pdsketch.kernels.csr import owners_of
from pdsketch.lang.analysis import components as strongly_connected
from pdsketch.task.task import Task


def components(task: Task) -> Ints:
    """For each fact a number; two derived facts share one if each depends on the other.

    These are the strongly connected components over the positive literals of the bodies.
    """
    if not _depends_on_itself(task):
        return np.arange(task.n_facts, dtype=np.int32)
    below: dict[int, list[int]] = {}
    for rule, head in enumerate(task.axiom_heads.tolist()):
        body = task.axiom_bodies[rule].tolist()
        below.setdefault(head, []).extend(x >> 1 for x in body if not x & 1 and x >> 1 >= task.n_basic)
    number = list(range(task.n_facts))
    for members in strongly_connected(below):
        for member in members:
            number[member] = members[0]
    return np.array(number, np.int32)


def _depends_on_itself(task: Task) -> bool:
    """Whether some derived fact does: those that wait for no other are taken away, again and again."""
    owners, items = owners_of(task.axiom_bodies), task.axiom_bodies.items
    derived = (items & 1 == 0) & (items >> 1 >= task.n_basic)
    heads, bodies = task.axiom_heads[owners[derived]], items[derived] >> 1
    while len(heads):
        waits = np.zeros(task.n_facts, np.bool_)
        waits[heads] = True
        left = waits[bodies]
        if left.all():
            return True
        heads, bodies = heads[left], bodies[left]
    return False
