"""Which derived facts depend on themselves."""

from __future__ import annotations

import numpy as np

from pdsketch.kernels import Ints
from pdsketch.lang import components as strongly_connected
from pdsketch.task import Task, depends_on_itself


def components(task: Task) -> Ints:
    """For each fact a number; two derived facts share one if each depends on the other.

    These are the strongly connected components over the positive literals of the bodies.
    """
    derived = np.arange(task.n_facts) >= task.n_basic
    if not depends_on_itself(task.axiom_heads, task.axiom_bodies, derived):
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
