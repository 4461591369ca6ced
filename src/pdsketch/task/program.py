"""Rules become a program for the join kernel: what to match in which order, over which indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import final

import numpy as np

from pdsketch.lang.types import ObjectType
from pdsketch.task.formula import Atom, Same, Term
from pdsketch.task.join import ABSENT, DIFFERENT, EMIT, ENUMERATE, EQUAL, MATCH, OF_TYPE, Program
from pdsketch.task.normal import Vocabulary
from pdsketch.task.rules import Rule
from pdsketch.task.task import Ints


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate as the joins see it.

    ``spread[i]`` estimates how many objects stand in place ``i``, ``size`` how many
    facts there are; both are exact for a static relation.
    """

    number: int
    arity: int
    static: bool
    size: float
    spread: tuple[float, ...]


@final
@dataclass(slots=True)
class Compiler:
    """Collects steps, indexes and lists while rules are compiled."""

    words: Vocabulary
    relations: Mapping[str, Relation]
    pool: list[int] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    indexes: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    types: dict[ObjectType, int] = field(default_factory=dict)
    matches: list[tuple[int, str, tuple[int, ...]]] = field(default_factory=list)

    def index(self, name: str, positions: tuple[int, ...]) -> int:
        """The number, within its relation, of the index over some argument positions."""
        own = self.indexes.setdefault(name, [tuple(range(self.relations[name].arity))])
        if positions not in own:
            own.append(positions)
        return own.index(positions)

    def type(self, variable: str) -> int:
        """The number of a variable's type."""
        return self.types.setdefault(self.words.types[variable], len(self.types))

    def listed(self, values: Iterable[int]) -> int:
        """Where in the pool these values stand."""
        start = len(self.pool)
        self.pool.extend(values)
        return start


