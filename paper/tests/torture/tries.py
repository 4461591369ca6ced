"""Kills, full disks and Ctrl-C for ``pdsketch data`` and ``pdsketch reproduce``."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from tests.torture import fixtures, subject
from tests.torture.disks import Disks
from tests.torture.kills import again, replaced
from tests.torture.losses import Loss
from tests.torture.moments import some_moment
from tests.torture.streams import SOON

from pdsketch_paper.babyai.observation import load_sketch


def babyai(out: Path, seed: int) -> list[str]:
    """The words that make a few demonstrations."""
    size = ["--episodes", "4", "--objects", "2", "--doors", "1"]
    return ["data", "babyai", *size, "--seed", str(seed), "-o", str(out)]


def commands(place: Path) -> dict[str, list[str]]:
    """The command that does not take long."""
    return {"data": babyai(place / "data", 3)}


class Demonstrations:
    """Two folders of demonstrations, and the tries with them."""

    def __init__(self, mounts: bool) -> None:
        import_module("pdsketch_paper.babyai.data")  # forks have it then
        root = fixtures.root()
        fixtures.done(root, babyai(root / "babyai", 0))
        self.seconds = fixtures.done(root, babyai(root / "babyai-other", 1))
        self.base = load_sketch("rob")
        self.babyai = {
            name: fixtures.episodes_in(root / name, self.base) for name in ("babyai", "babyai-other")
        }
        self.disks = Disks(mounts)
        self.disks.kinds = {
            "data": (
                root / "babyai",
                lambda folder: babyai(folder, 1),
                lambda folder: fixtures.episodes_in(folder, self.base),
            )
        }

    def kill_data(self, seed: int, place: Path) -> list[Loss]:
        """``pdsketch data`` over other episodes."""
        rng = random.Random(seed)
        folder = place / "data"
        shutil.copytree(fixtures.root() / "babyai", folder)
        words = babyai(folder, 1)
        ended = subject.run(subject.command(*words), place, **some_moment(rng, self.seconds, 40))
        losses = ended.crashes(killed=True)

        def read(path: Path) -> str:
            return fixtures.episodes_in(path, self.base)

        old, new = self.babyai["babyai"], self.babyai["babyai-other"]
        losses += replaced(folder, read, old, new)
        return losses + again(lambda: subject.run(subject.command(*words), place), folder, read, new)


def kill_reproduce(seed: int, place: Path) -> list[Loss]:
    """A table of runs over two processes, killed: runs are whole, workers end, the rest is made."""
    rng = random.Random(seed)
    folder = place / "runs"
    script = [sys.executable, "-m", "paper.tests.torture.table", str(folder)]
    with open(place / "err", "w") as err:
        parent = subprocess.Popen(script, stdout=err, stderr=err, start_new_session=True)
        time.sleep(rng.uniform(0.2, 5.0))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    losses = _orphans(parent.pid, patience=3.0)
    whole = 0
    for file in folder.glob("*.json"):
        try:
            whole += "result" in json.loads(file.read_text())
        except ValueError:
            losses.append(Loss("wrong", f"{file.name} is not whole"))
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
    if "Traceback" in done.stderr:
        losses.append(Loss("crash", done.stderr[-1500:]))
    if done.stdout.split() != [str(n * n) for n in range(6)]:
        losses.append(Loss("lost", f"after {whole} finished runs: {done.stdout!r} {done.stderr[-500:]}"))
    if whole and f"{whole} of 6 runs are finished already" not in done.stderr:
        losses.append(Loss("lost", f"{whole} finished runs were not taken over: {done.stderr[-500:]}"))
    return losses


def table_interrupted(seed: int, place: Path) -> list[Loss]:
    """Ctrl-C that reaches ``reproduce`` alone: its workers end with it, and it says what is kept."""
    rng = random.Random(seed)
    words = ["reproduce", "babyai-data", "--quick", "--jobs", "2", "-o", str(place / "results"), "--json"]
    after = 0.5 + rng.uniform(0, 14.0)
    ended = subject.run(subject.new_process(*words), place, after=after, what=signal.SIGINT)
    losses = ended.crashes(killed=ended.code == -signal.SIGINT)
    # It waits for others, and takes no time of the processor itself: twice as long, for busy machines.
    if ended.signalled and ended.seconds > 2 * SOON:
        losses.append(Loss("limit", f"{ended.seconds:.1f} s after Ctrl-C"))
    if losses:
        return losses
    try:
        said = json.loads(ended.out)
    except ValueError:
        return [Loss("silent", f"no JSON object ({ended.code}): {ended.out!r} {ended.err[-300:]!r}")]
    if ended.code == 130 and said.get("status") != "interrupted":
        losses.append(Loss("silent", f"{ended.out[-300:]}"))
    return losses


def _orphans(session: int, patience: float) -> list[Loss]:
    """Whether processes of a session are still there after some seconds; those are then ended."""
    deadline = time.monotonic() + patience
    left = _members(session)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = _members(session)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return (
        [Loss("hang", f"{len(left)} workers are still there {patience:g} s after their parent")]
        if left
        else []
    )


def _members(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parts = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(parts[3]) == session and parts[0] != "Z":
                found.append(int(entry.name))
    return found
