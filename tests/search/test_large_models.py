"""States of a million facts: limits hold for rules, for searches and for what is said afterwards."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

import pdsketch as pds
from pdsketch.search.latent import reasons

MIXING = """(define (domain mixing) (:types item - object)
  (:predicates (amount [return_type=int64] ?i - item) (mixed ?a ?b ?c - item) (hot ?i - item))
  (:action mix :parameters (?a ?b ?c - item) :effect (mixed ?a ?b ?c))
  (:action pour :parameters (?a ?b ?c - item) :precondition (mixed ?a ?b ?c)
    :effect (amount::assign ?a (+ (amount ?a) (amount ?b))))
  (:action heat :parameters (?a - item)
    :precondition (exists (?b ?c - item) (and (mixed ?a ?b ?c) (> (amount ?b) 5))) :effect (hot ?a)))"""

PLAN = """
import json, sys, time
from pathlib import Path
import pdsketch as pds, torch
from pdsketch.budget import MEGABYTE, resident
sketch, count, options = json.load(sys.stdin)
domain = pds.parse_domain(sketch)
names = [f"i{i}" for i in range(count)]
values = {"amount": [1] * count, "hot": [False] * count, "mixed": torch.zeros((count,) * 3, dtype=torch.bool)}
state, model = pds.State(domain, {"item": names}, values), pds.Model(domain)
before, began = resident(), time.process_time()
try:
    status = pds.plan(model, state, "(forall (?i - item) (hot ?i))", **options).status
except pds.Error as refused:
    status = refused.diagnostics[0].code
lines = Path("/proc/self/status").read_text().splitlines()  # what `getrusage` says begins with the parent's
most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
more = most / 1024 - before / MEGABYTE
print(json.dumps([status, time.process_time() - began, more]))
"""


@pytest.mark.parametrize(
    ("count", "options", "wanted"),
    [
        (95, {}, {"gave-up", "out-of-time", "out-of-memory"}),
        (95, {"search": "gbfs", "heuristic": "blind"}, {"gave-up", "out-of-time", "out-of-memory"}),
        (110, {"time_limit": 600}, {"too-many-instances"}),
    ],
)
def test_limits_hold_where_there_are_a_million_facts(count, options, wanted):
    given = json.dumps([MIXING, count, {"time_limit": 3, "memory_limit": 300, **options}])
    words = [sys.executable, "-c", PLAN]
    ran = subprocess.run(words, input=given, capture_output=True, text=True, check=True)
    status, seconds, megabytes = json.loads(ran.stdout)
    assert status in wanted
    assert seconds < 8  # imports included, which do not count
    assert megabytes < 1.1 * 300 + 100


def test_an_explanation_asks_of_no_more_instances_than_fit(monkeypatch):
    sketch = MIXING.replace("(+ (amount ?a) (amount ?b))", "(??more (amount ?a) (amount ?b))")
    domain, count, rows = pds.parse_domain(sketch), 12, []

    def more(a, b):
        rows.append(torch.broadcast_shapes(a.shape, b.shape).numel())
        return a + b

    model = pds.Model(domain, {"action::pour::more": more})
    values = {
        "amount": [1] * count,
        "hot": [False] * count,
        "mixed": torch.zeros((count,) * 3, dtype=torch.bool),
    }
    state = pds.State(domain, {"item": [f"i{i}" for i in range(count)]}, values)
    monkeypatch.setattr(reasons, "PORTION", 10 * count**3)
    asked = []
    successors = type(model.engine).successors

    def watched(engine, run, action, logic):
        asked.append(action)
        return successors(engine, run, action, logic)

    monkeypatch.setattr(type(model.engine), "successors", watched)
    told = reasons.undecided(
        model, model.encode(state, crisp=True).batch, pds.parse_goal("(hot i0)", domain, {"i0": "item"})
    )
    assert told == ()
    assert asked == ["pour"]  # the others have no blanks
    assert 0 < max(rows) <= 10
