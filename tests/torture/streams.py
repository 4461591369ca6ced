"""Streams that are closed or full, readers that go, and Ctrl-C at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.torture import fixtures, subject
from tests.torture.disks import BLOCKS
from tests.torture.losses import Loss

DOMAIN, PROBLEM = str(BLOCKS / "domain.pddl"), str(BLOCKS / "p01.pddl")
USUAL = {"validate": 1, "nothing": 1, "usage": 2}
"""The exit codes of the commands below, where they are not 0."""
SOON = 2.0
"""Seconds within which Ctrl-C must have ended a command."""


Commands = Callable[[Path], dict[str, list[str]]]


def commands(place: Path) -> dict[str, list[str]]:
    """One invocation of each command that does not take long."""
    root = fixtures.root()
    plan = place / "plan"
    plan.write_text("(pick-up a)\n")
    untidy = place / "untidy.pddl"
    untidy.write_text((BLOCKS / "domain.pddl").read_text().replace("\n", " \n "))
    return {
        "check": ["check", DOMAIN, PROBLEM],
        "fmt": ["fmt", str(untidy)],
        "show": ["show", DOMAIN],
        "plan": ["plan", DOMAIN, PROBLEM],
        "validate": ["validate", DOMAIN, PROBLEM, str(plan)],
        "train": fixtures.training(place / "model"),
        "eval": ["eval", str(root / "whole"), str(root / "data" / "a")],
        "nothing": ["check", str(place / "nowhere.pddl")],
        "usage": ["plan", "--nonsense"],
    }


def closed(seed: int, place: Path) -> list[Loss]:
    """A new process with closed, full or abandoned streams: no traceback, and its usual exit code."""
    rng = random.Random(seed)
    # Those that start quickly: a new interpreter is needed to see closed streams as they are.
    name = rng.choice(["check", "show", "fmt", "nothing", "usage", "validate"])
    words = " ".join([*commands(place)[name], *(["--json"] if rng.random() < 0.5 else [])])
    how = rng.choice([">&-", "2>&-", ">&- 2>&-", "<&- >&-", "> /dev/full", "2> /dev/full", "| true"])
    script = f"{sys.executable} -m pdsketch {words}"
    usual = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    if name == "fmt":
        commands(place)
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script} {how}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    losses = []
    if "Traceback" in done.stderr or "Exception ignored" in done.stderr:
        losses.append(Loss("crash", f"{name} {how}: {done.stderr[-500:]}"))
    told = how == "> /dev/full" and (usual.stdout or "--json" in words)
    fine = (usual.returncode, 0) if how == "| true" else (31,) if told else (usual.returncode,)
    if done.returncode not in fine:
        losses.append(Loss("silent", f"{name} {how}: exit code {done.returncode}, and {fine} was wanted"))
    return losses


def full(seed: int, place: Path, commands: Commands = commands) -> list[Loss]:
    """A command whose result goes to a full disk, or whose reader has gone."""
    rng = random.Random(seed)
    name, words = rng.choice(sorted(commands(place).items()))
    json_too = [*words, *(["--json"] if rng.random() < 0.7 else [])]
    gone, stream = rng.random() < 0.3, rng.choice([1, 1, 2])

    def before() -> None:
        if gone:
            ours, theirs = os.pipe()
            os.close(ours)
        else:
            theirs = os.open("/dev/full", os.O_WRONLY)
        os.dup2(theirs, stream)

    ended = subject.run(subject.command(*json_too), place, before=before)
    losses = ended.crashes()
    if not gone and stream == 2 and not losses and ended.code != USUAL.get(name, 0):
        losses.append(Loss("silent", f"exit code {ended.code}, for all that nobody is told why"))
    return [Loss(loss.kind, f"{name}: {loss.text}") for loss in losses]


def interrupted(seed: int, place: Path, commands: Commands = commands) -> list[Loss]:
    """Ctrl-C with ``--json`` at any moment: exit code 130, one object that says so, within two seconds."""
    rng = random.Random(seed)
    name, words = rng.choice(sorted(commands(place).items()))
    typical = {"train": 1.0, "eval": 0.2, "data": 0.06, "plan": 0.05}.get(name, 0.01)
    ended = subject.run(
        subject.command(*words, "--json"),
        place,
        after=rng.uniform(0, 1.3 * typical),
        what=signal.SIGINT,
    )
    crashes = ended.crashes(killed=ended.code == -signal.SIGINT)
    losses = [Loss(loss.kind, f"{name}: {loss.text}") for loss in crashes]
    if losses:
        return losses
    if ended.signalled and ended.took > SOON:
        losses.append(Loss("limit", f"{name}: {ended.took:.1f} s after Ctrl-C"))
    if ended.code == -signal.SIGINT and not ended.out and not ended.err:
        return losses  # it came before the command had begun
    try:
        said = json.loads(ended.out)
    except ValueError:
        return [
            *losses,
            Loss("silent", f"{name}: no JSON object ({ended.code}): {ended.out[-300:]!r} {ended.err[-300:]}"),
        ]
    if (
        ended.code == 130
        and said.get("status") != "interrupted"
        and "ok" not in said
        and "status" not in said
    ):
        losses.append(Loss("silent", f"{name}: {ended.out[-300:]}"))
    if name == "train" and said.get("status") == "interrupted":
        losses += _resumed(said, place)
    return losses


def _resumed(said: dict[str, object], place: Path) -> list[Loss]:
    """Whether an interrupted fit goes on from where it was, as it said."""
    folder = place / "model"
    kept = "kept in" in str(said["kept"])
    if kept != (folder / "checkpoint.safetensors").exists():
        return [Loss("lost", f"it said {said['kept']!r}, and that is not so")]
    done = subject.run(subject.command(*fixtures.training(folder, "--resume")), place)
    losses = done.crashes()
    if done.code:
        losses.append(Loss("lost", f"cannot be resumed: {done.err[-500:]}"))
    shutil.rmtree(folder)
    return losses


def really_interrupted(seed: int, place: Path, commands: Commands = commands) -> list[Loss]:
    """The same with a new process, as a user has it."""
    rng = random.Random(seed)
    of = commands(place)
    name = rng.choice([name for name in ("train", "plan", "eval", "data") if name in of])
    words = [*of[name], "--json"]
    # Before that, the interpreter itself is starting.
    after = 0.5 + rng.uniform(0, 4.0)
    ended = subject.run(subject.new_process(*words), place, after=after, what=signal.SIGINT)
    losses = ended.crashes(killed=ended.code == -signal.SIGINT)
    if ended.signalled and ended.took > SOON:
        losses.append(Loss("limit", f"{ended.took:.1f} s after Ctrl-C"))
    if not losses and len(ended.out.splitlines()) != 1:
        losses.append(Loss("silent", f"no JSON object ({ended.code}): {ended.out!r} {ended.err[-300:]!r}"))
    return [Loss(loss.kind, f"{name}: {loss.text}") for loss in losses]
