"""Runs a packed search under its limits, and says how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget, LimitError, current
from pdsketch.heuristics.axioms import prepare_axioms
from pdsketch.heuristics.bits import pack
from pdsketch.heuristics.compiled import announced
from pdsketch.heuristics.explore import UNREACHED, make_work
from pdsketch.heuristics.registry import Heuristic, find_heuristic
from pdsketch.heuristics.relaxation import relax
from pdsketch.heuristics.rows import gather
from pdsketch.lang.diagnostics import did_you_mean, error
from pdsketch.search.packed import nodes as closed_list
from pdsketch.search.packed import queue as open_list
from pdsketch.search.packed.advance import (
    COUNT,
    CURRENT,
    ENOUGH,
    EVALUATED,
    EXHAUSTED,
    EXPANDED,
    GENERATED,
    GOAL,
    GROW_NODES,
    GROW_QUEUE,
    GROW_TABLE,
    N_COUNTERS,
    SOLVED,
    STUCK,
    Knowledge,
    Room,
    Settings,
    advance,
)
from pdsketch.search.packed.operators import prepare_operators, words_of
from pdsketch.search.result import Status
from pdsketch.task.room import row_size
from pdsketch.task.task import Task

SEARCHES = ("astar", "wastar", "gbfs", "lazy-gbfs")

DEFAULT_WEIGHT = 5.0
"""Of h in weighted A*."""

PATIENCE = 2000
"""Evaluations without a lower h after which lazy greedy search starts again, its ties broken otherwise.

Which of several equally good operators the heuristic prefers can decide whether
the search meets a wide plateau. There are `ROUNDS` short rounds; the one after
them has the patience to be complete.
"""

ROUNDS = 4

_FOREVER = 1 << 62

_SLICE = 0.05
"""Seconds that a kernel may run before Python looks at the clock."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How to search, and how far.

    ``weight`` is that of h in ``wastar``. ``costs`` is what the heuristic reads: the
    task's own, or each plus one (so that free operators count as steps, too).
    """

    search: str = "lazy-gbfs"
    heuristic: str = "ff"
    weight: float = DEFAULT_WEIGHT
    max_expansions: int | None = None
    costs: Literal["own", "plus-one"] = "own"


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: operators of the plan if solved, counters, and the lowest h that was seen.

    ``unreached`` are the goal literals that even the relaxed task cannot reach
    from the initial state. ``states`` is the number of different states that the
    last round met.
    """

    status: Status
    plan: tuple[int, ...] | None
    cost: float | None
    expanded: int
    evaluated: int
    generated: int
    best_h: float
    bytes: int
    unreached: tuple[int, ...] = ()
    states: int = 0
    stuck: bool = False


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """What a search can say of itself while it runs."""

    seconds: float
    expanded: int
    evaluated: int
    best_h: float
    bytes: int


def find_search(name: str) -> str:
    """The name itself; an `Error` that lists all searches if there is none of that name."""
    if name in SEARCHES:
        return name
    known = ", ".join(f"`{known}`" for known in SEARCHES)
    raise error(
        "unknown-search", f"there is no search `{name}`; known are {known}", help=did_you_mean(name, SEARCHES)
    )


