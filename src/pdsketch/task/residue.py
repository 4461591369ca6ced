"""Conditions that joins leave over, as the engine reads them, which grounds them (`core/conditions.cpp`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import final

from pdsketch.budget import MEGABYTE, Budget, OutOfMemoryError
from pdsketch.lang import Span, dataclass
from pdsketch.task.formula import (
    TRUE,
    Atom,
    Conjunction,
    Disjunction,
    Every,
    Formula,
    Same,
    Some,
    Test,
    variables_of,
)
from pdsketch.task.numeric import compile_test
from pdsketch.task.program import ALL, ATOM, EITHER, EVERY, SAME, Compiler
from pdsketch.task.variant import Joined, Variant

_ITEM_BYTES = 8
"""What an instance of a quantifier takes at least."""


@final
@dataclass(slots=True)
class Residues:
    """Compiles conditions.

    A disjunction that has several ways to hold becomes a fact when it is ground: ``names`` are those of the
    disjunctions, ``addresses`` where their layers stand, ``parents`` what they say.
    """

    compiler: Compiler
    budget: Budget
    names: list[str] = field(default_factory=list)
    addresses: dict[str, int] = field(default_factory=dict)
    parents: dict[str, Formula] = field(default_factory=dict)

    def compile(self, formula: Formula, slots: Mapping[str, int], depth: int = 0) -> int:
        """The address of a condition; ``slots`` are those of its variables, ``depth`` the steps around it."""
        self.budget.tick()
        c = self.compiler

        def operands(terms: Sequence[str | int]) -> list[int]:
            return [slots[t] if isinstance(t, str) else -1 - t for t in terms]

        match formula:
            case Atom():
                static = c.relations[formula.predicate].static
                head = [ATOM, int(formula.positive), int(static), c.addresses[formula.predicate]]
                return c.listed([*head, *operands(formula.args)])
            case Same():
                return c.listed([SAME, int(formula.positive), *operands((formula.left, formula.right))])
            case Test():
                return compile_test(c, formula, slots)
            case Conjunction():
                parts = [self.compile(part, slots, depth) for part in formula.parts]
                return c.listed([ALL, len(parts), *parts])
            case Every():
                return self._every(formula, slots, depth)
            case Disjunction():
                return self._either(formula, slots, depth)
            case Some():
                raise AssertionError("existential quantifiers are gone")

    def _every(self, formula: Every, slots: Mapping[str, int], depth: int) -> int:
        """The body for all objects; a conjunction part by part, each over the variables it mentions."""
        words = self.compiler.words
        if not all(words.members(words.types[v]) for v in formula.variables):
            return self.compile(TRUE, slots, depth)
        body = formula.body
        parts = body.parts if isinstance(body, Conjunction) else (body,)
        found = [self._over(formula.variables, part, slots, depth) for part in parts]
        return self.compiler.listed([ALL, len(found), *found])

    def _over(self, variables: Sequence[str], body: Formula, slots: Mapping[str, int], depth: int) -> int:
        """The body for all objects of those variables that it mentions."""
        c, free = self.compiler, variables_of(body)
        left = [v for v in variables if v in free]
        outer = [v for v in free if v not in left]
        inner = {**slots, **{v: len(slots) + i for i, v in enumerate(left)}}
        parts = body.parts if isinstance(body, Disjunction) else (body,)
        # Where a static antecedent fails there is nothing to ask: only its facts matter.
        antecedents = [
            Atom(part.predicate, part.args)
            for part in parts
            if isinstance(part, Atom)
            and not part.positive
            and c.relations[part.predicate].static
            and any(v in left for v in part.args)
        ]
        self._guard([v for v in left if all(v not in variables_of(a) for a in antecedents)])
        join = Variant(c, Joined(c, inner, antecedents, ()), None, bound=slots, depth=depth)
        first, _, _ = join.compile()
        body_at = self.compile(body, inner, depth + len(join.steps))
        return c.listed([EVERY, len(outer), *(slots[v] for v in outer), first, body_at])

    def _guard(self, variables: Sequence[str]) -> None:
        """Refuse a quantifier that is too large whatever it says."""
        words = self.compiler.words
        rows = prod(len(words.members(words.types[v])) for v in variables)
        if not self.budget.fits(_ITEM_BYTES * rows):
            names = " ".join(v.split("~")[0] for v in variables)
            raise too_large({f"forall ({names})": rows}, {}, self.budget)

    def _either(self, formula: Disjunction, slots: Mapping[str, int], depth: int) -> int:
        """The parts, those that never change first: where they decide, nothing else needs to be looked up."""
        c = self.compiler
        parts = [self.compile(p, slots, depth) for p in sorted(formula.parts, key=self._is_fluent)]
        name = f"or#{len(c.words.types)}.{len(self.names)}"
        free = variables_of(formula)
        head = [EITHER, len(free), *(slots[v] for v in free), len(c.relations) + len(self.names)]
        at = c.listed([*head, 0, len(parts), *parts])
        self.names.append(name)
        self.parents[name] = formula
        self.addresses[name] = at + len(head)
        return at

    def _is_fluent(self, part: Formula) -> bool:
        static = isinstance(part, Atom) and self.compiler.relations[part.predicate].static
        return not (static or isinstance(part, Same | Test))


def too_large(found: Mapping[str, int], spans: Mapping[str, Span | None], budget: Budget) -> OutOfMemoryError:
    """The error that names the schema with the most instances, where it stands, and what to do."""
    name = max(found, key=lambda key: found[key], default="")
    span = spans.get(name)
    place = f"{span.where}: " if span is not None else ""
    return OutOfMemoryError(
        f"{place}`{name}` has {found.get(name, 0):,} ground instances or more, and the memory limit of "
        f"{budget.memory / MEGABYTE:g} MB holds no more",
        f"give `{name}` fewer parameters or stricter conditions, or the problem fewer objects, "
        "or raise the memory limit",
    )
