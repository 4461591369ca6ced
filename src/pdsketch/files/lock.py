"""One writer a folder: a lock that is gone when its holder is gone, however it ended.

The lock is one of the system's (`fcntl`), on a file ``.lock`` in the folder; the
file says who holds it, and is removed with the lock. A killed process leaves
the file, which then locks nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from pdsketch.files.writing import PREFIX, cannot_write, make_folder, sweep
from pdsketch.lang import Error, error

LOCK: Final = ".lock"

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_guard = threading.Lock()
# By lock file: the process and thread that hold it, and how often. The system's locks are by process.
_held: dict[tuple[str, int], list[int]] = {}


@contextmanager
def lock_folder(folder: str | PathLike[str]) -> Iterator[None]:
    """Within, nobody else writes into the folder, which is made if need be.

    An `Error` that says who does, if somebody does. Whoever holds the lock may
    take it again. What killed writers left is removed.
    """
    path = make_folder(folder)
    with lock(path / LOCK, fspath(folder)):
        sweep(path)
        yield


@contextmanager
def lock_file(path: str | PathLike[str]) -> Iterator[None]:
    """Within, nobody else writes this file, whose folder is made if need be."""
    place = Path(path)
    folder = make_folder(place.parent)
    with lock(place.with_name(f".{place.name}{LOCK}"), fspath(path)):
        sweep(folder)
        yield


def is_trace(name: str) -> bool:
    """Whether a file of this name is what a writer leaves that is at work, or was killed."""
    return name.startswith(PREFIX) or (name.startswith(".") and name.endswith(LOCK))


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock; ``what`` it is that is written."""
    key = (os.path.realpath(path), os.getpid())
    thread = threading.get_ident()
    with _guard:
        holder = _held.get(key)
        if holder is not None and holder[0] != thread:
            raise _in_use(what, f"another thread of this process ({os.getpid()})")
        if holder is None:
            file = _acquired(path, what)
            holder = _held[key] = [thread, 0, file]
        holder[1] += 1
    try:
        yield
    finally:
        with _guard:
            # A forked child that comes by here holds nothing.
            holder[1] -= os.getpid() == key[1]
            if not holder[1]:
                del _held[key]
                _release(path, holder[2])


def _acquired(path: Path, what: str) -> int:
    while True:
        try:
            file = os.open(path, _OPEN, 0o666)
        except OSError as problem:
            raise cannot_write(path, problem) from None
        try:
            if _locked(file, path, what):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # its holder has just removed it: whoever comes now makes another


def _locked(file: int, path: Path, what: str) -> bool:
    """Whether the lock is ours now; False where the file is no longer in its place."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise error("cannot-write", "this is no lock of ours", file=fspath(path), help="remove it")
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in (errno.EACCES, errno.EAGAIN):
            raise _in_use(what, _holder(file)) from None
        if problem.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise cannot_write(path, problem) from None
        # Some network disks have no locks. To write there must be possible all the same.
    # Between opening and locking, the last holder may have removed the file: then the lock is on nothing.
    if not _is_at(file, path):
        return False
    with suppress(OSError):  # a full disk: the lock holds, and does not say who holds it
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return True


def _holder(file: int) -> str:
    text = os.pread(file, 200, 0).decode(errors="replace").strip()
    return text if re.fullmatch(r"process \d+ on [\w.-]+", text) else "another process"


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(path: Path, file: int) -> None:
    # Removed first, while it is still locked: the other order could remove the next holder's file.
    try:
        if _is_at(file, path):
            os.unlink(path)
    finally:
        os.close(file)


def _in_use(what: str, holder: str) -> Error:
    return error(
        "folder-in-use",
        f"{holder} is writing here",
        file=what,
        help="wait until it has ended, or write to another place",
    )
