"""What inference has learned: types of untyped variables, values of blanks, dimensions.

Checking a domain is repeated until a round learns nothing new; only the last
round's diagnostics count. Everything here only grows, so this ends.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import final

from pdsketch.lang.check.tables import UNKNOWN, Slot
from pdsketch.lang.records import dataclass
from pdsketch.lang.source import Span
from pdsketch.lang.types import OBJECT, Hierarchy, ObjectType, Type, ValueType

Shape = tuple[int, ...]


@final
@dataclass(slots=True)
class Knowledge:
    """``types`` is keyed by the offset of the variable's declaration."""

    types: dict[int, Type] = field(default_factory=dict)
    demands: dict[int, list[Type]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    blanks: dict[str, ValueType] = field(default_factory=dict)
    unknown_blanks: set[str] = field(default_factory=set)
    parents: dict[Slot, Slot] = field(default_factory=dict)
    shapes: dict[Slot, tuple[Shape, Span]] = field(default_factory=dict)
    changed: bool = False

    def begin_round(self) -> None:
        """Forget the demands of the last round; keep what follows from them."""
        self.changed = False
        self.demands = {}

    def demand(self, key: int, type_: Type) -> None:
        """An untyped variable is used where a type is wanted."""
        self.demands.setdefault(key, []).append(type_)

    def type_of(self, key: int) -> Type:
        """The type of an untyped variable, as far as it is known."""
        self.open.add(key)
        return self.types.get(key, UNKNOWN)

    def settle_rest(self) -> bool:
        """Make ``object`` of every variable whose uses demand nothing; whether there was one."""
        rest = self.open - self.types.keys()
        self.types.update(dict.fromkeys(rest, OBJECT))
        return bool(rest)

    def settle(self, hierarchy: Hierarchy) -> None:
        """Give each untyped variable the type that its uses demand."""
        for key, demands in self.demands.items():
            type_ = _demanded(demands, hierarchy)
            if self.types.get(key) != type_:
                self.types[key] = type_
                self.changed = True

    def learn_blank(self, name: str, returns: ValueType) -> None:
        """A use tells what a blank returns; that is news if another use has asked for it before."""
        if name not in self.blanks:
            self.blanks[name] = returns
            self.changed |= name in self.unknown_blanks

    def blank(self, name: str) -> ValueType | None:
        """What a blank returns, if a use has told by now."""
        if name not in self.blanks:
            self.unknown_blanks.add(name)
        return self.blanks.get(name)

    def root(self, slot: Slot) -> Slot:
        """The slot that stands for all those of one shape."""
        while slot in self.parents:
            slot = self.parents[slot]
        return slot

    def refine(self, slot: Slot, type_: ValueType) -> ValueType:
        """The type, with its dimensions if they are known by now."""
        if type_.shape is not None:
            return type_
        known = self.shapes.get(self.root(slot))
        return type_ if known is None else replace(type_, shape=known[0])

    def origin(self, slot: Slot) -> Span | None:
        """Where the dimensions of a slot were learned."""
        known = self.shapes.get(self.root(slot))
        return None if known is None else known[1]

    def bind(self, slot: Slot, shape: Shape, span: Span) -> None:
        """Learn the dimensions of a slot. A conflict shows in the next round, where both are known."""
        root = self.root(slot)
        if root not in self.shapes:
            self.shapes[root] = (shape, span)
            self.changed = True

    def join(self, a: Slot, b: Slot) -> None:
        """Learn that two slots have the same dimensions."""
        root_a, root_b = self.root(a), self.root(b)
        if root_a != root_b:
            known = self.shapes.pop(root_b, None)
            self.parents[root_b] = root_a
            if known is not None:
                self.shapes.setdefault(root_a, known)
            self.changed = True


def _demanded(demands: list[Type], hierarchy: Hierarchy) -> Type:
    """The most specific of the demanded types, ``object`` where they do not agree."""
    distinct = list(dict.fromkeys(demands))
    if all(isinstance(type_, ValueType) for type_ in distinct):
        return distinct[0]
    objects = [type_ for type_ in distinct if isinstance(type_, ObjectType) and type_ != UNKNOWN]
    for candidate in objects:
        if len(objects) == len(distinct) and all(hierarchy.is_subtype(candidate, other) for other in objects):
            return candidate
    return OBJECT
