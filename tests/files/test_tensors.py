"""Arrays in the safetensors format: what others write and read, and nothing that does not fit."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from safetensors.numpy import load, save

from pdsketch.files.tensors import NUMPY, TensorFile, block_of, digest_blocks, tensor_bytes
from pdsketch.lang.diagnostics import Error

ARRAYS = {
    **{f"a/{tag}": np.arange(6).astype(kind).reshape(2, 3) for tag, kind in NUMPY.items()},
    "scalar": np.array(3.5),
    "empty": np.zeros((0, 4), dtype=np.int16),
    "turned": np.arange(12, dtype=np.int32).reshape(3, 4).T,
}


def written(arrays, metadata=None) -> bytes:
    return b"".join(tensor_bytes({name: block_of(a) for name, a in arrays.items()}, metadata))


def opened(data: bytes) -> TensorFile:
    return TensorFile(io.BytesIO(data), len(data), "file", "bad-data")


def refused(data: bytes) -> str:
    with pytest.raises(Error) as caught:
        opened(data)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == ("bad-data", "file")
    return found.message


def with_header(header, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="U8", shape=(4,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def alike(a, b) -> bool:
    return a.keys() == b.keys() and all(
        a[n].dtype == b[n].dtype and a[n].shape == b[n].shape and np.array_equal(a[n], b[n]) for n in a
    )


def test_the_library_reads_what_we_write():
    assert alike(load(written(ARRAYS, {"format": "x"})), ARRAYS)


def test_we_read_what_the_library_writes():
    plain = {name: np.ascontiguousarray(array) for name, array in ARRAYS.items()}
    file = opened(save(plain, {"format": "x"}))
    assert file.metadata == {"format": "x"}
    assert alike({name: block.array for name, block in file.blocks().items()}, plain)


def test_arrays_can_be_written_to():
    block = opened(written({"a": np.arange(3)})).block("a")
    block.array[0] = 7
    assert block.array.tolist() == [7, 1, 2]


def test_a_digest_tells_names_numbers_dtypes_and_shapes_and_no_order():
    a, b = block_of(np.arange(4, dtype=np.int32)), block_of(np.ones(2, dtype=np.int32))
    found = digest_blocks({"a": a, "b": b})
    assert found == digest_blocks({"b": b, "a": a})
    for other in (
        {"a": b, "b": a},
        {"a": a},
        {"a": a, "c": b},
        {"a": block_of(a.array.reshape(2, 2)), "b": b},
        {"a": block_of(a.array.view(np.uint32)), "b": b},
        {"a": block_of(a.array + 1), "b": b},
    ):
        assert digest_blocks(other) != found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 8,
        b"\xff" * 8 + b"{}",
        (1 << 40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{]",
        b"\x80\x04\x95pickled.",
        with_header({"a": entry()}),
        with_header({"a": entry()}, b"12345"),
        with_header({"a": entry(), "b": entry()}, b"1234"),
        with_header({"a": entry(), "b": entry(offsets=(2, 6))}, b"123456"),
        with_header({"a": entry(), "b": entry(offsets=(5, 9))}, b"123456789"),
        with_header({"a": entry(offsets=(4, 0))}, b"1234"),
        with_header({"a": entry(offsets=(-4, 0))}, b"1234"),
        with_header({"a": entry(offsets=(0, 4, 4))}, b"1234"),
        with_header({"a": entry(offsets=(0, True))}, b"1"),
        with_header({"a": entry(dtype="I32")}, b"1234"),
        with_header({"a": entry(dtype="PICKLE")}, b"1234"),
        with_header({"a": entry(dtype=["U8"])}, b"1234"),
        with_header({"a": entry(shape=(2, 2, 2))}, b"1234"),
        with_header({"a": entry(shape=(-4, -1))}, b"1234"),
        with_header({"a": entry(shape=(4.0,))}, b"1234"),
        with_header({"a": entry(shape=(1,) * 40)}, b"1234"),
        with_header({"a": {**entry(), "more": 1}}, b"1234"),
        with_header({"a": 3}),
        with_header({"__metadata__": {"format": 3}}),
        with_header({"__metadata__": 3}),
    ],
)
def test_a_header_that_does_not_fit_its_file_is_refused(data):
    refused(data)


def test_products_that_wrap_around_are_refused():
    assert "shape" in refused(with_header({"a": entry(shape=(1 << 30, 1 << 30, 16), offsets=(0, 0))}))
    assert "shape" in refused(with_header({"a": entry(shape=(0, 1 << 62, 4), offsets=(0, 0))}))


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 1 << 16), change=st.binary(min_size=1, max_size=4), cut=st.booleans())
def test_damaged_files_are_refused_or_read_within_their_bounds(at, change, cut):
    good = written({"a": np.arange(5), "b": np.ones((2, 2), dtype=np.float32)}, {"x": "y"})
    at %= len(good)
    data = good[:at] if cut else good[:at] + change + good[at + len(change) :]
    try:
        file = opened(data)
    except Error:
        return
    assert sum(block.data.size for block in file.blocks().values()) <= len(data)
