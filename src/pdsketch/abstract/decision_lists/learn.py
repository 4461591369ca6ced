"""The front door: examples of a function of codes → a decision list that says the same."""

from __future__ import annotations

from typing import Final

import numpy as np

from pdsketch.abstract.decision_lists.decision_list import Agreement, DecisionList, conflicts, predict
from pdsketch.abstract.decision_lists.description import exception_bits, list_bits
from pdsketch.abstract.decision_lists.exact import exact_rules, table_of
from pdsketch.abstract.decision_lists.examples import (
    CodedExamples,
    comparable_pairs,
    contradictions,
    fingerprints,
)
from pdsketch.abstract.decision_lists.flips import ENOUGH, Rules, exception_rules, flip_rules
from pdsketch.abstract.decision_lists.foil import foil_rules
from pdsketch.abstract.decision_lists.space import Pairs
from pdsketch.abstract.decision_lists.tables import table_rules
from pdsketch.kernels import Bools, Longs

HELD_OUT: Final = 5
"""One example in so many is held out, of each label."""


def learn_list(examples: CodedExamples) -> DecisionList:
    """Learn a first-order decision list over codes (FOIL; Quinlan, 1990).

    - Where the examples have no sets and are all combinations of codes, the list is exact, and rules with
      different labels exclude each other (see `exact`).
    - Else four in five examples are for learning, the others say how well the list agrees. With
      sets, lists about single elements and about exceptions are tried first (see `flips`), then FOIL (see
      `foil`); without, a table over a few arguments (see `tables`), or FOIL.
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
    rules, default = _from_sample(examples.take(train))
    wrong = predict(rules, default, examples) != examples.y
    agreement = _agreement(
        examples, wrong, train, held_out, n_conflicts=conflicts(rules, examples.take(train))
    )
    return DecisionList(tuple(rules), default, agreement)


def _from_sample(examples: CodedExamples) -> Rules:
    """The shortest of the descriptions by single elements, by exceptions, and by FOIL."""
    examples = examples.take(examples.weight > 0)
    if not examples.sets:
        return _without_sets(examples, None, None)
    found = flip_rules(examples, _without_sets)
    if found is not None:
        return found
    unusual = exception_rules(examples, _without_sets)
    if unusual is not None and _agrees(unusual, examples, ENOUGH):
        return unusual
    return _shortest([foil_rules(examples), unusual], examples)


def _without_sets(examples: CodedExamples, pairs: Pairs | None, default: int | None) -> Rules:
    """Rules for examples without sets: exact ones, if all combinations are there."""
    pairs = comparable_pairs(examples.columns) if pairs is None else pairs
    whole = table_of(examples)
    if whole is not None and not contradictions(examples):
        return exact_rules(whole, pairs, default)
    many = len(np.unique(examples.y)) > 2
    of_table = table_rules(examples, pairs, default) if many else None
    if of_table is not None and _agrees(of_table, examples, 1.0):
        return of_table
    found = foil_rules(examples, pairs=pairs, default=default)
    if not many and not _agrees(found, examples, 1.0):
        of_table = table_rules(examples, pairs, default)
    return _shortest([found, of_table], examples)


def _agrees(rules: Rules, examples: CodedExamples, share: float) -> bool:
    wrong = predict(*rules, examples) != examples.y
    return float(examples.weight[wrong].sum()) <= (1.0 - share) * float(examples.weight.sum())


def _shortest(options: list[Rules | None], examples: CodedExamples) -> Rules:
    """The option with the least bits for its rules and for what they get wrong."""
    total, n_labels = float(examples.weight.sum()), len(np.unique(examples.y))

    def length(rules: Rules) -> float:
        wrong = float(examples.weight[predict(*rules, examples) != examples.y].sum())
        return list_bits(rules[0], examples) + exception_bits(wrong, total, n_labels)

    return min((option for option in options if option is not None), key=length)


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
