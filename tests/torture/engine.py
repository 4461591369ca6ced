"""The engine killed, starved and interrupted in every phase, and processes that write at the same time."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.act.onpolicy.killed import run as learn_and_be_killed
from tests.torture import fixtures, growing, subject
from tests.torture.corrupt import damage_folder
from tests.torture.kills import replaced
from tests.torture.limits import STATUSES
from tests.torture.losses import Loss
from tests.torture.streams import SOON

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.training.data.files import save_episodes

REFUSED = 31
"""The exit code of a diagnostic."""
INTERRUPTED = 130


def interrupted(seed: int, place: Path) -> list[Loss]:
    """Ctrl-C or kill −9 while a large problem is read, ground, simplified or searched, or a plan replayed."""
    rng = random.Random(seed)
    kind, words = _large(rng, place)
    kill = rng.random() < 0.2
    ended = subject.run(
        subject.command("plan", *words, "--json", "--time-limit", "10"),
        place,
        after=2.0 * rng.random() ** 2,
        what=signal.SIGKILL if kill else signal.SIGINT,
        patience=60,
    )
    losses = ended.crashes(killed=kill or ended.code == -signal.SIGINT)
    if ended.signalled and not kill and ended.took > SOON:
        losses.append(Loss("limit", f"{ended.took:.1f} s after Ctrl-C"))
    if not losses and ended.code == INTERRUPTED and json.loads(ended.out).get("status") != "interrupted":
        losses.append(Loss("silent", ended.out[-300:]))
    if not losses and ended.code >= 0 and ended.code not in (*STATUSES, REFUSED, INTERRUPTED):
        losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
    return [Loss(loss.kind, f"{kind}: {loss.text}") for loss in losses]


def starved(seed: int, place: Path) -> list[Loss]:
    """The system refuses memory at any point: an answer, and no crash."""
    rng = random.Random(seed)
    kind, words = _large(rng, place)
    megabytes = round(10 * 40 ** rng.random())
    ended = subject.run(
        subject.command("plan", *words, "--json", "--time-limit", "5"),
        place,
        before=subject.limit_memory(megabytes),
        patience=90,
    )
    losses = ended.crashes()
    if not losses and ended.code not in (*STATUSES, REFUSED):
        losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
    return [Loss(loss.kind, f"{kind}, {megabytes} MB: {loss.text}") for loss in losses]


def _large(rng: random.Random, place: Path) -> tuple[str, list[str]]:
    kind = rng.choice(sorted(growing.KINDS))
    size, (domain, problem) = growing.some(rng, kind)
    (place / "domain.pddl").write_text(domain)
    (place / "problem.pddl").write_text(problem)
    words = [str(place / "domain.pddl"), str(place / "problem.pddl")]
    if not kind.startswith("latent"):
        words += rng.choice(growing.SEARCHES)
    return f"{kind} {size}", words


def at_once(seed: int, place: Path) -> list[Loss]:
    """Several processes write one folder at the same time: in the end it is what one of them wrote."""
    rng = random.Random(seed)
    folder, number = place / "folder", rng.randrange(2, 5)
    if rng.random() < 0.5:
        models = [pds.load_model(str(fixtures.root() / f"model-{which}")) for which in "ab"]
        save: Callable[[int], object] = lambda i: models[i % 2].save(str(folder))  # noqa: E731
        read, wanted = fixtures.model_in, [fixtures.root() / f"model-{which}" for which in "ab"]
    else:
        columns = [fixtures.columns(which) for which in "ab"]
        save = lambda i: save_episodes(columns[i % 2], folder)  # noqa: E731
        read, wanted = fixtures.episodes_in, [fixtures.root() / "data" / which for which in "ab"]
    pauses = [rng.uniform(0, 0.02) for _ in range(number)]

    def work() -> int:
        children = []
        for i, pause in enumerate(pauses):
            if (child := os.fork()) == 0:
                time.sleep(pause)
                os._exit(_saved(lambda i=i: save(i)))  # type: ignore[misc]
            children.append(child)
        return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)

    ended = subject.run(work, place, patience=120)
    losses = ended.crashes()
    if ended.code and not losses:
        losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
    return losses + replaced(folder, read, *map(read, wanted))


def _saved(save: Callable[[], object]) -> int:
    """Save, or be told that somebody else is doing so."""
    try:
        save()
    except Error as refused:
        if refused.diagnostics[0].code != "folder-in-use":
            raise
    return 0


def learn(seed: int, place: Path) -> list[Loss]:
    """`learn` killed at any renaming of a file, twice, and begun again: it ends as if it had not been."""
    rng = random.Random(seed)
    folder, losses = place / "run", list[Loss]()
    for _ in range(2):
        most = rng.randrange(12)
        ended = subject.run(lambda most=most: learn_and_be_killed(str(folder), most), place, patience=300)  # type: ignore[misc]
        losses += ended.crashes(killed=ended.code == -signal.SIGKILL)
    done = subject.run(lambda: learn_and_be_killed(str(folder), None), place, patience=300)
    if done.code:
        return [*losses, Loss("lost", f"it cannot be gone on with ({done.code}): {done.err[-500:]}")]
    whole = fixtures.learned()
    wrong = [name for name, data in fixtures.contents(folder).items() if whole.get(name) != data]
    if wrong or fixtures.contents(folder).keys() != whole.keys():
        losses.append(Loss("wrong", f"other files than of a run that was not killed: {wrong[:5]}"))
    return losses


def unknown_model(seed: int, place: Path) -> list[Loss]:
    """A model that somebody has crafted, planned with under limits: an answer or a refusal."""
    rng = random.Random(seed)
    folder = place / "model"
    shutil.copytree(fixtures.root() / "model-a", folder)
    damage_folder(rng, folder, fixtures.root() / "model-b")
    problem = place / "problem.pddl"
    problem.write_text(fixtures.PROBLEM)
    words = [
        "plan",
        "--model",
        str(folder),
        str(problem),
        "--json",
        "--time-limit",
        "2",
        "--memory-limit",
        "200",
    ]
    ended = subject.run(subject.command(*words), place, patience=90)
    losses = ended.crashes()
    if not losses and ended.code not in (*STATUSES, REFUSED):
        losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
    if ended.took > 1.1 * 2 + 2.0:  # with the reading of the folder
        losses.append(Loss("limit", f"{ended.took:.1f} s"))
    return losses
