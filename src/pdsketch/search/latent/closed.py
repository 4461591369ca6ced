"""The closed table of many searches: from 128-bit fingerprints to the best cost at which each was reached.

A hash table with open addressing, in tensors: all states of a batch are looked up at once, and move on
together to their next slots, until each has found its entry. Where several want one free slot, the first of
them gets it, so that entries have the same numbers on every device.
"""

from __future__ import annotations

from typing import Final, final

import torch
from torch import Tensor

from pdsketch.budget import current
from pdsketch.search.latent.growing import capacity, grown

_NONE: Final = -1
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
        self._table = torch.full((slots,), _NONE, dtype=torch.int64, device=device)

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
        entry = torch.full_like(prints[:, 0], _NONE)
        slot, waiting = self._first_slots(prints), torch.arange(len(prints), device=prints.device)
        while len(waiting):
            found = self._table[slot]
            free = found == _NONE
            own = prints[waiting]
            same = (self._prints[found.clamp(min=0)] == own).all(1) & ~free
            entry[waiting[same]] = found[same]
            winners = self._claimed(slot[free], waiting[free])
            numbers = torch.arange(self.size, self.size + len(winners), device=prints.device)
            entry[winners] = numbers
            self._prints[numbers] = prints[winners]
            self.best_g[numbers] = torch.inf
            self._table[slot[free]] = entry[-self._table[slot[free]] - 2]
            self.size += len(winners)
            # Who did not get a free slot looks into it again: it may hold the same state now.
            left = (entry[waiting] == _NONE).nonzero().squeeze(1)
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
            self._table = self._table.new_full((slots,), _NONE)
            self._enter_again()

    def _enter_again(self) -> None:
        """Put all entries into a new table; no two are equal."""
        waiting = torch.arange(self.size, device=self._table.device)
        slot = self._first_slots(self._prints[: self.size])
        while len(waiting):
            free = self._table[slot] == _NONE
            self._claimed(slot[free], waiting[free])
            mine = free & (self._table[slot] == -2 - waiting)
            self._table[slot[mine]] = waiting[mine]
            left = (~mine).nonzero().squeeze(1)
            slot, waiting = (slot[left] + ~free[left]) & (len(self._table) - 1), waiting[left]
