"""Where plans rest on blanks that were never trained near what they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import torch

from pdsketch.lang import Expr, Step, unfold_all
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.margin import Margin
from pdsketch.search.latent.replay import PlanReplay, Trail, Verdicts, gathered, joined
from pdsketch.tensor import Model, State, Watch, pardoning

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
    at_first: bool = False,
) -> tuple[Verdicts, dict[int, tuple[str, ...]]]:
    """Why each plan fails when it is replayed (None: it does not), and what is to be said of it.

    The ``plans`` lead from ``states`` to ``goals``, and are followed side by side in ``model``; what counts
    as true is said by ``margin``, and with ``snap`` floats are rounded after each step. States on the way are
    left in ``trail``. A plan that no time was left for has no verdict. ``at_first``: the trail says which
    goals held before.
    """
    way = PlanReplay(model, snap, margin, at_first=at_first)
    said: tuple[str, ...] = ()
    if model.notes.get("trained"):
        verdicts, watch = Verdicts(), Watch(model.notes, model.blanks.given)
        with suppress_limits(), pardoning():
            replace(way, watch=watch).run(states, goals, plans, trail, verdicts)
            return verdicts, {number: watch.sentences(number) for number in range(len(plans))}
        # Derived predicates that are written out may take more memory than their tables.
        trail.clear()
        said = (_NOT_LOOKED_AT,)
    verdicts = Verdicts()
    with suppress_limits(), pardoning():
        way.run(states, goals, plans, trail, verdicts)
    return verdicts, dict.fromkeys(range(len(plans)), said)


def doubts_of(model: Model, trail: Trail) -> Watch:
    """What to say of each plan of a trail: its steps, and its goal at the end."""
    watch = Watch(model.notes, model.blanks.given)
    if not model.notes.get("trained"):
        return watch
    with model.blanks.watched(watch):
        for moves in gathered(trail.moves):
            batch, steps, owners = joined(moves)
            for schema, rows, run in model.grouped(batch, steps):
                watch.owners = owners if rows is None else [owners[row] for row in rows.tolist()]
                model.ask(run, schema)
        watch.untrained = False  # of goals, that was said before the search
        for ends in gathered(trail.ends):
            batch, goals, plans = joined(ends)
            groups: dict[Expr, list[int]] = {}
            for place, goal in enumerate(goals):
                groups.setdefault(goal, []).append(place)
            for goal, places in groups.items():
                watch.owners = [plans[place] for place in places]
                some = batch.select(torch.tensor(places, device=batch.device))
                model.engine.truth(model.engine.open(some), unfold_all(goal, model.domain))
    return watch


def encoded(model: Model, states: list[State]) -> tuple[list[State], Watch]:
    """The states with their encoded variables, and what to say of how each was encoded."""
    watch = Watch(model.notes, model.blanks.given)
    found = []
    with model.blanks.watched(watch):
        for place, state in enumerate(states):
            watch.owners = (place,)
            found.append(model.encode(state, crisp=True).crisp())
    return found, watch
