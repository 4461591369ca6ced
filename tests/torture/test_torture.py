"""The torture itself: it notices what it is there to notice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.torture.corruption import changed, crafted, damaged, put_together, take_apart
from tests.torture.growing import KINDS

from pdsketch.lang.load import parse_domain, parse_problem

SCRIPT = """
import json, os, signal, sys, time
from pathlib import Path
from tests.torture import lanes, subject
from tests.torture.losses import Group, Loss

def fine(seed, place):
    return subject.run(lambda: print("said"), place).crashes()

def traceback(seed, place):
    return subject.run(lambda: 1 // 0, place).crashes()

def killed(seed, place):
    return subject.run(lambda: time.sleep(60), place, after=0.01).crashes(killed=True)

def signalled(seed, place):
    return subject.run(lambda: os.kill(os.getpid(), signal.SIGSEGV), place).crashes()

def hangs(seed, place):
    return subject.run(lambda: time.sleep(60), place, patience=0.05).crashes()

def dies(seed, place):
    os.kill(os.getpid(), signal.SIGSEGV)

def raises(seed, place):
    raise ValueError(seed)

tries = (fine, traceback, killed, signalled, hangs, dies, raises)
groups = {f.__name__: Group(f.__name__, f, 1) for f in tries}
cases = [(name, seed) for name in groups for seed in range(2)]
found = {}
for (name, _), losses, _ in lanes.run_all(groups, cases, Path(sys.argv[1]), 2, time.monotonic() + 60):
    found.setdefault(name, []).append([loss.kind for loss in losses])
print(json.dumps(found))
"""


def test_every_way_to_fail_is_noticed_and_the_others_go_on(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    crash = [["crash"]] * 2
    assert json.loads(done.stdout) == {
        "fine": [[], []],
        "killed": [[], []],
        "traceback": crash,
        "signalled": crash,
        "hangs": [["hang"]] * 2,
        "dies": crash,
        "raises": crash,
    }


@pytest.mark.parametrize("seed", range(20))
def test_damaged_bytes_are_others_and_crafted_files_can_be_taken_apart(seed):
    rng = random.Random(seed)
    entry = {"dtype": "I64", "shape": [4], "data_offsets": [0, 32]}
    data = put_together({"length": entry, "__metadata__": {"format": "x"}}, bytes(32))
    assert damaged(rng, data) != data
    header, _ = take_apart(crafted(rng, data))
    json.dumps(changed(rng, header))


@pytest.mark.parametrize("kind", KINDS)
def test_problems_of_any_size_are_well_formed(kind):
    make, (low, _) = KINDS[kind]
    for size in (low, low + 1):
        domain, problem = make(size)
        parse_problem(problem, parse_domain(domain))
