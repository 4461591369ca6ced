"""Boolean assignments that disagree: the reference semantics refuses such a step, so it cannot be taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from pdsketch.lang import Action, Equal, Expr, Logic, Quantified, Update, Value, Variable, substitute


def agreeing(action: Action) -> Expr:
    """The precondition of an action, and that no two of its assignments disagree about a fact."""
    conflicts = [Logic("not", (conflict,)) for conflict in _conflicts(action)]
    return Logic("and", (action.precondition, *conflicts)) if conflicts else action.precondition


def _conflicts(action: Action) -> Iterator[Expr]:
    """One assignment makes a fact true that another, or another instance of it, makes false."""
    assigns = [update for update in action.effects if update.op == "assign"]
    for up, down in product(assigns, assigns):
        if up.target.predicate == down.target.predicate and not _is_one(up, down):
            yield _conflict(up, _apart(down))


def _is_one(up: Update, down: Update) -> bool:
    """Whether two updates are one that writes each fact once, or always write the same."""
    if isinstance(up.value, Value) and not up.value.value:
        return True
    if isinstance(down.value, Value) and down.value.value:
        return True
    return up is down and set(up.variables) <= set(up.target.args)


def _apart(update: Update) -> Update:
    """The update with other names for its variables."""
    new = tuple(replace(variable, name=f"{variable.name}'") for variable in update.variables)
    by: dict[str, Expr] = {old.name: v for old, v in zip(update.variables, new, strict=True)}

    def changed(expr: Expr) -> Expr:
        return substitute(expr, by)

    assert update.value is not None
    args = tuple(changed(argument) for argument in update.target.args)
    return replace(
        update,
        variables=new,
        condition=changed(update.condition),
        value=changed(update.value),
        target=replace(update.target, args=args),
    )


def _conflict(up: Update, down: Update) -> Expr:
    assert up.value is not None
    assert down.value is not None
    pairs = zip(up.target.args, down.target.args, strict=True)
    equal = [Equal(a, b, 0.0) for a, b in pairs if a != b]
    parts = (*equal, up.condition, down.condition, up.value, Logic("not", (down.value,)))
    variables: tuple[Variable, ...] = (*up.variables, *down.variables)
    body: Expr = Logic("and", parts)
    return Quantified("exists", variables, body) if variables else body
