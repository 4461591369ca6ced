"""Boolean blanks that cannot decide: a truth between 0.1 and 0.9 (`SURE`), or no training at all.

Search is crisp, so that a precondition whose blank says 0.5 keeps its action
from ever being applied. Where that is why there is no plan, it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from pdsketch.budget import PORTION
from pdsketch.lang import Action, Expr, ObjectType, effect_expressions
from pdsketch.tensor import SURE, Callee, Given, Model, Run, StateBatch, pardoning


def decides_nothing(least: float, greatest: float) -> bool:
    """Whether truths between these are all as little sure as guesses are."""
    return 1 - SURE < least <= greatest < SURE


def known_blanks(model: Model) -> frozenset[str]:
    """The blanks that were trained, or whose function the user gave."""
    return frozenset({*model.notes.get("trained", ()), *model.blanks.given})


@final
class _Answers:
    """What blanks answer in an evaluation: give it to `Functions.watched`.

    ``truths`` holds the least and the greatest truth of each Boolean blank, ``asked`` all blanks.
    """

    def __init__(self) -> None:
        self.truths: dict[str, tuple[float, float]] = {}
        self.asked: dict[str, None] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Look at one call."""
        del given
        self.asked[callee.name] = None
        if callee.returns.prim == "bool" and result.numel() and 0 not in leading:
            low, high = self.truths.get(callee.name, (1.0, 0.0))
            least, most = result.float().aminmax()
            self.truths[callee.name] = min(low, float(least)), max(high, float(most))


@torch.no_grad()
def undecided(model: Model, batch: StateBatch, goal: Expr) -> tuple[str, ...]:
    """What to say of blanks that decide nothing in a state, or were not trained: of the goal, of actions."""
    run = model.engine.open(batch, checked=False)
    with pardoning():
        told = _doubts(
            model,
            "the goal",
            "whose goals read it",
            lambda: model.engine.truth(run, goal, model.logic),
        )
        for action in model.domain.actions.values():
            told = {**_of_action(model, run, action), **told}
    return tuple(told.values())


def _of_action(model: Model, run: Run, action: Action) -> dict[str, str]:
    """The doubtful blanks of an action; not of one that takes values, which are not known here."""
    if not all(isinstance(p.type, ObjectType) for p in action.parameters):
        return {}
    blanks = model.domain.analysis.blanks
    if not any(blanks(expr) for expr in (action.precondition, *effect_expressions(action.effects))):
        return {}
    grounding = model.engine.ground(run.batch, action.name)
    # A successor has a table of its own for whatever is written.
    room = PORTION // max(1, sum(t.nbytes for t in run.batch.tensors.values()))
    most = min(grounding.count, room)
    if not most:
        return {}
    places = {name: table[:, :most] for name, table in grounding.of(run.batch).items()}
    ground = run.ground(places, most)
    effects = _doubts(
        model,
        f"the effects of `{action.name}`",
        f"with `{action.name}`",
        lambda: model.engine.successors(ground, action.name, model.logic),
    )
    precondition = _doubts(
        model,
        f"the precondition of `{action.name}`",
        f"with `{action.name}` that say `executable`",
        lambda: model.engine.precondition(ground, action.name, model.logic),
        f", so that `{action.name}` is never applicable",
    )
    return {**effects, **precondition}


def _doubts(
    model: Model, where: str, episodes: str, evaluate: Callable[[], object], closed: str = ""
) -> dict[str, str]:
    """What to say of each doubtful blank that an evaluation asks; ``closed`` if it never says true."""
    answers, known = _Answers(), known_blanks(model)
    with model.blanks.watched(answers):
        evaluate()
    told = {}
    for blank in answers.asked:
        low, high = answers.truths.get(blank, (0.0, 1.0))
        if not decides_nothing(low, high) and blank in known:
            continue
        truth = ""
        if blank in answers.truths:
            shown = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
            truth = f" (truth {shown} in the initial state){closed if high <= 0.5 else ''}"
        verb = "is undecided" if blank in known else "was never trained"
        told[blank] = f"`{blank}` in {where} {verb}{truth}: {_remedy(model, blank, episodes)}"
    return told


def _remedy(model: Model, blank: str, episodes: str) -> str:
    if blank in model.blanks.given:
        return "its function was given; check what it returns"
    more = "more " if blank in known_blanks(model) else ""
    return f"train on {more}episodes {episodes}, or give a module for it"
