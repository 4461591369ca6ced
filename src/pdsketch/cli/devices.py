"""``--devices N``: one command in several processes, which find each other as torchrun's do.

The command is started N times with the variables that torchrun sets, so that torchrun itself, over several
machines too, can start it instead. The first process speaks for all.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from pdsketch.cli import output
from pdsketch.lang import error

_PARENT: Final = "PDSKETCH_PARENT"
"""Where a process finds the pipe that ends with whoever started it."""

_POLL: Final = 0.1
"""Seconds between two looks at whether a process has ended."""

_MOST_SHOWN: Final = 4000
"""Characters of what a process said that failed before the first one."""


def is_member() -> bool:
    """Whether this process is one of several that torchrun, or `launch`, has started."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def leads() -> bool:
    """Whether this process is the first, or the only one."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def process_group(device: str) -> Iterator[str]:
    """Within, the processes can speak to each other; yields the device of this one."""
    if not is_member():
        yield device
        return
    import torch
    import torch.distributed as dist

    _follow_parent()
    cuda = device.startswith("cuda")
    if cuda:
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def launch(words: Sequence[str], devices: int) -> int:
    """Run a command in so many processes; the exit code of the first that fails, else of the first."""
    with socket.socket() as free, tempfile.TemporaryFile() as silent:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        reading, writing = os.pipe()
        shared = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": str(devices),
            _PARENT: str(reading),
        }
        workers: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(devices):
                own = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
                heard = None if rank == 0 else silent
                command = [sys.executable, "-m", "pdsketch", *words]
                workers.append(
                    subprocess.Popen(command, env=own, stdout=heard, stderr=heard, pass_fds=[reading])
                )
            return _wait(workers, silent)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
            os.close(reading)
            os.close(writing)


def _wait(workers: list[subprocess.Popen[bytes]], silent: IO[bytes]) -> int:
    """Until all have ended well, or one has not; Ctrl-C is theirs to hear."""
    while True:
        with suppress(KeyboardInterrupt):
            codes = [worker.poll() for worker in workers]
            failed = next((rank for rank, code in enumerate(codes) if code), None)
            if failed is None and None not in codes:
                return output.OK
            if failed is not None:
                return _failure(failed, codes[failed] or 0, workers, silent)
            time.sleep(_POLL)


def _failure(rank: int, code: int, workers: list[subprocess.Popen[bytes]], silent: IO[bytes]) -> int:
    """What became of all, where one has failed; the first gets a moment to say what it has to say."""
    with suppress(subprocess.TimeoutExpired):
        code = workers[0].wait(1.0) or code
    if rank and workers[0].returncode in (None, 0):
        silent.seek(0)
        sys.stderr.write(silent.read().decode(errors="replace")[-_MOST_SHOWN:])
    if code < 0:
        raise error("worker-died", f"process {rank} of {len(workers)} was killed by signal {-code}")
    return code


def _follow_parent() -> None:
    """End when whoever started this process has ended, however it ended."""
    pipe = os.environ.get(_PARENT)
    if pipe is None:
        return

    def watch() -> None:
        os.read(int(pipe), 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
