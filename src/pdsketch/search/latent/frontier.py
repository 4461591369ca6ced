"""The open and closed lists of many searches at once, in tensors on one device.

Each problem has an open list. All problems share one closed table. Ties in an open list go to the smaller
heuristic value, then to the older node.
"""

from __future__ import annotations

from typing import Final, final

import torch
from torch import Tensor

from pdsketch.search.latent.closed import ClosedTable
from pdsketch.search.latent.growing import capacity, grown
from pdsketch.search.latent.open_list import OpenList

_COLUMNS: Final = ("problem", "parent", "action", "entry", "depth")


@final
class Frontier:
    """The ``open`` lists of ``problems`` searches, and their shared closed table.

    There is ``room`` for so many nodes at first, on ``device``. A node is a number; ``parent``, ``action``,
    ``g``, ``depth`` and ``problem`` hold what is known of it, ``open.h`` and ``open.f`` what guides to it.
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

    def admit(self, prints: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        """Which states are new, or cheaper than before, and the entry of each in the table.

        Fingerprints must differ between problems. Of equal states, one is admitted.
        """
        return self.closed.admit(prints, g)

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

    def least_f(self, who: Tensor) -> Tensor:
        """The least f of each problem's open nodes; infinity where none is open."""
        return self.open.least_f(who)

    def is_removed(self, node: int) -> bool:
        """Whether a node was taken out to be expanded."""
        return bool(self._removed[node])

    def trace(self, node: int) -> list[int]:
        """The actions from the root to a node."""
        actions: list[int] = []
        while (parent := int(self.parent[node])) >= 0:
            actions.append(int(self.action[node]))
            node = parent
        return actions[::-1]

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
