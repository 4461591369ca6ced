"""One round of acting: problems by their numbers, within a budget of environment steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pdsketch.act.agent import Agent
from pdsketch.act.onpolicy.options import LearnOptions
from pdsketch.act.policy import Policy
from pdsketch.act.rollouts import Worlds, rollout, rooms
from pdsketch.act.world import World
from pdsketch.lang import Domain, error
from pdsketch.search import ModelOptions
from pdsketch.tensor import Model, difference, same_domain
from pdsketch.training import Episode


def problem_seed(seed: int, index: int, stream: Literal["collect", "held-out"]) -> int:
    """The world's seed for a problem: streams and seeds do not meet."""
    return int(np.random.SeedSequence([seed, index, *stream.encode()]).generate_state(1)[0])


def open_worlds(worlds: Worlds, domain: Domain, options: LearnOptions) -> list[World]:
    """Worlds to act in side by side; they must show states of the sketch."""
    found = rooms(worlds, options.at_once)
    for world in found[:1]:
        if not same_domain(world.domain, domain):
            raise error(
                "other-domain",
                "the world shows states of another domain than the sketch",
                help=difference(world.domain, domain),
            )
    return found


def collect(
    agent: Agent, worlds: Sequence[World], seeds: Sequence[int], max_steps: int, budget: int | None
) -> list[Episode]:
    """An episode for each seed, as long as there are steps left; never more steps than the budget.

    ``agent`` acts in all ``worlds`` side by side, which take the ``seeds`` in turn, at most ``max_steps`` in
    an episode. ``budget`` is the number of steps in all episodes together; None: no limit.
    """
    found: list[Episode] = []
    left = list(seeds)
    while left and budget != 0:
        limit = max_steps if budget is None else min(max_steps, budget)
        width = len(worlds) if budget is None else min(len(worlds), budget // limit)
        done = rollout(agent, worlds[:width], left[:width], limit)
        found += done
        left = left[width:]
        budget = None if budget is None else budget - sum(done.steps)
    return found


def planner(model: Model, options: LearnOptions) -> Policy:
    """The policy of a model: what acts, within what explores, and what is evaluated."""
    limits: ModelOptions = {"time_limit": None, "max_expansions": options.max_expansions}
    return Policy(
        model,
        search=options.search,
        heuristic=options.heuristic,
        tolerance=options.tolerance,
        options={**limits, **options.plan},
        max_replans=options.max_replans,
    )
