"""A folder of several files is replaced as one, and its files are known to belong together."""

from __future__ import annotations

import json
import os
import shutil
import threading
from string import ascii_letters

import pytest
from tests.files.killed import interrupted_at_each_step, killed_at_each_step
from tests.files.test_writing import largest_file

from pdsketch.files.lock import lock_folder
from pdsketch.files.parts import open_parts, write_parts
from pdsketch.files.reading import sealed
from pdsketch.files.writing import PREFIX
from pdsketch.lang.diagnostics import Error

NAMES = ("a", "b")


def write(folder, letter: str, size: int = 10) -> None:
    parts = {name: [name.encode(), letter.encode() * size] for name in NAMES}
    write_parts(folder, "manifest.json", {"format": 1, "letter": letter}, parts)


def read(folder) -> str:
    """The letter of the manifest and of the parts, which is one."""
    with open_parts(folder, "manifest.json", NAMES, "bad-data", format=1) as (content, parts):
        letters = {content["letter"], *(chr(parts[name].file.read()[-1]) for name in NAMES)}
    (letter,) = letters
    return letter


def refused(folder):
    with pytest.raises(Error) as caught:
        read(folder)
    (found,) = caught.value.diagnostics
    assert found.code == "bad-data"
    return found


def test_a_part_that_is_larger_than_a_text_may_be_is_not_read(tmp_path, monkeypatch):
    write(tmp_path / "folder", "x", size=100)
    monkeypatch.setattr("pdsketch.files.parts.MOST_BYTES", 101)
    with open_parts(tmp_path / "folder", "manifest.json", NAMES, "bad-data", format=1) as (_, parts):
        assert len(parts["a"].read("bad-data")) == 101
        monkeypatch.setattr("pdsketch.files.parts.MOST_BYTES", 100)
        with pytest.raises(Error, match="101 bytes, and at most 100 are read") as caught:
            parts["b"].read("bad-data")
    assert caught.value.diagnostics[0].code == "bad-data"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "folder", "x")
    return tmp_path / "folder"


def test_a_folder_is_read_as_it_was_written(folder):
    assert read(folder) == "x"
    write(folder, "y")
    assert read(folder) == "y"
    assert sorted(os.listdir(folder)) == ["a", "b", "manifest.json"]


def test_a_killed_writer_leaves_the_old_folder_or_the_new_one(folder):
    found = []
    for _ in killed_at_each_step(lambda: write(folder, "y")):
        found.append(read(folder))
        write(folder, "x")
        assert read(folder) == "x"
    assert found == sorted(found)
    assert set(found) == {"x", "y"}
    assert sorted(os.listdir(folder)) == ["a", "b", "manifest.json"]


def test_an_interrupted_writer_leaves_the_old_folder_or_the_new_one_and_no_draft(folder):
    found = []
    for _ in interrupted_at_each_step(lambda: write(folder, "y")):
        found.append(read(folder))
        assert not any(name.startswith(PREFIX) for name in os.listdir(folder))
        write(folder, "x")
    assert set(found) == {"x", "y"}


def test_a_writer_killed_after_a_killed_writer_loses_nothing(folder):
    for _ in killed_at_each_step(lambda: write(folder, "y")):
        if read(folder) == "y":
            break  # its parts are still pending
    assert (folder / "a.new").exists()
    before = "y"
    for _ in killed_at_each_step(lambda: write(folder, "z")):
        assert read(folder) in (before, "z")
        before = read(folder)
    assert before == "z"


def test_a_full_disk_leaves_the_old_folder(folder):
    with pytest.raises(Error, match="cannot-write") as caught, largest_file(100):
        write(folder, "y", 1000)
    assert caught.value.diagnostics[0].file == str(folder / "a")
    assert read(folder) == "x"
    assert sorted(os.listdir(folder)) == ["a", "b", "manifest.json"]


@pytest.mark.parametrize("name", NAMES)
def test_files_of_two_folders_do_not_belong_together(folder, tmp_path, name):
    for letter, size in (("y", 10), ("y", 11)):
        write(tmp_path / "other", letter, size)
        shutil.copy(tmp_path / "other" / name, folder / name)
        found = refused(folder)
        assert found.file == str(folder / name)
        assert "does not belong to the others" in found.message
    assert "it has 12 bytes, and had 11" in found.message


def test_a_manifest_that_was_changed_is_refused(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"letter": "x"', '"letter": "y"'))
    assert "was changed" in refused(folder).message


def test_another_format_is_named_before_all_else(folder):
    (folder / "manifest.json").write_text(json.dumps({"format": 0}))
    assert "`format` is 0, and 1 was wanted" in refused(folder).message


@pytest.mark.parametrize("parts", [None, [], {"a": 1}, {"a": {"bytes": "x", "digest": "y"}}, {}])
def test_a_manifest_that_does_not_know_its_parts_is_refused(folder, parts):
    (folder / "manifest.json").write_text(json.dumps(sealed({"format": 1, "parts": parts})))
    refused(folder)


def test_missing_files_and_pipes_are_refused(folder):
    (folder / "b").unlink()
    assert "no such file" in refused(folder).message
    os.mkfifo(folder / "b")
    assert "a pipe" in refused(folder).message


def test_two_writers_are_refused(folder):
    errors = []

    def other() -> None:
        with pytest.raises(Error, match="folder-in-use") as caught:
            write(folder, "y")
        errors.append(caught)

    with lock_folder(folder):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(errors) == 1
    assert read(folder) == "x"


def test_readers_see_the_old_folder_or_the_new_one_while_it_is_written(folder):
    done = threading.Event()

    def writer() -> None:
        for letter in ascii_letters:
            write(folder, letter)
        done.set()

    thread = threading.Thread(target=writer)
    thread.start()
    seen = 0
    while not done.is_set():
        assert read(folder) in ascii_letters
        seen += 1
    thread.join()
    assert seen
