"""Published PDDL domains with parts left blank, from a folder of the user's.

They are learned from tries in p01 and p02, and judged on the other problems:

- ``V1``: what each effect writes is blank, and the condition of a conditional effect.
- ``V2``: preconditions, too, unless they are quantified: one blank over the atoms of the parameters.
- ``V3``: a goal predicate: the exact domain, and a blank that says when ``wanted`` holds.

Tries are random: half of them can be carried out, the others are refused. Plans
are carried out by the interpreter below, which shares no code with the library.
The columns are those of `sketches.py`: *steps* are tries in the other problems,
*plans* the part of the plans that were returned within the time limit and are
valid; ``solved`` counts these, ``problems`` all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pdsketch as pds

VARIANTS = ("V1", "V2", "V3")
TRIES, LENGTH = 1000, 10
TESTED = 100
"""Tries in each of the other problems."""
MOST_INPUTS = 14
"""Atoms that the blank of a precondition reads: those of the precondition first."""
TIME_LIMIT = 20.0
MOST_TRUE = 30
"""Instances of a goal predicate by which an episode is judged."""

Atom = tuple[str, ...]
Facts = frozenset[Atom]
Tree = Any
"""A symbol, or a list of trees."""


# -- files -----------------------------------------------------------------------------------------------


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


# -- sketches --------------------------------------------------------------------------------------------


@dataclass
class Sketch:
    """A domain with blanks, and exact functions for them."""

    world: World
    variant: str
    exact: dict[str, Callable[..., Any]] = field(default_factory=dict)
    goal_predicate: str = ""

    @cached_property
    def domain(self) -> Any:
        """The parsed sketch."""
        tree, self.exact = self.world.domain, {}
        head = [
            part
            for part in tree
            if not (isinstance(part, list) and part[0] in (":action", ":requirements", ":functions"))
        ]
        more = self._wanted() if self.variant == "V3" else []
        return pds.parse_domain(written([*head, *more, *[self._action(s) for s in self.world.schemas]]))

    @cached_property
    def declared(self) -> dict[str, list[tuple[str, str]]]:
        """Predicates with their parameters."""
        return {part[0]: typed(part[1:]) for part in section(self.world.domain, ":predicates")}

    def _action(self, schema: Schema) -> Tree:
        flat = [word for pair in schema.parameters for word in (pair[0], "-", pair[1])]
        known = self.variant == "V3"
        effect = schema.effect if known else self._effect(schema, schema.effect, [0])
        blank = self.variant == "V2" and not quantified(schema.precondition) and schema.precondition
        precondition = self._precondition(schema) if blank else schema.precondition
        return [":action", schema.name, ":parameters", flat, ":precondition", precondition or ["and"],
                ":effect", effect or ["and"]]  # fmt: skip

    def _effect(self, schema: Schema, tree: Tree, count: list[int]) -> Tree:
        head, *parts = tree or ["and"]
        if head == "and":
            return ["and", *[self._effect(schema, part, count) for part in parts]]
        if head == "forall":
            return ["forall", parts[0], self._effect(schema, parts[1], count)]
        count[0] += 1
        label = f"e{count[0]}"
        if head == "when":
            inner = self._effect(schema, parts[1], count)
            read_ = atoms(parts[0])
            if quantified(parts[0]) or not read_:
                return ["when", parts[0], inner]
            self.exact[f"action::{schema.name}::{label}"] = truth_of(parts[0], read_)
            return ["when", [f"??{label}", *read_], inner]
        atom = parts[0] if head == "not" else tree
        self.exact[f"action::{schema.name}::{label}"] = constant(head != "not")
        return ["assign", atom, [f"??{label}", atom]]

    def _precondition(self, schema: Schema) -> Tree:
        kept = [part for part in conjuncts(schema.precondition) if compares(part)]
        asked = ["and", *[part for part in conjuncts(schema.precondition) if part not in kept]]
        read_ = atoms(asked)
        read_ += [atom for atom in self._over(schema.parameters) if atom not in read_]
        read_ = read_[: max(MOST_INPUTS, len(atoms(asked)))]
        self.exact[f"action::{schema.name}::pre"] = truth_of(asked, read_)
        return ["and", *kept, ["??pre", *read_]]

    def _over(self, parameters: Sequence[tuple[str, str]]) -> list[Tree]:
        """The atoms over some variables, of different ones each."""
        fits = self.world.objects
        found = []
        for name, wanted in self.declared.items():
            for chosen in permutations(parameters, len(wanted)):
                types = zip(chosen, wanted, strict=True)
                if all(set(fits.get(own, ())) <= set(fits.get(needs, ())) for (_, own), (_, needs) in types):
                    found.append([name, *[variable for variable, _ in chosen]])
        return found

    def _wanted(self) -> list[Tree]:
        counted = Counter(atom[0] for atom in _goal_atoms(self.world.goal))
        self.goal_predicate = counted.most_common(1)[0][0]
        parameters = [(f"?v{i}", type_) for i, (_, type_) in enumerate(self.declared[self.goal_predicate])]
        asked = [self.goal_predicate, *[name for name, _ in parameters]]
        read_ = [asked, *[atom for atom in self._over(parameters) if atom != asked]][:MOST_INPUTS]
        self.exact["derived::wanted::f"] = truth_of(asked, read_)
        flat = [word for pair in parameters for word in (pair[0], "-", pair[1])]
        return [[":derived", ["wanted", *flat], ["??f", *read_]]]

    def goal_of(self, world: World) -> str:
        """The goal of a problem, in the words of the sketch."""
        renamed = {self.goal_predicate: "wanted"} if self.variant == "V3" else {}

        def renaming(tree: Tree) -> Tree:
            if isinstance(tree, str):
                return tree
            return [renamed.get(tree[0], renaming(tree[0])), *map(renaming, tree[1:])] if tree else tree

        return written(renaming(world.goal))

    def states(self, world: World) -> Callable[[Facts], Any]:
        """From atoms to states of the sketch, for one problem."""
        own = typed(section(world.problem, ":objects"))
        objects: dict[str, list[str]] = {}
        for name, type_ in own:
            objects.setdefault(type_, []).append(name)
        names = {p: [t for _, t in parameters] for p, parameters in self.declared.items()}
        empty = pds.State(
            self.domain,
            objects,
            {
                p: np.zeros([len(world.objects.get(t, ())) for t in types], dtype=bool)
                for p, types in names.items()
            },
        )
        places = {t: {n: i for i, n in enumerate(empty.members(t))} for ts in names.values() for t in ts}

        def made(facts: Facts) -> Any:
            tables = {p: np.zeros([len(places[t]) for t in types], dtype=bool) for p, types in names.items()}
            for name, *arguments in facts:
                tables[name][tuple(places[t][a] for t, a in zip(names[name], arguments, strict=True))] = True
            return pds.State(self.domain, objects, tables)

        return made


def _goal_atoms(tree: Tree) -> list[Tree]:
    if tree[0] in ("forall", "exists"):
        return _goal_atoms(tree[2])
    if tree[0] in ("and", "or", "not", "imply", "implies"):
        return [atom for part in tree[1:] for atom in _goal_atoms(part)]
    return [tree]


def constant(value: bool) -> Callable[..., Any]:
    """An exact module that always says the same."""
    return lambda atom: torch.full_like(atom, float(value))


def truth_of(tree: Tree, read_: Sequence[Tree]) -> Callable[..., Any]:
    """An exact module for a formula over some atoms."""
    places = {written(atom): at for at, atom in enumerate(read_)}

    def told(part: Tree, given: Sequence[Any]) -> Any:
        head, *parts = part or ["and"]
        if head == "and":
            return torch.stack([torch.ones_like(given[0]), *[told(p, given) for p in parts]]).amin(0)
        if head == "or":
            return torch.stack([torch.zeros_like(given[0]), *[told(p, given) for p in parts]]).amax(0)
        if head == "not":
            return 1 - told(parts[0], given)
        if head in ("imply", "implies"):
            return torch.maximum(1 - told(parts[0], given), told(parts[1], given))
        return given[places[written(part)]]

    return lambda *given: told(tree, torch.broadcast_tensors(*given))


# -- one measurement -------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    """The domains of a folder, in each variant: what `measure` takes."""
    domains = sorted(path.parent for path in folder.glob("*/domain.pddl"))
    return [f"{path}:{variant}" for path in domains for variant in VARIANTS]


@dataclass
class Try:
    """A try in the exact domain."""

    before: Facts
    action: tuple[str, ...]
    after: Facts | None


def tries(world: World, count: int, rng: np.random.Generator) -> list[list[Try]]:
    """Random tries, in episodes that begin at the initial state."""
    found = []
    for _ in range(count // LENGTH):
        facts, episode = world.first, []
        for _ in range(LENGTH):
            action = world.tried(facts, rng)
            if action is None:
                break
            after = world.simulate(facts, action)
            episode.append(Try(facts, tuple(action), after))
            facts = facts if after is None else after
        found.append(episode)
    return [episode for episode in found if episode]


def recorded(
    sketch: Sketch, world: World, episodes: Sequence[Sequence[Try]], rng: np.random.Generator
) -> list[Any]:
    """Tries as episodes of the sketch; for a goal predicate, judged by some of its instances."""
    made, found = sketch.states(world), []
    for episode in episodes:
        facts = [one.before for one in episode]
        facts.append(episode[-1].before if episode[-1].after is None else episode[-1].after)
        goals = {}
        if sketch.goal_predicate:
            ever = sorted({fact[1:] for some in facts for fact in some if fact[0] == sketch.goal_predicate})
            every = [list(world.objects[t]) for _, t in sketch.declared[sketch.goal_predicate]]
            drawn = [
                tuple(objects[rng.integers(len(objects))] for objects in every) for _ in range(MOST_TRUE)
            ]
            for arguments in dict.fromkeys([*ever[:MOST_TRUE], *drawn]):
                fact = (sketch.goal_predicate, *arguments)
                goals[written(["wanted", *arguments])] = [int(fact in some) for some in facts]
        found.append(
            pds.Episode(
                [made(some) for some in facts],
                [one.action for one in episode],
                goals=goals,
                executable=[one.after is not None for one in episode],
            )
        )
    return found


@torch.no_grad()
def judged(
    sketch: Sketch, model: Any, world: World, episodes: Sequence[Sequence[Try]]
) -> dict[str, list[bool]]:
    """Which tries are predicted right, by kind."""
    made, every = sketch.states(world), [one for episode in episodes for one in episode]
    batch = pds.StateBatch.of([made(one.before) for one in every])
    actions = [one.action for one in every]
    wanted = pds.StateBatch.of([made(one.before if one.after is None else one.after) for one in every])
    found, asked = model.step(batch, actions, crisp=True), model.applicable(batch, actions, crisp=True) > 0.5
    same = torch.ones(len(every), dtype=torch.bool)
    for name in sketch.declared:
        same &= ((found[name] > 0.5) == (wanted[name] > 0.5)).reshape(len(every), -1).all(1)
    right: dict[str, list[bool]] = {"done": [], "refused": []}
    for one, may, fits in zip(every, asked.tolist(), same.tolist(), strict=True):
        done = one.after is not None
        right["done" if done else "refused"].append(may == done and (not done or fits))
    return right


def plan_valid(sketch: Sketch, model: Any, world: World) -> bool | None:
    """Whether the plan of a problem is valid in the exact domain; None: no plan was found."""
    try:
        result = pds.plan(
            model, sketch.states(world)(world.first), sketch.goal_of(world), time_limit=TIME_LIMIT
        )
    except pds.Error as refused:
        if refused.diagnostics[0].code == "too-many-instances":
            return None
        raise
    if result.plan is None:
        return None
    facts: Facts | None = world.first
    for action in result.plan:
        facts = world.simulate(facts, action)
        if facts is None:
            return False
    return world.holds(world.goal, facts, {})


def measure(
    name: str, seed: int, way: str, options: dict[str, Any], learned: Callable[..., Any]
) -> dict[str, Any]:
    """The figures of a domain and variant, learned in one way."""
    folder, variant = name.rsplit(":", 1)
    domain = read(Path(folder) / "domain.pddl")
    worlds = [World(domain, read(path)) for path in sorted(Path(folder).glob("p*.pddl"))]
    rng = np.random.default_rng([seed, 7])
    sketch = Sketch(worlds[0], variant)
    parsed = sketch.domain
    if way == "exact":
        model = pds.Model(parsed, modules=sketch.exact)
        steps = 0
    else:
        episodes = [e for w in worlds[:2] for e in recorded(sketch, w, tries(w, TRIES // 2, rng), rng)]
        steps = sum(len(episode.actions) for episode in episodes)
        model = learned(parsed, episodes, way, seed, options)
    right: dict[str, list[bool]] = {}
    for world in worlds[2:]:
        for kind, found in judged(sketch, model, world, tries(world, TESTED, rng)).items():
            right.setdefault(kind, []).extend(found)
    valid = [plan_valid(sketch, model, world) for world in worlds[2:]]
    returned = [one for one in valid if one is not None]
    return {
        "half": "check",
        "blanks": len(parsed.blanks),
        "data": steps,
        "steps": float(np.mean([np.mean(found) for found in right.values() if found])),
        "goals": None,
        "plans": float(np.mean(returned)) if returned else None,
        "solved": sum(returned),
        "problems": len(valid),
        "keep": None,
    }
