"""Batches of cases in parallel. A case that kills its process, or hangs, is a finding like any other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from tests.agree.run import Batch, Figures

LIMIT = 120.0
"""Seconds that one case may take."""

ENDED, HUNG = "the process ended", "it hung"


class Worker:
    """A process that takes batches one after the other, and says which case it is at."""

    def __init__(self, method: str) -> None:
        context: Any = get_context(method)
        self.at = context.Value("q", -1)
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.at), daemon=True)
        self.process.start()
        theirs.close()
        self.batch: Batch | None = None
        self._seen, self._asked, self._waited = -1, time.monotonic(), 0.0

    def give(self, batch: Batch) -> None:
        """Work for it."""
        self.batch = batch
        self.at.value = -1
        self._seen, self._asked, self._waited = -1, time.monotonic(), 0.0
        self.pipe.send(batch)

    def hangs(self, limit: float) -> bool:
        """Whether it has been at one case for too long, not counting time in which nobody asked."""
        now, before = time.monotonic(), self._asked
        self._asked = now
        self._waited += min(now - before, 1.0)
        if self.at.value != self._seen:
            self._seen, self._waited = self.at.value, 0.0
        return self._waited > limit

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
    todo: list[Batch], jobs: int, *, limit: float = LIMIT, method: Literal["spawn", "fork"] = "spawn"
) -> Iterator[Batch]:
    """The batches, done, in any order. Without ``jobs``, in this process."""
    if jobs == 0:
        for batch in todo:
            for seed in batch.seeds:
                batch.one(seed)
            yield batch
        return
    waiting = todo[::-1]
    workers = [Worker(method) for _ in range(min(jobs, len(todo)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while any(worker.batch for worker in workers):
            ready = wait([w.pipe for w in workers if w.batch], timeout=0.2)
            for i, worker in enumerate(workers):
                done = None
                if worker.pipe in ready:
                    done = _received(worker)
                if worker.batch is None or (
                    done is None and worker.pipe not in ready and not worker.hangs(limit)
                ):
                    continue
                if done is None:
                    done, rest = _broken(worker, None if worker.pipe in ready else limit)
                    waiting += [batch for batch in rest if batch.seeds]
                    workers[i] = Worker(method)
                yield done
                workers[i].batch = None
                if waiting:
                    workers[i].give(waiting.pop())
    finally:
        for worker in workers:
            worker.end()


def _received(worker: Worker) -> Batch | None:
    try:
        return worker.pipe.recv()
    except (EOFError, ConnectionError):
        return None


def _broken(worker: Worker, limit: float | None) -> tuple[Batch, list[Batch]]:
    """The case at which a worker died, or hung beyond a limit, and the rest of its batch, to be redone."""
    assert worker.batch is not None
    if limit is None:
        worker.process.join(5)
    worker.end()
    batch, seed = worker.batch, max(worker.at.value, worker.batch.seeds[0])
    how = f"{ENDED} with {worker.process.exitcode}" if limit is None else f"{HUNG} for {limit:g} s"
    found = replace(
        batch, seeds=range(seed, seed + 1), figures=Figures(1, 1), found=[(seed, f"{batch.kind}, {how}")]
    )
    parts = (range(batch.seeds.start, seed), range(seed + 1, batch.seeds.stop))
    return found, [replace(batch, seeds=part, figures=Figures(), found=[]) for part in parts]
