"""Where runs are made: processes of this machine, or the workers of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exception
from typing import Any, TypeVar

from pdsketch.extras import missing_extra
from pdsketch.lang import Error, error

T = TypeVar("T")
R = TypeVar("R")

_SPAWN = multiprocessing.get_context("spawn")
_LEAVE = 1.0
"""Seconds that a process gets to end before it is killed."""

Outcome = tuple[Any, BaseException | None]
"""What was measured, or what was raised."""


def do(work: Callable[[T], R], task: T) -> Outcome:
    """A task; what it raises is an outcome as it is, or as text."""
    try:
        return work(task), None
    except (Error, OSError, MemoryError) as problem:
        return None, problem
    except Exception as problem:  # which may not be sent as it is, and must not be lost
        return None, RuntimeError("".join(format_exception(problem)))


def share(
    tasks: Iterable[T], work: Callable[[T], R], jobs: int
) -> Iterator[tuple[T, R | None, BaseException | None]]:
    """Do all tasks, each in a process of its own, ``jobs`` at a time; yields each as it ends.

    A process that is killed costs its task alone. Whoever leaves the loop ends the processes.
    """
    waiting = list(reversed(list(tasks)))
    running: dict[Connection, tuple[BaseProcess, T]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                process, pipe = _start(work, task)
                running[pipe] = process, task
            ended = set(wait([*running]))
            for pipe in [pipe for pipe in running if pipe in ended]:
                process, task = running.pop(pipe)
                found = _received(process, pipe)
                _end(process, pipe)
                yield (task, *found)
    finally:
        for pipe, (process, _) in running.items():
            _end(process, pipe)


def _start(work: Callable[[T], R], task: T) -> tuple[BaseProcess, Connection]:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(theirs, work, task), daemon=True)
    with _deaf_to_ctrl_c():
        process.start()
    theirs.close()
    return process, ours


def _received(process: BaseProcess, pipe: Connection) -> Outcome:
    """The outcome of the task that has ended, or how its process died."""
    try:
        found: Outcome = pipe.recv()
    except (EOFError, ConnectionResetError):
        process.join()
        code = process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        hint = "memory may have run out: use fewer jobs" if code < 0 else None
        return None, error("worker-died", f"its process {how}", help=hint)
    return found


def _end(process: BaseProcess, pipe: Connection) -> None:
    """Stop it, whatever it does."""
    pipe.close()
    process.terminate()
    process.join(_LEAVE)
    if process.is_alive():
        process.kill()
        process.join()


def _serve(pipe: Connection, work: Callable[[T], R], task: T) -> None:
    """Do a task, in a process of its own."""
    _follow_parent()
    with suppress(BrokenPipeError):  # the parent has gone
        pipe.send(do(work, task))


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


def on_cluster(
    tasks: Sequence[T], work: Callable[[T], R], address: str, most: int
) -> Iterator[tuple[T, R | None, BaseException | None]]:
    """Do all tasks on a Ray cluster, a CPU each, at most ``most`` at a time; yields each as it ends.

    ``address`` is that of the cluster; an empty one: that which Ray finds (``RAY_ADDRESS``), else one on
    this machine. A worker that dies costs its task alone.
    """
    try:
        import ray
    except ImportError as problem:
        raise missing_extra("ray", "cluster", "pdsketch-paper") from problem
    own = not ray.is_initialized()
    if own:
        _connect(ray, address, most)
    try:
        worker = ray.remote(num_cpus=1, max_retries=0)(do)
        waiting, pending = list(reversed(tasks)), dict[Any, T]()
        while waiting or pending:
            while waiting and len(pending) < most:
                task = waiting.pop()
                pending[worker.remote(work, task)] = task
            (ended, *_), _ = ray.wait(list(pending), num_returns=1)
            yield (pending.pop(ended), *_outcome(ray, ended))
    finally:
        if own:
            ray.shutdown()


def _connect(ray: Any, address: str, most: int) -> None:
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "warning"}
    try:
        ray.init(address=address or None, **({} if address else {"num_cpus": most, **quiet}))
    except (ConnectionError, ValueError, RuntimeError) as problem:
        raise error(
            "no-cluster",
            f"there is no Ray cluster at {address or 'RAY_ADDRESS'}: {str(problem).splitlines()[0]:.120}",
            help="start one with `ray start --head`, or leave out the address to use this machine",
        ) from problem


def _outcome(ray: Any, ended: Any) -> Outcome:
    try:
        found: Outcome = ray.get(ended)
    except ray.exceptions.RayError as problem:
        reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
        return None, error("worker-died", f"its worker was lost: {reason:.160}")
    return found
