"""Functions that a few scalar arguments determine: the table of what was seen, minimised.

Which arguments these are is decided by description length, so that a table has fewer cells than examples.
Cells that were not seen are don't cares, but no rule is widened for their sake alone.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import comb, log2, prod
from typing import Final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.decision_list import DecisionRule
from pdsketch.abstract.decision_lists.description import exception_bits
from pdsketch.abstract.decision_lists.exact import MOST_CELLS, UNSEEN, exact_rules
from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import CodeLiteral, HasCode, SameCode
from pdsketch.abstract.decision_lists.space import Pairs
from pdsketch.kernels import Floats, Longs

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
