"""Files of unknown origin are refused in words, soon, and in little memory."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from pdsketch.files import reading
from pdsketch.files.reading import read_bytes, read_json
from pdsketch.lang.diagnostics import Error


def refused(path, read=read_json):
    with pytest.raises(Error) as caught:
        read(path, "bad-data")
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == ("bad-data", str(path))
    return found.message


def test_json_is_read(tmp_path):
    (tmp_path / "file").write_text('{"a": [1, 2.5, null, "ü"]}')
    assert read_json(tmp_path / "file", "bad-data") == {"a": [1, 2.5, None, "ü"]}
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", "bad-data") == (tmp_path / "file").read_bytes()


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "this is a pipe, and a regular file was wanted"


def test_devices_folders_and_nothing_are_refused(tmp_path):
    assert "a device" in refused("/dev/zero")
    assert "a folder" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "no")
    assert "cannot be read" in refused("a\0b")


def test_files_that_are_too_large_are_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    try:
        assert "1,099,511,627,776 bytes" in refused(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_json_of_too_many_values_is_not_parsed(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("[" + "[]," * 1000 + "[]]")
    assert len(read_json(tmp_path / "file", "bad-data")) == 1001
    monkeypatch.setattr(reading, "MOST_VALUES", 1000)
    assert "more than 1,000 values" in refused(tmp_path / "file")


def test_json_that_is_too_deep_is_refused(tmp_path):
    for depth, fine in ((32, True), (33, False), (100_000, False)):
        (tmp_path / "file").write_text("[" * depth + "]" * depth)
        if fine:
            read_json(tmp_path / "file", "bad-data")
        else:
            assert "nests deeper than 32" in refused(tmp_path / "file")
    (tmp_path / "file").write_text('{"a":' * 33 + "1" + "}" * 33)
    assert "nests deeper than 32" in refused(tmp_path / "file")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\xfd", b"\0", b"[1,]", b'"x', b"9" * 9999])
def test_what_is_no_json_is_refused(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    assert "not JSON" in refused(tmp_path / "file")
