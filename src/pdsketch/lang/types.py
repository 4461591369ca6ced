"""Object types, value types, and the hierarchy of a domain's object types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, final

from pdsketch.lang.records import dataclass

Prim = Literal["bool", "int64", "float32"]

DEFAULT_TOLERANCE = 1e-3
"""Floats this near are equal, unless their type says otherwise."""


@final
@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object type, or several (``either``): what a variable over objects may stand for."""

    names: tuple[str, ...]

    def __hash__(self) -> int:  # types are keys of what is asked again and again
        return hash(self.names)

    def __str__(self) -> str:
        return self.names[0] if len(self.names) == 1 else f"(either {' '.join(self.names)})"


@final
@dataclass(frozen=True, slots=True)
class ValueType:
    """A Boolean, a number, or a tensor of numbers.

    ``shape`` is ``()`` for a scalar, ``(2,)`` for ``vector[float32, 2]``,
    ``(32, 32, 3)`` for an image, and None for ``vector[float32]``, whose
    dimensions are left to inference or to the first state. ``choices`` is the
    number of values of an int, ``0 … choices − 1``. ``alias`` is the name under
    which the author declared the type; it does not take part in comparison.
    """

    prim: Prim
    shape: tuple[int, ...] | None = ()
    choices: int | None = None
    tolerance: float = DEFAULT_TOLERANCE
    alias: str | None = field(default=None, compare=False)

    @property
    def is_bool(self) -> bool:
        """Whether this is the scalar Boolean: the type of formulas."""
        return self.prim == "bool" and self.shape == ()

    @property
    def is_number(self) -> bool:
        """Whether this is a scalar int or float."""
        return self.prim != "bool" and self.shape == ()

    def __str__(self) -> str:
        if self.alias is not None:
            return self.alias
        settings = []
        if self.choices is not None:
            settings.append(f"choices={self.choices}")
        if self.tolerance != DEFAULT_TOLERANCE:
            settings.append(f"tolerance={self.tolerance:g}")
        if self.shape == ():
            return f"{self.prim}[{', '.join(settings)}]" if settings else self.prim
        dims = [str(d) for d in self.shape or ()]
        return f"vector[{', '.join([self.prim, *dims, *settings])}]"


Type = ObjectType | ValueType

BOOL = ValueType("bool")
INT = ValueType("int64")
FLOAT = ValueType("float32")
OBJECT = ObjectType(("object",))


@final
@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The object types of a domain: each type's parents (several under ``either``).

    ``parents`` holds every declared object type; ``object`` is the root and has
    no entry of its own unless it was declared.
    """

    parents: Mapping[str, tuple[str, ...]]
    _known: dict[tuple[str, Any, Any], bool] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _children: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """All object types, ``object`` first."""
        return ("object", *(name for name in self.parents if name != "object"))

    def ancestors(self, name: str) -> frozenset[str]:
        """The type itself and all above it, ``object`` included."""
        seen = {name, "object"}
        stack = [name]
        while stack:
            for parent in self.parents.get(stack.pop(), ()):
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return frozenset(seen)

    def descendants(self, names: Iterable[str]) -> frozenset[str]:
        """The types themselves and all below them."""
        if not self._children:
            children: dict[str, list[str]] = {"object": []}
            for name in self.names:
                for parent in self.parents.get(name, ()):
                    children.setdefault(parent, []).append(name)
            self._children.update(children)
        seen = set(names)
        if "object" in seen:
            return frozenset(self.names)
        stack = list(seen)
        while stack:
            for child in self._children.get(stack.pop(), ()):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return frozenset(seen)

    def is_subtype(self, inner: ObjectType, outer: ObjectType) -> bool:
        """Whether everything of type ``inner`` is of type ``outer``."""
        key = ("is_subtype", inner, outer)
        found = self._known.get(key)
        if found is None:
            if len(inner.names) == 1:
                found = not self.ancestors(inner.names[0]).isdisjoint(outer.names)
            else:
                found = "object" in outer.names or self.descendants(outer.names).issuperset(inner.names)
            self._known[key] = found
        return found

    def overlap(self, a: ObjectType, b: ObjectType) -> bool:
        """Whether an object could be of both types."""
        key = ("overlap", a, b)
        found = self._known.get(key)
        if found is None:
            found = not self.descendants(a.names).isdisjoint(self.descendants(b.names))
            self._known[key] = found
        return found

    def members(self, type_: ObjectType, objects: Mapping[str, ObjectType]) -> tuple[str, ...]:
        """The objects of a type, in the order in which ``objects`` lists them."""
        return tuple(name for name, own in objects.items() if self.is_subtype(own, type_))
