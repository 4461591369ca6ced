"""The grounded task: flat integer arrays, which the engine reads.

A *literal* is ``2 * fact`` for a fact and ``2 * fact + 1`` for its negation. A
state is a Boolean per fact. Basic facts come first and are changed by
operators; derived facts follow and are computed from them by the axioms.
"""

from __future__ import annotations

from typing import final

from pdsketch.core import CSR, Bools, Floats, Ints
from pdsketch.lang import Fact, dataclass


@final
@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A grounded task.

    - ``facts``: names, basic facts first, then derived ones (also those that
      grounding invented for quantified or disjunctive conditions).
    - ``init``: the initial truth of every basic fact; derived facts are False
      there until the axioms are evaluated.
    - ``goal``: literals, all of which must hold.
    - ``operators``: ``(action, *objects)`` each; several may share a name where a
      disjunctive precondition was split. ``costs`` are not negative.
    - ``preconditions``: literals of each operator.
    - ``effects``: the ids of each operator's effects. Effect ``e`` fires when all
      ``conditions[e]`` hold in the old state, and makes all ``heads[e]`` true;
      where one literal and its negation are both made true, the fact is true.
    - ``axioms``: rule ``a`` makes the fact ``axiom_heads[a]`` true when all
      ``axiom_bodies[a]`` hold. Rules are sorted by ``axiom_layers[a]``; a layer is
      evaluated to its least fixpoint before the next begins, and a negated
      derived literal refers to a lower layer only.

    What `ground` returns is also tidy: every fact matters for the goal and is
    neither always true nor always false; no condition repeats or contradicts
    itself; every operator has an effect, and at most one unconditional one. A goal
    that contradicts itself, or is out of reach even in the relaxed task, leaves one fact,
    ``unreachable-goal``, and no operators.
    """

    facts: tuple[Fact, ...]
    n_basic: int
    init: Bools
    goal: Ints
    operators: tuple[tuple[str, ...], ...]
    costs: Floats
    preconditions: CSR
    effects: CSR
    conditions: CSR
    heads: CSR
    axiom_heads: Ints
    axiom_bodies: CSR
    axiom_layers: Ints

    @property
    def n_facts(self) -> int:
        """How many facts there are, derived ones included."""
        return len(self.facts)
