"""Dataclasses that are quicker to make, for modules that every command imports.

`dataclasses.dataclass` writes each method of a class as text and compiles it: a fifth of the start of a
command. Here classes share all methods but ``__init__``, which is compiled when a first instance is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from collections.abc import Callable
    from functools import cache
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
            derived = any(dataclasses.is_dataclass(base) for base in plain.__bases__)
            settings["frozen"] = frozen and derived  # else two methods more are written
            found = dataclasses.dataclass(plain, init=False, eq=False, repr=False, **settings)
            found.__dataclass_params__.frozen = frozen
            fields = dataclasses.fields(found)
            if "__init__" not in own:
                found.__init__ = _compiled_once(found, frozen)
            if frozen:
                found.__setattr__ = found.__delattr__ = _refuse
                if "__slots__" in vars(found) and "__getstate__" not in own:
                    found.__getstate__, found.__setstate__ = _state, _restore
            if eq and "__eq__" not in own:
                found.__eq__ = _equality(_values([f.name for f in fields if f.compare]))
            if eq and "__hash__" not in own:
                hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
                found.__hash__ = _hash(_values(hashed)) if frozen else None
            if repr and "__repr__" not in own:
                found.__repr__ = _representation([f.name for f in fields if f.repr])
            return found

        return made if cls is None else made(cls)

    def _compiled_once(cls: type, frozen: bool) -> Callable[..., None]:
        compiled = cache(lambda: _initializer(cls, frozen))

        def first(self: Any, *values: Any, **named: Any) -> None:
            if cls.__init__ is first:
                cls.__init__ = compiled()
            compiled()(self, *values, **named)

        return first

    def _initializer(cls: type, frozen: bool) -> Callable[..., None]:
        """``__init__``, as text that is compiled: an assignment for each field."""
        scope: dict[str, Any] = {"_put": object.__setattr__, "_UNSET": object()}
        lines, positional, named = [], [], []
        for field in dataclasses.fields(cls):
            name, value, parameter = field.name, field.name, field.name
            if field.default_factory is not dataclasses.MISSING:
                scope[f"_make_{name}"] = field.default_factory
                parameter += "=_UNSET"
                value = f"_make_{name}() if {name} is _UNSET else {name}" if field.init else f"_make_{name}()"
            elif field.default is not dataclasses.MISSING:
                scope[f"_default_{name}"] = field.default
                parameter += f"=_default_{name}"
                value = name if field.init else f"_default_{name}"
            elif not field.init:
                continue
            if field.init:
                (named if field.kw_only else positional).append(parameter)
            lines.append(f"_put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
        exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), scope)
        made: Callable[..., None] = scope["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _refuse(self: Any, name: str, *_: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"`{name}` of a {type(self).__name__} does not change")

    def _state(self: Any) -> list[Any]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _restore(self: Any, state: list[Any]) -> None:
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

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
