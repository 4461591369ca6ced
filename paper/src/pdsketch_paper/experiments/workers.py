"""Where runs are made: processes of this machine, or the workers of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exception
from typing import Any, Generic, TypeVar, final

from pdsketch.extras import missing_extra
from pdsketch.lang import Error, error

T = TypeVar("T")

_SPAWN = multiprocessing.get_context("spawn")
_LEAVE = 1.0
"""Seconds that a process gets to end before it is killed."""


def share(
    tasks: Iterable[T], work: Callable[[T], None], jobs: int
) -> Iterator[tuple[T, BaseException | None]]:
    """Do all tasks in ``jobs`` processes; yields each as it ends, with what was raised in it, if anything.

    A process that is killed costs its task alone. Whoever leaves the loop ends the processes.
    """
    waiting = list(reversed(list(tasks)))
    workers: list[_Worker[T]] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_Worker.start(work, waiting.pop()))
            ended = set(wait([worker.pipe for worker in workers]))
            for worker in [worker for worker in workers if worker.pipe in ended]:
                problem, alive = worker.outcome()
                yield worker.task, problem
                if alive and waiting:
                    worker.go_on(waiting.pop())
                else:
                    workers.remove(worker)
                    worker.end()
    finally:
        for worker in workers:
            worker.end()


@final
@dataclass(slots=True, eq=False)
class _Worker(Generic[T]):
    """A process, the pipe to it, and the task that it is at."""

    process: BaseProcess
    pipe: Connection
    task: T

    @staticmethod
    def start(work: Callable[[T], None], task: T) -> _Worker[T]:
        """A new process at its first task."""
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(theirs, work), daemon=True)
        with _deaf_to_ctrl_c():
            process.start()
        theirs.close()
        worker = _Worker(process, ours, task)
        worker.go_on(task)
        return worker

    def go_on(self, task: T) -> None:
        """Give it another task."""
        self.task = task
        with suppress(BrokenPipeError):  # it has died, which `outcome` will tell
            self.pipe.send(task)

    def outcome(self) -> tuple[BaseException | None, bool]:
        """What was raised in the task that has ended, and whether the process is there for another."""
        try:
            return self.pipe.recv(), True
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            hint = "memory may have run out: use fewer jobs" if code < 0 else None
            return error("worker-died", f"its process {how}", help=hint), False

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(_LEAVE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(pipe: Connection, work: Callable[[T], None]) -> None:
    """Do tasks as they come, in a process of its own."""
    _follow_parent()
    with suppress(EOFError, BrokenPipeError):  # the parent has gone
        while True:
            task = pipe.recv()
            try:
                work(task)
            except (Error, OSError, MemoryError) as problem:
                pipe.send(problem)
            except Exception as problem:  # which may not be sent as it is, and must not be lost
                pipe.send(RuntimeError("".join(format_exception(problem))))
            else:
                pipe.send(None)


def _follow_parent() -> None:
    """End at once when the parent has ended, in the middle of whatever is done."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Within, processes are started that do not hear Ctrl-C: their parent does, and ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


R = TypeVar("R")


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """Where runs are made: the address of a Ray cluster; None: the one that Ray finds, else this machine."""

    address: str | None = None


Outcome = tuple[Any, BaseException | None]
"""What was measured, or what was raised."""


def on_cluster(
    tasks: Sequence[T], work: Callable[[T], R], address: str | None, most: int
) -> Iterator[tuple[T, R | None, BaseException | None]]:
    """Do all tasks on a Ray cluster, a CPU each, at most ``most`` at a time; yields each as it ends.

    ``address`` is that of the cluster; None: the one that Ray finds (``RAY_ADDRESS``), else one on this
    machine. A worker that dies costs its task alone.
    """
    try:
        import ray
    except ImportError as problem:
        raise missing_extra("ray", "cluster", "pdsketch-paper") from problem
    own = not ray.is_initialized()
    if own:
        _connect(ray, address, most)
    try:
        do = ray.remote(num_cpus=1, max_retries=0)(_done)
        waiting, pending = list(reversed(tasks)), dict[Any, T]()
        while waiting or pending:
            while waiting and len(pending) < most:
                task = waiting.pop()
                pending[do.remote(work, task)] = task
            (ended, *_), _ = ray.wait(list(pending), num_returns=1)
            yield (pending.pop(ended), *_outcome(ray, ended))
    finally:
        if own:
            ray.shutdown()


def _connect(ray: Any, address: str | None, most: int) -> None:
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "warning"}
    try:
        ray.init(address=address, **({"num_cpus": most, **quiet} if address is None else {}))
    except (ConnectionError, ValueError, RuntimeError) as problem:
        raise error(
            "no-cluster",
            f"there is no Ray cluster at {address or 'RAY_ADDRESS'}: {str(problem).splitlines()[0]:.120}",
            help="start one with `ray start --head`, or leave out the address to use this machine",
        ) from problem


def _done(work: Callable[[T], R], task: T) -> Outcome:
    """A task on a worker; what it raises is sent back as it is, or as text."""
    try:
        return work(task), None
    except (Error, OSError, MemoryError) as problem:
        return None, problem
    except Exception as problem:
        return None, RuntimeError("".join(format_exception(problem)))


def _outcome(ray: Any, ended: Any) -> Outcome:
    try:
        found: Outcome = ray.get(ended)
    except ray.exceptions.RayError as problem:
        reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
        return None, error("worker-died", f"its worker was lost: {reason:.160}")
    return found
