"""Heuristics and searches of the engine (`core/searching.cpp`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import Structure, byref, c_double, c_int32, c_int64, c_void_p
from math import inf
from typing import Any, Final, NamedTuple, final

import numpy as np

from pdsketch.budget import Budget, LimitError
from pdsketch.core.library import LIMITS, Array, Arrays, Owned, call, declare, function
from pdsketch.core.preparation import PreparedDraft, PreparedGoal
from pdsketch.core.task import Task

declare(
    {
        "pds_evaluator_new": (c_int32, [c_void_p] * 2 + [c_int32] * 2 + [c_void_p] * 2),
        "pds_evaluator_free": (None, [c_void_p]),
        "pds_evaluator_values": (c_int32, [c_void_p] * 2 + [c_int64] * 2 + [c_void_p] * 2),
        "pds_evaluator_preferred": (c_int64, [c_void_p] * 2 + [c_int64]),
        "pds_search_new": (c_int32, [c_void_p] * 2 + [c_int64] * 2 + [c_int32] + [c_void_p] * 3),
        "pds_search_free": (None, [c_void_p]),
        "pds_search_run": (c_int32, [c_void_p, c_double, c_void_p, c_void_p]),
        "pds_search_progress": (None, [c_void_p] * 2),
        "pds_search_result": (c_int32, [c_void_p] * 3),
        "pds_search_many": (c_int32, [c_void_p, c_int64] * 2 + [c_int32] * 2 + [c_void_p] * 3),
        "pds_plans_steps": (None, [c_void_p] * 2),
        "pds_plans_free": (None, [c_void_p]),
        "pds_search_nodes": (None, [c_void_p, c_int64, c_int64] + [c_void_p] * 5),
    }
)

ESTIMATES: Final = ("blind", "goalcount", "max", "add", "ff", "lmcut")
"""The heuristics in the order in which the library numbers them."""

PAUSED, SOLVED, EXHAUSTED, ENOUGH = range(4)
"""How far a search came: not to an end, to a plan, to the end of its states, to its limit of expansions."""

_FOREVER: Final = 1 << 62

_BRIEF: Final = 1 << 20
"""So many conditions are looked at in some milliseconds."""


def _size(task: Task) -> int:
    """About how many conditions an evaluation looks at, or how many items making it ready does."""
    rows = (task.preconditions, task.effects, task.conditions, task.heads, task.axiom_bodies)
    return sum(len(each.items) for each in rows) + task.n_facts


class _Phase(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("estimate", "lazy", "order")),
        *((name, c_double) for name in ("g_weight", "h_weight", "share", "work")),
        *((name, c_int64) for name in ("most_evaluations", "patience")),
    ]


class _Progress(Structure):
    _fields_ = [("counts", c_int64 * 9), ("best_h", c_double)]


class TaskSearchProgress(NamedTuple):
    """How far a search came, see `core/interface.h`."""

    expanded: int
    evaluated: int
    generated: int
    states: int
    bytes: int
    goal: int
    n_steps: int
    n_unreached: int
    phase: int
    best_h: float


class Phase(NamedTuple):
    """A search of a schedule: ``f = g_weight * g + h_weight * h``, lazy or not, by an ``estimate``.

    The next one begins after its ``most_evaluations``, its ``share`` of the expansions that are left to the
    schedule, about so much ``work`` (conditions of unary operators that were looked at), or a ``patience`` of
    evaluations without a lower h. For every ``order`` but 0 operators, and so ties, are
    shuffled.
    """

    estimate: str
    g_weight: float
    h_weight: float
    lazy: bool = False
    most_evaluations: int | None = None
    share: float = 1.0
    work: float = inf
    patience: int | None = None
    order: int = 0


def _phases(schedule: Sequence[Phase]) -> Any:
    """The phases as the library reads them."""
    rows = [
        _Phase(
            ESTIMATES.index(phase.estimate),
            phase.lazy,
            phase.order,
            phase.g_weight,
            phase.h_weight,
            phase.share,
            phase.work,
            _most(phase.most_evaluations),
            _most(phase.patience),
        )
        for phase in schedule
    ]
    return (_Phase * len(rows))(*rows)


def _most(limit: int | None) -> int:
    return _FOREVER if limit is None else max(0, limit)


class SearchColumns(NamedTuple):
    """Nodes of a search, column by column; ``status`` is 0 where open, 1 where expanded, 2 in dead ends."""

    parent: Array
    operator: Array
    g: Array
    h: Array
    status: Array


@final
class TaskEvaluator(Owned):
    """A heuristic of a ``task``, for any states of it. It holds room to work in: not for several threads.

    ``estimate`` is one of `ESTIMATES`. ``costs`` stand in for the task's; with ``per_effect``, conditional
    effects count as operators of their own. ``budget`` bounds the making.
    """

    def __init__(
        self, task: Task, estimate: str, costs: Array | None, *, per_effect: bool, budget: Budget
    ) -> None:
        super().__init__("pds_evaluator_free")
        own = Arrays()
        given, prices = own.task(task), None if costs is None else own.at(costs, np.float64)
        number, self._size, self._room = ESTIMATES.index(estimate), _size(task), len(task.costs)
        arguments = (byref(given), prices, number, per_effect, byref(self.handle))
        call("pds_evaluator_new", *arguments, budget=budget, brief=8 * self._size < _BRIEF)

    def values(self, states: Array, budget: Budget) -> Array:
        """The value of each state, ``[state, fact]``, of which the first are the task's basic facts."""
        own, values = Arrays(), np.empty(len(states))
        rows = (own.at(states, np.uint8), *states.shape, values.ctypes.data)
        brief = self._size * len(states) < _BRIEF
        call("pds_evaluator_values", self.handle, *rows, budget=budget, brief=brief)
        return values

    def preferred(self) -> Array:
        """The preferred operators of the state that was evaluated last."""
        found = np.empty(self._room, np.int32)
        count = function("pds_evaluator_preferred")(self.handle, found.ctypes.data, len(found))
        return found[:count]


