"""Decision lists as formulas over codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from pdsketch.abstract.andor.behaviour import SampledRules
from pdsketch.abstract.andor.functions import CodeAxis, CodeTable
from pdsketch.abstract.andor.symbolic import Scope, Symbols, conjoined, disjoined, negated, some
from pdsketch.abstract.decision_lists.literals import (
    AtLeast,
    CodeLiteral,
    ElementHasCode,
    ElementLiteral,
    HasCode,
    SameCode,
)
from pdsketch.lang import FALSE, Equal, Expr, Variable, rename_bound, substitute


@final
class ListFormulas:
    """The formulas of a decision list's rules.

    ``sampled`` is the list with the axes of its arguments; relations over codes that its literals need are
    made in ``symbols``, and variables of ``scope`` stand for the codes of arguments. ``bools`` are the
    formulas of Boolean arguments; ``variables`` are those of an element of the set, which is in it where
    ``condition`` holds.
    """

    def __init__(
        self,
        symbols: Symbols,
        sampled: SampledRules,
        scope: Scope,
        bools: Mapping[Expr, Expr],
        variables: tuple[Variable, ...] = (),
        condition: Expr = FALSE,
    ) -> None:
        self._symbols = symbols
        self._sampled = sampled
        self._scope = scope
        self._bools = dict(bools)
        self._variables = variables
        self._condition = condition

    def where(self, label: int) -> Expr:
        """Where the list gives a label: the first rule that holds counts."""
        found = []
        rules = self._sampled.rules
        for at, rule in enumerate(rules.rules):
            if rule.label == label:
                earlier = [self._not(rules.rules[i].literals) for i in rules.overridden_by(at)]
                found.append(conjoined([*map(self._literal, rule.literals), *earlier]))
        if label == rules.default:
            others = [rule for rule in rules.rules if rule.label != label]
            found.append(conjoined([self._not(rule.literals) for rule in others]))
        return disjoined(found)

    def _not(self, literals: tuple[CodeLiteral, ...]) -> Expr:
        return disjoined([self._symbols.denied(self._literal(literal)) for literal in literals])

    def _literal(self, literal: CodeLiteral) -> Expr:
        axes = self._sampled.axes
        found: Expr
        match literal:
            case HasCode(i, codes):
                found = self._has(axes[i], codes)
            case SameCode(i, j):
                found = self._same(axes[i], axes[j])
            case AtLeast(_, elements, count):
                found = self._at_least(elements, count)
        return found if literal.positive else self._symbols.denied(found)

    def _has(self, axis: CodeAxis, codes: tuple[int, ...]) -> Expr:
        return self._holds(CodeTable((axis,), np.isin(axis.codes, codes)))

    def _same(self, left: CodeAxis, right: CodeAxis) -> Expr:
        return self._holds(CodeTable((left, right), left.codes[:, None] == right.codes[None]))

    def _holds(self, table: CodeTable) -> Expr:
        return self._symbols.holds(table.reduced(), self._scope, "rule", self._bools)

    def _at_least(self, elements: tuple[ElementLiteral, ...], count: int) -> Expr:
        own = conjoined([self._condition, *map(self._element, elements)])
        if count == 1:
            return some(self._variables, own)
        if not self._variables:
            return FALSE
        fresh = self._symbols.fresh
        others = {v.name: Variable(f"{v.name}@{next(fresh)}", v.type) for v in self._variables}
        renamed = rename_bound(own, lambda v: f"{v.name}@{next(fresh)}")
        second = substitute(renamed, others)
        differ = disjoined([negated(Equal(v, others[v.name], 0.0)) for v in self._variables])
        return some([*self._variables, *others.values()], conjoined([own, second, differ]))

    def _element(self, literal: ElementLiteral) -> Expr:
        axis = self._sampled.own[literal.column]
        if isinstance(literal, ElementHasCode):
            found = self._has(axis, literal.codes)
        else:
            found = self._same(axis, self._sampled.axes[literal.argument])
        return found if literal.positive else self._symbols.denied(found)
