"""A plan is replayed step by step through the model before it is returned."""

from __future__ import annotations

from collections.abc import Sequence

from pdsketch.lang.terms import Expr
from pdsketch.search.latent.fingerprint import fingerprints
from pdsketch.search.result import Step
from pdsketch.tensor.codes import codes_of
from pdsketch.tensor.model import Model
from pdsketch.tensor.state import State


def replay(model: Model, state: State, goal: Expr, plan: Sequence[Step], *, snap: bool = False) -> str | None:
    """Why the plan does not reach the goal; None: it does."""
    after = follow(model, state, plan, snap=snap)
    if isinstance(after, str):
        return after
    if not bool(model.holds(after, goal, crisp=True) > 0.5):
        return "the goal does not hold when the plan is replayed one state at a time"
    return None


def follow(model: Model, state: State, plan: Sequence[Step], *, snap: bool = False) -> State | str:
    """The state after a sequence of actions, or which of them could not be applied."""
    for number, step in enumerate(plan, start=1):
        if not bool(model.applicable(state, step, crisp=True) > 0.5):
            return f"step {number} of the plan, {step}, is not applicable when it is replayed"
        state = model.step(state, step, crisp=True)
        if snap:
            state = snapped(model, state)
    return state


def snapped(model: Model, state: State) -> State:
    """The state with its floats rounded to their codes."""
    prints = fingerprints(model.domain.state_predicates, codes_of(model.notes), state.device)
    tensors = {
        name: prints[name].snap(tensor) if name in prints else tensor
        for name, tensor in state.batch.tensors.items()
    }
    return State._of(state.batch.with_tensors(tensors))
