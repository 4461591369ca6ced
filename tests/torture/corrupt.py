"""Folders of episodes and of models, and checkpoints, damaged by the thousand.

Damage by chance must be noticed: what is still accepted says what it said before. Of files that
somebody has crafted, digests included, no more is asked than that they do no harm: an `Error`, or something
that can be used, in bounded time and memory.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from tests.torture import fixtures
from tests.torture.corruption import changed, crafted, damaged, put_together, take_apart
from tests.torture.losses import Loss

import pdsketch as pds
from pdsketch.files.parts import PARTS
from pdsketch.files.reading import digest_of, sealed
from pdsketch.files.tensors import TensorFile, digest_blocks
from pdsketch.lang.diagnostics import Error
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.files import load_episodes
from pdsketch.training.fitting import open_training_set

SECONDS = 10
MEGABYTES = 1500
"""What reading one small file may take of the processor and of memory; a lane ends one that waits."""

Use = Callable[[Path], Any]


@contextmanager
def bounded() -> Iterator[None]:
    """Within, more than `SECONDS` are a `TimeoutError`, and more than `MEGABYTES` a `MemoryError`."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + (MEGABYTES << 20), limits[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)


def judged(read: Callable[[], str], whole: str | None) -> list[Loss]:
    """What is wrong with how a damaged thing was read; ``whole``: what it must say if it is accepted."""
    try:
        with bounded():
            found = read()
    except Error:
        return []
    except TimeoutError as problem:
        return [Loss("hang", str(problem))]
    except MemoryError as problem:
        return [Loss("limit", f"more than {MEGABYTES} MB: {problem}")]
    return (
        [] if whole is None or found == whole else [Loss("wrong", "damaged, and accepted as something else")]
    )


def damage_folder(rng: random.Random, folder: Path, other: Path) -> bool:
    """Damage a folder; whether that was done by somebody who knows how to make its digests right."""
    names = sorted(os.listdir(folder))
    manifest = next(name for name in names if name.endswith(".json"))
    what = rng.random()
    if what < 0.2:
        file = folder / rng.choice(names)
        file.write_bytes(damaged(rng, file.read_bytes()))
        return False
    if what < 0.25:
        _strange(rng, folder / rng.choice(names))
        return False
    if what < 0.35:
        for name in rng.sample(names, rng.randint(1, len(names) - 1)):
            shutil.copy(other / name, folder / name)
        return False
    if what < 0.4:
        content = json.loads((folder / manifest).read_text())
        (folder / manifest).write_text(json.dumps(changed(rng, content)))
        return False
    tensors = next(name for name in names if name.endswith(".safetensors"))
    content = json.loads((folder / manifest).read_text())
    if what < 0.7:
        content = changed(rng, content)
    else:
        (folder / tensors).write_bytes(crafted(rng, (folder / tensors).read_bytes()))
    if what > 0.95:
        content = changed(rng, content)
    _reseal(folder, manifest, content)
    return True


def _strange(rng: random.Random, path: Path) -> None:
    """Something else than a file of that name."""
    path.unlink()
    what = rng.randrange(5)
    if what == 0:
        path.mkdir()
    elif what == 1:
        os.mkfifo(path)
    elif what == 2:
        path.symlink_to("/etc/passwd")
    elif what == 3:
        path.symlink_to(path.name)


def _reseal(folder: Path, manifest: str, content: Any) -> None:
    """Write the manifest with digests that are right."""
    if isinstance(content, dict):
        known = content.get(PARTS)
        if isinstance(known, dict):
            for name, part in known.items():
                file = folder / name
                if isinstance(part, dict) and file.is_file():
                    data = file.read_bytes()
                    part.update(bytes=len(data), digest=digest_of(data))
        content = sealed(content)
    (folder / manifest).write_text(json.dumps(content))


class Corrupt:
    """The tries."""

    def __init__(self) -> None:
        root = fixtures.root()
        self.episodes_a = fixtures.episodes_in(root / "data" / "a")
        self.model_a = fixtures.model_in(root / "model-a")
        self.half = fixtures.checkpoint_in(root / "half" / "checkpoint.safetensors")
        self.state = fixtures.columns("a")[0].states[0]

    def episodes(self, seed: int, place: Path) -> list[Loss]:
        """A folder of episodes."""
        rng = random.Random(seed)
        root, folder = fixtures.root() / "data", place / "data"
        shutil.copytree(root / "a", folder)
        knows = damage_folder(rng, folder, root / "b")

        def read() -> str:
            if not knows:
                return fixtures.episodes_in(folder)
            columns = load_episodes(folder, fixtures.domain())
            columns[rng.randrange(len(columns))]
            dataset = put_on_device(columns, torch.device("cpu"))
            open_training_set(pds.Model(fixtures.domain(), seed=0), dataset)
            return ""

        # Files of the other folder are fine as long as all of them are.
        whole = None if knows else self.episodes_a
        return judged(read, whole)

    def models(self, seed: int, place: Path) -> list[Loss]:
        """A model's folder."""
        rng = random.Random(seed)
        folder = place / "model"
        shutil.copytree(fixtures.root() / "model-a", folder)
        knows = damage_folder(rng, folder, fixtures.root() / "model-b")

        def read() -> str:
            found = fixtures.model_in(folder)
            if knows:
                model = pds.load_model(str(folder))
                model.outside(self.state, ("left", "rob"))
                model.step(self.state, ("dye", "rob"), crisp=True)
                model.save(str(place / "again"))
            return found

        return judged(read, None if knows else self.model_a)

    def checkpoints(self, seed: int, place: Path) -> list[Loss]:
        """A checkpoint, and the fit that is resumed from it."""
        rng = random.Random(seed)
        path = place / "checkpoint.safetensors"
        original = (fixtures.root() / "half" / path.name).read_bytes()
        knows = rng.random() < 0.6
        path.write_bytes(_forged(rng, original) if knows else damaged(rng, original))

        def read() -> str:
            found = fixtures.checkpoint_in(path)
            if knows and rng.random() < 0.3:
                fixtures.resume(path)
            return found

        return judged(read, None if knows else self.half)


def _forged(rng: random.Random, data: bytes) -> bytes:
    """A checkpoint in which facts, header or numbers are changed, with digests that are right."""
    if rng.random() < 0.5:
        data = crafted(rng, data)
    header, numbers = take_apart(data)
    try:
        facts = json.loads(header["__metadata__"]["facts"])
        if rng.random() < 0.6:
            facts = changed(rng, facts)
        facts["tensors"] = _digest_of_tensors(header, numbers)
        header["__metadata__"]["facts"] = json.dumps(sealed(facts))
    except (TypeError, ValueError, KeyError):
        pass  # what was changed has no digests
    return put_together(header, numbers)


def _digest_of_tensors(header: dict[str, Any], numbers: bytes) -> str:
    data = put_together({k: v for k, v in header.items() if k != "__metadata__"}, numbers)
    try:
        return digest_blocks(TensorFile(BytesIO(data), len(data), "forged", "").blocks())
    except Error:
        return ""
