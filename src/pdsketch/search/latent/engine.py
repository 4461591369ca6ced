"""Best-first search over latent batches: many problems, the k best open nodes of each at a time.

Goal truth is stored when a node is generated. A* stops when the cheapest goal generated costs no more
than any remaining f (with k = 1: when it is removed, as textbooks have it);
greedy search stops at once. A state that is reached more cheaply is opened again.

The portfolio expands k nodes together while its heuristic falls, and twice as many after each round in which
it does not, up to where a batch of successors is so large that more together would be no cheaper: on a
plateau, one at a time takes 18 ms of a processor each, and 64 together half a millisecond each
(``benchmarks/latent.py``). It stops when it has expanded as much again since its first goal, too: where steps
that failed are dear, nodes that seem cheaper than a plan do not end (``benchmarks/tabletop.py``, noise of
3 cm).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Final, Literal, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.budget import current
from pdsketch.lang import Step
from pdsketch.search.latent.frontier import Frontier, counted, grown
from pdsketch.search.latent.heuristics import Order, StateHeuristic
from pdsketch.search.latent.limits import LIMITS, status_of
from pdsketch.search.latent.margin import GoalTest
from pdsketch.search.latent.space import Children, Space, joined
from pdsketch.search.options import PlanOptions
from pdsketch.search.result import Fate, Outcome, SearchNode, SearchProgress, Status
from pdsketch.tensor import StateBatch, pardoning

# The nodes of a latent search, as others may look at them, those that it left out included.


@final
@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A successor that is no node: its parent, its ground action, its cost, and why it is none."""

    parent: int
    action: int
    g: float
    fate: Literal["dead-end", "visited"]


@final
class TreeLog:
    """What a search has met, in its order: nodes of its frontier, and successors that were left out."""

    def __init__(self, space: Space, frontier: Frontier) -> None:
        self._space = space
        self._frontier = frontier
        self._met: list[int | _LeftOut] = []
        self._numbers: list[int] = []

    def opened(self) -> None:
        """Note the nodes that the frontier has since the last time."""
        for node in range(len(self._numbers), self._frontier.n):
            self._numbers.append(len(self._met))
            self._met.append(node)

    def left_out(
        self,
        parents: Tensor,
        actions: Tensor,
        g: Tensor,
        fate: Literal["dead-end", "visited"],
    ) -> None:
        """Note successors that are not opened.

        ``parents`` are the nodes that they come from, ``actions`` the ground actions, ``g`` their costs,
        and ``fate`` says why, the same of all.
        """
        rows = zip(parents.tolist(), actions.tolist(), g.tolist(), strict=True)
        self._met += [_LeftOut(*row, fate) for row in rows]

    def nodes(self, first: int, last: int, is_goal: Tensor) -> list[SearchNode]:
        """Some of what was met."""
        return [self._shown(met, is_goal) for met in self._met[first:last]]

    def _shown(self, met: int | _LeftOut, is_goal: Tensor) -> SearchNode:
        frontier, own = self._frontier, self._frontier.open
        if isinstance(met, _LeftOut):
            h = inf if met.fate == "dead-end" else nan
            step = self._space.step(int(frontier.problem[met.parent]), met.action)
            return SearchNode(self._numbers[met.parent], step, met.g, h, h, met.fate)
        fate: Fate = "goal" if is_goal[met] else "expanded" if frontier.is_removed(met) else "open"
        numbers = (float(frontier.g[met]), float(own.h[met]), float(own.f[met]))
        parent = int(frontier.parent[met])
        if parent < 0:
            return SearchNode(-1, None, *numbers, fate)
        step = self._space.step(int(frontier.problem[met]), int(frontier.action[met]))
        return SearchNode(self._numbers[parent], step, *numbers, fate)


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENOUGH_SUCCESSORS: Final = 2048
"""Successors of one problem in a batch from which on a node costs what it costs; below, most of the time goes
into the calls themselves. Set by hand, from the figures of ``benchmarks/latent.py``."""


@final
@dataclass(frozen=True, slots=True)
class LatentOutcome(Outcome):
    """How the search for one problem ended. ``node`` is a goal; ``best`` the node of least h; -1: none."""

    node: int = -1
    best: int = -1
    limit: str = ""


