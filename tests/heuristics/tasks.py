"""Small tasks by hand: facts are single letters, ``~a`` is a negation."""

from __future__ import annotations

import numpy as np

from pdsketch.core import Task
from pdsketch.core.rows import csr_of


def make_task(facts, init, goal, operators, *, derived="", axioms=()):
    """A task from words: ``operators`` are (name, precondition, effect, cost).

    An effect is a string of literals, or several, each ``condition > heads``
    (``heads`` alone without a condition). ``axioms`` are (layer, head, body).
    """
    names = [*facts.split(), *derived.split()]
    number = {name: i for i, name in enumerate(names)}

    def literal(word):
        return 2 * number[word.lstrip("~")] + word.startswith("~")

    def literals(text):
        return [literal(word) for word in text.split()]

    effects, conditions, heads = [], [], []
    for _, _, effect, _ in operators:
        own = []
        for part in [effect] if isinstance(effect, str) else effect:
            condition, _, made = part.rpartition(">")
            own.append(len(conditions))
            conditions.append(literals(condition))
            heads.append(literals(made))
        effects.append(own)
    axioms = sorted(axioms)
    start = np.zeros(len(facts.split()), np.bool_)
    start[[number[name] for name in init.split()]] = True
    return Task(
        facts=tuple((name,) for name in names),
        n_basic=len(facts.split()),
        init=np.concatenate([start, np.zeros(len(derived.split()), np.bool_)]),
        goal=np.array(literals(goal), np.int32),
        operators=tuple((name,) for name, _, _, _ in operators),
        costs=np.array([cost for _, _, _, cost in operators], np.float64),
        preconditions=csr_of([literals(pre) for _, pre, _, _ in operators]),
        effects=csr_of(effects),
        conditions=csr_of(conditions),
        heads=csr_of(heads),
        axiom_heads=np.array([number[head] for _, head, _ in axioms], np.int32),
        axiom_bodies=csr_of([literals(body) for _, _, body in axioms]),
        axiom_layers=np.array([layer for layer, _, _ in axioms], np.int32),
    )


def chain(length, cost=1.0):
    """Facts in a row, each made from the one before; the first is lost."""
    facts = " ".join(f"f{i}" for i in range(length + 1))
    operators = [(f"go{i}", f"f{i}", f"f{i + 1} ~f{i}", cost) for i in range(length)]
    return make_task(facts, "f0", f"f{length}", operators)
