"""Description length: bits of a list and of the examples that it gets wrong (Quinlan, 1990; Cohen, 1995)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import log2

from pdsketch.abstract.decision_lists.examples import CodeColumn, CodedExamples
from pdsketch.abstract.decision_lists.literals import (
    AtLeast,
    CodeLiteral,
    ElementHasCode,
    ElementLiteral,
    ElementSameCode,
    HasCode,
    SameCode,
)
from pdsketch.abstract.decision_lists.space import group_bits

Body = tuple[CodeLiteral, ...]


def exception_bits(wrong: float, total: float, n_labels: int) -> float:
    """Bits to name the examples that are wrong, and their labels; the more, the less one more costs."""
    if wrong <= 0:
        return 0.0
    share = min(wrong / total, 0.5)
    entropy = -share * log2(share) - (1 - share) * log2(1 - share)
    return total * entropy + wrong * log2(max(n_labels - 1, 1))


def body_bits(body: Body, examples: CodedExamples) -> float:
    """Bits to write down the literals of a rule."""
    n_columns = len(examples.columns) + sum(len(group.columns) for group in examples.sets)
    overhead = log2(max(n_columns, 2))
    return 1.0 + sum(_bits(literal, examples, overhead) for literal in body)


def _bits(literal: CodeLiteral, examples: CodedExamples, overhead: float) -> float:
    match literal:
        case HasCode(i, codes):
            return overhead + _of_group(len(codes), examples.columns[i])
        case SameCode():
            return 2 * overhead
        case AtLeast(s, elements, count):
            columns = examples.sets[s].columns
            return 2.0 * count + sum(_element_bits(element, columns, overhead) for element in elements)


def _element_bits(literal: ElementLiteral, columns: tuple[CodeColumn, ...], overhead: float) -> float:
    match literal:
        case ElementHasCode(k, codes):
            return overhead + _of_group(len(codes), columns[k])
        case ElementSameCode():
            return 2 * overhead


def _of_group(n: int, column: CodeColumn) -> float:
    return float(_group_bits(column.size)[min(n, column.size)])


@lru_cache(maxsize=256)
def _group_bits(size: int) -> tuple[float, ...]:
    return tuple(group_bits(size).tolist())


def shortened(body: Body) -> Iterator[Body]:
    """The body with a literal less, or with a literal about elements less."""
    for at, literal in enumerate(body):
        yield body[:at] + body[at + 1 :]
        if isinstance(literal, AtLeast) and len(literal.elements) > 1:
            for k in range(len(literal.elements)):
                elements = literal.elements[:k] + literal.elements[k + 1 :]
                yield (*body[:at], replace(literal, elements=elements), *body[at + 1 :])


def tidied(body: Body, examples: CodedExamples) -> Body:
    """At most one literal about the codes of each argument."""
    allowed: dict[int, set[int]] = {}
    found: list[CodeLiteral] = []
    for literal in body:
        if isinstance(literal, HasCode):
            codes = set(literal.codes)
            every = set(range(examples.columns[literal.argument].size))
            own = codes if literal.positive else every - codes
            allowed[literal.argument] = allowed.get(literal.argument, every) & own
        elif literal not in found:
            found.append(literal)
    groups = [has_one_of(i, codes, examples.columns[i].size) for i, codes in sorted(allowed.items())]
    return (*groups, *found)


def has_one_of(argument: int, codes: set[int], size: int) -> HasCode:
    """An argument has one of some codes; said of the other codes, where these are fewer."""
    if 2 * len(codes) <= size:
        return HasCode(argument, tuple(sorted(codes)))
    return HasCode(argument, tuple(sorted(set(range(size)) - codes)), positive=False)


def joined(left: Body, right: Body) -> Body | None:
    """One body for two that differ in the codes of one literal; None if there is none."""
    if len(left) != len(right):
        return None
    different = [at for at, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
    if len(different) != 1:
        return None
    at = different[0]
    literal = _union(left[at], right[at])
    return None if literal is None else (*left[:at], literal, *left[at + 1 :])


def _union(left: CodeLiteral, right: CodeLiteral) -> CodeLiteral | None:
    match left, right:
        case HasCode(i, a, True), HasCode(j, b, True) if i == j:
            return HasCode(i, tuple(sorted({*a, *b})))
        case AtLeast(s, a, 1, True), AtLeast(t, b, 1, True) if s == t and len(a) == len(b):
            different = [at for at in range(len(a)) if a[at] != b[at]]
            if len(different) != 1:
                return None
            at = different[0]
            match a[at], b[at]:
                case ElementHasCode(k, c, True), ElementHasCode(l, d, True) if k == l:
                    return AtLeast(s, (*a[:at], ElementHasCode(k, tuple(sorted({*c, *d}))), *a[at + 1 :]))
    return None
