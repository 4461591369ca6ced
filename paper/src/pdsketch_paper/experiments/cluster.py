"""Runs on a cluster: Ray deals them out to its workers, and what they measure comes back.

Nothing is written there, so that no disk need be shared. The workers need pdsketch installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from traceback import format_exception
from typing import Any, TypeVar, final

from pdsketch.extras import missing_extra
from pdsketch.lang import Error, error

T = TypeVar("T")
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
