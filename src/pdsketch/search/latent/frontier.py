"""The open and closed lists of many searches at once, in flat arrays and compiled kernels.

Each problem has open lists of its own, one for each order in which its nodes are looked at: pairing heaps
whose links stand in arrays over nodes, so that thousands of heaps need no room of their own. A node stands
in all of them, and the others pass it over when it was removed from one (Röger & Helmert 2010). All
problems share one closed table, from 128-bit fingerprints of quantised states
to the best cost at which each was reached. Ties in the open list go to the
smaller heuristic value, then to the older node.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import current
from pdsketch.kernels import enlarged, kernel, more_rows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_NONE = -1

_COLUMNS = ("problem", "parent", "action", "entry", "depth", "g")
_LIST_COLUMNS = ("f", "h", "child", "sibling")
_ENTRY_BYTES = 8 * 3


@kernel
def _before(f: Floats, h: Floats, a: int, b: int) -> bool:
    if f[a] != f[b]:
        return bool(f[a] < f[b])
    if h[a] != h[b]:
        return bool(h[a] < h[b])
    return bool(a < b)


@kernel
def _meld(f: Floats, h: Floats, child: Ints, sibling: Ints, a: int, b: int) -> int:
    if a == _NONE:
        return b
    if b == _NONE:
        return a
    if _before(f, h, b, a):
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@kernel
def _push(
    f: Floats, h: Floats, child: Ints, sibling: Ints, root: Ints, problem: Ints, first: int, n: int
) -> None:
    """Push nodes ``first … first + n − 1`` onto the heaps of their problems."""
    for node in range(first, first + n):
        child[node] = _NONE
        sibling[node] = _NONE
        root[problem[node]] = _meld(f, h, child, sibling, root[problem[node]], node)


@kernel
def _remove_root(f: Floats, h: Floats, child: Ints, sibling: Ints, top: int) -> int:
    """The root of the heap without ``top``: two-pass pairing of its children."""
    pairs = _NONE
    node = child[top]
    while node != _NONE:
        second = sibling[node]
        sibling[node] = _NONE
        following = _NONE
        if second != _NONE:
            following = sibling[second]
            sibling[second] = _NONE
        merged = _meld(f, h, child, sibling, node, second)
        sibling[merged] = pairs
        pairs = merged
        node = following
    heap = _NONE
    while pairs != _NONE:
        following = sibling[pairs]
        sibling[pairs] = _NONE
        heap = _meld(f, h, child, sibling, heap, pairs)
        pairs = following
    return heap


@kernel
def _pop(
    arrays: tuple[Floats, Floats, Floats, Ints, Ints, Ints],
    root: Ints,
    best_g: Floats,
    removed: Bools,
    who: Ints,
    k: Ints,
    out: Ints,
) -> int:
    """Remove up to ``k[i]`` best nodes of each problem ``who[i]``; stale nodes are dropped unseen.

    So are those that were ``removed`` from another list.
    """
    f, h, g, child, sibling, entry = arrays
    n = 0
    for i in range(len(who)):
        problem = who[i]
        taken = 0
        while taken < k[i] and root[problem] != _NONE:
            top = root[problem]
            root[problem] = _remove_root(f, h, child, sibling, top)
            if removed[top]:
                continue
            if g[top] <= best_g[entry[top]]:
                removed[top] = True
                out[n] = top
                n += 1
                taken += 1
    return n


@kernel
def _uncover(f: Floats, h: Floats, child: Ints, sibling: Ints, root: Ints, removed: Bools, who: Ints) -> None:
    """Drop the nodes at the top of a list that were removed from another one."""
    for i in range(len(who)):
        problem = who[i]
        while root[problem] != _NONE and removed[root[problem]]:
            root[problem] = _remove_root(f, h, child, sibling, root[problem])


@kernel
def _slot(table: Ints, prints: Ints, a: int, b: int) -> int:
    """Where a fingerprint stands in the table, or the free slot where it belongs."""
    mask = len(table) - 1
    mixed = (a ^ (a >> 29)) * -4658895280553007687
    at = (mixed ^ (mixed >> 32)) & mask
    while table[at] != _NONE:
        entry = table[at]
        if prints[entry, 0] == a and prints[entry, 1] == b:
            return int(at)
        at = (at + 1) & mask
    return int(at)


@kernel
def _rehash(table: Ints, prints: Ints, n: int) -> None:
    for entry in range(n):
        table[_slot(table, prints, prints[entry, 0], prints[entry, 1])] = entry


@kernel
def _admit(
    table: Ints, prints: Ints, best_g: Floats, n: int, new: Ints, g: Floats, entry: Ints, keep: Bools
) -> int:
    """Mark what is new or cheaper than before; the number of entries afterwards."""
    for i in range(len(g)):
        at = _slot(table, prints, new[i, 0], new[i, 1])
        known = table[at]
        if known == _NONE:
            table[at] = n
            prints[n, 0] = new[i, 0]
            prints[n, 1] = new[i, 1]
            best_g[n] = g[i]
            entry[i] = n
            keep[i] = True
            n += 1
        elif g[i] < best_g[known] - 1e-9:
            best_g[known] = g[i]
            entry[i] = known
            keep[i] = True
        else:
            entry[i] = known
            keep[i] = False
    return n


@final
class OpenList:
    """The open lists of all problems in one order: by ``f``, then by ``h``."""

    def __init__(self, problems: int, capacity: int) -> None:
        self.root: Ints = np.full(problems, _NONE, dtype=np.int64)
        self.f: Floats = np.empty(capacity, dtype=np.float64)
        self.h: Floats = np.empty(capacity, dtype=np.float64)
        self.child: Ints = np.empty(capacity, dtype=np.int64)
        self.sibling: Ints = np.empty(capacity, dtype=np.int64)

    def enlarge(self, size: int) -> None:
        """Make room for so many nodes."""
        for name in _LIST_COLUMNS:
            setattr(self, name, enlarged(getattr(self, name), size))


@final
class Frontier:
    """The open lists of ``problems`` searches, ``orders`` of each, and their shared closed table.

    A node is a number; ``parent``, ``action``, ``g``, ``depth`` and ``problem`` hold
    what is known of it, and ``lists[o].h`` what it is in one of the orders.
    """

    def __init__(self, problems: int, capacity: int = 1024, orders: int = 1) -> None:
        self.n = 0
        self.entries = 0
        self.lists = [OpenList(problems, capacity) for _ in range(orders)]
        self.problem: Ints = np.empty(capacity, dtype=np.int64)
        self.parent: Ints = np.empty(capacity, dtype=np.int64)
        self.action: Ints = np.empty(capacity, dtype=np.int64)
        self.entry: Ints = np.empty(capacity, dtype=np.int64)
        self.depth: Ints = np.empty(capacity, dtype=np.int64)
        self.g: Floats = np.empty(capacity, dtype=np.float64)
        self.prints: Ints = np.empty((capacity, 2), dtype=np.int64)
        self.best_g: Floats = np.empty(capacity, dtype=np.float64)
        self._removed: Bools = np.zeros(capacity, dtype=np.bool_)
        self._table: Ints = np.full(4 * capacity, _NONE, dtype=np.int64)
        self._node_bytes = 1 + 8 * (len(_COLUMNS) + orders * len(_LIST_COLUMNS))

    @property
    def nbytes(self) -> int:
        """The memory that the lists take, without room that is not used yet."""
        return self.n * self._node_bytes + self.entries * _ENTRY_BYTES + self._table.nbytes

    def admit(self, prints: Ints, g: Floats) -> tuple[Bools, Ints]:
        """Which states are new, or cheaper than before, and the entry of each in the table.

        Fingerprints must differ between problems.
        """
        self._reserve_entries(self.entries + len(g))
        keep = np.empty(len(g), dtype=np.bool_)
        entry = np.empty(len(g), dtype=np.int64)
        self.entries = _admit(self._table, self.prints, self.best_g, self.entries, prints, g, entry, keep)
        return keep, entry

    def add(self, f: Floats, h: Floats, **columns: NDArray[Any]) -> Ints:
        """Append nodes, given as one column for each array over nodes, and open them.

        ``f`` and ``h`` have a row for each order, ``[order, node]``; one row alone will do for one.
        """
        count = len(columns["g"])
        first, last = self.n, self.n + count
        self._reserve_nodes(last)
        for name, column in columns.items():
            getattr(self, name)[first:last] = column
        self._removed[first:last] = False
        for own, own_f, own_h in zip(self.lists, np.atleast_2d(f), np.atleast_2d(h), strict=True):
            own.f[first:last], own.h[first:last] = own_f, own_h
            _push(own.f, own.h, own.child, own.sibling, own.root, self.problem, first, count)
        self.n = last
        return np.arange(first, self.n)

    def pop(self, who: Ints, k: Ints, order: int = 0) -> Ints:
        """Remove up to ``k[i]`` best nodes of each problem ``who[i]``, grouped by problem, best first."""
        own = self.lists[order]
        out = np.empty(int(k.sum()), dtype=np.int64)
        arrays = (own.f, own.h, self.g, own.child, own.sibling, self.entry)
        return out[: _pop(arrays, own.root, self.best_g, self._removed, who, k, out)]

    def least_f(self, who: Ints, order: int = 0) -> Floats:
        """A lower bound of the f of each problem's open nodes; infinity where none is open."""
        own = self.lists[order]
        _uncover(own.f, own.h, own.child, own.sibling, own.root, self._removed, who)
        roots = own.root[who]
        return np.where(roots == _NONE, np.inf, own.f[np.maximum(roots, 0)])

    def is_removed(self, node: int) -> bool:
        """Whether a node was taken out to be expanded."""
        return bool(self._removed[node])

    def trace(self, node: int) -> list[int]:
        """The actions from the root to a node."""
        actions: list[int] = []
        while self.parent[node] != _NONE:
            actions.append(int(self.action[node]))
            node = int(self.parent[node])
        return actions[::-1]

    def _reserve_nodes(self, needed: int) -> None:
        if needed > len(self.g):
            size = more_rows(len(self.g), needed, self._node_bytes, current())
            for name in (*_COLUMNS, "_removed"):
                setattr(self, name, enlarged(getattr(self, name), size))
            for own in self.lists:
                own.enlarge(size)

    def _reserve_entries(self, needed: int) -> None:
        budget = current()
        if needed > len(self.best_g):
            size = more_rows(len(self.best_g), needed, _ENTRY_BYTES, budget)
            self.prints = enlarged(self.prints, size)
            self.best_g = enlarged(self.best_g, size)
        if 2 * needed > len(self._table):
            size = 2 * len(self._table)
            while size < 2 * needed:
                size *= 2
            budget.reserve(size * self._table.itemsize)
            self._table = np.full(size, _NONE, dtype=np.int64)
            _rehash(self._table, self.prints, self.entries)
