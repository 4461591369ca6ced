"""Files of unknown origin: how they are opened, JSON within bounds, and digests that say they are whole."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any, BinaryIO, Final

from pdsketch.lang import Error, error

Name = str | PathLike[str]

MOST_BYTES: Final = 256 << 20
"""The largest text or JSON that is read."""

MOST_VALUES: Final = 8_000_000
"""JSON of more values is not read: each takes some hundred bytes of memory."""

MOST_DEPTH: Final = 32
"""How deeply JSON may nest."""

_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


@contextmanager
def opened(path: Name, code: str) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, open, and how many bytes it has. An `Error` of this code if there is none."""
    try:
        # Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise error(code, "there is no such file", file=fspath(path)) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(code, f"this file cannot be read: {reason.lower()}", file=fspath(path)) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise error(code, f"this is {kind}, and a regular file was wanted", file=fspath(path))
    with open(descriptor, "rb") as file:
        try:
            yield file, found.st_size
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise error(code, f"this file cannot be read: {reason.lower()}", file=fspath(path)) from None


def read_bytes(path: Name, code: str, most: int = MOST_BYTES) -> bytes:
    """The contents of a regular file, if they are no more than so many bytes."""
    with opened(path, code) as (file, size):
        if size > most:
            message = f"this file has {size:,} bytes, and at most {most:,} are read"
            raise error(code, message, file=fspath(path))
        return file.read(size)


def read_json(path: Name, code: str, most: int = MOST_BYTES) -> Any:
    """The value that a JSON file holds."""
    return parse_json(read_bytes(path, code, most), path, code)


def parse_json(data: bytes, path: Name, code: str) -> Any:
    """The value of a JSON text, if it is neither too large nor too deep."""
    check_size(data, path, code)
    try:
        value = json.loads(data)
    except RecursionError:
        raise _deep(path, code) from None
    except ValueError as problem:
        raise error(code, f"this is not JSON: {problem}", file=fspath(path)) from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
    if level:
        raise _deep(path, code)
    return value


def check_size(data: bytes, path: Name, code: str) -> None:
    """Refuse JSON that is too large, whoever writes or reads it."""
    if len(data) > MOST_BYTES:
        message = f"this JSON has {len(data):,} bytes, and at most {MOST_BYTES:,} are read"
    elif data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_VALUES:
        message = f"this JSON holds more than {MOST_VALUES:,} values"
    else:
        return
    raise error(code, message, file=fspath(path))


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _deep(path: Name, code: str) -> Error:
    return error(code, f"this JSON nests deeper than {MOST_DEPTH}", file=fspath(path))


# Digests: by which it is known that files are whole, and belong together.
#
# They tell damage and mix-ups, not malice: whoever changes a file can change its
# digest. What is read is therefore checked all the same.

SEAL: Final = "digest"
"""The key under which a JSON object keeps the digest of everything else in it."""

_SIZE: Final = 16
_CHUNK: Final = 1 << 20


Data = bytes | bytearray | memoryview | str


def digest_of(*data: Data) -> str:
    """The digest of some bytes, one after the other."""
    return digest_parts(data)


def digest_parts(parts: Iterable[Data]) -> str:
    """The digest of bytes that come one part at a time."""
    found = blake2b(digest_size=_SIZE)
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
    return found.hexdigest()


def digest_json(value: Any) -> str:
    """The digest of plain data; the order of keys counts."""
    return digest_of(json.dumps(value, separators=(",", ":")))


def digest_file(file: BinaryIO) -> str:
    """The digest of a whole open file, which is then at its beginning again."""
    found = blake2b(digest_size=_SIZE)
    file.seek(0)
    while chunk := file.read(_CHUNK):
        found.update(chunk)
    file.seek(0)
    return found.hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its own digest in it."""
    rest = {key: value for key, value in content.items() if key != SEAL}
    return {**rest, SEAL: digest_json(rest)}


def check_seal(content: Mapping[str, Any], path: str | PathLike[str], code: str) -> None:
    """Refuse a JSON object that was changed after it was sealed."""
    if content.get(SEAL) != sealed(content)[SEAL]:
        raise error(
            code,
            f"this file is damaged or was changed: its contents are not those of its `{SEAL}`",
            file=fspath(path),
            help="restore it from a copy, or make it again",
        )
