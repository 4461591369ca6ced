"""The open nodes of many searches in one order, in tensors.

Nodes stand in sorted runs, one behind the other in one tensor: by problem, then by f, by h and by age. New
nodes are a run of their own; where the last runs have become larger together than one before them, they are
merged with it (O'Neil et al., 1996: log-structured merge trees). The best nodes of a problem are among the
next few of each run. What was opened for nothing, since it was reached more cheaply, is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.search.latent.growing import capacity, grown

_RATIO: Final = 3
"""Runs are merged with those behind them that are this many times as large together: of equal ones, four at a
time. Set by hand."""

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
        while first and _RATIO * self._sizes[first - 1] <= merged:
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
        counts = torch.bincount(problem[nodes], minlength=self._at.shape[1])
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
            left -= torch.bincount(row, minlength=len(who))
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
