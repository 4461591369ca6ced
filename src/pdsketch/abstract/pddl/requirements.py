"""What a domain asks of a planner, as its ``:requirements`` say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pdsketch.lang import TRUE, Action, Equal, Expr, Logic, Predicate, Quantified, walk

_ORDER = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":conditional-effects",
    ":derived-predicates",
    ":action-costs",
)


def requirements_of(predicates: Iterable[Predicate], actions: Iterable[Action]) -> tuple[str, ...]:
    """The requirements of a domain of Booleans, those that it needs and no others."""
    needed = {":strips", ":typing"}
    for predicate in predicates:
        if predicate.body is not None:
            needed |= {":derived-predicates", *_of_formula(predicate.body)}
        if predicate.role == "cost":
            needed.add(":action-costs")
    for action in actions:
        needed.update(_of_formula(action.precondition))
        for update in action.effects:
            needed.update(_of_formula(update.condition))
            if update.condition != TRUE or update.variables:
                needed.add(":conditional-effects")
    return tuple(word for word in _ORDER if word in needed)


def _of_formula(formula: Expr) -> Iterator[str]:
    for node in walk(formula):
        match node:
            case Logic(op="not"):
                yield ":negative-preconditions"
            case Logic(op="or" | "implies"):
                yield ":disjunctive-preconditions"
            case Quantified():
                kind = "existential" if node.op == "exists" else "universal"
                yield f":{kind}-preconditions"
            case Equal():
                yield ":equality"
            case _:
                pass
