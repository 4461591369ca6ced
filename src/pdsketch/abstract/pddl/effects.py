"""Conditional effects that range over no more than what they write.

``forall`` over the old pose, the direction and the new pose, when the three belong together, is one effect
for each triple; planners that ground it have many, and those that must say when a deleted fact is not added
multiply them out. Here the new pose is a derived predicate, and the effect ranges over new poses alone.
"""

from __future__ import annotations

from typing import final

from pdsketch.abstract.andor.symbolic import conjoined
from pdsketch.abstract.pddl.formulas import nested
from pdsketch.lang import (
    BOOL,
    Apply,
    Expr,
    Names,
    Predicate,
    Update,
    Variable,
    conjuncts,
    free_variables,
    walk,
)


@final
class NamedConditions:
    """Derived predicates for what effects ask for beyond what they write, each condition once."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[Expr, Predicate] = {}

    @property
    def predicates(self) -> dict[str, Predicate]:
        """Those that were made, by name."""
        return {predicate.name: predicate for predicate in self._known.values()}

    def narrowed(self, update: Update, action: str) -> Update:
        """The same update over the variables of its target alone."""
        written = free_variables(update.target)
        hidden = [v for v in update.variables if v.name not in written]
        names = {v.name for v in hidden}
        parts = conjuncts(update.condition)
        deep = [part for part in parts if not names.isdisjoint(free_variables(part))]
        if not deep:
            return update
        body = nested(hidden, deep)
        if body not in self._known:
            inside = [node for part in (update.target, *deep) for node in walk(part)]
            seen = {node.name: node for node in inside if isinstance(node, Variable)}
            parameters = tuple(v for name, v in seen.items() if name in free_variables(body))
            word = "" if update.op == "add" else "leaves-"
            name = self._names.give(f"{action}-{word}{update.target.predicate}")
            self._known[body] = Predicate(name, parameters, BOOL, "derived", body)
        known = self._known[body]
        atom = Apply(known.name, known.parameters, BOOL)
        condition = conjoined([*(part for part in parts if part not in deep), atom])
        kept = tuple(v for v in update.variables if v.name in written)
        return Update(update.op, update.target, None, kept, condition)
