"""Random drafts of tasks, with initial states and goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pdsketch.core import Draft, PreparedDraft, PreparedGoal, narrow
from pdsketch.core.rows import csr_of


@dataclass
class Facts:
    """What is known of each fact of a draft; ``free`` ones may as well be false in the beginning."""

    init: np.ndarray
    free: np.ndarray
    derived: np.ndarray
    layer: np.ndarray


def simplify(draft, facts, budget):
    """A draft from its initial state to its own goal."""
    prepared = PreparedDraft(draft, facts.derived, facts.layer, budget)
    return narrow(prepared, PreparedGoal(draft.goal, possible=draft.possible), facts.init, facts.free, budget)


@st.composite
def drafts(draw, *, recursive=False, unit=False):
    """A draft over at most 7 basic and 5 derived facts, which of them are derived, layers, and a state.

    Derived facts are in layers of their own; a body has negations of lower ones only, and, unless it is
    ``recursive``, no derived fact from its own layer on.
    """
    n_basic, n_derived = draw(st.integers(2, 7)), draw(st.integers(0, 5))
    n_ops = draw(st.integers(0, 5))
    basic = st.integers(0, 2 * n_basic - 1)
    every = st.integers(0, 2 * (n_basic + n_derived) - 1)
    conditions = st.lists(every, max_size=3)
    heads = st.lists(basic, max_size=3)
    owners = draw(st.lists(st.integers(0, n_ops - 1), max_size=8)) if n_ops else []
    axioms = []
    for number in range(n_derived):
        top = n_basic + number + (1 if recursive else 0)
        literals = st.integers(0, 2 * top - 1).filter(
            lambda x, d=number: not (x & 1 and x >> 1 == n_basic + d)
        )
        for body in draw(st.lists(st.lists(literals, max_size=3), max_size=3)):
            axioms.append((n_basic + number, body))
    derived = np.arange(n_basic + n_derived) >= n_basic
    layer = np.where(derived, np.arange(len(derived)) - n_basic, 0).astype(np.int32)
    costs = [1.0] * n_ops if unit else draw(st.lists(st.integers(0, 3), min_size=n_ops, max_size=n_ops))
    draft = Draft(
        costs=np.array(costs, np.float64),
        preconditions=csr_of([draw(conditions) for _ in range(n_ops)]),
        owners=np.array([*range(n_ops), *owners], np.int32),
        conditions=csr_of([*([] for _ in range(n_ops)), *(draw(conditions) for _ in owners)]),
        heads=csr_of([draw(heads) for _ in range(n_ops + len(owners))]),
        axiom_heads=np.array([head for head, _ in axioms], np.int32),
        axiom_bodies=csr_of([body for _, body in axioms]),
        goal=np.array(draw(st.lists(every, max_size=3)), np.int32),
        possible=draw(st.sampled_from([True, True, True, False])),
        groups=csr_of([]),
    )
    init = np.zeros(len(derived), np.bool_)
    init[:n_basic] = draw(st.lists(st.booleans(), min_size=n_basic, max_size=n_basic))
    return draft, derived, layer, init
