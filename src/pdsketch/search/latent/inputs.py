"""The states and goals that a user plans for, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdsketch.lang import Expr, error
from pdsketch.tensor import Model, State, StateBatch


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