def search(
    task: Task,
    options: Options,
    budget: Budget | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Search a task for a plan, within a budget: the current one unless another is given.

    ``report`` is called after every slice, for those who want to watch.
    """
    budget = budget or current()
    spent = Outcome("gave-up", None, None, 0, 0, 0, np.inf, 0)
    lazy = find_search(options.search) == "lazy-gbfs"
    for number in range(ROUNDS + 1 if lazy else 1):
        last = number == ROUNDS or not lazy
        try:
            shuffled, order = _shuffled(task, 0 if last else number)
            run = _Run(shuffled, _rest_of(options, spent), _FOREVER if last else PATIENCE, budget)
        except LimitError as limit:
            return replace(spent, status=limit.status, stuck=False)
        found = run.until_done(report)
        spent = _together(spent, found, order)
        if not found.stuck:
            break
    return spent


@final
class _Run:
    """One search: the arrays that kernels work on, and the loop that feeds them."""

    def __init__(self, task: Task, options: Options, patience: int, budget: Budget) -> None:
        self.options = options
        self.budget = budget
        self.heuristic = find_heuristic(options.heuristic)
        self.settings = _settings(options, self.heuristic, patience)
        basic, full = words_of(task)
        relaxation = relax(task, task.costs + 1.0 if options.costs == "plus-one" else None, budget=budget)
        self.know = Knowledge(
            operators=prepare_operators(task, budget),
            axioms=prepare_axioms(task),
            relaxation=relaxation,
            work=make_work(task, relaxation),
            init=pack(task.init[None, : task.n_basic], basic)[0],
        )
        n_operators = len(task.operators)
        counters = np.zeros(N_COUNTERS, np.int64)
        counters[[GOAL, CURRENT]] = -1
        self.room = Room(
            state=np.zeros(full, np.uint64),
            after=np.zeros(full, np.uint64),
            packed=np.zeros(basic, np.uint64),
            found=np.zeros(n_operators + 1, np.int32),
            counters=counters,
            best=np.full(1, np.inf),
            preferred_marks=np.full(n_operators + 1, -1, np.int64),
        )
        self.nodes = closed_list.make_nodes(1024, basic)
        capacity = max(1024, 2 * n_operators)
        self.queue = open_list.make_queue(capacity)
        self.preferred = open_list.make_queue(capacity if self.settings.lazy else 1)

    def until_done(self, report: Callable[[Progress], None] | None) -> Outcome:
        started = time.monotonic()
        with announced():
            self._advance(0)
        evaluations = 1
        while True:
            before = time.monotonic()
            try:
                self.budget.hold(self._bytes())
                self.budget.check()
            except LimitError as limit:
                return self._outcome(limit.status)
            answer = self._advance(evaluations)
            spent = time.monotonic() - before
            if answer == SOLVED:
                return self._outcome("solved")
            if answer == EXHAUSTED:
                return self._outcome("unsolvable")
            if answer in (ENOUGH, STUCK):
                return self._outcome("gave-up", stuck=answer == STUCK)
            try:
                self._make_room(answer)
            except LimitError as limit:
                return self._outcome(limit.status)
            if spent < _SLICE / 2 and answer not in (GROW_NODES, GROW_TABLE, GROW_QUEUE):
                evaluations = min(2 * evaluations, 1 << 20)
            elif spent > 2 * _SLICE:
                evaluations = max(evaluations // 2, 1)
            if report is not None:
                report(self._progress(time.monotonic() - started))

    def _advance(self, evaluations: int) -> int:
        lists = (self.nodes, self.queue, self.preferred)
        return advance(self.know, self.settings, *lists, self.room, evaluations)

    def _make_room(self, answer: int) -> None:
        """Grow what is full."""
        if answer == GROW_NODES:
            self.nodes = closed_list.grown(self.nodes, self.budget)
        elif answer == GROW_TABLE:
            self.nodes = closed_list.rehashed(self.nodes, int(self.room.counters[COUNT]), self.budget)
        elif answer == GROW_QUEUE:
            width = len(self.room.found) if self.settings.lazy else 1
            self.queue = open_list.roomy(self.queue, width, self.budget)
            self.preferred = open_list.roomy(self.preferred, width, self.budget)

    def _bytes(self) -> int:
        """What the nodes and the open lists take, without room that is not used yet."""
        queues = (self.queue, self.preferred)
        nodes = int(self.room.counters[COUNT]) * closed_list.row_bytes(self.nodes) + self.nodes.table.nbytes
        return nodes + sum(int(q.counts[0]) * row_size(q.keys, q.items) for q in queues)

    def _progress(self, seconds: float) -> Progress:
        counters = self.room.counters
        return Progress(
            seconds=seconds,
            expanded=int(counters[EXPANDED]),
            evaluated=int(counters[EVALUATED]),
            best_h=float(self.room.best[0]),
            bytes=self._bytes(),
        )

    def _outcome(self, status: Status, *, stuck: bool = False) -> Outcome:
        counters = self.room.counters
        goal = int(counters[GOAL])
        plan: tuple[int, ...] | None = None
        cost: float | None = None
        if status == "solved":
            plan = self._plan(goal)
            cost = float(self.know.operators.costs[list(plan)].sum())
        return Outcome(
            status=status,
            plan=plan,
            cost=cost,
            expanded=int(counters[EXPANDED]),
            evaluated=int(counters[EVALUATED]),
            generated=int(counters[GENERATED]),
            best_h=float(self.room.best[0]),
            bytes=self._bytes(),
            unreached=self._unreached() if np.isinf(self.room.best[0]) else (),
            states=int(counters[COUNT]),
            stuck=stuck,
        )

    def _unreached(self) -> tuple[int, ...]:
        """After the initial state alone was evaluated: what the exploration did not get to."""
        relaxation = self.know.relaxation
        if not self.heuristic.relaxed:
            return ()
        missed = self.know.work.cost[relaxation.goal] >= UNREACHED
        return tuple(relaxation.goal_literals[missed].tolist())

    def _plan(self, node: int) -> tuple[int, ...]:
        steps = []
        while self.nodes.parent[node] >= 0:
            steps.append(int(self.nodes.operator[node]))
            node = int(self.nodes.parent[node])
        return tuple(reversed(steps))


def _shuffled(task: Task, number: int) -> tuple[Task, NDArray[np.int64]]:
    """The task with its operators in another order for each number but 0."""
    order = np.arange(len(task.operators))
    if number == 0:
        return task, order
    order = np.random.default_rng(number).permutation(order)
    changed = replace(
        task,
        operators=tuple(task.operators[i] for i in order),
        costs=task.costs[order],
        preconditions=gather(task.preconditions, order),
        effects=gather(task.effects, order),
    )
    return changed, order


def _rest_of(options: Options, spent: Outcome) -> Options:
    """The options with the expansions that are left."""
    if options.max_expansions is None:
        return options
    return replace(options, max_expansions=max(0, options.max_expansions - spent.expanded))


def _together(spent: Outcome, found: Outcome, order: NDArray[np.int64]) -> Outcome:
    """The outcome of the latest round, with the counters of all rounds and the task's own operators."""
    return replace(
        found,
        plan=None if found.plan is None else tuple(int(order[operator]) for operator in found.plan),
        expanded=spent.expanded + found.expanded,
        evaluated=spent.evaluated + found.evaluated,
        generated=spent.generated + found.generated,
        best_h=min(spent.best_h, found.best_h),
        bytes=max(spent.bytes, found.bytes),
    )


def _settings(options: Options, heuristic: Heuristic, patience: int) -> Settings:
    weights = {
        "astar": (1.0, 1.0),
        "wastar": (1.0, float(options.weight)),
        "gbfs": (0.0, 1.0),
        "lazy-gbfs": (0.0, 1.0),
    }
    g_weight, h_weight = weights[find_search(options.search)]
    most = options.max_expansions
    return Settings(
        heuristic=heuristic.code,
        lazy=options.search == "lazy-gbfs",
        reopen=g_weight > 0,
        g_weight=g_weight,
        h_weight=h_weight,
        most_expansions=_FOREVER if most is None else max(int(most), 0),
        patience=patience,
    )
