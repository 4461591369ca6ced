"""Runs of pytest that need not import torch first: ``python -m tests.mutants.warm``.

This process imports what most tests need and no change touches. Each line that it reads asks for a run, in a
process forked from it: the words for pytest, variables of the environment, limits, and the file for what is
said. It answers with the number of that process, which leads a session of its own, and then with its exit
code.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

import numpy  # noqa: F401
import pytest
import torch  # noqa: F401


def _run(asked: dict[str, Any]) -> int:
    """In the forked process: run the tests; the exit code."""
    os.setsid()
    said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(asked["environment"])
    for name, limit in asked["limits"].items():
        kind = getattr(resource, name)
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    return int(pytest.main(asked["words"]))


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin.buffer:
        child = os.fork()
        if not child:
            code = 3  # what pytest says of an error of its own
            try:
                code = _run(json.loads(line))
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
