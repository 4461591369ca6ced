"""Two writers of one folder are refused, and a killed one locks nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from pdsketch.files.lock import LOCK, lock_file, lock_folder
from pdsketch.lang.diagnostics import Error

HOLDER = """
import sys, time
from pdsketch.files.lock import lock_folder
with lock_folder(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def refusal(enter) -> str:
    with pytest.raises(Error) as caught, enter:
        pass
    (found,) = caught.value.diagnostics
    assert found.code == "folder-in-use"
    return found.message


@pytest.fixture
def holder(tmp_path):
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_is_told_who_is_the_first(tmp_path, holder):
    assert refusal(lock_folder(tmp_path)).startswith(f"process {holder.pid} on ")


def test_a_killed_writer_leaves_no_lock(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.listdir(tmp_path) == [LOCK], "its file is still there"
    with lock_folder(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_children_do_not_hold_what_their_killed_parent_held(tmp_path):
    program = HOLDER.replace("    print", "    import os\n    child = os.fork()\n    child and print")
    words = [sys.executable, "-c", program.replace('"held"', "child"), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        try:
            process.kill()
            process.wait()
            with lock_folder(tmp_path):
                pass
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_thread_is_a_writer_of_its_own(tmp_path):
    said = []
    with lock_folder(tmp_path):
        thread = threading.Thread(target=lambda: said.append(refusal(lock_folder(tmp_path))))
        thread.start()
        thread.join()
        with lock_folder(tmp_path / "." / "sub"):
            pass
    assert said == [f"another thread of this process ({os.getpid()}) is writing here"]


def test_the_holder_may_take_it_again(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with lock_folder(tmp_path / "folder"):
        with lock_folder(tmp_path / "link"):
            pass
        assert os.listdir(tmp_path / "folder") == [LOCK]
    assert os.listdir(tmp_path / "folder") == []


def test_a_lock_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with lock_folder(tmp_path):
            assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_files_of_one_folder_are_locked_one_by_one(tmp_path):
    with lock_file(tmp_path / "a"), lock_file(tmp_path / "b"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_that_is_a_link_or_a_pipe_or_another_file_is_refused(tmp_path):
    precious = tmp_path / "profile"
    precious.write_text("mine")
    for make in (
        lambda at: at.symlink_to(precious),
        lambda at: at.hardlink_to(precious),
        os.mkfifo,
        os.mkdir,
    ):
        folder = tmp_path / "folder"
        folder.mkdir()
        make(folder / LOCK)
        with pytest.raises(Error, match="cannot-write"), lock_folder(folder):
            pass
        assert precious.read_text() == "mine"
        (folder / LOCK).rmdir() if (folder / LOCK).is_dir() else (folder / LOCK).unlink()
        folder.rmdir()
