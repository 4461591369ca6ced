"""Searches of the engine (`core/searching.cpp`)."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from ctypes import Structure, byref, c_double, c_int32, c_int64, c_void_p
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from pdsketch.budget import Budget, LimitError
from pdsketch.core.joining import GroundDraft
from pdsketch.core.library import LIMITS, Arrays, Owned, RowsStructure, TaskStructure, call, declare, function
from pdsketch.core.preparation import Narrowed, PreparedDraft, PreparedGoal, structure_of
from pdsketch.core.task import Task

if TYPE_CHECKING:
    from pdsketch.core.rows import Bools

declare(
    {
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


def size_of(task: TaskStructure) -> int:
    """About how many conditions an evaluation looks at, or how many items making it ready does."""
    rows = (task.preconditions, task.effects, task.conditions, task.heads, task.axiom_bodies)
    return sum(map(_items, rows)) + int(task.n_facts)


def _items(rows: RowsStructure) -> int:
    return int(ctypes.cast(rows.starts, ctypes.POINTER(c_int32))[rows.n])


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

    parent: array[int]
    operator: array[int]
    g: array[float]
    h: array[float]
    status: array[int]


@final
class Search(Owned):
    """A search for a plan of a ``task`` by a ``schedule``, made within ``budget``.

    All phases together take ``most_expansions``. ``costs`` stand in for the task's in the heuristic; with
    ``per_effect``, hFF counts each conditional effect as an operator of its own.
    """

    def __init__(
        self,
        task: Task | Narrowed,
        schedule: Sequence[Phase],
        budget: Budget,
        *,
        most_expansions: int | None = None,
        costs: array[float] | None = None,
        per_effect: bool = False,
    ) -> None:
        super().__init__("pds_search_free")
        own = Arrays()
        given, phases = structure_of(task, own), _phases(schedule)
        prices = None if costs is None else own.at(costs, "d")
        self._size = size_of(given)
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
        steps, unreached = (c_int32 * progress.n_steps)(), (c_int32 * progress.n_unreached)()
        function("pds_search_result")(self.handle, steps, unreached)
        return list(steps), list(unreached)

    def nodes(self, first: int, last: int) -> SearchColumns:
        """Some of the nodes that were met."""
        columns = SearchColumns._make(array(kind, [0]) * (last - first) for kind in "iiddB")
        places = (column.buffer_info()[0] for column in columns)
        function("pds_search_nodes")(self.handle, first, last, *places)
        return columns


class _Posed(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("draft", "goal", "init")),
        *((name, c_int64) for name in ("n_init", "most_expansions")),
    ]


class Posed(NamedTuple):
    """A draft with a goal, from an initial state, and how many expansions its search may take."""

    draft: PreparedDraft | GroundDraft
    goal: PreparedGoal
    init: array[int] | Bools
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
            own.at(each.init, "B"),
            len(each.init),
            _most(each.most_expansions),
        )
        for each in posed
    ]
    given, phases, found = (_Posed * len(rows))(*rows), _phases(schedule), (c_int64 * 6 * len(rows))()
    chosen = (byref(phases), len(phases), per_effect, threads)
    places = (byref(made.handle), byref(found))
    call("pds_search_many", given, len(rows), *chosen, *places, budget=budget)
    ends = list(accumulate(one[5] for one in found))
    steps = (c_int32 * (ends[-1] if ends else 0))()
    function("pds_plans_steps")(made.handle, steps)
    return [
        Solved(LIMITS.get(ended), how, expanded, evaluated, generated, steps[end - n : end])
        for (ended, how, expanded, evaluated, generated, n), end in zip(found, ends, strict=True)
    ]
