"""Rules become a program for the join kernel: what to match in which order, over which indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import final

import numpy as np

from pdsketch.lang.types import ObjectType
from pdsketch.task.formula import Atom, Same, Term
from pdsketch.task.join import ABSENT, DIFFERENT, EMIT, ENUMERATE, EQUAL, MATCH, OF_TYPE
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
@dataclass(frozen=True, slots=True)
class Program:
    """What the kernel runs, and how its arrays must be shaped.

    ``code`` holds, each at its address:

    - a step of a join (eight words): kind, then for `MATCH` index, keys, bindings and
      their number, where in the frame to note the fact or -1, 1 if the fact must
      be older than the current one, where to keep the place; for `ENUMERATE` variable,
      objects and their number; for `OF_TYPE` operand and a word for each object; for
      `EQUAL` and `DIFFERENT` two operands; for `ABSENT` index and keys;
    - a variant (five words): rule, first step, trigger (a mode and an operand for each
      argument), its relation, where in the frame to note the fact;
    - a relation (six words): arity, the addresses of its first and after its last
      variant, the number of its indexes, the address of the one over all
      arguments, and that of a list of all, this one first;
    - an index: its column in the facts, the number of keys and their columns;
    - a rule: number, numbers of variables, of noted conditions and of heads; the
      heads, each a relation and its operands.

    An operand is the number of a variable, or ``-1 - object``.
    """

    code: Ints
    relations: Mapping[str, int]
    untriggered: int
    widths: tuple[tuple[int, int, int], ...]
    n_args: int
    n_indexes: int
    n_variables: int
    n_matched: int
    n_pointers: int


@final
@dataclass(slots=True)
class Compiler:
    """Writes the code. Indexes, types and places in the frame are numbered as they are met."""

    words: Vocabulary
    relations: Mapping[str, Relation]
    n_variables: int
    n_matched: int
    code: list[int] = field(default_factory=list)
    indexes: dict[str, dict[tuple[int, ...], int]] = field(default_factory=dict)
    types: dict[ObjectType, tuple[int, int, int]] = field(default_factory=dict)
    n_pointers: int = 0

    @property
    def n_args(self) -> int:
        """The largest arity."""
        return max((r.arity for r in self.relations.values()), default=0)

    def listed(self, values: Iterable[int]) -> int:
        """The address of these values."""
        start = len(self.code)
        self.code.extend(values)
        return start

    def index(self, name: str, positions: tuple[int, ...]) -> int:
        """The address of the index of a relation over some argument positions."""
        if name not in self.indexes:
            self.indexes[name] = {}
            self.index(name, tuple(range(self.relations[name].arity)))
        own = self.indexes[name]
        if positions not in own:
            column = 1 + self.n_args + len(own)
            own[positions] = self.listed([column, len(positions), *(1 + i for i in positions)])
        return own[positions]

    def type(self, variable: str) -> tuple[int, int, int]:
        """The addresses of the objects of a variable's type and of its membership, and their number."""
        type_ = self.words.types[variable]
        if type_ not in self.types:
            members = self.words.members(type_)
            inside = set(members)
            membership = [int(i in inside) for i in range(len(self.words.names))]
            self.types[type_] = self.listed(members), self.listed(membership), len(members)
        return self.types[type_]


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
        self.steps: list[tuple[int, ...]] = []
        self.tests: list[Atom | Same] = [
            i for i in rule.items if isinstance(i, Same) or (isinstance(i, Atom) and self._is_test(i))
        ]

    def _is_test(self, atom: Atom) -> bool:
        return not atom.positive and self.c.relations[atom.predicate].static

    def compile(self) -> tuple[int, int, int]:
        """The addresses of the first step and of the trigger, and where to note the triggering fact."""
        waiting = list(range(len(self.atoms)))
        pattern, slot = 0, 0
        if self.trigger is not None:
            waiting.remove(self.trigger)
            pattern = self._pattern(self.atoms[self.trigger])
            slot = self.c.n_variables + self.fluent.index(self.trigger)
            self._see(self.atoms[self.trigger].args)
        self._test()
        while waiting:
            best = min(waiting, key=lambda i: self._fan_out(self.atoms[i]))
            waiting.remove(best)
            self._match(best)
        for variable in self.slots:
            if variable not in self.bound:
                members, _, number = self.c.type(variable)
                self._step(ENUMERATE, self.slots[variable], members, number)
                self.bound.add(variable)
                self._test()
        self._step(EMIT)
        self.c.n_pointers = max(self.c.n_pointers, len(self.steps))
        return self.c.listed(word for step in self.steps for word in step), pattern, slot

    def _step(self, *words: int) -> None:
        """A step; its last word is its own place in the frame."""
        pointer = self.c.n_variables + self.c.n_matched + len(self.steps)
        self.steps.append((*words, *[0] * (7 - len(words)), pointer))

    def _operand(self, term: Term) -> int:
        return self.slots[term] if isinstance(term, str) else -1 - term

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

    def _match(self, number: int) -> None:
        c, atom = self.c, self.atoms[number]
        keyed = tuple(i for i, t in enumerate(atom.args) if isinstance(t, int) or t in self.bound)
        keys = c.listed(self._operand(atom.args[i]) for i in keyed)
        binds: list[int] = []
        seen: set[str] = set()
        for i, term in enumerate(atom.args):
            if isinstance(term, str) and i not in keyed:
                binds += [1 if term in seen else 0, 1 + i, self.slots[term]]
                seen.add(term)
        slot = c.n_variables + self.fluent.index(number) if number in self.fluent else -1
        older = int(self.trigger is not None and slot >= 0 and number < self.trigger)
        index = c.index(atom.predicate, keyed)
        self._step(MATCH, index, keys, c.listed(binds), len(binds) // 3, slot, older)
        self._see(atom.args)
        self._test()

    def _see(self, args: Iterable[Term]) -> None:
        """Note that the variables among ``args`` are bound; test their types."""
        c, everything = self.c, len(self.c.words.names)
        for term in dict.fromkeys(args):
            if isinstance(term, str) and term not in self.bound:
                self.bound.add(term)
                if len(c.words.members(c.words.types[term])) < everything:
                    self._step(OF_TYPE, self.slots[term], c.type(term)[1])

    def _test(self) -> None:
        """Place every test whose variables are bound."""
        c = self.c
        for test in list(self.tests):
            terms = test.args if isinstance(test, Atom) else (test.left, test.right)
            if all(isinstance(t, int) or t in self.bound for t in terms):
                self.tests.remove(test)
                operands = [self._operand(t) for t in terms]
                if isinstance(test, Atom):
                    index = c.index(test.predicate, tuple(range(len(terms))))
                    self._step(ABSENT, index, c.listed(operands))
                else:
                    kind = EQUAL if test.positive else DIFFERENT
                    self._step(kind, operands[0], operands[1])


def joined_atoms(rule: Rule) -> list[Atom]:
    """The conditions of a rule that are joined: its positive atoms."""
    return [item for item in rule.items if isinstance(item, Atom) and item.positive]


def compile_rules(words: Vocabulary, relations: Mapping[str, Relation], rules: Sequence[Rule]) -> Program:
    """The kernel's program for all rules."""
    bodies = [joined_atoms(rule) for rule in rules]
    fluents = [[i for i, a in enumerate(body) if not relations[a.predicate].static] for body in bodies]
    compiler = Compiler(
        words,
        relations,
        n_variables=max((len(rule.variables) for rule in rules), default=0),
        n_matched=max(map(len, fluents), default=0),
    )
    # A relation's address must be known before the rules that mention it: its words are filled in at the end.
    addresses = {name: compiler.listed([0] * 6) for name in relations}
    untriggered = compiler.listed([0] * 6)
    variants: dict[int, list[int]] = {}
    widths = []
    for number, (rule, body, fluent) in enumerate(zip(rules, bodies, fluents, strict=True)):
        at = compiler.listed(_rule_words(number, rule, len(fluent), addresses))
        triggers: list[int | None] = [*fluent] or [None]
        for trigger in triggers:
            relation = untriggered if trigger is None else addresses[body[trigger].predicate]
            first, pattern, slot = _Variant(compiler, rule, trigger).compile()
            variants.setdefault(relation, []).extend([at, first, pattern, relation, slot])
        widths.append((len(rule.variables), len(fluent), len(rule.heads)))
    for name, address in [*addresses.items(), ("", untriggered)]:
        own = variants.get(address, [])
        first = compiler.listed(own)
        arity, indexes = 0, [0]
        if name:
            arity = relations[name].arity
            compiler.index(name, tuple(range(arity)))
            indexes = list(compiler.indexes[name].values())
        listed = compiler.listed(indexes)
        words_of = [arity, first, first + len(own), len(indexes), indexes[0], listed]
        compiler.code[address : address + 6] = words_of
    return Program(
        code=np.array(compiler.code, np.int32),
        relations=addresses,
        untriggered=untriggered,
        widths=tuple(widths),
        n_args=compiler.n_args,
        n_indexes=max((len(own) for own in compiler.indexes.values()), default=1),
        n_variables=compiler.n_variables,
        n_matched=compiler.n_matched,
        n_pointers=compiler.n_pointers,
    )


def _rule_words(number: int, rule: Rule, n_fluent: int, addresses: Mapping[str, int]) -> list[int]:
    slots = {v: i for i, v in enumerate(rule.variables)}
    words = [number, len(rule.variables), n_fluent, len(rule.heads)]
    for head in rule.heads:
        words.append(addresses[head.predicate])
        words += [slots[t] if isinstance(t, str) else -1 - t for t in head.args]
    return words


def relation_of(
    number: int, arity: int, static: bool, facts: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Relation:
    """A relation with its estimates; ``sizes`` are the numbers of objects of its parameters' types."""
    if not static:
        return Relation(number, arity, static, inf, tuple(float(n) for n in sizes))
    spread = tuple(float(len({fact[i] for fact in facts})) for i in range(arity))
    return Relation(number, arity, static, float(len(facts)), spread)
