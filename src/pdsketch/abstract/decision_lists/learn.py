"""The front door: examples of a function of codes → a decision list that says the same."""

from __future__ import annotations

from typing import Final

import numpy as np

from pdsketch.abstract.decision_lists.decision_list import Agreement, DecisionList, conflicts, predict
from pdsketch.abstract.decision_lists.exact import exact_rules, table_of
from pdsketch.abstract.decision_lists.examples import (
    CodedExamples,
    comparable_pairs,
    contradictions,
    fingerprints,
)
from pdsketch.abstract.decision_lists.foil import foil_rules
from pdsketch.core import Bools, Longs

HELD_OUT: Final = 5
"""One example in so many is held out, of each label."""


def learn_list(examples: CodedExamples) -> DecisionList:
    """Learn a first-order decision list over codes (FOIL; Quinlan, 1990).

    - Where the examples have no sets and are all combinations of codes, the list is exact, and rules with
      different labels exclude each other (see `exact`).
    - Else FOIL learns from four in five examples, and the others say how well the list agrees.
    - Labels may be noisy: rules that only explain noise cost more bits than they save, and are left out. With
      5 % of the labels wrong, the list agrees with about 95 % of the held-out ones.
    - Of contradictory examples the majority counts. Of no examples nothing is learned: the list is empty and
      says 0.

    The order of the examples, and of the elements of sets, makes no difference. Time is bounded by the
    `current` budget, whose `LimitError` is raised.
    """
    if not examples.weight.any():
        return DecisionList((), 0)
    table = table_of(examples)
    if table is not None:
        rules, default = exact_rules(table, comparable_pairs(examples.columns))
        everything = np.arange(len(examples))
        wrong = table[tuple(examples.codes.T)] != examples.y
        agreement = _agreement(
            examples, wrong.astype(np.bool_), everything, everything[:0], exact=not wrong.any()
        )
        return DecisionList(tuple(rules), default, agreement)
    train, held_out = split(examples)
    learned = examples.take(train)
    rules, default = foil_rules(learned.take(learned.weight > 0))
    wrong = predict(rules, default, examples) != examples.y
    agreement = _agreement(
        examples, wrong, train, held_out, n_conflicts=conflicts(rules, examples.take(train))
    )
    return DecisionList(tuple(rules), default, agreement)


def split(examples: CodedExamples) -> tuple[Longs, Longs]:
    """Rows to learn from, in random order, and rows held out, whatever the order of the examples.

    Each label gives one row in five, the third, eighth … of its rows.
    """
    order = np.lexsort((examples.weight, fingerprints(examples), examples.y))
    shuffled = order[np.random.default_rng(0).permutation(len(order))]
    by_label = shuffled[np.argsort(examples.y[shuffled], kind="stable")]
    y = examples.y[by_label]
    rank = np.arange(len(y)) - np.searchsorted(y, y)
    held = np.zeros(len(y), np.bool_)
    held[by_label] = rank % HELD_OUT == HELD_OUT // 2
    return shuffled[~held[shuffled]], shuffled[held[shuffled]]


def _agreement(
    examples: CodedExamples,
    wrong: Bools,
    train: Longs,
    held_out: Longs,
    *,
    exact: bool = False,
    n_conflicts: int = 0,
) -> Agreement:
    shares = []
    for rows in (train, held_out):
        whole = float(examples.weight[rows].sum())
        shares.append(1.0 - float(examples.weight[rows][wrong[rows]].sum()) / whole if whole else 1.0)
    worst = [*np.sort(held_out[wrong[held_out]])[:1], *np.sort(train[wrong[train]])[:1]]
    return Agreement(
        n_train=len(train),
        n_held_out=len(held_out),
        train=shares[0],
        held_out=shares[1],
        exact=exact,
        counter_example=int(worst[0]) if worst else None,
        contradictions=contradictions(examples),
        conflicts=n_conflicts,
    )
