"""A drafted task without what can never happen, what is always so, and what does not matter.

The engine does it, see `core/narrow.hpp`: once for a problem, and again and again for an abstraction that is
narrowed to many states and goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from pdsketch.budget import Budget
from pdsketch.core import (
    CSR,
    Bools,
    Ints,
    Narrowed,
    PreparedDraft,
    PreparedGoal,
    csr_of,
    narrow,
    starts_of,
)
from pdsketch.lang import dataclass
from pdsketch.task.draft import Draft


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of each fact of a draft: its initial truth, whether it is derived, and its layer.

    ``free``: it may as well be false in the beginning.
    """

    init: Bools
    free: Bools
    derived: Bools
    layer: Ints


def simplify(draft: Draft, facts: Facts, budget: Budget) -> Narrowed:
    """A draft from its initial state to its own goal."""
    prepared = prepare(draft, facts.derived, facts.layer, budget)
    goal = prepare_goal(draft.goal, (), possible=draft.possible)
    return narrow(prepared, goal, facts.init, facts.free, budget)


def prepare(draft: Draft, derived: Bools, layer: Ints, budget: Budget) -> PreparedDraft:
    """A ``draft``, ready to be narrowed to any goal; its own is not looked at.

    ``derived`` and ``layer`` are those of its facts; ``budget`` bounds the making.
    """
    groups = CSR(
        starts_of(np.array([len(group) for group in draft.groups], np.int64)),
        np.concatenate([np.zeros(0, np.int32), *draft.groups]),
    )
    return PreparedDraft(draft, derived, layer, groups, budget)


def prepare_goal(
    literals: Ints,
    axioms: Sequence[tuple[int, Sequence[int]]],
    *,
    possible: bool = True,
    n_facts: int = 0,
    layer: int = 0,
) -> PreparedGoal:
    """A goal for a draft: ``literals``, with ``n_facts`` derived facts behind the draft's own.

    Their ``axioms``, each a fact and a body over facts before it, are in one ``layer``. Where it is not
    ``possible``, the goal contradicts itself.
    """
    heads = np.array([head for head, _ in axioms], np.int32)
    bodies = csr_of([body for _, body in axioms])
    return PreparedGoal(literals, heads, bodies, possible=possible, n_facts=n_facts, layer=layer)
