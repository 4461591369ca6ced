"""States of a task, one at a time, and their heuristics (`core/searching.cpp`, `core/preparation.cpp`)."""

from __future__ import annotations

from ctypes import byref, c_int32, c_int64, c_void_p
from typing import Final, final

import numpy as np

from pdsketch.budget import UNLIMITED, Budget
from pdsketch.core.library import Arrays, Owned, call, declare, function
from pdsketch.core.preparation import structure_of
from pdsketch.core.rows import Bools, Floats, Ints
from pdsketch.core.searching import ESTIMATES, size_of
from pdsketch.core.task import Task

declare(
    {
        "pds_evaluator_new": (c_int32, [c_void_p] * 2 + [c_int32] * 2 + [c_void_p] * 2),
        "pds_evaluator_free": (None, [c_void_p]),
        "pds_evaluator_values": (c_int32, [c_void_p] * 2 + [c_int64] * 2 + [c_void_p] * 2),
        "pds_evaluator_preferred": (c_int64, [c_void_p] * 2 + [c_int64]),
        "pds_states_new": (c_int32, [c_void_p] * 3),
        "pds_states_free": (None, [c_void_p]),
        "pds_states_derive": (c_int32, [c_void_p] * 3),
        "pds_states_applicable": (c_int32, [c_void_p] * 5),
        "pds_states_apply": (c_int32, [c_void_p, c_int32, c_void_p, c_void_p]),
    }
)

_BRIEF: Final = 1 << 20
"""So many conditions are looked at in some milliseconds."""


@final
class TaskEvaluator(Owned):
    """A heuristic of a ``task``, for any states of it. It holds room to work in: not for several threads.

    ``estimate`` is one of `ESTIMATES`. ``costs`` stand in for the task's; with ``per_effect``, conditional
    effects count as operators of their own. ``budget`` bounds the making.
    """

    def __init__(
        self, task: Task, estimate: str, costs: Floats | None, *, per_effect: bool, budget: Budget
    ) -> None:
        super().__init__("pds_evaluator_free")
        own = Arrays()
        given, prices = structure_of(task, own), None if costs is None else own.at(costs, "d")
        number, self._size, self._room = ESTIMATES.index(estimate), size_of(given), len(task.costs)
        arguments = (byref(given), prices, number, per_effect, byref(self.handle))
        call("pds_evaluator_new", *arguments, budget=budget, brief=8 * self._size < _BRIEF)

    def values(self, states: Bools, budget: Budget) -> Floats:
        """The value of each state, ``[state, fact]``, of which the first are the task's basic facts."""
        own, values = Arrays(), np.empty(len(states))
        rows = (own.at(states, "B"), *states.shape, values.ctypes.data)
        brief = self._size * len(states) < _BRIEF
        call("pds_evaluator_values", self.handle, *rows, budget=budget, brief=brief)
        return values

    def preferred(self) -> Ints:
        """The preferred operators of the state that was evaluated last."""
        found = np.empty(self._room, np.int32)
        count = function("pds_evaluator_preferred")(self.handle, found.ctypes.data, len(found))
        return found[:count]


@final
class States(Owned):
    """The states of a task, one at a time: the truth of all facts, derived ones included."""

    def __init__(self, task: Task, budget: Budget = UNLIMITED) -> None:
        super().__init__("pds_states_free")
        own = Arrays()
        self._n_basic, self._n_facts, self._n_operators = task.n_basic, task.n_facts, len(task.costs)
        given = structure_of(task, own)
        call("pds_states_new", byref(given), byref(self.handle), budget=budget)

    def derived(self, basic: Bools) -> Bools:
        """All facts, of which the basic ones are given, the first of an array."""
        facts = np.zeros(self._n_facts, np.bool_)
        facts[: self._n_basic] = basic[: self._n_basic]
        call("pds_states_derive", self.handle, facts.ctypes.data, brief=True)
        return facts

    def applicable(self, facts: Bools) -> Ints:
        """The operators whose preconditions hold."""
        found, n = np.empty(self._n_operators, np.int32), c_int64()
        own = Arrays()
        given = own.at(facts, "B")
        call("pds_states_applicable", self.handle, given, found.ctypes.data, byref(n), brief=True)
        return found[: n.value]

    def successor(self, facts: Bools, operator: int) -> Bools:
        """All facts after an operator, whose precondition is taken to hold."""
        after = np.array(facts, np.bool_)
        call("pds_states_apply", self.handle, operator, after.ctypes.data, brief=True)
        return after
