"""Compiled kernels kept on disk, in a cache that may fail in every way and never stops a plan.

numba's own cache has an index and data files, written one after the other: after a kill in
between, or where two processes meet, an index may name code of another source or of another
signature, and a file that was cut short is an exception in every later process. Here each kernel
and signature has one file of its own, which begins with digests: of what the code was compiled
from, and of the code. It is loaded if both are right, else the kernel is compiled again. A folder
that cannot be written only costs the time to compile.
"""

from __future__ import annotations

import os
import pickle
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any, final

import llvmlite
import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.serialize import dumps

from pdsketch.kernels.sources import digest_of

_SIZE = 16


def keep(compiled: Any, function: Callable[..., Any], variant: str = "") -> Any:
    """Let a compiled function keep its machine code, in files of its own for each ``variant`` of it."""
    try:
        compiled._cache = _Kept(function, variant)
    except (RuntimeError, OSError):  # neither the package's folder nor the user's cache can be written
        compiled._cache = _Nowhere()
    return compiled


@final
class _Kept(FunctionCache):
    """What numba asks for machine code, and gives it to."""

    def __init__(self, function: Callable[..., Any], variant: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        folder = self._impl.locator.get_cache_path()
        self._cache_file: Any = _Files(folder, self._impl.filename_base + variant, function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None: it must be compiled."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError as why:
            _Trouble.tell(f"cannot be read from {self.cache_path} ({_reason(why)})")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for a signature, if that is possible."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as why:
            _Trouble.tell(f"cannot be kept in {self.cache_path} ({_reason(why)})")


@final
class _Nowhere(NullCache):
    """Where no folder can be written."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Say so."""
        _Trouble.tell("cannot be kept: there is no folder for them that can be written")


@final
class _Files:
    """One file for each signature of a kernel."""

    def __init__(self, folder: str, base: str, function: Callable[..., Any]) -> None:
        self._folder = folder
        self._base = base
        self._function = function

    @cached_property
    def _origin(self) -> tuple[str, ...]:
        """Asked for at the first call, when all that the kernel names has been defined."""
        return numba.__version__, llvmlite.__version__, digest_of(self._function)

    def load(self, key: object) -> Any:
        """What was saved under a key, if it is whole and of this source."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        origin, digest, code = content[:_SIZE], content[_SIZE : 2 * _SIZE], content[2 * _SIZE :]
        if _digest(code) != digest:
            _Trouble.tell(f"were damaged in {path}", "they are compiled again")
            return None
        return pickle.loads(code) if origin == self._mark(key) else None

    def save(self, key: object, data: Any) -> None:
        """Write beside, then rename: another process sees the whole file or none."""
        code = dumps(data)  # type: ignore[no-untyped-call]
        path = self._path(key)
        scratch = f"{path}.{uuid.uuid4().hex}"
        try:
            with open(scratch, "wb") as file:
                file.write(self._mark(key) + _digest(code) + code)
            os.replace(scratch, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(scratch)
            raise

    def _mark(self, key: object) -> bytes:
        return _digest(repr((self._origin, key)).encode())

    def _path(self, key: object) -> str:
        return os.path.join(self._folder, f"{self._base}.{_digest(repr(key).encode()).hex()}.nbc")


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_SIZE).digest()


def _reason(why: OSError) -> str:
    return (why.strerror or str(why)).lower()


@final
class _Trouble:
    """What the user is told about the cache, once a process."""

    told = False

    @classmethod
    def tell(cls, what: str, instead: str = "planning goes on, and compiles them once a process") -> None:
        """Say what is wrong, unless something was said before."""
        if not cls.told:
            cls.told = True
            sys.stderr.write(f"pdsketch: the compiled kernels {what}; {instead}\n")
            sys.stderr.flush()
