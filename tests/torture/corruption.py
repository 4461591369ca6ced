"""How files are damaged, by chance or by somebody who knows what they should look like."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from typing import Any

SEVERAL = (1, 1, 1, 2, 4)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Other bytes than these: some are changed, gone, doubled, zero."""
    while True:
        found = data
        for _ in range(rng.choice(SEVERAL)):
            found = rng.choice(_DAMAGES)(rng, found)
        if found != data:
            return found


def _flip(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return b"x"
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _empty(rng: random.Random, data: bytes) -> bytes:
    return b""


def _zeros(rng: random.Random, data: bytes) -> bytes:
    a, b = _slice(rng, data)
    return data[:a] + bytes(b - a) + data[b:]


def _drop(rng: random.Random, data: bytes) -> bytes:
    a, b = _slice(rng, data)
    return data[:a] + data[b:]


def _double(rng: random.Random, data: bytes) -> bytes:
    a, b = _slice(rng, data)
    return data[:b] + data[a:b] + data[b:]


def _noise(rng: random.Random, data: bytes) -> bytes:
    a, b = _slice(rng, data)
    return data[:a] + rng.randbytes(b - a) + data[b:]


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _cut,
    _empty,
    _zeros,
    _drop,
    _double,
    _noise,
)


def _slice(rng: random.Random, data: bytes) -> tuple[int, int]:
    a = rng.randrange(len(data) + 1)
    return a, min(len(data), a + rng.choice((1, 4, 8, 64, 512, 4096)))


# JSON.

ODD: tuple[Any, ...] = (
    *(0, 1, -1, 2, 255, 256, 2**24, 2**31, 2**62, 2**63, 2**64, -(2**63), 10**40),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), True, False, None, "", "x", "a b", "\0", "é", "-1"),
    *([], [[]], {}, {"x": 1}, [0] * 50, [2**62] * 4, ["a"] * 3, "x" * 2000, [[[[[[]]]]]]),
)


def changed(rng: random.Random, value: Any) -> Any:
    """Plain data with something odd somewhere in it."""
    found = json.loads(json.dumps(value))
    for _ in range(rng.choice(SEVERAL)):
        found = _changed(rng, found)
    return found


def _changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        what = rng.random()
        if what < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if what < 0.15:
            return {**value, rng.choice(["", "x", key + "x", key.upper()]): value[key]}
        return {**value, key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        what = rng.random()
        if what < 0.1:
            return value[:at] + value[at + 1 :]
        if what < 0.2:
            return [*value, value[at]]
        return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2, 2**31, 2**62))
    if isinstance(value, str) and value and rng.random() < 0.4:
        return damaged(rng, value.encode()).decode(errors="replace")
    return rng.choice(ODD)


# Files of tensors: eight bytes of length, a JSON header, the numbers.


def take_apart(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the numbers of a safetensors file."""
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def put_together(header: Any, numbers: bytes) -> bytes:
    """A safetensors file, whatever its header says."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def crafted(rng: random.Random, data: bytes) -> bytes:
    """A file of tensors that somebody has changed who knows what it should look like."""
    header, numbers = take_apart(data)
    what = rng.random()
    if what < 0.45:
        return put_together(changed(rng, header), numbers)
    if what < 0.9:
        return put_together(header, _other_numbers(rng, header, numbers))
    return put_together(changed(rng, header), damaged(rng, numbers))


def _other_numbers(rng: random.Random, header: dict[str, Any], numbers: bytes) -> bytes:
    """The numbers with those of one tensor changed to odd ones."""
    name = rng.choice(sorted(n for n in header if n != "__metadata__"))
    a, b = header[name]["data_offsets"]
    size = {"8": 1, "L": 1, "6": 2, "2": 4, "4": 8}.get(header[name]["dtype"][-1], 1)
    if b - a < size:
        return damaged(rng, numbers)
    found = bytearray(numbers)
    for _ in range(rng.choice(SEVERAL)):
        at = a + size * rng.randrange((b - a) // size)
        found[at : at + size] = rng.choice(
            (
                b"\xff" * size,
                b"\x7f" + b"\xff" * (size - 1),
                bytes(size),
                rng.randbytes(size),
                b"\x00" * (size - 1) + b"\x40",
            )
        )
    return bytes(found)
