"""Offsets and positions: each the other's way back, in every unit."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pdsketch.editor.server import UNITS, to_offset, to_position
from pdsketch.lang.source import Source

TEXTS = st.text(alphabet="ab \n\té𝄞", max_size=30)


@pytest.mark.parametrize(
    ("encoding", "column"),
    [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)],
)
def test_columns_are_counted_in_units(encoding, column):
    source = Source("", "x\né𝄞b|")
    assert to_position(source, 5, encoding) == (1, column)
    assert to_offset(source, 1, column, encoding) == 5


@given(TEXTS, st.sampled_from(sorted(UNITS)))
def test_there_and_back(text, encoding):
    source = Source("", text)
    for offset in range(len(text) + 1):
        assert to_offset(source, *to_position(source, offset, encoding), encoding) == offset


def test_a_position_behind_the_end_is_the_end():
    source = Source("", "ab\ncd")
    assert to_offset(source, 0, 99, "utf-16") == 2
    assert to_offset(source, 9, 0, "utf-16") == 5