@final
class _Variant:
    """One join: a rule, started by one of its conditions."""

    def __init__(self, compiler: Compiler, rule: Rule, trigger: int | None) -> None:
        self.c = compiler
        self.slots = {v: i for i, v in enumerate(rule.variables)}
        self.bound: set[str] = set()
        self.atoms = joined_atoms(rule)
        self.fluent = [i for i, a in enumerate(self.atoms) if not compiler.relations[a.predicate].static]
        self.trigger = trigger
        self.tests: list[Atom | Same] = [
            i for i in rule.items if isinstance(i, Same) or (isinstance(i, Atom) and self._is_test(i))
        ]

    def _is_test(self, atom: Atom) -> bool:
        return not atom.positive and self.c.relations[atom.predicate].static

    def compile(self) -> tuple[int, int, int, int]:
        """First step; start and length of the trigger; the slot of the matched fact."""
        c, start = self.c, len(self.c.steps)
        waiting = list(range(len(self.atoms)))
        pattern, slot = (0, 0), -1
        if self.trigger is not None:
            waiting.remove(self.trigger)
            pattern, slot = self._pattern(self.atoms[self.trigger]), self.fluent.index(self.trigger)
            self._see(self.atoms[self.trigger].args)
        self._test()
        while waiting:
            best = min(waiting, key=lambda i: self._fan_out(self.atoms[i]))
            waiting.remove(best)
            self._match(best)
        for variable in self.slots:
            if variable not in self.bound:
                c.steps.append((ENUMERATE, self.slots[variable], c.type(variable), 0, 0, 0, 0, 0))
                self.bound.add(variable)
                self._test()
        c.steps.append((EMIT, 0, 0, 0, 0, 0, 0, 0))
        return start, pattern[0], pattern[1], slot

    def _operand(self, term: Term) -> int:
        return self.slots[term] if isinstance(term, str) else -1 - term

    def _pattern(self, atom: Atom) -> tuple[int, int]:
        pairs: list[int] = []
        seen: set[str] = set()
        for term in atom.args:
            mode = 2 if isinstance(term, int) else 1 if term in seen else 0
            if isinstance(term, str):
                seen.add(term)
            pairs += [mode, self._operand(term)]
        return self.c.listed(pairs), len(atom.args)

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

    def _match(self, number: int) -> None:
        c, atom = self.c, self.atoms[number]
        keyed = tuple(i for i, t in enumerate(atom.args) if isinstance(t, int) or t in self.bound)
        keys = c.listed(self._operand(atom.args[i]) for i in keyed)
        binds: list[int] = []
        seen: set[str] = set()
        for i, term in enumerate(atom.args):
            if isinstance(term, str) and i not in keyed:
                binds += [1 if term in seen else 0, i, self.slots[term]]
                seen.add(term)
        slot = self.fluent.index(number) if number in self.fluent else -1
        older = int(self.trigger is not None and slot >= 0 and number < self.trigger)
        c.matches.append((len(c.steps), atom.predicate, keyed))
        c.index(atom.predicate, keyed)
        c.steps.append((MATCH, 0, keys, len(keyed), c.listed(binds), len(binds) // 3, slot, older))
        self._see(atom.args)
        self._test()

    def _see(self, args: Iterable[Term]) -> None:
        """Note that the variables among ``args`` are bound; test their types."""
        c, everything = self.c, len(self.c.words.names)
        for term in dict.fromkeys(args):
            if isinstance(term, str) and term not in self.bound:
                self.bound.add(term)
                if len(c.words.members(c.words.types[term])) < everything:
                    c.steps.append((OF_TYPE, self.slots[term], c.type(term), 0, 0, 0, 0, 0))

    def _test(self) -> None:
        """Place every test whose variables are bound."""
        c = self.c
        for test in list(self.tests):
            terms = test.args if isinstance(test, Atom) else (test.left, test.right)
            if all(isinstance(t, int) or t in self.bound for t in terms):
                self.tests.remove(test)
                operands = [self._operand(t) for t in terms]
                if isinstance(test, Atom):
                    c.matches.append((len(c.steps), test.predicate, tuple(range(len(terms)))))
                    c.steps.append((ABSENT, 0, c.listed(operands), 0, 0, 0, 0, 0))
                else:
                    kind = EQUAL if test.positive else DIFFERENT
                    c.steps.append((kind, operands[0], operands[1], 0, 0, 0, 0, 0))


def joined_atoms(rule: Rule) -> list[Atom]:
    """The conditions of a rule that are joined: its positive atoms."""
    return [item for item in rule.items if isinstance(item, Atom) and item.positive]


def compile_rules(words: Vocabulary, relations: Mapping[str, Relation], rules: Sequence[Rule]) -> Program:
    """The kernel's program for all rules."""
    compiler = Compiler(words, relations)
    by_trigger: dict[int, list[tuple[int, ...]]] = {}
    table = []
    for number, rule in enumerate(rules):
        atoms = joined_atoms(rule)
        fluent = [i for i, a in enumerate(atoms) if not relations[a.predicate].static]
        triggers: list[int | None] = [*fluent] or [None]
        for trigger in triggers:
            first, at, length, slot = _Variant(compiler, rule, trigger).compile()
            key = -1 if trigger is None else relations[atoms[trigger].predicate].number
            by_trigger.setdefault(key, []).append((number, first, at, length, slot))
        operands = {v: i for i, v in enumerate(rule.variables)}
        heads: list[int] = []
        for head in rule.heads:
            heads.append(relations[head.predicate].number)
            heads += [operands[t] if isinstance(t, str) else -1 - t for t in head.args]
        table.append((len(rule.variables), len(fluent), compiler.listed(heads), len(rule.heads)))
    return _assemble(compiler, by_trigger, table)


def _assemble(
    c: Compiler, by_trigger: Mapping[int, list[tuple[int, ...]]], table: Sequence[tuple[int, ...]]
) -> Program:
    """Number the indexes and lay everything out in arrays."""
    names = list(c.relations)
    firsts: dict[str, int] = {}
    keys: list[tuple[int, int]] = []
    for name in names:
        own = c.indexes.get(name) or [tuple(range(c.relations[name].arity))]
        firsts[name] = len(keys)
        keys += [(c.listed(positions), len(positions)) for positions in own]
    for step, name, positions in c.matches:
        number = firsts[name] + c.index(name, positions)
        c.steps[step] = (c.steps[step][0], number, *c.steps[step][2:])
    variants = list(by_trigger.get(-1, ()))
    triggered = [len(variants)]
    for number in range(len(names)):
        variants += by_trigger.get(number, ())
        triggered.append(len(variants))
    members = [c.words.members(type_) for type_ in c.types]
    is_member = np.zeros((max(len(members), 1), max(len(c.words.names), 1)), np.bool_)
    for i, objects in enumerate(members):
        is_member[i, list(objects)] = True
    return Program(
        steps=_table(c.steps, 8),
        pool=np.array([*c.pool, 0], np.int32),
        variants=_table(variants, 5),
        triggered=np.array(triggered, np.int32),
        rules=_table(table, 4),
        arity=np.array([c.relations[name].arity for name in names] or [0], np.int32),
        indexes=np.array([*(firsts[name] for name in names), len(keys)], np.int32),
        index_keys=_table(keys, 2),
        members_start=np.cumsum([0, *map(len, members)], dtype=np.int32),
        members=np.array([o for objects in members for o in objects] or [0], np.int32),
        is_member=is_member,
    )


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, np.int32).reshape(len(rows), width)


def relation_of(
    number: int, arity: int, static: bool, facts: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Relation:
    """A relation with its estimates; ``sizes`` are the numbers of objects of its parameters' types."""
    if not static:
        return Relation(number, arity, static, inf, tuple(float(n) for n in sizes))
    spread = tuple(float(len({fact[i] for fact in facts})) for i in range(arity))
    return Relation(number, arity, static, float(len(facts)), spread)
