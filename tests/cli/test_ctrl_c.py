"""Ctrl-C ends a command with a line, a JSON object and 130, wherever in a library it arrives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pdsketch.cli.main import main

BLOCKS = Path(__file__).parents[2] / "examples/blocks"
PLAN = ["plan", str(BLOCKS / "domain.pddl"), str(BLOCKS / "p01.pddl")]

PRESSED = """
import signal, sys, time, weakref
from importlib import import_module
from pdsketch.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores

class Thing: pass

def deaf(*args, **options):
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        time.sleep(30)

def called_back(*args, **options):
    thing = Thing()
    ref = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    time.sleep(30)

def translated(*args, **options):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("something went wrong")

how, module, name, *sys.argv[1:] = sys.argv[1:]
setattr(import_module(module), name, globals()[how])
sys.exit(main())
"""


def pressed(how: str, where: str, words: list[str]) -> dict:
    """What a command says in which a function of a library is interrupted."""
    done = subprocess.run(
        [sys.executable, "-c", PRESSED, how, *where.split(":"), *words, "--json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("pdsketch: interrupted")
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", ["called_back", "translated"])
def test_an_interruption_that_a_library_loses_or_translates_is_obeyed(how):
    assert (
        pressed(how, "pdsketch.cli.fmt:format_source", ["fmt", "--check", PLAN[1]])["status"] == "interrupted"
    )


def test_a_search_is_interrupted_in_a_library_that_catches_everything():
    assert pressed("deaf", "pdsketch.search.planning:plan", PLAN)["kept"] is None


def test_a_fault_of_ours_is_not_taken_for_an_interruption(monkeypatch):
    def broken(*args: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("pdsketch.cli.plan.domain_of", broken)
    with pytest.raises(RuntimeError, match="ours"):
        main(PLAN)
