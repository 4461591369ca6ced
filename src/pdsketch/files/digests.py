"""Digests: by which it is known that files are whole, and belong together.

They tell damage and mix-ups, not malice: whoever changes a file can change its
digest. What is read is therefore checked all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any, BinaryIO, Final

from pdsketch.lang import error

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
