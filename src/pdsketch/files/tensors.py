"""Named arrays in one file, in the safetensors format: a JSON header, then plain numbers.

The header of a file is compared with the file's size, with whole numbers that
do not wrap, before any array of it is made; an array is made of bytes that are
really there. See https://github.com/huggingface/safetensors for the format.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import prod
from os import PathLike, fspath
from typing import Any, BinaryIO, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.files.reading import digest_json, digest_parts, parse_json
from pdsketch.lang import Error, error

# Large arrays that stay in their file: mapped instead of read, and gone through in chunks.
#
# Pages of a mapped file that were touched count as memory of the process until the
# system takes them back. `chunks` and `release` give them back at once; they stay in
# the system's cache, so that reading them again costs little.
#
# Where a file has become shorter than its mapping, reading the rest ends the process
# (SIGBUS): whoever is about to read looks first, by `check`.

LEAST_MAPPED: Final = 64 << 20
"""Arrays of fewer bytes are read: at that size a copy in memory costs nothing that matters."""

CHUNK: Final = 16 << 20
"""Bytes that are gone through at a time: more than a processor's cache, and little beside any model."""


@final
class _Mapping(mmap.mmap):
    """A mapping that knows its file, and the code of what is said of it."""

    path: str
    code: str


def map_bytes(
    file: BinaryIO, start: int, stop: int, path: str | PathLike[str], code: str
) -> NDArray[np.uint8]:
    """Some bytes of an open file, which may be closed afterwards; they cannot be written to.

    They are those of ``file`` from ``start`` to before ``stop``. Where they are missing later (`check`), the
    error names ``path`` and has the ``code``.
    """
    mapped = _Mapping(file.fileno(), stop, access=mmap.ACCESS_READ)
    mapped.path, mapped.code = fspath(path), code
    return np.frombuffer(mapped, np.uint8, stop - start, start)


def chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A flat array piece by piece, at least one; the pages of a mapped one are given back behind it."""
    many = max(1, CHUNK // array.itemsize)
    for first in range(0, max(1, len(array)), many):
        check(array)
        yield array[first : first + many]
        release(array)


def check(array: NDArray[Any]) -> None:
    """An `Error` if the file of a mapped array is no longer as long as it was."""
    mapped = _mapping(array)
    if mapped is not None and mapped.size() < len(mapped):
        message = "the file became shorter while it was in use"
        raise error(mapped.code, message, help="make it again, and start again", file=mapped.path)


def release(array: NDArray[Any]) -> None:
    """Give back the pages of a mapped array; an array in memory stays as it is."""
    mapped = _mapping(array)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _mapping(array: NDArray[Any]) -> _Mapping | None:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    return owner if isinstance(owner, _Mapping) else None


MOST_HEADER: Final = 64 << 20
MOST_AXES: Final = 32
MOST_ENTRIES: Final = 1 << 60
"""Of an array, its empty axes left out; what fits into no memory has a wrong shape."""

SIZES: Final[Mapping[str, int]] = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
    "C64": 8,
}
"""The dtypes of the format, and the bytes of one number."""

NUMPY: Final[Mapping[str, Any]] = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "F16": np.float16,
    "U32": np.uint32,
    "I32": np.int32,
    "F32": np.float32,
    "U64": np.uint64,
    "I64": np.int64,
    "F64": np.float64,
}
_TAGS: Final = {np.dtype(kind): tag for tag, kind in NUMPY.items()}

_METADATA: Final = "__metadata__"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """An array as it stands in a file: dtype, shape, and its bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    @property
    def digest(self) -> str:
        """The digest of its numbers, their dtype and its shape."""
        head = f"{self.dtype}{list(self.shape)}"
        return digest_parts(chain([head], (part.data for part in chunks(self.data))))

    @property
    def array(self) -> NDArray[Any]:
        """The numbers. A KeyError for a dtype that numpy does not have."""
        found: NDArray[Any] = self.data.view(NUMPY[self.dtype]).reshape(self.shape)
        return found


def block_of(array: NDArray[Any]) -> Block:
    """The block of a numpy array."""
    check(array)
    plain = np.ascontiguousarray(array)
    return Block(_TAGS[plain.dtype], array.shape, plain.reshape(-1).view(np.uint8))


def digest_blocks(blocks: Mapping[str, Block]) -> str:
    """The digest of named arrays, whatever their order."""
    return digest_json({name: blocks[name].digest for name in sorted(blocks)})


