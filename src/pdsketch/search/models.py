"""`pdsketch.plan` and `plan_many` for models: what is given is checked, and the strategy followed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from pdsketch.lang import Expr, error
from pdsketch.search.latent.engine import LatentOutcome
from pdsketch.search.latent.margin import CRISP_TRUTH, confidences_of, lowered, share_of
from pdsketch.search.latent.options import LIMITS, budget_of, options_for, status_of
from pdsketch.search.latent.reasons import ending
from pdsketch.search.problems import Problems
from pdsketch.search.result import Result
from pdsketch.search.strategy import follow
from pdsketch.tensor import Model, State, StateBatch

# The states and goals that a user plans for, checked.


def checked_states(model: Model, states: Sequence[State] | StateBatch) -> list[State]:
    """The states as a list."""
    if isinstance(states, State):
        states = states.batch
    if not isinstance(states, Iterable):
        raise error("bad-state", f"a list of states was wanted, and a {type(states).__name__} was given")
    listed = list(states)
    for state in listed:
        if not isinstance(state, State):
            raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
        model.ready(state)
    return listed


def checked_goals(
    model: Model, states: Sequence[State], goals: Sequence[str | Expr] | str | Expr
) -> list[Expr]:
    """The goal of each state; one is the goal of all."""
    each = list(goals) if isinstance(goals, list | tuple) else [goals] * len(states)
    if len(each) != len(states):
        raise error("bad-goals", f"{len(each)} goals were given for {len(states)} states")
    found = []
    seen: set[Expr] = set()
    for state, goal in zip(states, each, strict=True):
        checked = model.formula(state.batch, goal)  # type: ignore[arg-type]
        found.append(checked)
        if checked in seen:
            continue
        seen.add(checked)
        absent = model.domain.analysis.absent_reads(checked)
        if absent:
            raise error(
                "absent-predicate",
                f"the goal reads `{absent[0]}`, which only the encoder reads: it is absent after a step",
                checked.span,
                help="read an encoded predicate instead",
            )
    return found


def plan_models(
    model: Model,
    states: Sequence[State] | StateBatch,
    goals: Sequence[str | Expr] | str | Expr,
    given: Mapping[str, Any],
) -> list[Result]:
    """Find a plan for each state and goal; the frontiers share tensor batches.

    ``states`` are observations, which ``model`` encodes; ``goals`` is one goal for all of them, or one for
    each; ``given`` are the `PlanOptions`. The limits of expansions and depth hold for each problem, those
    of time and memory for all of them together.
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model was wanted to plan with, and a {type(model).__name__} was given")
    started = time.monotonic()
    options = options_for(model, given)
    with budget_of(model, options).running() as budget:
        listed = checked_states(model, states)
        if not listed:
            return []
        wanted = checked_goals(model, listed, goals)
        with torch.inference_mode():
            found: dict[int, Result] = {}
            for level in confidences_of(options.confidence):
                left = [i for i in range(len(listed)) if i not in found]
                with share_of(budget, level).running() as share:
                    some = [listed[i] for i in left], [wanted[i] for i in left]
                    memories = tuple(options.memories[i] for i in left) if options.memories else ()
                    own = replace(options, confidence=level, memories=memories)
                    results = _planned(Problems(model, *some, own, started, share)) if left else []
                for i, result in zip(left, results, strict=True):
                    if result.solved or level == CRISP_TRUTH:
                        found[i] = lowered(result, options.confidence, level)
            return [found[i] for i in range(len(listed))]


def _planned(problems: Problems) -> list[Result]:
    """The results of problems by the strategy, within the limits of the call."""
    try:
        problems.encode()
        follow(problems)
    except LIMITS as limit:
        status = status_of(limit)
        if status is None:
            raise
        reasons = (ending(LatentOutcome(status), problems.options),)
        for i in problems.open:
            problems.found[i] = replace(problems.result(i, status), best=[], reasons=reasons)
    return problems.results()
