"""Boolean blanks that cannot decide: a truth between 0.1 and 0.9, or no training at all.

Search is crisp, so that a precondition whose blank says 0.5 keeps its action
from ever being applied. Where that is why there is no plan, it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.lang.domain import Action
from pdsketch.lang.terms import Apply, BlankCall, Expr, walk
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.calls import Callee, Given
from pdsketch.tensor.model import Model
from pdsketch.tensor.node import Run, pardoning
from pdsketch.tensor.state import StateBatch

LOW: Final = 0.1
HIGH: Final = 0.9

_MOST_INSTANCES: Final = 1024


def known_blanks(model: Model) -> frozenset[str]:
    """The blanks that were trained, or whose function the user gave."""
    return frozenset({*model.notes.get("trained", ()), *model.blanks.given})


def blanks_read(model: Model, expr: Expr) -> tuple[str, ...]:
    """The blanks that an expression reads, through derived predicates too."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    agenda = [expr]
    while agenda:
        for node in walk(agenda.pop()):
            if isinstance(node, BlankCall):
                found[node.blank] = None
            elif isinstance(node, Apply) and node.predicate not in seen:
                seen.add(node.predicate)
                body = model.domain.predicates[node.predicate].body
                if body is not None:
                    agenda.append(body)
    return tuple(found)


@final
class _Truths:
    """The least and the greatest truth that each Boolean blank returned: give it to `Functions.watched`."""

    def __init__(self) -> None:
        self.range: dict[str, tuple[float, float]] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Look at one call."""
        del given
        if callee.returns.prim == "bool" and result.numel() and 0 not in leading:
            low, high = self.range.get(callee.name, (1.0, 0.0))
            least, most = result.float().aminmax()
            self.range[callee.name] = min(low, float(least)), max(high, float(most))

    def undecided(self) -> Iterable[tuple[str, float, float]]:
        """The blanks that decided nowhere, and between what."""
        for name, (low, high) in self.range.items():
            if low > LOW and high < HIGH:
                yield name, low, high


@torch.no_grad()
def undecided(model: Model, batch: StateBatch, goal: Expr) -> tuple[str, ...]:
    """What to say of blanks that decide nothing in a state: of the goal, of preconditions, of effects."""
    told: dict[str, str] = {}
    run = model.engine.open(batch, checked=False)
    with pardoning():
        for name, low, high in _asked(model, lambda: model.engine.truth(run, goal, model.logic)):
            told[name] = (
                f"the goal's blank `{name}` is undecided in the initial state (truth {_between(low, high)}): "
                f"{_remedy(model, name, 'whose goals read it')}"
            )
        for action in model.domain.actions.values():
            told |= {n: s for n, s in _of_action(model, run, action).items() if n not in told}
    return tuple(told.values())


def _of_action(model: Model, run: Run, action: Action) -> dict[str, str]:
    """The undecided blanks of an action; not of one that takes values, which are not known here."""
    if not all(isinstance(p.type, ObjectType) for p in action.parameters):
        return {}
    grounding = model.engine.ground(run.batch, action.name)
    if not grounding.count:
        return {}
    places = {name: table[:, :_MOST_INSTANCES] for name, table in grounding.of(run.batch).items()}
    ground = run.ground(places, min(grounding.count, _MOST_INSTANCES))
    told = {}
    asked = _asked(model, lambda: model.engine.precondition(ground, action.name, model.logic))
    for name, low, high in asked:
        never = f", so that `{action.name}` is never applicable" if high <= 0.5 else ""
        told[name] = (
            f"`{name}` in the precondition of `{action.name}` is undecided in the initial state "
            f"(truth {_between(low, high)}){never}: {_remedy(model, name, 'that say `executable`')}"
        )
    for name, low, high in _asked(model, lambda: model.engine.successors(ground, action.name, model.logic)):
        told.setdefault(
            name,
            f"`{name}` in the effects of `{action.name}` is undecided in the initial state "
            f"(truth {_between(low, high)}): {_remedy(model, name, 'in which it matters')}",
        )
    return told


def _asked(model: Model, evaluate: Callable[[], object]) -> list[tuple[str, float, float]]:
    """The blanks that decide nothing in an evaluation."""
    truths = _Truths()
    with model.blanks.watched(truths):
        evaluate()
    return list(truths.undecided())


def _between(low: float, high: float) -> str:
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"


def _remedy(model: Model, blank: str, episodes: str) -> str:
    if blank in model.blanks.given:
        return "its function was given; check what it returns"
    learned = "it was trained, but not enough" if blank in known_blanks(model) else "it was never trained"
    return f"{learned}; train on episodes {episodes}, or give a module for it"
