"""Where plans rest on blanks that were never trained near what they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import torch

from pdsketch.lang.rewrite import unfold_all
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.margin import Margin
from pdsketch.search.latent.replay import Move, Trail, Verdicts, replay
from pdsketch.tensor.compile.node import pardoning
from pdsketch.tensor.experience import Watch
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State, concat

_MOST_STATES: Final = 4096
"""States of plans that are watched together, to bound memory."""


_NOT_LOOKED_AT: Final = (
    "a limit was reached before it was seen whether the plan rests on what the model knows"
)


def looked_at(
    model: Model,
    states: Sequence[State],
    goals: Sequence[Expr],
    plans: Sequence[Sequence[Step]],
    *,
    snap: bool,
    trail: Trail,
    margin: Margin,
) -> tuple[Verdicts, dict[int, tuple[str, ...]]]:
    """Why each plan fails when it is replayed (None: it does not), and what is to be said of it.

    A plan that no time was left for has no verdict.
    """
    verdicts = Verdicts()
    with suppress_limits(), pardoning():
        replay(model, states, goals, plans, snap=snap, trail=trail, verdicts=verdicts, margin=margin)
    said: dict[int, tuple[str, ...]] = dict.fromkeys(range(len(plans)), (_NOT_LOOKED_AT,))
    with suppress_limits(), pardoning():
        watch = doubts_of(model, trail)
        said = {number: tuple(watch.sentences(number)) for number in range(len(plans))}
    return verdicts, said


def doubts_of(model: Model, trail: Trail) -> Watch:
    """What to say of each plan of a trail: its steps, and its goal at the end."""
    watch = Watch(model.notes, model.blanks.given)
    if not model.notes.get("trained"):
        return watch
    with model.blanks.watched(watch):
        for moves in _gathered(trail.moves):
            batch = concat([states for states, _, _ in moves])
            steps = [step for _, taken, _ in moves for step in taken]
            owners = [plan for _, _, plans in moves for plan in plans]
            for schema, rows, run in model.grouped(batch, steps):
                watch.owners = owners if rows is None else [owners[row] for row in rows.tolist()]
                model.ask(run, schema)
        watch.untrained = False  # of goals, that was said before the search
        for batch, goals, plans in trail.ends:
            for goal in dict.fromkeys(goals):
                places = [place for place, other in enumerate(goals) if other == goal]
                watch.owners = [plans[place] for place in places]
                some = batch.select(torch.tensor(places, device=batch.device))
                model.engine.truth(model.engine.open(some), unfold_all(goal, model.domain))
    return watch


def _gathered(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """The moves in groups of not too many states."""
    group: list[Move] = []
    for move in moves:
        if group and sum(states.size for states, _, _ in (*group, move)) > _MOST_STATES:
            yield group
            group = []
        group.append(move)
    if group:
        yield group


def encoded(model: Model, states: list[State]) -> tuple[list[State], Watch]:
    """The states with their encoded variables, and what to say of how each was encoded."""
    watch = Watch(model.notes, model.blanks.given)
    found = []
    with model.blanks.watched(watch):
        for place, state in enumerate(states):
            watch.owners = (place,)
            found.append(model.encode(state, crisp=True).crisp())
    return found, watch
