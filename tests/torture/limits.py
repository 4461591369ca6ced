"""Limits of time and memory on problems that grow: broken by no more than 10 % and half a second."""

from __future__ import annotations

import random
from pathlib import Path

from tests.torture import fixtures, growing, subject
from tests.torture.disks import one_object
from tests.torture.losses import Loss

STATUSES = {0: "solved", 11: "unsolvable", 12: "gave-up", 22: "out-of-memory", 23: "out-of-time"}
SLACK = 50.0
"""Megabytes that a process may take besides its limit and a tenth of it."""


class Limits:
    """The tries; seconds are of the processor, where other tries keep it busy."""

    def __init__(self, facts: fixtures.Facts) -> None:
        self.facts = facts

    def attempt(self, seed: int, place: Path) -> list[Loss]:
        """One problem under one limit."""
        rng = random.Random(seed)
        kind = sorted(growing.KINDS)[seed % len(growing.KINDS)]
        size, (domain, problem) = growing.some(rng, kind)
        (place / "domain.pddl").write_text(domain)
        (place / "problem.pddl").write_text(problem)
        words = ["plan", str(place / "domain.pddl"), str(place / "problem.pddl"), "--json"]
        seconds = rng.choice([0.5, 1.0, 2.0, 3.0])
        megabytes = rng.choice([50, 100, 200, 500])
        words += ["--time-limit", str(seconds), "--memory-limit", str(megabytes)]
        if not kind.startswith("latent"):
            words += rng.choice(growing.SEARCHES)
        ended = subject.run(subject.command(*words), place, patience=60)
        if "compiling" in ended.err:  # once on a machine; limits do not count it, and we do
            ended = subject.run(subject.command(*words), place, patience=60)
        name = f"{kind} {size}, {seconds:g} s, {megabytes} MB: {' '.join(words[8:])}"
        losses = ended.crashes()
        if ended.took > 1.1 * seconds + 0.5:
            losses.append(Loss("limit", f"{ended.took:.2f} s"))
        more = ended.megabytes - self.facts.megabytes
        if more > 1.1 * megabytes + SLACK:
            losses.append(Loss("limit", f"{more:.0f} MB"))
        if not losses and ended.code not in STATUSES:
            losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
        losses += [] if losses else one_object(ended, failed=False)
        return [Loss(loss.kind, f"{name}: {loss.text}") for loss in losses]
