"""Learn in a folder, killed by SIGKILL at ever later renames of a file, and begun again each time."""

from __future__ import annotations

import os
import signal
import sys

from tests.act.onpolicy.lamps import SKETCH, Lamps

import pdsketch as pds
from pdsketch.act.onpolicy.learning import learn
from pdsketch.files import writing

SLOW = {"torch._dynamo", "sympy"}
SETTINGS = {
    "episodes": 8,
    "first": 4,
    "max_steps": 6,
    "fit_steps": 12,
    "fit": {"batch": 32, "forms": False, "evaluate_every": 5},
    "evaluate": 4,
    "max_expansions": 30,
    "at_once": 4,
}


def run(folder: str, renames: int | None) -> None:
    """Learn; end as if killed when a file is about to take its place for the last time that is allowed."""
    left = renames
    replace = os.replace

    def counted(*args, **settings):
        nonlocal left
        if left is not None:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return replace(*args, **settings)

    writing.os.replace = counted
    domain = pds.parse_domain(SKETCH)
    learn(lambda: Lamps(domain), domain, folder, **SETTINGS)
    assert not SLOW & sys.modules.keys(), "learning imports torch's compiler, which takes seconds"


def main(killed: str, whole: str, *renames: str) -> None:
    """Each try in a process of its own, forked before anything is computed; the last one is not killed.

    Then learn in another folder, without a kill.
    """
    tries = [(killed, int(most)) for most in renames]
    for folder, most in [*tries, (killed, None), (whole, None)]:
        child = os.fork()
        if child == 0:
            run(folder, most)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else f"ended {status}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
