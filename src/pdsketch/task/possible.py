"""What could hold in the relaxed task: the questions that explanations ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from math import prod
from typing import final

from pdsketch.budget import current
from pdsketch.lang import (
    BOOL,
    Apply,
    Compare,
    Equal,
    Error,
    Expr,
    Logic,
    Object,
    ObjectType,
    Quantified,
    StaticContext,
    Value,
    Variable,
    evaluate,
    free_variables,
)
from pdsketch.task.grounding import Grounding

Bindings = Mapping[str, int]
"""The objects of some variables; others may stand for anything of their type."""

MOST_INSTANCES = 10_000
"""A quantifier over more instances is taken to be possible."""


@final
class Possibilities:
    """Whether an expression can become true, or false, when nothing ever stops holding.

    The answer is no only where that is certain; variables that are not bound are
    looked at one condition at a time.
    """

    def __init__(self, grounding: Grounding) -> None:
        self._g = grounding
        self._budget = current()

    def can(self, expr: Expr, bindings: Bindings, wanted: bool = True) -> bool:
        """Whether the expression can be ``wanted``."""
        self._budget.tick()
        match expr:
            case Value():
                return bool(expr.value) == wanted
            case Apply():
                return self._atom(expr, bindings, wanted)
            case Logic(op="not"):
                return self.can(expr.args[0], bindings, not wanted)
            case Logic(op="implies"):
                left = self.can(expr.args[0], bindings, not wanted)
                right = self.can(expr.args[1], bindings, wanted)
                return (left or right) if wanted else (left and right)
            case Logic():
                parts = (self.can(part, bindings, wanted) for part in expr.args)
                return all(parts) if (expr.op == "and") == wanted else any(parts)
            case Quantified():
                every = (expr.op == "forall") == wanted
                found = (self.can(expr.body, inner, wanted) for inner in self.instances(expr, bindings))
                return all(found) if every else any(found)
            case Equal() if expr.left.type == BOOL:
                return any(
                    self.can(expr.left, bindings, sign) and self.can(expr.right, bindings, sign == wanted)
                    for sign in (True, False)
                )
            case Equal() if isinstance(expr.left.type, ObjectType):
                left_object, right_object = (
                    self.object(expr.left, bindings),
                    self.object(expr.right, bindings),
                )
                unknown = left_object is None or right_object is None
                return unknown or (left_object == right_object) == wanted
            case Equal() | Compare():
                return self._comparison(expr, bindings, wanted)
            case _:
                return True

    def instances(self, expr: Quantified, bindings: Bindings) -> Iterator[Bindings]:
        """The bindings of a quantifier's body; none is added where there are too many."""
        if any(not isinstance(v.type, ObjectType) for v in expr.variables):
            yield bindings
            return
        domains = [self._g.words.members(v.type) for v in expr.variables if isinstance(v.type, ObjectType)]
        names = [v.name for v in expr.variables]
        if prod(map(len, domains)) > MOST_INSTANCES:
            yield {name: o for name, o in bindings.items() if name not in names}
            return
        for objects in product(*domains):
            yield {**bindings, **dict(zip(names, objects, strict=True))}

    def object(self, expr: Expr, bindings: Bindings) -> int | None:
        """The object that a term stands for, if that is known."""
        if isinstance(expr, Object):
            return self._g.words.objects[expr.name]
        return bindings.get(expr.name) if isinstance(expr, Variable) else None

    def matches(self, atom: Apply, bindings: Bindings) -> Iterator[dict[str, int]]:
        """The bindings, extended so that the atom is a fact that can become true."""
        for fact, objects in self._facts(atom, bindings):
            if self._g.small.possible[2 * fact]:
                found = dict(bindings)
                for term, object_ in zip(atom.args, objects, strict=False):
                    if isinstance(term, Variable) and found.setdefault(term.name, object_) != object_:
                        break
                else:
                    yield found

    def _facts(self, atom: Apply, bindings: Bindings) -> list[tuple[int, tuple[int, ...]]]:
        """The facts that an atom may stand for, by number, with their objects."""
        allowed: list[Collection[int] | None] = []
        for term in atom.args:
            object_ = self.object(term, bindings)
            if object_ is not None:
                allowed.append((object_,))
            elif isinstance(term.type, ObjectType):
                allowed.append(set(self._g.words.members(term.type)))
            else:
                allowed.append(None)
        return [
            (fact, objects)
            for fact, objects in self._g.facts_of(atom.predicate).items()
            if all(own is None or o in own for o, own in zip(objects, allowed, strict=False))
        ]

    def _atom(self, atom: Apply, bindings: Bindings, wanted: bool) -> bool:
        if atom.predicate not in self._g.relations:
            init = self._g.problem.init
            return not wanted or any(f[0] == atom.predicate and v is True for f, v in init.items())
        if wanted:
            return next(self.matches(atom, bindings), None) is not None
        facts = self._facts(atom, bindings)
        unknown = any(self.object(a, bindings) is None for a in atom.args)
        return unknown or not facts or bool(self._g.small.possible[2 * facts[0][0] + 1])

    def _comparison(self, expr: Compare | Equal, bindings: Bindings, wanted: bool) -> bool:
        free = free_variables(expr)
        if any(name not in bindings for name in free):
            return True
        problem, names = self._g.problem, self._g.words.names
        scope = {name: names[bindings[name]] for name in free}
        try:
            true = evaluate(StaticContext.of(problem), problem.init, expr, scope)
        except Error:  # a value is missing
            return False
        return bool(true) == wanted
