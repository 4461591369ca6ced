"""What the machine code of a kernel is made from.

numba compiles the kernels that a kernel calls into it, and copies the constants that it reads. All of
them are found through the names that its code uses: the digest of a kernel covers its own file, those
of the kernels it calls and of the named tuples it takes, and the values of its constants. A change of
any other file leaves it alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import CodeType
from typing import Any, Final

import numpy as np

try:  # `hashlib` has the same, and loads OpenSSL first
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST: Final = 16
"""Bytes of a digest."""

_NAME = re.compile(r"[A-Za-z_]\w*")


def digest_of(function: Callable[..., Any]) -> str:
    """A digest of all that the machine code of a kernel depends on."""
    found: set[str] = set()
    agenda: list[Any] = [function]
    seen: set[int] = set()
    while agenda:
        part = agenda.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        file, names, scope = _of_class(part) if isinstance(part, type) else _of_function(part)
        state = os.stat(file)
        found.add(_digest_of_file(file, state.st_mtime_ns, state.st_size))
        for name in names:
            value: Any = scope.get(name)
            if hasattr(type(value), "_numba_type_"):  # a kernel; asked of it, numba would be imported
                agenda.append(value.__wrapped__)
            elif isinstance(value, type) and hasattr(value, "_fields"):
                agenda.append(value)
            elif isinstance(value, np.ndarray):
                found.add(f"{name} {value.dtype} {value.tobytes().hex()}")
            elif isinstance(value, int | float | str | tuple | np.generic):
                found.add(f"{name} {value!r}")
    return digest("\n".join(sorted(found)).encode()).hex()


@cache
def _digest_of_file(file: str, _changed: int, _size: int) -> str:
    """Kernels share files; one that was changed is read again."""
    with open(file, "rb") as content:
        return digest(content.read()).hex()


def digest(content: bytes) -> bytes:
    """What tells contents apart, in `DIGEST` bytes."""
    return blake2b(content, digest_size=DIGEST).digest()


def _of_function(function: Any) -> tuple[str, set[str], Mapping[str, Any]]:
    """The file of a function, the names that it and its annotations use, and where to look them up."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    names.update(_NAME.findall(" ".join(map(str, function.__annotations__.values()))))
    return function.__code__.co_filename, names, function.__globals__


def _of_class(named_tuple: type) -> tuple[str, set[str], Mapping[str, Any]]:
    """The same for a named tuple: the types of its fields may be named tuples, too."""
    module = sys.modules[named_tuple.__module__]
    names = set(_NAME.findall(" ".join(map(str, named_tuple.__annotations__.values()))))
    return str(module.__file__), names, vars(module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
