"""Folders whose files belong together: a manifest that knows the digest of every part.

To replace such a folder, the new parts are written beside the old ones, under
their names with `PENDING` behind them; then the manifest is replaced, and from
that moment on the folder is the new one; then the parts take their places.
Whoever reads looks for each part by its digest, in its place or pending. A kill
between any two of these steps leaves the old folder or the new one, and a
folder that is neither is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, Final, final

from pdsketch.files.lock import lock_folder
from pdsketch.files.reading import (
    MOST_BYTES,
    check_seal,
    check_size,
    digest_file,
    digest_of,
    opened,
    parse_json,
    read_bytes,
    sealed,
)
from pdsketch.files.writing import move_file, write_file
from pdsketch.lang import Error, error

PENDING: Final = ".new"
PARTS: Final = "parts"
"""Where a manifest keeps the size and the digest of each part."""

Name = str | PathLike[str]


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A part of a folder, open: how large it is, and where it stands."""

    file: BinaryIO
    size: int
    path: Path

    def read(self, code: str) -> bytes:
        """All of it, if it is no larger than a text may be."""
        if self.size > MOST_BYTES:
            message = f"this file has {self.size:,} bytes, and at most {MOST_BYTES:,} are read"
            raise error(code, message, file=fspath(self.path))
        return self.file.read()


def write_parts(
    folder: Name,
    manifest: str,
    content: Mapping[str, Any],
    parts: Mapping[str, Iterable[bytes | memoryview]],
) -> None:
    """Write a folder, or leave it as it was. ``manifest`` is the name of the file that holds ``content``.

    ``folder`` is made where there is none, and locked meanwhile. ``parts`` are its other files: the chunks of
    bytes of each, by name. The manifest also holds their sizes and digests.
    """
    listed = {name: list(chunks) for name, chunks in parts.items()}
    known = {
        name: {"bytes": sum(memoryview(c).nbytes for c in chunks), "digest": digest_of(*chunks)}
        for name, chunks in listed.items()
    }
    text = json.dumps(sealed({**content, PARTS: known}), indent=1, allow_nan=False).encode()
    path = Path(folder)
    check_size(text, path / manifest, "cannot-write")
    with lock_folder(path):
        _settle(path, manifest, listed)
        try:
            for name, chunks in listed.items():
                write_file(path / (name + PENDING), chunks, known_as=path / name)
            # The commit: before it the folder is the old one, behind it the new one, wherever the parts
            # stand.
            write_file(path / manifest, text)
        except BaseException:
            _settle(path, manifest, listed)  # by what the manifest says, which may just have been replaced
            raise
        for name in listed:
            move_file(path / (name + PENDING), path / name)


def _settle(folder: Path, manifest: str, names: Iterable[str]) -> None:
    """Let pending parts that the manifest knows take their places, and remove others: a writer was killed."""
    left = [name for name in names if os.path.lexists(folder / (name + PENDING))]
    if not left:
        return
    try:
        data = read_bytes(folder / manifest, "cannot-read")
        known = _content(data, folder / manifest, "cannot-read", {})[PARTS]
    except Error:
        known = {}
    for name in left:
        with ExitStack() as stack:
            pending = folder / (name + PENDING)
            if name in known and isinstance(_opened(stack, pending, known[name], "cannot-read"), Part):
                move_file(pending, folder / name)
            else:
                pending.unlink()


@contextmanager
def open_parts(
    folder: Name, manifest: str, names: Iterable[str], code: str, **expected: Any
) -> Iterator[tuple[dict[str, Any], dict[str, Part]]]:
    """What the manifest says, and the parts that it was written with, open.

    Of ``folder``, the file ``manifest`` is read and the parts with these ``names`` are opened. An `Error` of
    this ``code`` where they do not belong together, or where the manifest does not say what is ``expected``
    of it (its format and version).
    """
    path = Path(folder)
    wanted = list(names)
    text = read_bytes(path / manifest, code)
    while True:
        with ExitStack() as stack:
            content = _content(text, path / manifest, code, expected)
            found: dict[str, Part] = {}
            try:
                for name in wanted:
                    found[name] = _find(stack, path, name, content[PARTS], code)
            except Error:
                again = read_bytes(path / manifest, code)
                if again == text:
                    raise
                text = again  # the folder was replaced while we read it
                continue
            yield content, found
            return


def _content(text: bytes, path: Path, code: str, expected: Mapping[str, Any]) -> dict[str, Any]:
    content = parse_json(text, path, code)
    if not isinstance(content, dict):
        raise error(code, "this JSON is no object", file=fspath(path))
    for key, value in expected.items():
        if content.get(key) != value:
            message = f"its `{key}` is {content.get(key)!r:.40}, and {value!r} was wanted"
            raise error(code, message, file=fspath(path))
    check_seal(content, path, code)
    known = content.get(PARTS)
    if not isinstance(known, dict) or not all(map(_is_known, known.values())):
        raise error(code, f"`{PARTS}` is not what it should be", file=fspath(path))
    return content


def _is_known(part: Any) -> bool:
    return isinstance(part, dict) and type(part.get("bytes")) is int and isinstance(part.get("digest"), str)


def _find(stack: ExitStack, folder: Path, name: str, known: Mapping[str, Any], code: str) -> Part:
    """The part that the manifest knows, in its place or pending."""
    if name not in known:
        raise error(code, f"the manifest says nothing of `{name}`", file=fspath(folder))
    wrong: list[Error] = []
    # Its own place again: a pending part may have gone there while we looked.
    for place in (folder / name, folder / (name + PENDING), folder / name):
        found = _opened(stack, place, known[name], code)
        if isinstance(found, Part):
            return found
        wrong.append(found)
    raise wrong[0]


def _opened(stack: ExitStack, path: Path, known: Mapping[str, Any], code: str) -> Part | Error:
    """A file, if it is the one that the manifest knows; else what is wrong with it."""
    try:
        file, size = stack.enter_context(opened(path, code))
    except Error as problem:
        return problem
    if size != known["bytes"]:
        why = f"it has {size:,} bytes, and had {known['bytes']:,} when the folder was written"
    elif digest_file(file) != known["digest"]:
        why = "its contents are not those that the folder was written with"
    else:
        return Part(file, size, path)
    return error(
        code,
        f"this file does not belong to the others: {why}",
        file=fspath(path),
        help="restore the folder from a copy, or make it again",
    )
