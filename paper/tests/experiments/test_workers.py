"""Processes that share work: they end with their parent, and what happens to one of them is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdsketch.lang.diagnostics import Error, error
from pdsketch_paper.experiments.workers import share


def note(task: tuple[Path, int]) -> None:
    """A task: says in a file who did it. Number 3 is wrong, and number 4 is killed."""
    folder, number = task
    if number == 3:
        raise error("bad-number", "three is wrong")
    if number == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / str(number)).write_text(str(os.getpid()))


def test_what_goes_wrong_in_one_task_leaves_the_others_alone(tmp_path):
    tasks = [(tmp_path, number) for number in range(7)]
    problems = {number: problem for (_, number), _, problem in share(tasks, note, 2)}
    assert sorted(problems) == list(range(7))
    assert {number for number, problem in problems.items() if problem} == {3, 4}
    assert isinstance(problems[3], Error)
    assert problems[3].diagnostics[0].message == "three is wrong"
    assert "killed by signal 9" in str(problems[4])
    done_by = {int((tmp_path / str(number)).read_text()) for number in (0, 1, 2, 5, 6)}
    assert os.getpid() not in done_by


LONG = """
import os, sys, time
from pathlib import Path
from pdsketch_paper.experiments.workers import share

def work(task):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(60)

if __name__ == "__main__":
    try:
        list(share(range(2), work, 2))
    except KeyboardInterrupt:
        sys.exit(130)
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("what", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 130)]
)
def test_workers_end_with_their_parent(tmp_path, what, code):
    script, folder = tmp_path / "long.py", tmp_path / "workers"
    script.write_text(LONG)
    folder.mkdir()
    with subprocess.Popen([sys.executable, script, folder], stderr=subprocess.PIPE, text=True) as parent:
        deadline = time.monotonic() + 600
        while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        workers = [int(file.name) for file in folder.iterdir()]
        assert len(workers) == 2
        assert all(map(is_running, workers))
        parent.send_signal(what)
        assert parent.wait(600) == code
        while any(map(is_running, workers)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(map(is_running, workers))
        assert parent.communicate()[1] == ""
