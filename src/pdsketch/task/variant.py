"""One join of a rule: its conditions, in an order that keeps the matches few, as steps of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import prod
from typing import final

from pdsketch.task.formula import Atom, Same, Term
from pdsketch.task.program import (
    ABSENT,
    DIFFERENT,
    EMIT,
    ENUMERATE,
    EQUAL,
    MATCH,
    OF_TYPE,
    Compiler,
)
from pdsketch.task.rules import Item


@final
class Joined:
    """What all joins of one rule share.

    ``slots`` are the places of its variables, ``atoms`` what is matched, ``items`` its conditions, of which
    some are tested on the way; ``compiler`` knows the relations.
    """

    def __init__(
        self, compiler: Compiler, slots: Mapping[str, int], atoms: Sequence[Atom], items: Iterable[Item]
    ) -> None:
        relations = compiler.relations
        self.slots = slots
        self.atoms = atoms
        fluent = [i for i, a in enumerate(atoms) if not relations[a.predicate].static]
        self.places = {number: place for place, number in enumerate(fluent)}
        self.mentioning: dict[str, list[int]] = {}
        for number, atom in enumerate(atoms):
            for term in dict.fromkeys(atom.args):
                if isinstance(term, str):
                    self.mentioning.setdefault(term, []).append(number)
        self.tests: list[Atom | Same] = [
            item
            for item in items
            if isinstance(item, Same)
            or (isinstance(item, Atom) and not item.positive and relations[item.predicate].static)
        ]
        self.tested = [
            {t for t in ((x.left, x.right) if isinstance(x, Same) else x.args) if isinstance(t, str)}
            for x in self.tests
        ]
        self.waiting_for: dict[str, list[int]] = {}
        for number, variables in enumerate(self.tested):
            for variable in variables:
                self.waiting_for.setdefault(variable, []).append(number)

    @property
    def triggers(self) -> list[int | None]:
        """The atoms whose facts may be the last to arrive; None if there is no such atom."""
        return [*self.places] or [None]


@final
class Variant:
    """A join, started by one of its atoms, the ``trigger``, or by none.

    What it shares with others is ``joined``, and ``compiler`` writes it. The variables ``bound`` have objects
    before it, and ``depth`` steps are at work around it.
    """

    def __init__(
        self,
        compiler: Compiler,
        joined: Joined,
        trigger: int | None,
        *,
        bound: Iterable[str] = (),
        depth: int = 0,
    ) -> None:
        self.c = compiler
        self.j = joined
        self.trigger = trigger
        self.bound = set(bound)
        self.depth = depth
        self.steps: list[tuple[int, ...]] = []
        self.unbound = [len(variables) for variables in joined.tested]
        self.ready = [i for i, count in enumerate(self.unbound) if count == 0]

    def compile(self) -> tuple[int, int, int]:
        """The addresses of the first step and of the trigger, and where to note the triggering fact."""
        atoms, pattern, slot = self.j.atoms, 0, 0
        done = {self.trigger}
        if self.trigger is not None:
            pattern = self._pattern(atoms[self.trigger])
            slot = self.c.n_variables + self.j.places[self.trigger]
            self._see(atoms[self.trigger].args)
        self._test()
        # The atom with the fewest matches goes first; of equals, the one that is written first. What an
        # atom is expected to match changes when one of its variables is bound, and is entered anew then.
        self.waiting = [(self._fan_out(a), i) for i, a in enumerate(atoms) if i != self.trigger]
        heapify(self.waiting)
        while self.waiting:
            _, best = heappop(self.waiting)
            if best not in done:
                done.add(best)
                for variable in self._match(best):
                    for number in self.j.mentioning[variable]:
                        if number not in done:
                            heappush(self.waiting, (self._fan_out(atoms[number]), number))
        for variable, place in self.j.slots.items():
            if variable not in self.bound:
                members, _, number = self.c.type(variable)
                self._step(ENUMERATE, place, members, number)
                self._bind(variable)
                self._test()
        self._step(EMIT)
        self.c.n_pointers = max(self.c.n_pointers, self.depth + len(self.steps))
        return self.c.listed(word for step in self.steps for word in step), pattern, slot

    def _step(self, *words: int) -> None:
        """A step; its last word is its own place in the frame."""
        pointer = self.c.n_variables + self.c.n_matched + self.depth + len(self.steps)
        self.steps.append((*words, *[0] * (7 - len(words)), pointer))

    def _operand(self, term: Term) -> int:
        return self.j.slots[term] if isinstance(term, str) else -1 - term

    def _pattern(self, atom: Atom) -> int:
        pairs: list[int] = []
        seen: set[str] = set()
        for term in atom.args:
            mode = 2 if isinstance(term, int) else 1 if term in seen else 0
            if isinstance(term, str):
                seen.add(term)
            pairs += [mode, self._operand(term)]
        return self.c.listed(pairs)

    def _fan_out(self, atom: Atom) -> float:
        """How many facts are expected to match, given what is bound."""
        relation = self.c.relations[atom.predicate]
        free = [i for i, term in enumerate(atom.args) if isinstance(term, str) and term not in self.bound]
        if not free:
            return 0.0
        if relation.static:
            known = prod(relation.spread[i] for i in range(relation.arity) if i not in free)
            return max(relation.size / max(known, 1), 0.01)
        return prod(relation.spread[i] for i in free)

    def _match(self, number: int) -> list[str]:
        """Match an atom; the variables that are bound now."""
        c, atom = self.c, self.j.atoms[number]
        keyed = tuple(i for i, t in enumerate(atom.args) if isinstance(t, int) or t in self.bound)
        keys = c.listed(self._operand(atom.args[i]) for i in keyed)
        binds: list[int] = []
        seen: set[str] = set()
        for i, term in enumerate(atom.args):
            if isinstance(term, str) and i not in keyed:
                binds += [1 if term in seen else 0, 1 + i, self.j.slots[term]]
                seen.add(term)
        slot = c.n_variables + self.j.places[number] if number in self.j.places else -1
        older = int(self.trigger is not None and slot >= 0 and number < self.trigger)
        index = c.index(atom.predicate, keyed)
        self._step(MATCH, index, keys, c.listed(binds), len(binds) // 3, slot, older)
        new = self._see(atom.args)
        self._test()
        return new

    def _see(self, args: Iterable[Term]) -> list[str]:
        """Note that the variables among ``args`` are bound; test the types of those that are new."""
        c, everything = self.c, len(self.c.words.names)
        new = [t for t in dict.fromkeys(args) if isinstance(t, str) and t not in self.bound]
        for term in new:
            self._bind(term)
            if len(c.words.members(c.words.types[term])) < everything:
                self._step(OF_TYPE, self.j.slots[term], c.type(term)[1])
        return new

    def _bind(self, variable: str) -> None:
        self.bound.add(variable)
        for number in self.j.waiting_for.get(variable, ()):
            self.unbound[number] -= 1
            if self.unbound[number] == 0:
                self.ready.append(number)

    def _test(self) -> None:
        """Place every test whose variables are bound."""
        for number in sorted(self.ready):
            test = self.j.tests[number]
            if isinstance(test, Atom):
                operands = self.c.listed([self._operand(t) for t in test.args])
                self._step(ABSENT, self.c.index(test.predicate, tuple(range(len(test.args)))), operands)
            else:
                kind = EQUAL if test.positive else DIFFERENT
                self._step(kind, self._operand(test.left), self._operand(test.right))
        self.ready = []
