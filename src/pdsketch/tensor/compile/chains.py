"""Which derived predicates read which: long chains are cut into pieces that fit Python's stack."""

from __future__ import annotations

from typing import final

from pdsketch.lang import Domain

PIECE = 24
"""How many links of a chain are evaluated by recursion."""


@final
class Chains:
    """The derived predicates below each one, callees first.

    Encoded predicates end a chain, since a state may hold them; so do those
    over values, which have no table.
    """

    def __init__(self, domain: Domain) -> None:
        self._callees: dict[str, tuple[str, ...]] = {}
        self._rank: dict[str, int] = {}
        self._order: dict[str, int] = {}
        linked, read = frozenset(domain.analysis.tables), domain.analysis.bodies
        for component in domain.components:
            own = [name for name in component if name in linked]
            found: dict[str, None] = {}
            for name in own:
                found.update(dict.fromkeys(r for r in read[name] if r in linked and r not in component))
            rank = 1 + max((self._rank[r] for r in found), default=-1)
            for name in own:
                self._callees[name] = tuple(found)
                self._rank[name] = rank
                self._order[name] = len(self._order)

    def below(self, name: str) -> list[str]:
        """Everything that a predicate reads, directly or not, in the order of evaluation."""
        seen: set[str] = set()
        stack = list(self._callees.get(name, ()))
        while stack:
            one = stack.pop()
            if one not in seen:
                seen.add(one)
                stack += self._callees[one]
        return sorted(seen, key=self._order.__getitem__)

    def pieces(self, name: str) -> list[str]:
        """What to evaluate before a predicate at the end of a piece, in order; nothing for others."""
        rank = self._rank.get(name, 0)
        if rank == 0 or rank % PIECE:
            return []
        return [one for one in self.below(name) if self._rank[one] % PIECE == 0 and self._rank[one]]
