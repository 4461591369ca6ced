"""Successors on their way from a tensor call into the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from pdsketch.tensor import StateBatch


@final
@dataclass(frozen=True, slots=True)
class Children:
    """States on their way into the store.

    ``parent[i]`` counts within the expanded nodes; ``action`` and ``instance`` say
    what was done; ``shares`` are those of each changing predicate in the
    fingerprint. A table that the action does not write is None: it is the
    parent's, and is fetched for those that are kept.
    """

    parent: Tensor
    action: Tensor
    instance: Tensor
    cost: Tensor
    shares: Tensor
    tables: dict[str, Tensor | None]

    def __len__(self) -> int:
        return self.parent.shape[0]

    def select(self, index: Tensor) -> Children:
        """Some of them."""
        parent, action, instance, cost, shares = (c.index_select(0, index) for c in self.columns)
        tables = {name: None if t is None else t.index_select(0, index) for name, t in self.tables.items()}
        return Children(parent, action, instance, cost, shares, tables)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        """What is known of each child, besides its tables."""
        return (self.parent, self.action, self.instance, self.cost, self.shares)

    def table(self, name: str) -> Tensor:
        """A table that is there."""
        found = self.tables[name]
        assert found is not None
        return found

    def completed(self, parents: StateBatch) -> Children:
        """With the parents' tables in place of those that were not written."""
        tables: dict[str, Tensor | None] = {
            name: parents.tensor(name).index_select(0, self.parent) if table is None else table
            for name, table in self.tables.items()
        }
        return Children(self.parent, self.action, self.instance, self.cost, self.shares, tables)


def joined(parts: Sequence[Children]) -> Children:
    """Completed children, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    parent, action, instance, cost, shares = map(torch.cat, zip(*(p.columns for p in parts), strict=True))
    tables: dict[str, Tensor | None] = {
        name: torch.cat([part.table(name) for part in parts]) for name in parts[0].tables
    }
    return Children(parent, action, instance, cost, shares, tables)
