"""Dataclasses that are quicker to make, for modules that every command imports.

`dataclasses.dataclass` writes each method of a class as text and compiles it. Of the six methods of a frozen
class, all classes can share three: comparison, hash and ``repr`` read the fields by their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from collections.abc import Callable
    from operator import attrgetter
    from reprlib import recursive_repr
    from typing import Any

    def dataclass(
        cls: type | None = None,
        /,
        *,
        eq: bool = True,
        repr: bool = True,
        frozen: bool = False,
        **settings: bool,
    ) -> Any:
        """As `dataclasses.dataclass`."""

        def made(plain: type) -> type:
            own = vars(plain)
            found = dataclasses.dataclass(plain, eq=False, repr=False, frozen=frozen, **settings)
            fields = dataclasses.fields(found)
            if eq and "__eq__" not in own:
                found.__eq__ = _equality(_values([f.name for f in fields if f.compare]))
            if eq and "__hash__" not in own:
                hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
                found.__hash__ = _hash(_values(hashed)) if frozen else None
            if repr and "__repr__" not in own:
                found.__repr__ = _representation([f.name for f in fields if f.repr])
            return found

        return made if cls is None else made(cls)

    def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
        """A function from an instance to the values of some fields."""
        if len(names) > 1:
            return attrgetter(*names)
        if not names:
            return lambda self: ()
        value = attrgetter(*names)  # of one field, the value alone
        return lambda self: (value(self),)

    def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
        def equals(self: Any, other: Any) -> Any:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return equals

    def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
        return lambda self: hash(values(self))

    def _representation(names: list[str]) -> Callable[[Any], str]:
        @recursive_repr()
        def shown(self: Any) -> str:
            values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({values})"

        return shown