@final
class BestFirstSearch:
    """One search for all problems of a space.

    The nodes of ``space`` are expanded in their ``order``, until ``goal_test`` says of each problem that a
    state of it is a goal, or a limit of ``options`` is reached. ``exact``: where states run out, there is no
    plan; nor is there one where the heuristic of the order, or ``proof``, says so of a root.
    """

    def __init__(
        self,
        space: Space,
        goal_test: GoalTest,
        order: Order,
        options: PlanOptions,
        exact: bool,
        proof: StateHeuristic | None = None,
    ) -> None:
        self.space = space
        self.goal_test = goal_test
        self.order = order
        self.options = options
        self.exact = exact
        self._proof = proof
        self.widens = options.search == "portfolio"
        self.greedy = options.search == "gbfs"
        self.textbook = options.k == 1 and not self.widens
        n = space.roots.size
        self.frontier = Frontier(n, device=space.device)
        self.expanded = np.zeros(n, dtype=np.int64)
        self.evaluated = torch.zeros(n, dtype=torch.int64, device=space.device)
        self.generated = torch.zeros_like(self.evaluated)
        self.goal = np.full(n, -1, dtype=np.int64)
        self.goal_cost = np.full(n, np.inf)
        self.best = np.full(n, -1, dtype=np.int64)
        self.best_h = np.full(n, np.inf)
        self._before = np.full(n, np.inf)
        self._width = np.full(n, options.k, dtype=np.int64)
        read: frozenset[str] | None = getattr(order.heuristic, "reads", None)
        self._reads = None if read is None else read | goal_test.reads
        self._enough = ENOUGH_SUCCESSORS // space.instances_of_each
        self._patience = np.full(n, np.iinfo(np.int64).max)
        self._blocked: list[list[StateHeuristic]] = [[] for _ in range(n)]
        self._is_goal = torch.zeros(0, dtype=torch.bool, device=space.device)
        self._cut = np.zeros(n, dtype=np.bool_)
        self._status: list[Status | None] = [None] * n
        self._limit = [""] * n
        self._log = None if options.trace is None else TreeLog(space, self.frontier)

    def run(self) -> list[LatentOutcome]:
        """Search until every problem has an answer or a limit is hit."""
        try:
            self._begin()
            self._show()
            with pardoning():
                self._search()
        except LIMITS as limit:
            status = status_of(limit)
            if status is None:
                raise
            self._stop(self._active(), status, "time" if status == "out-of-time" else "memory")
        counts = zip(self.evaluated.tolist(), self.generated.tolist(), strict=True)
        return [self._outcome(problem, *own) for problem, own in enumerate(counts)]

    def _search(self) -> None:
        started = told = time.monotonic()
        budget = current()
        while (active := self._active()).size:
            now = time.monotonic()
            budget.hold(self._bytes())
            budget.check()
            if self.options.watch is not None and now - told > 1.0:
                told = now
                self.options.watch(self._progress(now - started, active))
            self._round(active)
            self._show()

    def _show(self) -> None:
        if self.options.trace is not None:
            self.options.trace(self.tree)

    def _progress(self, seconds: float, active: Ints) -> SearchProgress:
        return SearchProgress(
            seconds=seconds,
            expanded=int(self.expanded.sum()),
            evaluated=int(self.evaluated.sum()),
            generated=int(self.generated.sum()),
            best_h=float(self.best_h[active].min()),
            bytes=self._bytes(),
            open_problems=active.size,
        )

    def _bytes(self) -> int:
        return self.space.nbytes + self.frontier.nbytes

    def _begin(self) -> None:
        roots = self.space.start()
        problems = torch.arange(len(roots), device=self.space.device)
        zeros = torch.zeros_like(problems)
        self._open(roots, problems, zeros.double(), zeros - 1, zeros)
        goals = self.goal >= 0
        self._judge(self.order.heuristic, np.isinf(self.best_h), goals)
        if self._proof is not None:
            self._judge(self._proof, np.isinf(self._proof.values(self.space.roots, problems, goals)), goals)
        for problem in np.flatnonzero(goals):
            self._status[problem] = "solved"

    def _judge(self, heuristic: StateHeuristic, blocked: Bools, goals: Bools) -> None:
        """Note of which roots a heuristic sees no way to the goal, and settle those of which it proves it."""
        for problem in np.flatnonzero(blocked & ~goals):
            self._blocked[problem].append(heuristic)
            if heuristic.infinity_is_proof:
                self._status[problem] = "unsolvable"

    def _active(self) -> Ints:
        return np.array([p for p, status in enumerate(self._status) if status is None], dtype=np.int64)

    def _round(self, active: Ints) -> None:
        """Remove and expand the best nodes of each active problem."""
        active = self._drop_finished(active)
        if not active.size:
            return
        if self.widens:
            self._widen(active)
        room = self._width[active]
        if self.options.max_expansions is not None:
            room = np.minimum(room, self.options.max_expansions - self.expanded[active])
        nodes = self.frontier.pop(self._on_device(active), self._on_device(room))
        counts: Ints = counted(self.frontier.problem[nodes], len(self.goal)).cpu().numpy()
        self.expanded += counts
        for problem in active[counts[active] == 0]:
            self._exhausted(int(problem))
        nodes = self._take_goals(nodes)
        if self.options.max_depth is not None:
            deep = self.frontier.depth[nodes] >= self.options.max_depth
            self._cut[self.frontier.problem[nodes[deep]].cpu().numpy()] = True
            nodes = nodes[~deep]
        size = self.space.together
        for first in range(0, len(nodes), size):
            self._expand(nodes[first : first + size])

    def _on_device(self, values: Ints | Floats) -> Tensor:
        return torch.from_numpy(values).to(self.space.device)

    def _widen(self, active: Ints) -> None:
        """Set how many nodes of each problem are expanded together."""
        # While a heuristic falls, its best node is a better guess than any batch; on a plateau, width costs
        # little.
        falling = self.best_h[active] < self._before[active]
        wider = np.minimum(2 * self._width[active], np.maximum(self.options.k, self._enough[active]))
        self._width[active] = np.where(falling, self.options.k, wider)
        self._before[active] = self.best_h[active]

    def _drop_finished(self, active: Ints) -> Ints:
        """The problems that go on; those with a goal that nothing can beat, or without room, are settled."""
        reached = self.goal[active] >= 0
        if reached.any() and not (self.textbook or self.greedy):
            least: Floats = self.frontier.open.least_f(self._on_device(active)).cpu().numpy()
            done = reached & (self.goal_cost[active] <= least)
            done |= self.expanded[active] >= self._patience[active]
            for problem in active[done]:
                self._status[problem] = "solved"
            active = active[~done]
        if self.options.max_expansions is not None:
            spent = self.expanded[active] >= self.options.max_expansions
            self._stop(active[spent], "gave-up", "expansions")
            active = active[~spent]
        return active

    def _take_goals(self, nodes: Tensor) -> Tensor:
        """Removed goal nodes settle their problem (k = 1); what is left to expand."""
        if self.greedy or not self.textbook or not len(nodes):
            return nodes
        reached = self._is_goal[nodes]
        for node in nodes[reached].tolist():
            problem = int(self.frontier.problem[node])
            self.goal[problem] = node
            self._status[problem] = "solved"
        return nodes[~reached]

    def _expand(self, nodes: Tensor) -> None:
        if not len(nodes):
            return
        batch = self.space.batch(nodes)
        made: list[Children] = []
        for part in self.space.expand(batch, nodes):
            made.append(part)
            if sum(map(len, made)) * self.space.row_bytes > current().at_once:
                self._admit(made, batch, nodes)
                made = []
        if made:
            self._admit(made, batch, nodes)

    def _admit(self, made: Sequence[Children], batch: StateBatch, nodes: Tensor) -> None:
        """Open those successors of nodes, whose states are ``batch``, that are new or cheaper than before."""
        parent = nodes[torch.cat([part.parent for part in made])]
        problems = self.space.problems(parent)
        self.generated += counted(problems, len(self.goal))
        cost = self.frontier.g[parent] + torch.cat([part.cost for part in made])
        shares = torch.cat([part.shares for part in made])
        # Before heuristics are asked: most successors were met before, and an estimate is what costs.
        keep, entry = self.frontier.closed.admit(self.space.fingerprint(shares, problems), cost)
        if self._log is not None:
            codes = torch.cat([part.action for part in made])
            self._log.left_out(parent[~keep], codes[~keep], cost[~keep], "visited")
        index = keep.nonzero().squeeze(1)
        if not len(index):
            return
        parts = zip(made, torch.split(keep, [len(part) for part in made]), strict=True)
        children = joined([part.select(own.nonzero().squeeze(1)).completed(batch) for part, own in parts])
        parent = parent[index]
        depth = self.frontier.depth[parent] + 1
        self._open(children, problems[index], cost[index], parent, depth, entry[index])

    def _open(
        self,
        children: Children,
        problems: Tensor,
        g: Tensor,
        parents: Tensor,
        depth: Tensor,
        entries: Tensor | None = None,
    ) -> None:
        """Test, evaluate, store and open states that were admitted (roots are admitted here)."""
        owners = problems.cpu().numpy()
        if entries is None:
            _, entries = self.frontier.closed.admit(self.space.fingerprint(children.shares, problems), g)
        tables = {name: children.table(name) for name in children.tables}
        states = self.space.states(tables, problems, self._reads)
        goals: Bools = self.goal_test.truth(states, problems).cpu().numpy()
        h = self.order.heuristic.values(states, problems, goals)
        self.evaluated += counted(problems, len(self.goal))
        first = self.frontier.n
        if first and self.order.heuristic.infinity_is_proof and (dead := np.isinf(h)).any():
            gone = torch.from_numpy(dead).to(self.space.device)
            if self._log is not None:
                self._log.left_out(parents[gone], children.action[gone], g[gone], "dead-end")
            index = (~gone).nonzero().squeeze(1)
            children, problems = children.select(index), problems.index_select(0, index)
            parents, depth, entries, g = (column[index] for column in (parents, depth, entries, g))
            owners, h, goals = owners[~dead], h[~dead], goals[~dead]
        columns = {
            "problem": problems,
            "parent": parents,
            "action": children.action,
            "entry": entries,
            "depth": depth,
        }
        paid = g.cpu().numpy()
        f = self.order.priority(paid, h)
        self.frontier.add(self._on_device(f), self._on_device(h), g, **columns)
        self.space.store(children, problems)
        if self._log is not None:
            self._log.opened()
        self._remember(first, owners, paid, h, goals)

    def _remember(self, first: int, owners: Ints, g: Floats, h: Floats, goals: Bools) -> None:
        """Note goals, and the most promising node of each problem."""
        needed = first + len(owners)
        if needed > len(self._is_goal):
            self._is_goal = grown(self._is_goal, max(needed, 2 * len(self._is_goal)))
        self._is_goal[first:needed] = torch.from_numpy(goals).to(self._is_goal.device)
        promising = _least_of_each(np.flatnonzero(h < self.best_h[owners])[::-1], owners, h)
        self.best[owners[promising]], self.best_h[owners[promising]] = first + promising, h[promising]
        cheaper = _least_of_each(np.flatnonzero(goals & (g < self.goal_cost[owners])), owners, g)
        reached = owners[cheaper]
        self.goal[reached], self.goal_cost[reached] = first + cheaper, g[cheaper]
        if self.widens:
            self._patience[reached] = np.minimum(self._patience[reached], 2 * self.expanded[reached])
        if self.greedy:
            for problem in reached:
                self._status[problem] = "solved"

    def _exhausted(self, problem: int) -> None:
        """No open node is left: a plan was found before, or there is none, or it was out of sight."""
        if self.goal[problem] >= 0:
            self._status[problem] = "solved"
        elif self.exact and not self._cut[problem] and not self.space.runaways.get(problem):
            self._status[problem] = "unsolvable"
        else:
            self._status[problem] = "gave-up"
            self._limit[problem] = "depth" if self._cut[problem] else "space"

    def _stop(self, problems: Ints, status: Status, limit: str) -> None:
        """Settle problems at a limit; a plan that was found by then counts."""
        for problem in problems:
            self._status[problem] = "solved" if self.goal[problem] >= 0 else status
            self._limit[problem] = limit

    def _outcome(self, problem: int, evaluated: int, generated: int) -> LatentOutcome:
        status = self._status[problem]
        assert status is not None
        return LatentOutcome(
            status=status,
            expanded=int(self.expanded[problem]),
            evaluated=evaluated,
            generated=generated,
            best_h=float(self.best_h[problem]),
            node=int(self.goal[problem]) if status == "solved" else -1,
            best=int(self.best[problem]),
            limit=self._limit[problem],
        )

    def blocked(self, problem: int) -> list[StateHeuristic]:
        """The heuristics that saw no way to the goal from the root of a problem."""
        return self._blocked[problem]

    def tree(self, first: int, last: int) -> list[SearchNode]:
        """Some of what was met; for who gave a trace."""
        return [] if self._log is None else self._log.nodes(first, last, self._is_goal)

    def steps(self, nodes: Sequence[int]) -> list[list[Step]]:
        """The actions that lead to a node of each problem; to -1, none do."""
        there = [problem for problem, node in enumerate(nodes) if node >= 0]
        traces = self.frontier.traces([nodes[problem] for problem in there])
        found: list[list[Step]] = [[] for _ in nodes]
        for problem, trace in zip(there, traces, strict=True):
            found[problem] = [self.space.step(problem, number) for number in trace]
        return found


def _least_of_each(some: Ints, owners: Ints, key: Floats) -> Ints:
    """Of some nodes, in this order, the first of each owner whose key is least."""
    ordered = some[np.lexsort((key[some], owners[some]))]
    own = owners[ordered]
    return ordered[np.r_[True, own[1:] != own[:-1]]] if len(ordered) else ordered