@final
class Search(Owned):
    """A search for a plan of a ``task`` by a ``schedule``, made within ``budget``.

    All phases together take ``most_expansions``. ``costs`` stand in for the task's in the heuristic; with
    ``per_effect``, hFF counts each conditional effect as an operator of its own.
    """

    def __init__(
        self,
        task: Task,
        schedule: Sequence[Phase],
        budget: Budget,
        *,
        most_expansions: int | None = None,
        costs: Array | None = None,
        per_effect: bool = False,
    ) -> None:
        super().__init__("pds_search_free")
        own = Arrays()
        given, phases = own.task(task), _phases(schedule)
        prices = None if costs is None else own.at(costs, np.float64)
        self._size = _size(task)
        chosen = (byref(phases), len(phases), _most(most_expansions), per_effect, prices)
        brief = self._size < _BRIEF
        call("pds_search_new", byref(given), *chosen, byref(self.handle), budget=budget, brief=brief)

    def run(self, seconds: float, budget: Budget) -> int:
        """Go on for about so long; returns how far it came."""
        found = c_int32(PAUSED)
        brief = 8 * self._size < _BRIEF  # making the search is, and one step; then slices end
        call("pds_search_run", self.handle, seconds, byref(found), budget=budget, brief=brief)
        return found.value

    def progress(self) -> TaskSearchProgress:
        """What it took so far."""
        found = _Progress()
        function("pds_search_progress")(self.handle, byref(found))
        return TaskSearchProgress._make((*found.counts, found.best_h))

    def result(self) -> tuple[list[int], list[int]]:
        """The plan's operators, and the goal literals that even the relaxed task does not reach."""
        progress = self.progress()
        steps = np.empty(progress.n_steps, np.int32)
        unreached = np.empty(progress.n_unreached, np.int32)
        function("pds_search_result")(self.handle, steps.ctypes.data, unreached.ctypes.data)
        return steps.tolist(), unreached.tolist()

    def nodes(self, first: int, last: int) -> SearchColumns:
        """Some of the nodes that were met."""
        kinds = (np.int32, np.int32, np.float64, np.float64, np.uint8)
        columns = SearchColumns(*(np.empty(last - first, kind) for kind in kinds))
        places = (column.ctypes.data for column in columns)
        function("pds_search_nodes")(self.handle, first, last, *places)
        return columns


class _Posed(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("draft", "goal", "init")),
        *((name, c_int64) for name in ("n_init", "most_expansions")),
    ]


class Posed(NamedTuple):
    """A draft with a goal, from an initial state, and how many expansions its search may take."""

    draft: PreparedDraft
    goal: PreparedGoal
    init: Array
    most_expansions: int | None = None


class Solved(NamedTuple):
    """What came of it: the limit that ended the search, if one did; how far it came; a plan of the draft."""

    limit: type[LimitError] | None
    found: int
    expanded: int
    evaluated: int
    generated: int
    plan: list[int]


def search_many(
    posed: Sequence[Posed], schedule: Sequence[Phase], budget: Budget, *, threads: int, per_effect: bool
) -> list[Solved]:
    """Narrow each of the drafts that are ``posed`` and search it, by the same ``schedule``.

    What is found does not depend on the number of ``threads``, and ``budget`` bounds all of them together:
    what is found before a limit is reached is kept. ``per_effect`` is that of `Search`.
    """
    own, made = Arrays(), Owned("pds_plans_free")
    rows = [
        _Posed(
            each.draft.handle,
            ctypes.addressof(each.goal.given),
            own.at(each.init, np.uint8),
            len(each.init),
            _most(each.most_expansions),
        )
        for each in posed
    ]
    given, phases, found = (_Posed * len(rows))(*rows), _phases(schedule), np.empty((len(rows), 6), np.int64)
    chosen = (byref(phases), len(phases), per_effect, threads)
    places = (byref(made.handle), found.ctypes.data)
    call("pds_search_many", given, len(rows), *chosen, *places, budget=budget)
    steps = np.empty(int(found[:, 5].sum()), np.int32)
    function("pds_plans_steps")(made.handle, steps.ctypes.data)
    plans = np.split(steps, np.cumsum(found[:-1, 5]))
    return [
        Solved(LIMITS.get(ended), how, expanded, evaluated, generated, plan.tolist())
        for (ended, how, expanded, evaluated, generated, _), plan in zip(found.tolist(), plans, strict=True)
    ]
