"""Just enough of PDDL to try things in a published domain: a reader and an interpreter over sets of atoms.

It shares no code with the library, so that it can say whether a plan is valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Atom = tuple[str, ...]
Facts = frozenset[Atom]
Tree = Any
"""A symbol, or a list of trees."""


def read(path: Path) -> Tree:
    """The one expression of a file, in small letters."""
    text = re.sub(r";[^\n]*", "", path.read_text()).lower()
    stack: list[list[Tree]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


def written(tree: Tree) -> str:
    """A tree as text."""
    return tree if isinstance(tree, str) else f"({' '.join(map(written, tree))})"


def typed(names: Sequence[str]) -> list[tuple[str, str]]:
    """``a b - t c`` as pairs of a name and a type."""
    found, waiting, rest = [], [], list(names)
    while rest:
        name = rest.pop(0)
        if name == "-":
            type_ = rest.pop(0)
            found += [(one, type_) for one in waiting]
            waiting = []
        else:
            waiting.append(name)
    return found + [(one, "object") for one in waiting]


def section(tree: Tree, name: str) -> list[Tree]:
    """What follows a keyword in a file."""
    return next((part[1:] for part in tree if isinstance(part, list) and part and part[0] == name), [])


@dataclass
class Schema:
    """An action of the exact domain."""

    name: str
    parameters: list[tuple[str, str]]
    precondition: Tree
    effect: Tree


@dataclass
class World:
    """A domain and one of its problems, interpreted."""

    domain: Tree
    problem: Tree
    below: dict[str, set[str]] = field(init=False)
    objects: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        parents = dict(typed(section(self.domain, ":types")))
        named = typed(section(self.domain, ":constants")) + typed(section(self.problem, ":objects"))
        self.objects = {"object": [name for name, _ in named]}
        for name, type_ in named:
            above: str | None = type_
            while above is not None and above != "object":
                self.objects.setdefault(above, []).append(name)
                above = parents.get(above)

    @cached_property
    def schemas(self) -> list[Schema]:
        """The actions."""
        found = []
        for part in self.domain:
            if isinstance(part, list) and part[0] == ":action":
                fields = dict(zip(part[2::2], part[3::2], strict=True))
                effect = without_costs(fields.get(":effect", ["and"]))
                found.append(
                    Schema(
                        part[1],
                        typed(fields.get(":parameters", [])),
                        fields.get(":precondition", ["and"]),
                        effect,
                    )
                )
        return found

    @property
    def first(self) -> Facts:
        """The atoms of the initial state."""
        return frozenset(tuple(fact) for fact in section(self.problem, ":init") if fact[0] != "=")

    @property
    def goal(self) -> Tree:
        """The goal."""
        return section(self.problem, ":goal")[0]

    def instances(self, variables: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
        """All ways to bind variables."""
        names = [name for name, _ in variables]
        for objects in product(*[self.objects.get(type_, []) for _, type_ in variables]):
            yield dict(zip(names, objects, strict=True))

    def holds(self, tree: Tree, facts: Facts, bound: Mapping[str, str]) -> bool:
        """The truth of a formula."""
        if not tree:
            return True
        head, *parts = tree
        if head == "and":
            return all(self.holds(part, facts, bound) for part in parts)
        if head == "or":
            return any(self.holds(part, facts, bound) for part in parts)
        if head == "not":
            return not self.holds(parts[0], facts, bound)
        if head in ("imply", "implies"):
            return not self.holds(parts[0], facts, bound) or self.holds(parts[1], facts, bound)
        if head in ("forall", "exists"):
            each = (
                self.holds(parts[1], facts, {**bound, **more}) for more in self.instances(typed(parts[0]))
            )
            return all(each) if head == "forall" else any(each)
        arguments = [bound.get(part, part) for part in parts]
        return arguments[0] == arguments[1] if head == "=" else (head, *arguments) in facts

    def writes(self, tree: Tree, facts: Facts, bound: Mapping[str, str]) -> tuple[set[Atom], set[Atom]]:
        """What an effect adds and deletes."""
        adds: set[Atom] = set()
        deletes: set[Atom] = set()
        if not tree:
            return adds, deletes
        head, *parts = tree
        inner: list[tuple[Tree, Mapping[str, str]]] = []
        if head == "and":
            inner = [(part, bound) for part in parts]
        elif head == "forall":
            inner = [(parts[1], {**bound, **more}) for more in self.instances(typed(parts[0]))]
        elif head == "when":
            inner = [(parts[1], bound)] if self.holds(parts[0], facts, bound) else []
        elif head == "not":
            deletes.add((parts[0][0], *[bound.get(part, part) for part in parts[0][1:]]))
        else:
            adds.add((head, *[bound.get(part, part) for part in parts]))
        for part, names in inner:
            more, less = self.writes(part, facts, names)
            adds |= more
            deletes |= less
        return adds, deletes

    def simulate(self, facts: Facts, action: Sequence[str]) -> Facts | None:
        """What an action does; None: it is refused."""
        schema = next(one for one in self.schemas if one.name == action[0])
        bound = dict(zip([name for name, _ in schema.parameters], action[1:], strict=True))
        if not self.holds(schema.precondition, facts, bound):
            return None
        adds, deletes = self.writes(schema.effect, facts, bound)
        return (facts - deletes) | adds

    def applicable(self, facts: Facts, rng: np.random.Generator) -> list[str] | None:
        """A random action that can be carried out, by joining positive atoms."""
        by_name: dict[str, list[Atom]] = {}
        for fact in sorted(facts):
            by_name.setdefault(fact[0], []).append(fact)
        for at in rng.permutation(len(self.schemas)):
            schema = self.schemas[at]
            asked = [part for part in conjuncts(schema.precondition) if part and part[0] in by_name]
            found = self._join(schema, asked, by_name, facts, {}, rng)
            if found is not None:
                return [schema.name, *[found[name] for name, _ in schema.parameters]]
        return None

    def _join(
        self,
        schema: Schema,
        asked: Sequence[Tree],
        by_name: Mapping[str, list[Atom]],
        facts: Facts,
        bound: dict[str, str],
        rng: np.random.Generator,
    ) -> dict[str, str] | None:
        if asked:
            # What names most of the variables that are bound already comes first.
            best = max(asked, key=lambda part: sum(p in bound or p[:1] != "?" for p in part[1:]) / len(part))
            rest = [part for part in asked if part is not best]
            options = by_name[best[0]]
            for at in rng.permutation(len(options)):
                more = _matched(best, options[at], bound)
                if more is not None:
                    found = self._join(schema, rest, by_name, facts, more, rng)
                    if found is not None:
                        return found
            return None
        free = [(name, type_) for name, type_ in schema.parameters if name not in bound]
        if not all(bound[n] in self.objects.get(t, ()) for n, t in schema.parameters if n in bound):
            return None
        every = list(self.instances(free))
        for at in rng.permutation(len(every)):
            whole = {**bound, **every[at]}
            if self.holds(schema.precondition, facts, whole):
                return whole
        return None

    def tried(self, facts: Facts, rng: np.random.Generator) -> list[str] | None:
        """A random try: half of the time one that can be carried out."""
        if rng.random() < 0.5:
            return self.applicable(facts, rng)
        for _ in range(20):
            schema = self.schemas[rng.integers(len(self.schemas))]
            domains = [self.objects.get(type_, []) for _, type_ in schema.parameters]
            if all(domains):
                return [schema.name, *[names[rng.integers(len(names))] for names in domains]]
        return None


def _matched(part: Tree, fact: Atom, bound: dict[str, str]) -> dict[str, str] | None:
    more = dict(bound)
    for name, thing in zip(part[1:], fact[1:], strict=True):
        if more.setdefault(name, thing) != thing if name.startswith("?") else name != thing:
            return None
    return more


def conjuncts(tree: Tree) -> list[Tree]:
    """The parts of a conjunction."""
    if tree and tree[0] == "and":
        return [part for inner in tree[1:] for part in conjuncts(inner)]
    return [tree] if tree else []


def without_costs(tree: Tree) -> Tree:
    """An effect without what it adds to the costs."""
    if not isinstance(tree, list) or not tree:
        return tree
    if tree[0] == "increase":
        return []
    return [part for part in (without_costs(inner) for inner in tree) if part != []]


def atoms(tree: Tree) -> list[Tree]:
    """The atoms of a formula, each once."""
    if not tree:
        return []
    if tree[0] in ("and", "or", "not", "imply", "implies"):
        found: list[Tree] = []
        for part in tree[1:]:
            found += [atom for atom in atoms(part) if atom not in found]
        return found
    return [] if tree[0] == "=" else [tree]


def compares(tree: Tree) -> bool:
    """Whether a conjunct is about the objects themselves: these cannot be passed to a blank."""
    return bool(tree[0] == "=" or (tree[0] == "not" and tree[1][0] == "="))


def quantified(tree: Tree) -> bool:
    """Whether a formula quantifies."""
    return isinstance(tree, list) and (tree[:1] in (["forall"], ["exists"]) or any(map(quantified, tree)))
