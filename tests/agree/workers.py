"""Batches of cases in parallel. A case that kills its process, or hangs, is a finding like any other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.agree.run import Batch

LIMIT = 120.0
"""Seconds that one case may take."""

_SPAWN = get_context("spawn")


class Worker:
    """A process that takes batches one after the other, and says which case it is at."""

    def __init__(self) -> None:
        self.at = _SPAWN.Value("q", -1)
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(theirs, self.at), daemon=True)
        self.process.start()
        theirs.close()
        self.batch: Batch | None = None
        self._seen, self._since = -1, time.monotonic()

    def give(self, batch: Batch) -> None:
        """Work for it."""
        self.batch = batch
        self.at.value = -1
        self._seen, self._since = -1, time.monotonic()
        self.pipe.send(batch)

    def hangs(self) -> bool:
        """Whether it has been at one case for too long."""
        if self.at.value != self._seen:
            self._seen, self._since = self.at.value, time.monotonic()
        return time.monotonic() - self._since > LIMIT

    def end(self) -> None:
        """Stop the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection, at: Any) -> None:
    try:
        while True:
            batch = pipe.recv()
            for seed in batch.seeds:
                at.value = seed
                batch.one(seed)
            pipe.send(batch)
    except (EOFError, KeyboardInterrupt):
        os._exit(0)


def work(
    todo: list[Batch], jobs: int, tick: Callable[[], None] = lambda: None, make: Callable[[], Worker] = Worker
) -> Iterator[Batch]:
    """The batches, done, in any order; ``tick`` is called several times a second."""
    if jobs == 0:
        for batch in todo:
            for seed in batch.seeds:
                batch.one(seed)
                tick()
            yield batch
        return
    waiting = todo[::-1]
    workers = [make() for _ in range(min(jobs, len(todo)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while any(worker.batch for worker in workers):
            ready = wait([w.pipe for w in workers if w.batch], timeout=0.2)
            for i, worker in enumerate(workers):
                if worker.batch is None:
                    continue
                done = _received(worker) if worker.pipe in ready else None
                if done is None and (worker.pipe in ready or worker.hangs()):
                    done, rest = _broken(worker)
                    waiting += [rest] if rest.seeds else []
                    workers[i] = worker = make()
                if done is not None:
                    yield done
                    worker.batch = None
                    if waiting:
                        worker.give(waiting.pop())
            tick()
    finally:
        for worker in workers:
            worker.end()


def _received(worker: Worker) -> Batch | None:
    try:
        return worker.pipe.recv()
    except (EOFError, ConnectionError):
        return None


def _broken(worker: Worker) -> tuple[Batch, Batch]:
    """The batch of a worker that is dead or hangs, up to its fault, and what is left of it.

    The cases before it in the batch are done again.
    """
    assert worker.batch is not None
    alive = worker.process.is_alive()
    worker.end()
    kind, seeds, seed = worker.batch.kind, worker.batch.seeds, worker.at.value
    seed = seeds[0] if seed < 0 else seed
    how = f"more than {LIMIT:.0f} s" if alive else f"the process ended with {worker.process.exitcode}"
    done = Batch(kind, range(seed, seed + 1), found=[(seed, f"{kind}, {how}")])
    done.figures.cases = done.figures.differences = 1
    done.figures.outcomes["crash"] = 1
    before, behind = range(seeds.start, seed), range(seed + 1, seeds.stop)
    rest = Batch(kind, behind)
    if before:
        for other in before:
            done.one(other)
    return done, rest
