"""Kernels that were linked before: found on disk and called without numba.

The name of a shared object holds a digest of all that it was made from: the
sources of the kernel and of those that it calls, the signature, numba, the
processor and Python. The file ends with a digest of the rest, so that one that
was cut short is not loaded. Neither is one that others could have written: the
folder and the file must be the user's or root's, and nobody else's to write.
"""

from __future__ import annotations

import ctypes
import math
import os
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, final

import numpy as np

from pdsketch.kernels.flat import Slots
from pdsketch.kernels.sources import DIGEST, digest, digest_of

SUFFIX: Final = ".so"
UNLINKED: Final = b""
"""What is kept of a kernel that cannot be linked, so that it is not tried again."""

_FORM: Final = 2
"""Counted up when the entries of shared objects change."""

_HARMLESS: Final = frozenset({"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"})


@final
class Linked:
    """A kernel of one signature, as a function of its slots."""

    def __init__(self, path: str, formats: str) -> None:
        library = ctypes.PyDLL(path)  # it keeps the interpreter's lock, as numba does
        entry, release = library.kernel, library.kernel_release
        entry.argtypes, entry.restype = (ctypes.c_char_p, ctypes.c_void_p), ctypes.c_int32
        release.argtypes, release.restype = (ctypes.c_void_p,), None
        self._entry: Callable[..., int] = entry
        self._release: Callable[[int], None] = release
        self._kinds = ctypes.string_at(
            ctypes.addressof(ctypes.c_char.in_dll(library, "kernel_returns"))
        ).decode()
        self._words = ctypes.c_uint64 * (1 + sum(map(_size, self._kinds.strip("()").split(","))))
        self._pack = struct.Struct(f"={formats}").pack

    def __call__(self, slots: Slots) -> Any:
        """Run it; the arrays must live until it returns."""
        words = self._words()
        if self._entry(self._pack(*slots), ctypes.addressof(words)):
            raise RuntimeError("a compiled kernel failed")
        if not self._kinds.startswith("("):
            return self._result(self._kinds, words, 0)
        found, at = [], 0
        for kind in self._kinds[1:-1].split(","):
            found.append(self._result(kind, words, at))
            at += _size(kind)
        return tuple(found)

    def _result(self, kind: str, words: Any, at: int) -> Any:
        """A number, or an array: a copy of it, for the kernel's own is given back."""
        if len(kind) == 1:
            return _NUMBERS[kind](words, at)
        shape = tuple(words[at + 2 : at + _size(kind)])
        dtype = np.dtype(kind[0])
        count = math.prod(shape) * dtype.itemsize
        content = ctypes.string_at(words[at + 1], count) if count else b""
        self._release(words[at])
        return np.frombuffer(bytearray(content), dtype).reshape(shape)


_NUMBERS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "n": lambda words, at: None,
    "i": lambda words, at: ctypes.c_int64(words[at]).value,
    "u": lambda words, at: words[at],
    "b": lambda words, at: bool(words[at]),
    "f": lambda words, at: ctypes.c_double.from_buffer(words, 8 * at).value,
}


def _size(kind: str) -> int:
    """How many words a result takes: an array its memory, its address and its shape."""
    return 1 if len(kind) == 1 else 2 + int(kind[1:])


@cache
def available() -> bool:
    """Whether machine code is linked here: on Linux, and where no setting of numba's may change it."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and _settings() <= _HARMLESS and _numba() != ""


def _settings() -> set[str]:
    return {name for name in os.environ if name.startswith("NUMBA_")}


def load(function: Callable[..., Any], signature: str, formats: str) -> tuple[bool, Linked | None]:
    """Whether it was tried before to link a kernel of a signature, and the kernel itself.

    The kernel is None where it cannot be linked, or there is none to be trusted.
    """
    name = _name(function, signature)
    for folder in _folders(function):
        path = os.path.join(folder, name)
        content = _whole(path) if _is_ours(folder) and _is_ours(path) else None
        if content == UNLINKED:
            return True, None
        if content is not None:
            with suppress(OSError):  # a symbol is missing
                return True, Linked(path, formats)
    return False, None


def save(function: Callable[..., Any], signature: str, content: bytes) -> bool:
    """Keep a shared object where `load` looks first and that can be written; False where there is none."""
    name = _name(function, signature)
    for folder in _folders(function):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if _is_ours(folder):
                _write(os.path.join(folder, name), content + digest(content))
                return True
        except OSError:
            continue
    return False


def _write(path: str, content: bytes) -> None:
    scratch = f"{path}.{os.urandom(8).hex()}"
    try:
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(content)
        os.replace(scratch, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(scratch)
        raise


def _folders(function: Callable[..., Any]) -> list[str]:
    """Where shared objects are kept: where numba keeps its own if told, else by the sources or at home."""
    asked = os.environ.get("NUMBA_CACHE_DIR")
    if asked:
        return [asked]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    beside = os.path.dirname(function.__code__.co_filename)
    return [os.path.join(beside, "__pycache__"), os.path.join(home, "pdsketch")]


def _is_ours(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _whole(path: str) -> bytes | None:
    """What a file holds but for its digest; None if that does not fit."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    return content[:-DIGEST] if digest(content[:-DIGEST]) == content[-DIGEST:] else None


def _name(function: Callable[..., Any], signature: str) -> str:
    origin = (_FORM, digest_of(function), signature, _numba(), _processor(), os.uname().machine)
    made_from = digest(repr(origin).encode()).hex()
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}.{made_from}{SUFFIX}"


@cache
def _numba() -> str:
    """Which numba is installed, by the file that holds its version: importing it would take too long."""
    try:
        spec = find_spec("numba")
        if spec is None or not spec.origin:
            return ""
        found = os.stat(os.path.join(os.path.dirname(spec.origin), "_version.py"))
    except (OSError, ValueError):
        return ""
    return f"{spec.origin} {found.st_size} {found.st_mtime_ns}"


@cache
def _processor() -> bytes:
    """What this processor is and can do: the first entry of the system's list."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first = file.read(8192).split(b"\n\n")[0]
    except OSError:
        return b""
    kept = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"Features", b"CPU ")
    return b"\n".join(line for line in first.split(b"\n") if line.startswith(kept))
