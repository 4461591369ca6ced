"""How the library is found and called: its structures, its errors, its limits."""

from __future__ import annotations

import ctypes
import os
import threading
from _thread import start_new_thread
from array import array
from collections.abc import Callable, Mapping
from ctypes import Structure, byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal

from pdsketch.budget import UNLIMITED, Budget, LimitError, OutOfMemoryError, OutOfTimeError
from pdsketch.lang import error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdsketch.core.rows import CSR

VERSION: Final = 7
"""Of the interface; the library must say the same."""

_DONE, _OUT_OF_TIME, _OUT_OF_MEMORY, _INTERRUPTED = range(4)

LIMITS: Final[dict[int, type[LimitError]]] = {_OUT_OF_TIME: OutOfTimeError, _OUT_OF_MEMORY: OutOfMemoryError}
"""What each answer that names a limit raises."""

Kind = Literal["i", "B", "d"]
"""Types of items as `array` and numpy name them: 32-bit ints, bytes, doubles."""


# The structures of `core/interface.h`.


class _Limits(Structure):
    _fields_ = [("seconds", c_double), ("bytes", c_double), ("stop", c_void_p)]


class RowsStructure(Structure):
    """Lists of ints in two arrays."""

    _fields_ = [("n", c_int64), ("starts", c_void_p), ("items", c_void_p)]


class TaskStructure(Structure):
    """A grounded task."""

    _fields_ = [
        *((name, c_int64) for name in ("n_facts", "n_basic", "n_goal", "n_operators", "n_axioms")),
        *((name, c_void_p) for name in ("init", "goal", "costs")),
        *((name, RowsStructure) for name in ("preconditions", "effects", "conditions", "heads")),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", RowsStructure),
        ("axiom_layers", c_void_p),
    ]


Signatures = Mapping[str, tuple[Any, list[Any]]]
"""What functions answer with, and their arguments."""

_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "pds_version": (c_int32, []),
    "pds_last_error": (c_char_p, []),
}


def declare(signatures: Signatures) -> None:
    """Say of what types functions are, before they are called."""
    _SIGNATURES.update(signatures)


@cache
def function(name: str) -> Any:
    """A function of the library."""
    found = getattr(library(), name)
    found.restype, found.argtypes = _SIGNATURES[name]
    return found


@cache
def library() -> ctypes.CDLL:
    """The library."""
    path = os.environ.get("PDSKETCH_CORE") or os.path.join(_above(2), "_core.so")
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise error(
            "no-engine",
            f"the planning engine cannot be loaded: {why}",
            help="install the package with `pip install .`, or in an editable install run `make core`",
        ) from None
    if not hasattr(lib, "pds_version"):
        raise error("no-engine", f"{path} is a library, and no planning engine", help="run `make core`")
    _refuse_an_older_one(path)
    if lib.pds_version() != VERSION:
        raise error("old-engine", f"{path} is not of this version of pdsketch", help="run `make core`")
    return lib


def _above(levels: int) -> str:
    """A folder above this file."""
    return os.path.normpath(os.path.join(__file__, *[os.pardir] * levels))


def _refuse_an_older_one(path: str) -> None:
    """In a checkout, the library must not be older than its sources."""
    sources = os.path.join(_above(4), "core")
    if not os.path.exists(os.path.join(sources, "interface.h")):
        return
    built = os.stat(path).st_mtime
    with os.scandir(sources) as files:
        newer = any(f.stat().st_mtime > built for f in files if f.name.endswith((".h", ".hpp", ".cpp")))
    if newer:
        raise error(
            "old-engine",
            f"the sources in {sources} are newer than {path}",
            help="run `make core`",
        )


class Arrays:
    """Arrays as the library reads them; they live as long as this does."""

    def __init__(self) -> None:
        self._kept: list[object] = []

    def at(self, values: array[Any] | NDArray[Any], kind: Kind) -> int:
        """The address of an array of a kind."""
        if isinstance(values, array):
            assert values.typecode == kind
            self._kept.append(values)
            return values.buffer_info()[0]
        import numpy as np  # whoever has such an array has imported it

        kept = np.ascontiguousarray(values, kind)
        self._kept.append(kept)
        return int(kept.ctypes.data)

    def rows(self, rows: CSR | None) -> RowsStructure:
        """Rows of ints; None: no rows."""
        if rows is None:
            return RowsStructure(0, self.at(array("i", [0]), "i"), self.at(array("i"), "i"))
        return RowsStructure(len(rows.starts) - 1, self.at(rows.starts, "i"), self.at(rows.items, "i"))


def ints_at(address: int | None, size: int) -> array[int]:
    """A copy of ints that lie in the library."""
    return array("i", ctypes.string_at(address, 4 * size) if address else b"")


class Owned:
    """Something that lives in the library until nobody needs it here."""

    def __init__(self, free: str) -> None:
        self.handle = c_void_p()
        self._free = function(free)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._free(self.handle)


def call(name: str, *arguments: Any, budget: Budget = UNLIMITED, brief: bool = False) -> None:
    """Call a function whose last argument are limits: those of ``budget``, and Ctrl-C.

    Raises the budget's `LimitError` where a limit is reached. A ``brief`` call takes less than Ctrl-C may.
    """
    budget.check()
    stop = c_int32(0)
    limits = _Limits(budget.left(), budget.room(), ctypes.addressof(stop))
    called = function(name)
    if brief:
        answer = int(called(*arguments, byref(limits)))
    else:
        answer = _attended(lambda: int(called(*arguments, byref(limits))), stop)
    if answer == _OUT_OF_MEMORY and budget.memory == inf:
        raise MemoryError
    if answer in LIMITS:
        raise LIMITS[answer]
    if answer != _DONE:
        raise RuntimeError(f"{name}: {function('pds_last_error')().decode(errors='replace')}")


def _attended(work: Callable[[], int], stop: c_int32) -> int:
    """Call a function that ends soon after ``stop`` is set, and set it where a signal raises an exception.

    Python runs handlers of signals in the main thread, between two of its own steps: so that thread waits,
    and another one is in the library.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    answers: list[int] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            answers.append(work())
        finally:
            done.release()

    try:
        try:
            start_new_thread(run, ())
        except RuntimeError:  # the system has no more threads: Ctrl-C has to wait
            return work()
        done.acquire()
    except BaseException:
        stop.value = 1
        _wait(done)
        raise
    (answer,) = answers
    return answer


def _wait(done: threading.Lock) -> None:
    """Wait for the library, however often Ctrl-C is pressed: until it ends it reads what would go."""
    while True:
        try:
            done.acquire()
        except KeyboardInterrupt:
            continue
        return
