"""How kernels are compiled: by numba, once, and kept on disk where that is possible.

What numba compiled is also linked into a shared object, where there is a linker:
a later process calls it without numba, whose import takes longer than most small
problems. numba stays the fallback: for arguments of other kinds, and where
nothing is linked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast, final

from pdsketch.budget import apart
from pdsketch.kernels import linked
from pdsketch.kernels.flat import Fixed, flatten, unfixed

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=tuple[Any, ...])


def kernel(function: F) -> F:
    """Compile a function over flat arrays; it may call kernels of any room."""
    return cast(F, Kernel(function))


def fixed(value: T) -> T:
    """A tuple of arrays that many calls of kernels are given; only as an argument of one is it still that."""
    return cast(T, Fixed(value))


@final
class Kernel:
    """A function that runs as machine code, linked or numba's."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._linked: dict[str, linked.Linked | None] = {}
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:
        """What numba makes of the function, with its machine code on disk."""
        return self._made(inner=False)

    @cached_property
    def _inner(self) -> Any:
        """The same for other kernels to call: without what Python would call, which takes long to compile."""
        return self._made(inner=True)

    @property
    def _numba_type_(self) -> Any:
        """numba's type of this kernel where another one calls it."""
        return self._inner._numba_type_

    def _made(self, *, inner: bool) -> Any:
        with apart():
            from numba import njit

            import pdsketch.kernels.aside  # noqa: F401 - what numba takes is not counted, and told
            from pdsketch.kernels.cache import keep

            options: dict[str, Any] = {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
            return keep(njit(self.function, **options), self.function, ".inner" if inner else "")

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        flat = flatten(args) if linked.available() else None
        if flat is None:
            return self.compiled(*unfixed(args))
        signature, formats, slots = flat
        try:
            run = self._linked[signature]
        except KeyError:
            known, run = linked.load(self.function, signature, formats)
            self._linked[signature] = run
            if not known:
                return self._first(signature, unfixed(args))
        return self.compiled(*unfixed(args)) if run is None else run(slots)

    def _first(self, signature: str, args: tuple[Any, ...]) -> Any:
        """Run numba's machine code, and link it for later processes."""
        result = self.compiled(*args)
        with apart():
            from pdsketch.kernels.link import UnlinkedError, shared_object

            found = self.compiled.overloads.get(tuple(map(self.compiled.typeof_pyval, args)))
            if found is not None:
                try:
                    content = shared_object(found)
                except UnlinkedError:
                    content = linked.UNLINKED
                linked.save(self.function, signature, content)
        return result
