"""Runs a packed search under its limits, and says how it ended."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget, LimitError, current
from pdsketch.heuristics import UNREACHED, find_heuristic, make_work, relax
from pdsketch.kernels import gather, pack, row_size
from pdsketch.lang import dataclass
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed import nodes as closed_list, queue as open_list
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
    Buffers,
    CompiledTask,
    KernelSettings,
    advance,
)
from pdsketch.search.packed.successor_generator import make_successor_generator, words_of
from pdsketch.search.packed.tree import tree
from pdsketch.search.result import Outcome, SearchNode, SearchProgress, Status
from pdsketch.task import Task, prepare_axioms

PATIENCE = 2000
"""Evaluations without a lower h after which lazy greedy search starts again, its ties broken otherwise.

Which of several equally good operators the heuristic prefers can decide whether
the search meets a wide plateau. There are `ROUNDS` short rounds; the one after
them has the patience to be complete. Both are set by hand.
"""

ROUNDS = 4

_FOREVER = 1 << 62

_AT_FIRST = 1_000_000
"""Conditions of unary operators that are looked at before Python looks at the clock: about 5 ms."""

_MOST_AT_FIRST = 64
"""Evaluations before that, however small the task: most plans that are found at once take fewer."""

_SLICE = 0.05
"""Seconds that a kernel may run before Python looks at the clock."""


@final
@dataclass(frozen=True, slots=True)
class PackedOutcome(Outcome):
    """How a search ended: also the operators of the plan if solved.

    ``unreached`` are the goal literals that even the relaxed task cannot reach
    from the initial state. ``states`` is the number of different states that the
    last round met.
    """

    plan: tuple[int, ...] | None = None
    cost: float | None = None
    bytes: int = 0
    unreached: tuple[int, ...] = ()
    states: int = 0
    stuck: bool = False


def search(
    task: Task, options: PlanOptions, budget: Budget | None = None, *, per_effect: bool = False
) -> PackedOutcome:
    """Search a task for a plan, within a budget: the current one unless another is given.

    With ``per_effect``, hFF counts each conditional effect as an operator of its own.

    ``options.watch`` is called after every slice; the limits of time and memory are the budget's alone.
    """
    budget = budget or current()
    spent = PackedOutcome("gave-up")
    lazy = options.search == "lazy-gbfs"
    for number in range(ROUNDS + 1 if lazy else 1):
        last = number == ROUNDS or not lazy
        try:
            shuffled, order = _shuffled(task, 0 if last else number)
            patience = _FOREVER if last else PATIENCE
            run = _Run(shuffled, _rest_of(options, spent), patience, budget, per_effect)
        except LimitError as limit:
            return replace(spent, status=limit.status, stuck=False)
        found = run.until_done()
        spent = _together(spent, found, order)
        if not found.stuck:
            break
    return spent


@final
class _Run:
    """One search: the arrays that kernels work on, and the loop that feeds them."""

    def __init__(
        self, task: Task, options: PlanOptions, patience: int, budget: Budget, per_effect: bool
    ) -> None:
        self.options = options
        self.operators = task.operators
        self.budget = budget
        self.heuristic = find_heuristic(options.heuristic)
        self.settings = kernel_settings(options, patience)
        basic, full = words_of(task)
        costs = task.costs + 1.0 if options.heuristic_costs == "plus-one" else None
        relaxation = relax(task, costs, per_effect=per_effect, budget=budget)
        self.task = CompiledTask(
            generator=make_successor_generator(task, budget),
            axioms=prepare_axioms(task),
            relaxation=relaxation,
            work=make_work(task, relaxation),
            init=pack(task.init[None, : task.n_basic], basic)[0],
        )
        n_operators = len(task.operators)
        counters = np.zeros(N_COUNTERS, np.int64)
        counters[[GOAL, CURRENT]] = -1
        self.buffers = Buffers(
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

    def until_done(self) -> PackedOutcome:
        found = self._until_done()
        if self.options.trace is not None:
            self.options.trace(self.tree)
        return found

    def _until_done(self) -> PackedOutcome:
        started = time.monotonic()
        evaluations = min(max(1, _AT_FIRST // (1 + len(self.task.relaxation.conditions))), _MOST_AT_FIRST)
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
            if self.options.watch is not None:
                self.options.watch(self._progress(time.monotonic() - started))
            if self.options.trace is not None:
                self.options.trace(self.tree)

    def tree(self, first: int, last: int) -> list[SearchNode]:
        """Some of the nodes that were met."""
        counters, settings = self.buffers.counters, self.settings
        weights = (settings.g_weight, settings.h_weight)
        last = min(last, int(counters[COUNT]))
        return tree(self.nodes, first, last, self.operators, weights, int(counters[GOAL]))

    def _advance(self, evaluations: int) -> int:
        lists = (self.nodes, self.queue, self.preferred)
        return advance(self.task, self.settings, *lists, self.buffers, evaluations)

    def _make_room(self, answer: int) -> None:
        """Grow what is full."""
        if answer == GROW_NODES:
            self.nodes = closed_list.grown(self.nodes, self.budget)
        elif answer == GROW_TABLE:
            self.nodes = closed_list.rehashed(self.nodes, int(self.buffers.counters[COUNT]), self.budget)
        elif answer == GROW_QUEUE:
            width = len(self.buffers.found) if self.settings.lazy else 1
            self.queue = open_list.roomy(self.queue, width, self.budget)
            self.preferred = open_list.roomy(self.preferred, width, self.budget)

    def _bytes(self) -> int:
        """What the nodes and the open lists take, without room that is not used yet."""
        queues = (self.queue, self.preferred)
        nodes = (
            int(self.buffers.counters[COUNT]) * closed_list.row_bytes(self.nodes) + self.nodes.table.nbytes
        )
        return nodes + sum(int(q.counts[0]) * row_size(q.keys, q.items) for q in queues)

    def _progress(self, seconds: float) -> SearchProgress:
        counters = self.buffers.counters
        return SearchProgress(
            seconds=seconds,
            expanded=int(counters[EXPANDED]),
            evaluated=int(counters[EVALUATED]),
            generated=int(counters[GENERATED]),
            best_h=float(self.buffers.best[0]),
            bytes=self._bytes(),
        )

    def _outcome(self, status: Status, *, stuck: bool = False) -> PackedOutcome:
        counters = self.buffers.counters
        goal = int(counters[GOAL])
        plan: tuple[int, ...] | None = None
        cost: float | None = None
        if status == "solved":
            plan = self._plan(goal)
            cost = float(self.task.generator.costs[list(plan)].sum())
        return PackedOutcome(
            status=status,
            plan=plan,
            cost=cost,
            expanded=int(counters[EXPANDED]),
            evaluated=int(counters[EVALUATED]),
            generated=int(counters[GENERATED]),
            best_h=float(self.buffers.best[0]),
            bytes=self._bytes(),
            unreached=self._unreached() if np.isinf(self.buffers.best[0]) else (),
            states=int(counters[COUNT]),
            stuck=stuck,
        )

    def _unreached(self) -> tuple[int, ...]:
        """After the initial state alone was evaluated: what the exploration did not get to."""
        relaxation = self.task.relaxation
        if not self.heuristic.relaxed:
            return ()
        missed = self.task.work.cost[relaxation.goal] >= UNREACHED
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


def _rest_of(options: PlanOptions, spent: PackedOutcome) -> PlanOptions:
    """The options with the expansions that are left."""
    if options.max_expansions is None:
        return options
    return replace(options, max_expansions=max(0, options.max_expansions - spent.expanded))


def _together(spent: PackedOutcome, found: PackedOutcome, order: NDArray[np.int64]) -> PackedOutcome:
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


def kernel_settings(options: PlanOptions, patience: int = _FOREVER) -> KernelSettings:
    """The options as kernels read them."""
    weights = {
        "astar": (1.0, 1.0),
        "wastar": (1.0, float(options.weight)),
        "gbfs": (0.0, 1.0),
        "lazy-gbfs": (0.0, 1.0),
    }
    g_weight, h_weight = weights[options.search]
    most = options.max_expansions
    return KernelSettings(
        heuristic=find_heuristic(options.heuristic).code,
        lazy=options.search == "lazy-gbfs",
        reopen=g_weight > 0,
        g_weight=g_weight,
        h_weight=h_weight,
        most_expansions=_FOREVER if most is None else max(int(most), 0),
        patience=patience,
        early=False,
    )
