"""The front door: examples of a function of codes → a decision list that says the same."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb, log2, prod
from typing import Final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.decision_list import (
    Agreement,
    DecisionList,
    DecisionRule,
    conflicts,
    predict,
)
from pdsketch.abstract.decision_lists.description import exception_bits, list_bits
from pdsketch.abstract.decision_lists.exact import MOST_CELLS, UNSEEN, exact_rules, table_of
from pdsketch.abstract.decision_lists.examples import (
    CodedExamples,
    comparable_pairs,
    contradictions,
    fingerprints,
)
from pdsketch.abstract.decision_lists.flips import ENOUGH, Rules, exception_rules, flip_rules
from pdsketch.abstract.decision_lists.foil import foil_rules
from pdsketch.abstract.decision_lists.literals import CodeLiteral, HasCode, SameCode
from pdsketch.abstract.decision_lists.space import Pairs
from pdsketch.kernels import Bools, Floats, Longs

# Functions that a few scalar arguments determine: the table of what was seen, minimised.
#
# Which arguments these are is decided by description length, so that a table has fewer cells than examples.
# Cells that were not seen are don't cares, but no rule is widened for their sake alone.

_MOST_ARGUMENTS: Final = 3
_MOST_SUBSETS: Final = 400
_MOST_ROWS: Final = 4000
"""So many rows are looked at to choose the arguments."""


def table_rules(
    examples: CodedExamples, pairs: Pairs, default: int | None
) -> tuple[list[DecisionRule], int] | None:
    """Rules over the few arguments that say most about the label; None if listing labels is as short."""
    some = examples.take(np.arange(min(len(examples), _MOST_ROWS)))
    n = len(examples.columns)
    sizes = range(1, 1 + min(n, _MOST_ARGUMENTS))
    wanted = [size for size in sizes if comb(n, size) <= _MOST_SUBSETS]
    best, shortest = None, min(_length(some, ()), len(some) * log2(max(len(np.unique(some.y)), 2)))
    for subset in chain.from_iterable(combinations(range(n), size) for size in wanted):
        budget.current().tick()
        length = _length(some, subset)
        if length < shortest:
            best, shortest = subset, length
    if best is None:
        return None
    shape = tuple(examples.columns[i].size for i in best)
    cells, _, labels = _majority(examples, best)
    table = np.full(prod(shape), UNSEEN)
    table[cells] = labels
    place = {argument: at for at, argument in enumerate(best)}
    own = [(place[i], place[j]) for i, j in pairs if i in place and j in place]
    rules, other = exact_rules(table.reshape(shape), own, default)
    return [DecisionRule(tuple(_renamed(x, best) for x in r.literals), r.label) for r in rules], other


def _length(examples: CodedExamples, subset: tuple[int, ...]) -> float:
    """Description length of the table over some arguments, and of the examples that it gets wrong."""
    if prod(examples.columns[i].size for i in subset) > MOST_CELLS:
        return float("inf")
    cells, weights, _ = _majority(examples, subset)
    n_labels = len(np.unique(examples.y))
    total = float(examples.weight.sum())
    wrong = exception_bits(total - float(weights.sum()), total, n_labels)
    return len(cells) * log2(max(n_labels, 2)) + len(subset) * log2(len(examples.columns) + 1) + wrong


def _majority(examples: CodedExamples, subset: tuple[int, ...]) -> tuple[Longs, Floats, Longs]:
    """The cells that were seen, the weight of their commonest labels, and these labels."""
    cells = np.zeros(len(examples), np.int64)
    for i in subset:
        cells = cells * examples.columns[i].size + examples.codes[:, i]
    n_labels = int(examples.y.max()) + 1
    seen, at = np.unique(cells * n_labels + examples.y, return_inverse=True)
    weight = np.bincount(at, examples.weight)
    order = np.lexsort((-seen, weight, seen // n_labels))
    last = np.flatnonzero(np.append(np.diff(seen[order] // n_labels) > 0, True))
    chosen = order[last]
    return seen[chosen] // n_labels, weight[chosen].astype(np.float64), seen[chosen] % n_labels


def _renamed(literal: CodeLiteral, arguments: tuple[int, ...]) -> CodeLiteral:
    match literal:
        case HasCode(i, codes, sign):
            return HasCode(arguments[i], codes, sign)
        case SameCode(i, j, sign):
            return SameCode(arguments[i], arguments[j], sign)
        case _:
            raise AssertionError("tables have no sets")


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
