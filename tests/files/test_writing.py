"""A file is written whole or not at all, and nothing else is touched."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
import threading
from contextlib import contextmanager

import pytest
from tests.files.killed import killed_at_each_step

from pdsketch.files.lock import lock_folder
from pdsketch.files.writing import Lines, make_folder, write_file, write_output
from pdsketch.lang.diagnostics import Error

WRITERS = pytest.mark.parametrize("write", [write_file, write_output])


@contextmanager
def largest_file(size: int):
    """Within, no file may be larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full(monkeypatch):
    """A disk that takes ten bytes more."""

    def write(file, data, real=os.write):
        if len(data) > 10:
            real(file, bytes(data[:10]))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)


def refused(call, *args):
    with pytest.raises(Error) as caught:
        call(*args)
    (found,) = caught.value.diagnostics
    assert found.code == "cannot-write"
    return found


@WRITERS
@pytest.mark.parametrize(
    "data",
    ["text", "tëxt".encode(), [b"te", memoryview(b"xt"), "!"], b""],
    ids=["text", "bytes", "parts", "empty"],
)
def test_what_is_written_is_there(tmp_path, write, data):
    write(tmp_path / "file", data)
    whole = b"text!" if isinstance(data, list) else data.encode() if isinstance(data, str) else data
    assert (tmp_path / "file").read_bytes() == whole
    assert os.listdir(tmp_path) == ["file"]


@WRITERS
def test_a_full_disk_leaves_the_old_contents_and_says_what_to_do(tmp_path, write, full):
    (tmp_path / "file").write_bytes(b"old")
    found = refused(write, tmp_path / "file", "much too long")
    assert found.file == str(tmp_path / "file")
    assert "the disk is full" in found.message
    assert "free some space" in found.help
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


@WRITERS
def test_a_limit_on_the_size_of_files_is_named(tmp_path, write):
    (tmp_path / "file").write_bytes(b"old")
    with largest_file(100):
        found = refused(write, tmp_path / "file", b"x" * 1000)
    assert "ulimit -f" in found.help
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_killed_writer_leaves_the_old_contents_or_the_new_ones(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    for _ in killed_at_each_step(lambda: write_file(tmp_path / "file", b"new")):
        assert (tmp_path / "file").read_bytes() in (b"old", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert len(os.listdir(tmp_path)) > 1, "the killed writers have left something"
    with lock_folder(tmp_path):
        assert sorted(os.listdir(tmp_path)) == [".lock", "file"]
    assert os.listdir(tmp_path) == ["file"]


def test_a_draft_that_is_swept_away_before_it_is_locked_is_written_again(tmp_path, monkeypatch):
    claimed = []

    def swept(file, how, real=fcntl.flock):
        if not claimed:
            (draft,) = os.listdir(tmp_path)
            os.unlink(tmp_path / draft)
        claimed.append(how)
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", swept)
    write_file(tmp_path / "file", b"new")
    assert len(claimed) == 2
    assert (tmp_path / "file").read_bytes() == b"new"


def test_the_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, real=real, name=name, **k: (calls.append(name), real(*a, **k))[1]
        )
    write_file(tmp_path / "file", "x")
    assert calls == ["fsync", "replace", "fsync"]


def test_a_link_in_a_folder_is_replaced_and_not_followed(tmp_path):
    precious = tmp_path / "profile"
    precious.write_text("mine")
    (tmp_path / "file").symlink_to(precious)
    write_file(tmp_path / "file", "theirs")
    assert precious.read_text() == "mine"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").read_text() == "theirs"


def test_a_link_that_the_user_names_stays_a_link(tmp_path):
    (tmp_path / "plan").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "plan")
    (tmp_path / "nowhere").symlink_to(tmp_path / "new")
    write_output(tmp_path / "link", "plan")
    write_output(tmp_path / "nowhere", "plan")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "plan").read_text() == (tmp_path / "new").read_text() == "plan"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_file(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask


def test_a_file_that_the_user_names_keeps_its_permissions(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o640)
    write_output(tmp_path / "file", "x")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_pipe_and_a_device_that_the_user_names_are_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_output(tmp_path / "pipe", "plan")
    reader.join()
    assert found == ["plan"]
    write_output("/dev/null", "plan")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert "the disk is full" in refused(write_output, "/dev/full", "plan").message


def test_folders_that_are_not_there_and_names_that_are_taken_are_told(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert "there is no such folder" in refused(write_file, tmp_path / "no" / "file", "x").message
    assert "a folder was wanted" in refused(make_folder, tmp_path / "file" / "in").message
    assert "a folder was wanted" in refused(make_folder, tmp_path / "file").message
    for write in (write_file, write_output):
        assert "a file was wanted" in refused(write, tmp_path / "folder", "x").message
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_lines_are_added_whole_or_not_at_all(tmp_path, full):
    with Lines(tmp_path / "log", "head\n") as lines:
        lines.add("one\n")
        found = refused(lines.add, "a line that is too long\n")
        assert "the disk is full" in found.message
        lines.add("two\n")
    assert (tmp_path / "log").read_text() == "head\none\ntwo\n"


def test_lines_do_not_follow_links(tmp_path):
    precious = tmp_path / "profile"
    precious.write_text("mine")
    (tmp_path / "log").symlink_to(precious)
    with Lines(tmp_path / "log") as lines:
        lines.add("theirs\n")
    assert precious.read_text() == "mine"