def tensor_bytes(
    blocks: Mapping[str, Block], metadata: Mapping[str, str] | None = None
) -> list[bytes | memoryview]:
    """The parts of a file that holds these arrays, to be written one after the other."""
    # Wide numbers first, so that every array begins at a multiple of its numbers' size.
    order = sorted(blocks, key=lambda name: (-SIZES[blocks[name].dtype], name))
    header: dict[str, Any] = {} if metadata is None else {_METADATA: dict(metadata)}
    at = 0
    for name in order:
        block = blocks[name]
        header[name] = {
            "dtype": block.dtype,
            "shape": list(block.shape),
            "data_offsets": [at, at + block.data.size],
        }
        at += block.data.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *(blocks[name].data.data for name in order)]


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """What a header says of an array: dtype, shape, and which bytes of the file are its."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@final
class TensorFile:
    """An open file of arrays; ``entries`` are what its header says, and fit the file.

    ``file`` is read from its begin, and has ``size`` bytes. An `Error` about it names ``path`` and has the
    ``code``.
    """

    def __init__(self, file: BinaryIO, size: int, path: str | PathLike[str], code: str) -> None:
        self._file, self._path, self._code = file, path, code
        header, begin = self._header(size)
        metadata = header.pop(_METADATA, {})
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            raise self.bad(f"`{_METADATA}` of its header maps no names to texts")
        self.metadata: Mapping[str, str] = metadata
        self.entries: Mapping[str, Entry] = {
            name: self._entry(name, entry, begin) for name, entry in header.items()
        }
        end = begin
        for name, entry in sorted(self.entries.items(), key=lambda item: (item[1].start, item[1].stop)):
            if entry.start != end:
                raise self.bad(f"`{name}` of its header does not begin where the array before it ends")
            end = entry.stop
        if end != size:
            raise self.bad(f"its header speaks of {end:,} bytes, and the file has {size:,}")

    def block(self, name: str, *, map_from: int | None = None) -> Block:
        """An array that the header names; one of so many bytes or more is mapped, not read."""
        entry = self.entries[name]
        if map_from is not None and entry.stop - entry.start >= max(1, map_from):
            data = map_bytes(self._file, entry.start, entry.stop, self._path, self._code)
            return Block(entry.dtype, entry.shape, data)
        data = np.empty(entry.stop - entry.start, dtype=np.uint8)
        self._file.seek(entry.start)
        if self._file.readinto(data.data) != data.size:  # type: ignore[attr-defined]
            raise self.bad("it became shorter while it was read")
        return Block(entry.dtype, entry.shape, data)

    def blocks(self) -> dict[str, Block]:
        """All arrays."""
        return {name: self.block(name) for name in self.entries}

    def bad(self, why: str) -> Error:
        """What to say of a file that is not right."""
        return error(
            self._code, f"this is no safetensors file as it should be: {why}", file=fspath(self._path)
        )

    def _header(self, size: int) -> tuple[dict[str, Any], int]:
        """The header, and where the numbers begin."""
        self._file.seek(0)
        length = int.from_bytes(self._file.read(8), "little") if size >= 8 else -1
        if not 0 <= length <= min(size - 8, MOST_HEADER):
            raise self.bad("it has no header")
        data = self._file.read(length)
        if len(data) != length or not data.startswith(b"{"):
            raise self.bad("it has no header")
        header = parse_json(data, self._path, self._code)
        assert isinstance(header, dict)
        return header, 8 + length

    def _entry(self, name: str, entry: Any, begin: int) -> Entry:
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise self.bad(f"`{name:.80}` of its header is not what it should be")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in SIZES:
            raise self.bad(f"`{name:.80}` has the dtype {dtype!r:.40}, which is not known")
        if not _counts(shape) or len(shape) > MOST_AXES or prod(n or 1 for n in shape) > MOST_ENTRIES:
            raise self.bad(f"`{name:.80}` has the shape {shape!r:.80}")
        if not _counts(offsets) or len(offsets) != 2:
            raise self.bad(f"`{name:.80}` has no place in the file")
        start, stop = offsets
        if stop - start != prod(shape) * SIZES[dtype]:
            raise self.bad(f"`{name:.80}` has {stop - start:,} bytes, which is not what its shape needs")
        return Entry(dtype, tuple(shape), begin + start, begin + stop)


def _counts(values: Any) -> bool:
    """Whether this is a list of numbers that count something."""
    return isinstance(values, list) and all(type(n) is int and n >= 0 for n in values)


# Tensors as blocks of a file, and back.

DTYPES: Final[Mapping[str, torch.dtype]] = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "U16": torch.uint16,
    "I16": torch.int16,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "F32": torch.float32,
    "U64": torch.uint64,
    "I64": torch.int64,
    "F64": torch.float64,
    "C64": torch.complex64,
}
TAGS: Final[Mapping[torch.dtype, str]] = {dtype: tag for tag, dtype in DTYPES.items()}


def blocks_of(tensors: Mapping[str, Tensor]) -> dict[str, Block]:
    """Tensors as they stand in a file."""
    return {name: _block(name, tensor) for name, tensor in tensors.items()}


def _block(name: str, tensor: Tensor) -> Block:
    if tensor.dtype not in TAGS:
        raise error("cannot-write", f"`{name}` holds {tensor.dtype}, which safetensors files do not have")
    plain = tensor.detach().cpu().contiguous()
    return Block(TAGS[tensor.dtype], tuple(tensor.shape), plain.reshape(-1).view(torch.uint8).numpy())


def tensor_of(block: Block) -> Tensor:
    """The tensor of a block, in the block's own memory."""
    if not block.data.size:
        return torch.empty(block.shape, dtype=DTYPES[block.dtype])
    return torch.from_numpy(block.data).view(DTYPES[block.dtype]).reshape(block.shape)
