"""States as bits: fact ``f`` is bit ``f & 63`` of word ``f >> 6``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdsketch.kernels.arrays import Bools, Ints
from pdsketch.kernels.compiled import kernel

Words = NDArray[np.uint64]

ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_SHIFT = np.uint64(58)


def _positions() -> Ints:
    table = np.zeros(64, np.int32)
    for bit in range(64):
        table[((int(_DE_BRUIJN) << bit) & (2**64 - 1)) >> 58] = bit
    return table


_POSITION = _positions()


def n_words(n_facts: int) -> int:
    """How many words hold that many facts."""
    return (n_facts + 63) // 64


def pack(states: Bools, words: int) -> Words:
    """Rows of truth values as rows of ``words`` words."""
    padded = np.zeros((len(states), words * 64), np.uint8)
    padded[:, : states.shape[1]] = states
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@kernel
def lowest(word: np.uint64) -> int:
    """The position of the lowest bit of a word that is not 0."""
    low = word & (~word + ONE)
    return _POSITION[np.int64((low * _DE_BRUIJN) >> _SHIFT)]  # type: ignore[no-any-return]


@kernel
def holds(literal: int, state: Words) -> bool:
    """Whether a literal is true in a state."""
    fact = literal >> 1
    bit = np.int64((state[fact >> 6] >> np.uint64(fact & 63)) & ONE)
    return bit != (literal & 1)  # type: ignore[no-any-return]


@kernel
def all_hold(literals: Ints, start: int, end: int, state: Words) -> bool:
    """Whether all of ``literals[start:end]`` are true in a state."""
    for i in range(start, end):  # noqa: SIM110
        if not holds(literals[i], state):
            return False
    return True


@kernel
def set_true(fact: int, state: Words) -> None:
    """Make a fact true."""
    state[fact >> 6] |= ONE << np.uint64(fact & 63)


@kernel
def set_false(fact: int, state: Words) -> None:
    """Make a fact false."""
    state[fact >> 6] &= ~(ONE << np.uint64(fact & 63))
