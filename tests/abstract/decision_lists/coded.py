"""Examples of functions of codes, and what a list says of one row, in plain Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from pdsketch.abstract.decision_lists.decision_list import (
    AtLeast,
    CodeColumn,
    CodedExamples,
    CodedSet,
    HasCode,
    SameCode,
)


def columns(sizes, sorts=()):
    return tuple(CodeColumn(size, sorts[i] if i < len(sorts) else None) for i, size in enumerate(sizes))


def complete(sizes, function, sorts=()):
    """All combinations of codes."""
    codes = np.array([*product(*map(range, sizes))], np.int64).reshape(-1, len(sizes))
    return CodedExamples(codes, columns(sizes, sorts), np.asarray(function(*codes.T)).astype(np.int64))


def sampled(n, sizes, function, sorts=(), seed=0):
    """Random codes."""
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(0, size, n) for size in sizes], axis=1)
    return CodedExamples(codes, columns(sizes, sorts), np.asarray(function(*codes.T)).astype(np.int64))


def with_sets(n, scalars, elements, function, *, sorts=((), ()), fewest=0, most=6, seed=0):
    """Random codes, and sets of ``fewest`` to ``most`` elements, given to the function with a mask."""
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(0, size, n) for size in scalars], axis=1)
    of_elements = np.stack([random.integers(0, size, (n, most)) for size in elements], axis=2)
    mask = np.arange(most) < random.integers(fewest, most + 1, n)[:, None]
    y = np.asarray(function(codes, of_elements, mask)).astype(np.int64)
    group = CodedSet(of_elements, mask, columns(elements, sorts[1]))
    return CodedExamples(codes, columns(scalars, sorts[0]), y, (group,))


def noisy(examples, share=0.05, seed=1):
    flipped = np.random.default_rng(seed).random(len(examples)) < share
    return replace(examples, y=np.where(flipped, 1 - examples.y, examples.y))


def plain_prediction(found, examples, row):
    """What the list says of a row, the long way."""
    scalars = examples.codes[row].tolist()
    for rule in found.rules:
        if all(_true(literal, scalars, examples, row) for literal in rule.literals):
            return rule.label
    return found.default


def _true(literal, scalars, examples, row):
    match literal:
        case HasCode(i, codes, positive):
            return (scalars[i] in codes) == positive
        case SameCode(i, j, positive):
            return (scalars[i] == scalars[j]) == positive
        case AtLeast(s, elements, count, positive):
            group = examples.sets[s]
            things = [c for c, there in zip(group.codes[row].tolist(), group.mask[row], strict=True) if there]
            hits = [thing for thing in things if all(_true_of(e, thing, scalars) for e in elements)]
            return (len(hits) >= count) == positive


def _true_of(literal, thing, scalars):
    if isinstance(literal, HasCode):
        return (thing[literal.argument] in literal.codes) == literal.positive
    return (thing[literal.left] == scalars[literal.right]) == literal.positive
