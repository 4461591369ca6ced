"""Reasonable orders of a goal's literals (Koehler and Hoffmann, 2000), from what actions write.

A literal j has to wait for a literal i where i can only be made true by actions that overwrite what j reads:
a block that is put into a bowl of paint is no longer where it was. Nothing but the sketch is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from pdsketch.lang import (
    TRUE,
    Apply,
    Domain,
    Each,
    Expr,
    Logic,
    Quantified,
    Variable,
    free_variables,
    substitute,
    unfold_all,
    walk,
)
from pdsketch.search.latent.goal_form import Orders
from pdsketch.search.latent.relations import can_sample, name_of, pairs_in
from pdsketch.tensor import Model


@final
@dataclass(frozen=True, slots=True)
class _Reads:
    """The state variables that a literal reads, and the one that is changed for it, if it is only one."""

    all: frozenset[Apply]
    changed: Apply | None
    wanted: bool


def reasonable_orders(model: Model) -> Orders:
    """The orders of literals that are wanted together."""
    return partial(_orders, model)


def _orders(model: Model, literals: Sequence[tuple[Expr, bool]]) -> frozenset[tuple[int, int]]:
    reads = [_reads(model, atom, wanted) for atom, wanted in literals]
    found = {
        (i, j)
        for i, one in enumerate(reads)
        if one.changed is not None
        for written in [_overwritten(model.domain, one.changed, one.wanted)]
        for j, other in enumerate(reads)
        if i != j and _spoils(written, one.changed, other)
    }
    for middle in range(len(reads)):  # transitive closure (Warshall, 1962)
        before = [i for i, j in found if j == middle]
        after = [j for i, j in found if i == middle]
        found |= {(i, j) for i in before for j in after if i != j}
    return frozenset(found)


def _reads(model: Model, atom: Expr, wanted: bool) -> _Reads:
    """What a literal reads; nothing is known to change it where it is no atom over single objects."""
    plain = unfold_all(atom, model.domain)
    if any(isinstance(node, Logic | Quantified | Each) for node in walk(plain)):
        return _Reads(frozenset(), None, wanted)
    found = _variables(model.domain, plain)
    changeable = found
    for call in pairs_in(model, [plain]):
        module = model.blanks.calls.get(name_of(call))
        if call == plain and can_sample(module):  # plans move what values are proposed for
            proposed = [call.args[i] for i in getattr(module, "arguments", (0,))]
            changeable = frozenset().union(*(_variables(model.domain, part) for part in proposed))
    written = [v for v in changeable if v.predicate in model.domain.analysis.written]
    return _Reads(found, written[0] if len(written) == 1 else None, wanted)


def _variables(domain: Domain, expr: Expr) -> frozenset[Apply]:
    nodes = (node for node in walk(expr) if isinstance(node, Apply))
    return frozenset(node for node in nodes if domain.predicates[node.predicate].is_state)


def _overwritten(domain: Domain, variable: Apply, wanted: bool) -> frozenset[Apply]:
    """What every action that writes a variable overwrites, the variable itself included."""
    useless = "delete" if wanted else "add"
    found: frozenset[Apply] | None = None
    for action in domain.actions.values():
        for update in action.effects:
            if update.target.predicate != variable.predicate or update.op == useless:
                continue
            if update.variables:
                return frozenset({variable})
            given = zip(update.target.args, variable.args, strict=True)
            by = {p.name: argument for p, argument in given if isinstance(p, Variable)}
            own = {
                substitute(other.target, by)
                for other in action.effects
                if other.condition == TRUE and not other.variables
                if by.keys() >= set(free_variables(other.target))
            }
            together = frozenset(t for t in own if isinstance(t, Apply)) | {variable}
            found = together if found is None else found & together
    return found or frozenset()


def _spoils(written: frozenset[Apply], changed: Apply, other: _Reads) -> bool:
    """Whether a literal does not outlast what is written; one about the changed variable alone may."""
    hit = written & other.all
    return bool(hit - {changed}) or (changed in hit and len(other.all) > 1)
