"""The open and closed lists of many searches at once, in tensors on one device.

Each problem has an open list. All problems share one closed table. Ties in an open list go to the smaller
heuristic value, then to the older node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.budget import Budget, current

# Tensors that grow: how many rows to make room for.
#
# Small tensors double. On the CPU a large one gets at once as many rows as the budget can hold:
# systems hand out memory when it is written to, so that room costs nothing before, and the
# rows need not be copied, twice there for a while, again and again. Large is what is worked on at once, and
# what takes an eighth of the budget.


def more_rows(rows: int, needed: int, row_bytes: float, budget: Budget) -> int:
    """For how many rows to make room where ``rows`` are full and ``needed`` must fit.

    A row takes ``row_bytes``. Raises `OutOfMemoryError` where ``budget`` has no room for them.
    """
    doubled = max(needed, 2 * rows)
    if budget.memory == inf:
        return doubled
    # While the rows are copied, they are there twice.
    budget.reserve((needed - rows) * row_bytes + rows * row_bytes)
    if doubled * row_bytes < min(budget.at_once, budget.memory / 8):
        return doubled
    return max(needed, rows + int(budget.room() / max(row_bytes, 1.0)))


def capacity(rows: int, needed: int, row_bytes: float, device: torch.device) -> int:
    """The same within the budget of the call, for tensors on a ``device``.

    ``rows`` are full and ``needed`` must fit, of ``row_bytes`` each.
    """
    if device.type == "cpu":
        return more_rows(rows, needed, row_bytes, current())
    doubled = max(needed, 2 * rows)
    current().reserve(doubled * row_bytes)
    return doubled


def grown(old: Tensor, rows: int) -> Tensor:
    """The tensor with room for more rows; what they hold is not said."""
    bigger = old.new_empty(rows, *old.shape[1:])
    bigger[: old.shape[0]] = old
    return bigger


def row_bytes(*tensors: Tensor) -> int:
    """The bytes of one row of each of some tensors."""
    return sum(tensor.element_size() * prod(tensor.shape[1:]) for tensor in tensors)


def counted(owners: Tensor, n: int) -> Tensor:
    """How often each of the first ``n`` numbers is there; unlike `torch.bincount`, it waits for no GPU."""
    return owners.new_zeros(n).scatter_add_(0, owners, torch.ones_like(owners))


# The closed table of many searches: from 128-bit fingerprints to the best cost at which each was reached.
#
# A hash table with open addressing, in tensors: all states of a batch are looked up at once, and move on
# together to their next slots, until each has found its entry. Where several want one free slot, the first of
# them gets it, so that entries have the same numbers on every device.

_FREE: Final = -1
_SLOTS: Final = 4
"""Slots for each entry that there is room for, at least half as many for each that there is."""

_CHEAPER: Final = 1e-9
"""By how much a state must be cheaper than before to count as new: sums of costs differ by rounding."""


@final
class ClosedTable:
    """The entries, numbered as they come."""

    def __init__(self, room: int, device: torch.device) -> None:
        self.size = 0
        self.best_g = torch.empty(room, dtype=torch.float64, device=device)
        self._prints = torch.empty(room, 2, dtype=torch.int64, device=device)
        slots = 1 << (_SLOTS * room - 1).bit_length()
        self._table = torch.full((slots,), _FREE, dtype=torch.int64, device=device)

    @property
    def nbytes(self) -> int:
        """The memory that the table takes, without room that is not used yet."""
        return 8 * (3 * self.size + len(self._table))

    def admit(self, prints: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        """Which states are new, or cheaper than before, and the entry of each.

        Of equal states of a batch, the cheapest is; of equally cheap ones the first.
        """
        self._reserve(self.size + len(g))
        entry = self._found_or_added(prints)
        keep = g < self.best_g[entry] - _CHEAPER
        index = keep.nonzero().squeeze(1)
        self.best_g.scatter_reduce_(0, entry[index], g[index], "amin")
        index = index[g[index] == self.best_g[entry[index]]]
        own, order = entry[index].sort(stable=True)
        first = torch.ones_like(own, dtype=torch.bool)
        first[1:] = own[1:] != own[:-1]
        keep = torch.zeros_like(keep)
        keep[index[order[first]]] = True
        return keep, entry

    def _found_or_added(self, prints: Tensor) -> Tensor:
        """The entry of each fingerprint; new ones have an infinite cost."""
        entry = torch.full_like(prints[:, 0], _FREE)
        slot, waiting = self._first_slots(prints), torch.arange(len(prints), device=prints.device)
        while len(waiting):
            found = self._table[slot]
            free = found == _FREE
            own = prints[waiting]
            same = (self._prints[found.clamp(min=0)] == own).all(1) & ~free
            hit, empty = same.nonzero().squeeze(1), free.nonzero().squeeze(1)
            entry[waiting[hit]] = found[hit]
            slots = slot[empty]
            winners = self._claimed(slots, waiting[empty])
            numbers = torch.arange(self.size, self.size + len(winners), device=prints.device)
            entry[winners] = numbers
            self._prints[numbers] = prints[winners]
            self.best_g[numbers] = torch.inf
            self._table[slots] = entry[-self._table[slots] - 2]
            self.size += len(winners)
            # Who did not get a free slot looks into it again: it may hold the same state now.
            left = (entry[waiting] == _FREE).nonzero().squeeze(1)
            slot = (slot[left] + ~free[left]) & (len(self._table) - 1)
            waiting = waiting[left]
        return entry

    def _claimed(self, slots: Tensor, who: Tensor) -> Tensor:
        """Write into free slots who gets them, as -2 - number; returns those who do, in order."""
        self._table.scatter_reduce_(0, slots, -2 - who, "amax", include_self=False)
        return who[self._table[slots] == -2 - who]

    def _first_slots(self, prints: Tensor) -> Tensor:
        a = prints[:, 0]
        mixed = (a ^ (a >> 29)) * -4658895280553007687
        return (mixed ^ (mixed >> 32)) & (len(self._table) - 1)

    def _reserve(self, needed: int) -> None:
        if needed > len(self.best_g):
            rows = capacity(len(self.best_g), needed, 8 * 3, self.best_g.device)
            self._prints, self.best_g = grown(self._prints, rows), grown(self.best_g, rows)
        if 2 * needed > len(self._table):
            slots = 1 << (_SLOTS * needed - 1).bit_length()
            current().reserve(8 * slots)
            self._table = self._table.new_full((slots,), _FREE)
            self._enter_again()

    def _enter_again(self) -> None:
        """Put all entries into a new table; no two are equal."""
        waiting = torch.arange(self.size, device=self._table.device)
        slot = self._first_slots(self._prints[: self.size])
        while len(waiting):
            free = self._table[slot] == _FREE
            self._claimed(slot[free], waiting[free])
            mine = free & (self._table[slot] == -2 - waiting)
            self._table[slot[mine]] = waiting[mine]
            left = (~mine).nonzero().squeeze(1)
            slot, waiting = (slot[left] + ~free[left]) & (len(self._table) - 1), waiting[left]


# The open nodes of many searches in one order, in tensors.
#
# Nodes stand in sorted runs, one behind the other in one tensor: by problem, then by f, by h and by age. New
# nodes are a run of their own; where the last runs have become larger together than one before them, they are
# merged with it (O'Neil et al., 1996: log-structured merge trees). The best nodes of a problem are among the
# next few of each run. What was opened for nothing, since it was reached more cheaply, is passed over.

_AHEAD: Final = 16
"""How many nodes of each run are looked at together to find the first that is open; set by hand."""

_CELLS: Final = 1 << 20
"""How many places of runs are looked at together at most; set by hand."""

IsOpen = Callable[[Tensor], Tensor]
"""Which of some nodes still wait to be expanded."""


@final
class OpenList:
    """Sorted runs of nodes of ``problems`` searches. ``f`` and ``h`` have a row for each node, open or not.

    There is ``room`` for so many nodes at first, on ``device``; ``is_open`` says which of some still wait.
    """

    def __init__(self, problems: int, room: int, is_open: IsOpen, device: torch.device) -> None:
        self.f = torch.empty(room, dtype=torch.float64, device=device)
        self.h = torch.empty(room, dtype=torch.float64, device=device)
        self._is_open = is_open
        self._nodes = torch.empty(room, dtype=torch.int64, device=device)
        self._sizes: list[int] = []
        # Where the nodes of each problem begin in each run, those that were passed left out, and end.
        self._at = torch.empty(0, problems, dtype=torch.int64, device=device)
        self._ends = self._at

    @property
    def nbytes(self) -> int:
        """The memory of the runs, and of the priorities of their nodes, without room that is not used yet."""
        return 8 * 3 * sum(self._sizes)

    def enlarge(self, rows: int) -> None:
        """Make room for the priorities of so many nodes."""
        self.f, self.h = grown(self.f, rows), grown(self.h, rows)

    def push(self, nodes: Tensor, problem: Tensor) -> None:
        """Open nodes, given by age; ``problem`` has a row for each node, open or not."""
        if not len(nodes):
            return
        first, merged = len(self._sizes), len(nodes)
        while first and self._sizes[first - 1] <= merged:
            first -= 1
            merged += self._sizes[first]
        start = sum(self._sizes[:first])
        if first < len(self._sizes):
            waiting = self._waiting(first, start, problem)
            nodes = torch.cat([waiting, nodes]).sort().values
        nodes = self._sorted(nodes, problem)
        end = start + len(nodes)
        if end > len(self._nodes):
            self._nodes = grown(self._nodes, capacity(len(self._nodes), end, 8, nodes.device))
        self._nodes[start:end] = nodes
        counts = counted(problem[nodes], self._at.shape[1])
        ends = start + counts.cumsum(0)
        self._sizes[first:] = [len(nodes)]
        self._at = torch.cat([self._at[:first], (ends - counts).unsqueeze(0)])
        self._ends = torch.cat([self._ends[:first], ends.unsqueeze(0)])

    def pop(self, who: Tensor, k: Tensor) -> Tensor:
        """The up to ``k[i]`` best open nodes of each problem ``who[i]``, grouped by problem, best first.

        They are passed from now on; whoever takes them says that they are no longer open.
        """
        rows, nodes, left = [torch.zeros_like(who[:0])], [torch.zeros_like(who[:0])], k.clone()
        most = max(_AHEAD, _CELLS // (len(who) * max(len(self._sizes), 1)))
        while (width := int(torch.where(self._is_left(who), left, 0).max())) > 0:
            row, best = self._best(who, left, min(width, most))
            rows.append(row)
            nodes.append(best)
            left -= counted(row, len(who))
        if len(rows) == 2:
            return nodes[1]
        return torch.cat(nodes)[torch.cat(rows).sort(stable=True).indices]

    def least_f(self, who: Tensor) -> Tensor:
        """The least f of each problem's open nodes; infinity where none is open."""
        self._pass_over(who)
        if not self._sizes:
            return torch.full_like(who, torch.inf, dtype=torch.float64)
        at = self._at[:, who]
        heads = self.f[self._nodes[at.clamp(max=sum(self._sizes) - 1)]]
        return torch.where(at < self._ends[:, who], heads, torch.inf).amin(0)

    def _waiting(self, first: int, start: int, problem: Tensor) -> Tensor:
        """The open nodes of runs from the first on, which begin at ``start``."""
        nodes = self._nodes[start : sum(self._sizes)]
        sizes = torch.tensor(self._sizes[first:], device=nodes.device)
        run = torch.arange(len(sizes), device=nodes.device).repeat_interleave(sizes) + first
        place = torch.arange(start, start + len(nodes), device=nodes.device)
        nodes = nodes[place >= self._at[run, problem[nodes]]]
        return nodes[self._is_open(nodes)]

    def _sorted(self, nodes: Tensor, problem: Tensor) -> Tensor:
        """Nodes, given by age, as they stand in a run."""
        nodes = nodes[self.h[nodes].sort(stable=True).indices]
        nodes = nodes[self.f[nodes].sort(stable=True).indices]
        if self._at.shape[1] == 1:
            return nodes
        return nodes[problem[nodes].sort(stable=True).indices]

    def _is_left(self, who: Tensor) -> Tensor:
        """Whether some run has nodes of a problem that were not passed."""
        if not self._sizes:
            return torch.zeros_like(who, dtype=torch.bool)
        return (self._at[:, who] < self._ends[:, who]).any(0)

    def _windows(self, who: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """The next nodes of problems in each run, ``[problem, run, place]``, and which of them are there."""
        ahead = torch.arange(width, device=who.device)
        place = self._at[:, who].T.unsqueeze(-1) + ahead
        there = place < self._ends[:, who].T.unsqueeze(-1)
        return self._nodes[place.clamp(max=sum(self._sizes) - 1)], there

    def _best(self, who: Tensor, left: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Some of the best open nodes, and for whom each is, by place; they are passed.

        What comes behind the last that is seen of a run is left for the next time.
        """
        nodes, there = self._windows(who, width)
        n, runs, _ = nodes.shape
        fence = torch.zeros_like(there)
        fence[..., -1] = there[..., -1] & (self._at[:, who] + width < self._ends[:, who]).T
        order = self._ranked(nodes.reshape(n, -1), there.reshape(n, -1))

        def ranked(table: Tensor) -> Tensor:
            return table.reshape(n, -1).gather(1, order)

        seen = ranked(fence).long().cumsum(1) - ranked(fence).long() == 0
        is_open = self._is_open(nodes) & there
        fine = ranked(is_open) & seen
        taken = fine & (fine.long().cumsum(1) <= left.unsqueeze(1))
        gone = torch.zeros_like(taken).scatter_(1, order, taken).reshape(n, runs, width) | (there & ~is_open)
        self._at[:, who] += gone.long().cumprod(-1).sum(-1).T
        row, at = taken.nonzero(as_tuple=True)
        return row, ranked(nodes)[row, at]

    def _ranked(self, nodes: Tensor, there: Tensor) -> Tensor:
        """The order of nodes in each row: by f, by h, then by age; what is not there comes last."""
        order = nodes.sort(stable=True, dim=1).indices
        for key in (self.h, self.f):
            own = torch.where(there, key[nodes], torch.inf).gather(1, order)
            order = order.gather(1, own.sort(stable=True, dim=1).indices)
        return order

    def _pass_over(self, who: Tensor) -> None:
        """Pass the nodes at the heads of runs that are not open."""
        while self._sizes:
            nodes, there = self._windows(who, _AHEAD)
            gone = (there & ~self._is_open(nodes)).long().cumprod(-1).sum(-1)
            self._at[:, who] += gone.T
            if not bool((gone == _AHEAD).any()):
                return


# Both together.

_COLUMNS: Final = ("problem", "parent", "action", "entry", "depth")


@final
class Frontier:
    """The ``open`` lists of ``problems`` searches, and their shared closed table.

    There is ``room`` for so many nodes at first, on ``device``. A node is a number; ``parent``, ``action``,
    ``g``, ``depth`` and ``problem`` hold what is known of it, ``open.h`` and ``open.f`` what guides to it.
    Fingerprints in ``closed`` must differ between problems.
    """

    def __init__(self, problems: int, room: int = 1024, device: torch.device | str = "cpu") -> None:
        device = torch.device(device)
        self.n = 0
        self.closed = ClosedTable(room, device)
        self.open = OpenList(problems, room, self._is_open, device)
        self.problem = torch.empty(room, dtype=torch.int64, device=device)
        self.parent = torch.empty_like(self.problem)
        self.action = torch.empty_like(self.problem)
        self.entry = torch.empty_like(self.problem)
        self.depth = torch.empty_like(self.problem)
        self.g = torch.empty(room, dtype=torch.float64, device=device)
        self._removed = torch.zeros(room, dtype=torch.bool, device=device)
        self._node_bytes = 1 + 8 * (len(_COLUMNS) + 1)

    @property
    def nbytes(self) -> int:
        """The memory that the lists take, without room that is not used yet."""
        return self.n * self._node_bytes + self.closed.nbytes + self.open.nbytes

    def add(self, f: Tensor, h: Tensor, g: Tensor, **columns: Tensor) -> None:
        """Append nodes, given as one column for each tensor over nodes, and open them."""
        first, last = self.n, self.n + len(g)
        self._reserve(last)
        self.g[first:last] = g
        for name in _COLUMNS:
            getattr(self, name)[first:last] = columns[name]
        self._removed[first:last] = False
        self.n = last
        self.open.f[first:last], self.open.h[first:last] = f, h
        self.open.push(torch.arange(first, last, device=g.device), self.problem)

    def pop(self, who: Tensor, k: Tensor) -> Tensor:
        """Remove up to ``k[i]`` best nodes of each problem ``who[i]``, grouped by problem, best first."""
        nodes = self.open.pop(who, k)
        self._removed[nodes] = True
        return nodes

    def is_removed(self, node: int) -> bool:
        """Whether a node was taken out to be expanded."""
        return bool(self._removed[node])

    def traces(self, nodes: Sequence[int]) -> list[list[int]]:
        """The actions from the root to each of some nodes, all fetched together."""
        at = torch.tensor(nodes, dtype=torch.int64, device=self.g.device)
        steps = [torch.full_like(at, -1)]
        for _ in range(int(self.depth[at].max()) if nodes else 0):
            is_root = self.parent[at] < 0
            steps.append(torch.where(is_root, -1, self.action[at]))
            at = torch.where(is_root, at, self.parent[at])
        rows = torch.stack(steps[::-1], dim=1).tolist()
        return [[action for action in row if action != -1] for row in rows]

    def _is_open(self, nodes: Tensor) -> Tensor:
        """Which nodes were not removed, nor reached more cheaply since."""
        return ~self._removed[nodes] & (self.g[nodes] <= self.closed.best_g[self.entry[nodes]])

    def _reserve(self, needed: int) -> None:
        if needed > len(self.g):
            size = self._node_bytes + 8 * 2
            rows = capacity(len(self.g), needed, size, self.g.device)
            for name in (*_COLUMNS, "g", "_removed"):
                setattr(self, name, grown(getattr(self, name), rows))
            self.open.enlarge(rows)
