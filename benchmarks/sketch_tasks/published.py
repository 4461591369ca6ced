"""Published PDDL domains with parts left blank, from a folder of the user's.

They are learned from tries in p01 and p02, and judged on the other problems:

- ``V1``: what each effect writes is blank, and the condition of a conditional effect.
- ``V2``: preconditions, too, unless they are quantified: one blank over the atoms of the parameters.
- ``V2E``: the same, from the executed tries alone.
- ``V3``: a goal predicate: the exact domain, and a blank that says when ``wanted`` holds.

Tries are random: half of them can be carried out, the others are refused. Plans
are carried out by the interpreter below, which shares no code with the library.
The columns are those of `sketches.py`: *steps* are tries in the other problems,
*plans* the part of the plans that were returned within `CPU_LIMIT` without a guess
and are valid; ``solved`` counts these, ``guessed`` the plans that rest on guesses,
``guessed right`` those of them that are valid, ``problems`` all. Beside the ways of
the other tasks there is ``sam``: the domain itself, with what held in all executions
as the preconditions that were blank (safe action model learning; Stern and Juba, 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch

import pdsketch as pds
from pdsketch.budget import Budget
from sketch_tasks.pddl import (
    Facts,
    Schema,
    Tree,
    World,
    atoms,
    compares,
    conjuncts,
    quantified,
    read,
    section,
    typed,
    written,
)

VARIANTS = ("V1", "V2", "V2E", "V3")
SAM = "sam"
TRIES, LENGTH = 1000, 10
TESTED = 100
"""Tries in each of the other problems."""
MOST_INPUTS = 14
"""Atoms that the blank of a precondition reads: those of the precondition first."""
CPU_LIMIT = 20.0
"""Seconds of the processor for each plan: how busy the machine is does not count."""
MOST_TRUE = 30
"""Instances of a goal predicate by which an episode is judged."""


# -- sketches --------------------------------------------------------------------------------------------


@dataclass
class Sketch:
    """A domain with blanks, and exact functions for them; ``known`` stands for preconditions, by action."""

    world: World
    variant: str
    known: dict[str, Tree] = field(default_factory=dict)
    exact: dict[str, Callable[..., Any]] = field(default_factory=dict)
    asked: dict[str, list[Tree]] = field(default_factory=dict)
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
        is_given = self.variant in ("V3", SAM)
        effect = schema.effect if is_given else self._effect(schema, schema.effect, [0])
        blank = self.variant in ("V2", "V2E") and not quantified(schema.precondition) and schema.precondition
        precondition = (
            self._precondition(schema) if blank else self.known.get(schema.name, schema.precondition)
        )
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
        self.asked[schema.name] = read_
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


def safe(sketch: Sketch, tried: Sequence[tuple[World, Try]]) -> Sketch:
    """The domain itself, but for preconditions that are blank in a sketch: what held in all executions.

    False where there were none.
    """
    sketch.domain  # noqa: B018, for what is asked
    held: dict[str, dict[str, bool]] = {}
    schemas = {schema.name: schema for schema in sketch.world.schemas}
    for world, one in tried:
        name = one.action[0]
        if one.after is None or name not in sketch.asked:
            continue
        bound = dict(zip([variable for variable, _ in schemas[name].parameters], one.action[1:], strict=True))
        now = {written(atom): world.holds(atom, one.before, bound) for atom in sketch.asked[name]}
        held[name] = {a: truth for a, truth in held.get(name, now).items() if now[a] == truth}
    found: dict[str, Tree] = {}
    for name, asked in sketch.asked.items():
        kept = [part for part in conjuncts(schemas[name].precondition) if compares(part)]
        told = held.get(name)
        if told is None:
            found[name] = ["and", asked[0], ["not", asked[0]]]
            continue
        sure = [a for a in asked if written(a) in told]
        found[name] = ["and", *kept, *[a if told[written(a)] else ["not", a] for a in sure]]
    return Sketch(sketch.world, SAM, found)


def outcome(sketch: Sketch, model: Any, world: World) -> str:
    """What came of a problem: ``solved``, ``invalid``, ``guessed``, ``guessed right``; or ``no plan``."""
    first, goal = sketch.states(world)(world.first), sketch.goal_of(world)
    try:
        with Budget(CPU_LIMIT, clock=process_time).running():
            result = pds.plan(model, first, goal, time_limit=None)
    except pds.Error as refused:
        if refused.diagnostics[0].code == "too-many-instances":
            return "no plan"
        raise
    if result.plan is None:
        return "no plan"
    facts: Facts | None = world.first
    for action in result.plan:
        facts = None if facts is None else world.simulate(facts, action)
    is_valid = facts is not None and world.holds(world.goal, facts, {})
    if result.guesses:
        return "guessed right" if is_valid else "guessed"
    return "solved" if is_valid else "invalid"


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
        drawn = [(w, tries(w, TRIES // 2, rng)) for w in worlds[:2]]
        if variant == "V2E":
            drawn = [(w, [[t] for e in found for t in e if t.after is not None]) for w, found in drawn]
        steps = sum(len(episode) for _, found in drawn for episode in found)
        if way == SAM:
            sketch = safe(sketch, [(w, t) for w, found in drawn for e in found for t in e])
            model = pds.Model(sketch.domain)
        else:
            episodes = [episode for w, found in drawn for episode in recorded(sketch, w, found, rng)]
            model = learned(parsed, episodes, way, seed, options)
    right: dict[str, list[bool]] = {}
    for world in worlds[2:]:
        for kind, found in judged(sketch, model, world, tries(world, TESTED, rng)).items():
            right.setdefault(kind, []).extend(found)
    found = Counter(outcome(sketch, model, world) for world in worlds[2:])
    returned = found["solved"] + found["invalid"]
    return {
        "half": "check",
        "blanks": len(parsed.blanks),
        "data": steps,
        "steps": float(np.mean([np.mean(some) for some in right.values() if some])),
        "goals": None,
        "plans": found["solved"] / returned if returned else None,
        "solved": found["solved"],
        "invalid": found["invalid"],
        "guessed": found["guessed"] + found["guessed right"],
        "guessed right": found["guessed right"],
        "problems": len(worlds) - 2,
        "keep": None,
    }
