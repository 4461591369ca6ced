"""The one place that writes files: whole or not at all.

A file is written beside its place under a name that nobody can guess, flushed
to the disk, and then put in place by one rename. A kill, a full disk or a power
cut at any moment leaves the old contents or the new ones. Its permissions are
those that the umask gives.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike, fspath
from typing import TYPE_CHECKING, Final, Self, final

from pdsketch.lang import Error, error

if TYPE_CHECKING:
    from pathlib import Path  # takes 3 ms to import, and most commands write nothing

Name = str | PathLike[str]
Data = str | bytes | bytearray | memoryview
"""A text is written as UTF-8."""

PREFIX: Final = ".pdsketch-"
PART: Final = ".part"
"""How the names of unfinished files begin and end."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STREAMS: Final = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


def write_file(path: Name, data: Data | Iterable[Data], *, known_as: Name | None = None) -> None:
    """Put a file in place. A link of that name is replaced; what it points at is not touched.

    ``known_as`` is the name that the user is told if it cannot be written.
    """
    from pathlib import Path

    _replace(Path(path), data, None, known_as)


def write_output(path: Name, data: Data | Iterable[Data]) -> None:
    """Write a file that the user named, as a shell's ``>`` would but whole.

    A link stays a link, and a file keeps its permissions; a pipe or a device is written into.
    """
    name = fspath(path)
    try:
        found = os.stat(path)
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise cannot_write(path, problem) from None
        _replace(_target(path), data, None, name)
        return
    if name.startswith(_STREAMS) or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        _into(path, data)
    elif not os.access(path, os.W_OK) and stat.S_ISREG(found.st_mode):
        raise cannot_write(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    else:
        _replace(_target(path), data, stat.S_IMODE(found.st_mode), name)


def check_output(path: Name) -> None:
    """Refuse at once, before much work is done, what `write_output` could not write."""
    if os.path.isdir(path):
        raise cannot_write(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if not os.path.isdir(_target(path).parent):
        raise cannot_write(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), parent=True)


def move_file(source: Path, target: Path) -> None:
    """Put a file that was written before in its place, where it may be found at once or after a power cut."""
    try:
        os.replace(source, target)
    except OSError as problem:
        raise cannot_write(target, problem) from None


def make_folder(path: Name) -> Path:
    """The folder, made if it is not there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as problem:
        if isinstance(problem, FileExistsError):
            problem = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        raise cannot_write(path, problem) from None
    from pathlib import Path

    return Path(path)


def sweep(folder: Name) -> None:
    """Remove what killed writers left unfinished in a folder; what somebody is writing stays."""
    try:
        with os.scandir(folder) as entries:
            drafts = [e.path for e in entries if e.name.startswith(PREFIX) and e.name.endswith(PART)]
        for path in drafts:
            _remove_if_dead(path)
    except OSError as problem:
        raise cannot_write(folder, problem) from None


def _remove_if_dead(path: str) -> None:
    with suppress(FileNotFoundError):  # its writer has just ended
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
            return
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if _is_dead(file):
                os.unlink(path)
        finally:
            os.close(file)


def _is_dead(file: int) -> bool:
    """Whether a draft has no writer any more; on a disk without locks nobody knows."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@final
class Lines:
    """A text file that grows line by line, each of which is on the disk before the next.

    It begins anew, with some text; a line that does not fit on the disk is not there in part.
    """

    def __init__(self, path: Name, text: str = "") -> None:
        self._path = path
        write_file(path, text)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as problem:
            raise cannot_write(path, problem) from None

    def add(self, text: str) -> None:
        """Write some whole lines."""
        size = os.fstat(self._file).st_size
        try:
            _write(self._file, text)
            os.fsync(self._file)
        except OSError as problem:
            with suppress(OSError):  # of a disk that fails altogether nothing can be promised
                os.ftruncate(self._file, size)
            raise cannot_write(self._path, problem) from None

    def close(self) -> None:
        """No more lines."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _target(path: Name) -> Path:
    """What a name stands for, links followed."""
    from pathlib import Path

    return Path(os.path.realpath(path))


def _replace(path: Path, data: Data | Iterable[Data], mode: int | None, name: Name | None) -> None:
    named = path if name is None else name
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise cannot_write(named, problem, parent=True) from None
    try:
        _beside(folder, path.name, data, mode)
    except OSError as problem:
        raise cannot_write(named, problem) from None
    finally:
        os.close(folder)


def _beside(folder: int, name: str, data: Data | Iterable[Data], mode: int | None) -> None:
    draft, claimed = f"{PREFIX}{os.urandom(8).hex()}{PART}", False
    try:
        # Through the open folder, not by its name: should somebody move the folder meanwhile, both names
        # stay in it.
        file = os.open(draft, _NEW, 0o666, dir_fd=folder)
        try:
            claimed = _claim(file)
            if claimed:
                if mode is not None:
                    os.fchmod(file, mode)
                _write(file, data)
                os.fsync(file)
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(file)
    except BaseException:  # wherever it comes from: Ctrl-C may come at any moment
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    if not claimed:
        _beside(folder, name, data, mode)
        return
    # The rename is in the folder, not in the file: without this, a power cut could undo it.
    os.fsync(folder)


def _claim(file: int) -> bool:
    """Lock a new draft for as long as it is open; False if somebody took it for a dead writer's before."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return bool(os.fstat(file).st_nlink)
    except OSError as problem:
        return problem.errno != errno.EWOULDBLOCK  # a disk without locks, where nobody sweeps


def _into(path: Name, data: Data | Iterable[Data]) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _write(file, data)
        finally:
            os.close(file)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise cannot_write(path, problem) from None


def _write(file: int, data: Data | Iterable[Data]) -> None:
    for part in [data] if isinstance(data, str | bytes | bytearray | memoryview) else data:
        rest = memoryview(part.encode() if isinstance(part, str) else part).cast("B")
        while rest:
            rest = rest[os.write(file, rest[:_MOST]) :]


_MOST: Final = 1 << 30
"""Some systems write no more than 2 GB at once."""


def cannot_write(path: Name, problem: OSError, *, parent: bool = False) -> Error:
    """What to say when a file cannot be written: why, and what helps."""
    number = problem.errno or 0
    if parent and number in (errno.ENOENT, errno.ENOTDIR):
        reason, fix = (
            "there is no such folder",
            f"make it first: mkdir -p {os.path.dirname(path) or os.curdir}",
        )
    elif number in _REASONS:
        reason, fix = _REASONS[number]
    else:
        reason, fix = (problem.strerror or str(problem)).lower(), "write to another place"
    return error("cannot-write", f"this cannot be written: {reason}", file=fspath(path), help=fix)


_KEPT: Final = "; what was there before is as it was"
_REASONS: Final[dict[int, tuple[str, str]]] = {
    errno.ENOSPC: ("the disk is full", f"free some space, or write to another disk{_KEPT}"),
    errno.EDQUOT: ("the disk quota is used up", f"free some space, or write to another disk{_KEPT}"),
    errno.EFBIG: ("it is larger than a file may be here", f"raise the limit: ulimit -f unlimited{_KEPT}"),
    errno.EROFS: ("the disk is read-only", "write to another place"),
    errno.EACCES: ("permission denied", "write to another place, or ask for the permission"),
    errno.EPERM: ("permission denied", "write to another place, or ask for the permission"),
    errno.ENOTDIR: ("this is a file, and a folder was wanted", "name a folder"),
    errno.EISDIR: ("this is a folder, and a file was wanted", "name a file in it"),
    errno.ENAMETOOLONG: ("its name is too long", "name it otherwise"),
}
