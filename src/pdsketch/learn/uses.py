"""Where each blank is used: in effects, in goals, in preconditions, as an encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from pdsketch.lang.domain import Domain
from pdsketch.lang.terms import Apply, BlankCall, Expr, walk
from pdsketch.learn.study import Study


@final
@dataclass
class Uses:
    """The uses of one blank, through derived predicates too.

    ``values`` and ``gates`` are effects, each an action and the predicate that it
    writes; ``goals`` are indices of the study's goals; ``preconditions`` are actions;
    ``encodes`` is the encoded variable whose body calls it, if one does.
    """

    values: set[tuple[str, str]] = field(default_factory=set)
    gates: set[tuple[str, str]] = field(default_factory=set)
    goals: set[int] = field(default_factory=set)
    preconditions: set[str] = field(default_factory=set)
    encodes: str | None = None


def uses_of(study: Study) -> dict[str, Uses]:
    """The uses of every blank of a study's domain."""
    domain = study.domain
    found = {name: Uses() for name in domain.blanks}
    for predicate in domain.predicates.values():
        if predicate.role == "encoded" and predicate.body is not None:
            for name in blanks_in(predicate.body, domain):
                found[name].encodes = predicate.name
    for action in domain.actions.values():
        for update in action.effects:
            effect = (action.name, update.target.predicate)
            for name in blanks_in(update.condition, domain):
                found[name].gates.add(effect)
            for name in blanks_in(update.value, domain) if update.value is not None else ():
                found[name].values.add(effect)
        for name in blanks_in(action.precondition, domain):
            found[name].preconditions.add(action.name)
    for at, goal in enumerate(study.goals):
        for name in blanks_in(goal, domain, encoders=True):
            found[name].goals.add(at)
    return found


def blanks_in(expr: Expr, domain: Domain, *, encoders: bool = False) -> set[str]:
    """The blanks that an expression calls, through derived predicates, and through encoders if asked."""
    through = ("derived", "encoded") if encoders else ("derived",)
    found, seen, agenda = set[str](), set[str](), [expr]
    while agenda:
        for node in walk(agenda.pop()):
            if isinstance(node, BlankCall):
                found.add(node.blank)
            elif isinstance(node, Apply) and node.predicate not in seen:
                seen.add(node.predicate)
                predicate = domain.predicates[node.predicate]
                if predicate.role in through and predicate.body is not None:
                    agenda.append(predicate.body)
    return found
