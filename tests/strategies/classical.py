"""Random ADL tasks with axioms and costs, small enough for brute force."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import strategies as st

from pdsketch.lang.types import Hierarchy, ObjectType

from .choices import Choices, Draw, chosen
from .formulas import Scope, applied, formula, literal_list, quantify
from .oracle import far_goal
from .sample import Sample
from .vocabulary import BOOL, Signature, Vocabulary

HIERARCHIES: tuple[dict[str, tuple[str, ...]], ...] = (
    {},
    {"a": ("object",), "b": ("object",)},
    {"a": ("object",), "b": ("a",)},
    {"a": ("object",), "b": ("a",), "c": ("a",)},
    {"a": ("object",), "b": ("object",), "c": ("a", "b")},
)


COSTS: tuple[tuple[str, ...], ...] = (
    ("0", "1", "2", "3"),
    ("0", "1", "2", "3"),
    ("0", "0.5", "1.25", "0.1", "2", "0.333"),
    ("0", "1", "1000000", "123456789012", "0.25", "3e9"),
)
"""What costs look like: small, fractions, huge beside small."""

NUMBERS = ("0", "1", "2", "0.5")
"""Literals to compare weights with."""

EXACT = ("0", "1", "2", "0.5", "1.25")
"""What weighs where weights are compared: the same numbers in float32."""


@st.composite
def classical(draw: Draw, *, axioms: bool = True, costs: bool = True) -> Sample:
    """A PDDL domain and problem: hierarchy, either, constants, ADL, axioms, costs."""
    return chosen(draw, lambda chance: classical_from(chance, axioms=axioms, costs=costs), lively)


def lively(sample: Sample) -> bool:
    """Whether there is something to search."""
    return len(sample.explored.until(8)) == 8


def classical_from(
    chance: Choices,
    *,
    axioms: bool = True,
    costs: bool = True,
    formulas: int = 2,
    goal: str | None = None,
) -> Sample:
    """`classical`, where the choices come from; a ``goal`` that is given is not chosen."""
    hierarchy = Hierarchy(chance.pick(HIERARCHIES))
    objects = _objects(chance, hierarchy)
    constants = dict(list(objects.items())[: chance.pick([0, 0, 1, 2])])
    basic = tuple(_signature(chance, hierarchy, objects, f"p{i}") for i in range(chance.number(2, 4)))
    costly = costs and chance.coin()
    weight = Signature("weight", (ObjectType(("object",)),), "number") if costly else None
    prices = chance.pick(COSTS)
    words = Vocabulary(hierarchy, constants, basic)
    if weight is not None and chance.number(0, 2) == 2:
        # What things weigh is also compared, in conditions.
        words = replace(words.with_predicates(weight), values={"number": NUMBERS})
        prices = EXACT
    axiom_texts: list[str] = []
    for layer in range(chance.number(0, 2) if axioms else 0):
        words, texts = recursive_predicates(chance, words, layer, objects)
        axiom_texts += texts
    plain = chance.number(0, 2) < 2
    charge = prices if costly else ()
    headers = [_signature(chance, hierarchy, objects, f"act{i}") for i in range(chance.number(2, 4))]
    needs = [literal_list(chance, words, header.scope, 2) if plain else [] for header in headers]
    actions = [
        _action(chance, words, header, charge, need) for header, need in zip(headers, needs, strict=True)
    ]
    known = tuple(p for p in words.predicates if p.name != "weight")
    domain = _domain_text(words, known if chance.coin() else basic, axiom_texts, actions, costly)
    whole = replace(words, objects=objects)
    wishes = [
        atom
        for header, need in zip(headers, needs, strict=True)
        for atom in _wish(chance, whole, header, need)
    ]
    problem = _problem_text(chance, whole, wishes, constants, charge)
    far = goal is None and chance.number(0, 2) > 0
    if not far and goal is None:
        goal = formula(chance, whole, {}, 2)
    others = tuple(formula(chance, whole, {}, 3) for _ in range(formulas))
    roles = {p.name: p.role for p in known}
    sample = Sample(domain, problem.format(goal="(and)" if goal is None else goal), others, roles=roles)
    return sample.with_goal(problem.format(goal=far_goal(sample))) if far else sample


def _objects(chance: Choices, hierarchy: Hierarchy) -> dict[str, ObjectType]:
    leaves = [name for name in hierarchy.names if name != "object"] or ["object"]
    types = chance.some([*leaves, *leaves, *hierarchy.names], 2, 4)
    return {f"o{i}": ObjectType((name,)) for i, name in enumerate(types)}


def _type(chance: Choices, hierarchy: Hierarchy, objects: dict[str, ObjectType]) -> ObjectType:
    """A type, mostly one that some object has."""
    singles = [ObjectType((name,)) for name in hierarchy.names]
    if len(hierarchy.parents) > 1:
        names = list(hierarchy.parents)
        singles.append(ObjectType((names[0], names[-1])))
    inhabited = [type_ for type_ in singles if hierarchy.members(type_, objects)]
    return chance.pick(inhabited if inhabited and chance.number(0, 7) else singles)


def _signature(
    chance: Choices, hierarchy: Hierarchy, objects: dict[str, ObjectType], name: str, role: str = "observed"
) -> Signature:
    types = tuple(_type(chance, hierarchy, objects) for _ in range(chance.pick([1, 1, 2, 0])))
    return Signature(name, types, role=role)


def recursive_predicates(
    chance: Choices, words: Vocabulary, layer: int, objects: dict[str, ObjectType]
) -> tuple[Vocabulary, list[str]]:
    """One or two derived predicates that may call each other, and whatever came before."""
    component = tuple(
        _signature(chance, words.hierarchy, objects, f"d{layer}{i}", "derived")
        for i in range(chance.number(1, 2))
    )
    inside = Vocabulary(words.hierarchy, words.objects, component)
    texts = [f"(:derived {d.header} {_positive(chance, words, inside, d.scope, 3)})" for d in component]
    return words.with_predicates(*component), texts


def _positive(chance: Choices, words: Vocabulary, component: Vocabulary, scope: Scope, depth: int) -> str:
    """A formula in which the component stands under no negation."""
    calls = component.usable(scope, "bool")
    shapes = ["other", *(["call"] if calls else []), *(["and", "or", "forall", "exists"] if depth else [])]
    shape = chance.pick(shapes)
    match shape:
        case "other":
            return formula(chance, words, scope, max(depth - 1, 0))
        case "call":
            return applied(chance, component, scope, chance.pick(calls), 0)
        case "and" | "or":
            parts = [_positive(chance, words, component, scope, depth - 1) for _ in range(2)]
            return f"({' '.join([shape, *parts])})"
        case _:
            inner, binder = quantify(chance, words, scope)
            return f"({shape} ({binder}) {_positive(chance, words, component, inner, depth - 1)})"


def _wish(chance: Choices, words: Vocabulary, header: Signature, need: list[str]) -> list[str]:
    """Now and then what one instance of an action needs, as ground atoms: so that something can happen."""
    ranges = [words.terms({}, type_) for type_ in header.parameters if isinstance(type_, ObjectType)]
    if not all(ranges) or chance.number(0, 2) == 2:
        return []
    found = " ".join(part for part in need if not part.startswith("(not"))
    for i, names in enumerate(ranges):
        found = found.replace(f"?x{i}", chance.pick(names))
    return re.findall(r"\(p[^()]*\)", found)


def _action(
    chance: Choices, words: Vocabulary, header: Signature, charge: tuple[str, ...], need: list[str]
) -> str:
    """An action; one that needs some literals, a plain one, has few conditions in its effects.

    ``charge`` are the numbers that it may cost; none: it does not say.
    """
    scope, plain = header.scope, bool(need)
    effects = [_effect(chance, words, scope, int(not plain) * 2) for _ in range(chance.number(2, 4))]
    if plain and chance.coin():
        effects.append(_effect(chance, words, scope, 1))
    if charge and chance.coin():
        amount = chance.pick(charge)
        if scope and chance.coin():
            weight = f"(weight {chance.pick(sorted(scope))})"
            amount = chance.pick([weight, weight, f"(+ {weight} {amount})", f"(* 2 {weight})"])
        effects.append(f"(increase (total-cost) {amount})")
        if chance.number(0, 5) == 5:
            effects.append(f"(increase (total-cost) {chance.pick(charge)})")
    precondition = ""
    if plain or chance.coin():
        condition = f"(and {' '.join(need)})" if plain else formula(chance, words, scope, 2)
        precondition = f"\n  :precondition {condition}"
    return (
        f"(:action {header.name}\n  :parameters ({' '.join(header.typed_parameters)}){precondition}\n"
        f"  :effect (and {' '.join(effects)}))"
    )


def _effect(chance: Choices, words: Vocabulary, scope: Scope, depth: int) -> str:
    targets = words.usable(scope, "bool", ("observed",))
    shapes = (["add", "delete"] if targets else ["nothing"]) + (["when", "forall", "and"] if depth else [])
    if targets and chance.number(0, 9) == 9:
        shapes = ["assign"]
    shape = chance.pick(shapes)
    match shape:
        case "nothing":
            return "(and)"
        case "add" | "delete":
            literal = applied(chance, words, scope, chance.pick(targets), 0)
            return literal if shape == "add" else f"(not {literal})"
        case "assign":
            target = applied(chance, words, scope, chance.pick(targets), 0)
            return f"(assign {target} {formula(chance, words, scope, 1)})"
        case "when":
            return f"(when {formula(chance, words, scope, 1)} {_effect(chance, words, scope, depth - 1)})"
        case "and":
            parts = [_effect(chance, words, scope, depth - 1) for _ in range(2)]
            return f"(and {' '.join(parts)})"
        case _:
            inner, binder = quantify(chance, words, scope)
            return f"(forall ({binder}) {_effect(chance, words, inner, depth - 1)})"


def declared_types(hierarchy: Hierarchy) -> str:
    """The ``:types`` of a hierarchy, a line each."""
    lines = [f"{name} - {ObjectType(parents)}" for name, parents in hierarchy.parents.items()]
    return " ".join(lines)


def listed(objects: dict[str, ObjectType]) -> str:
    """Objects with their types, as ``:objects`` and ``:constants`` list them."""
    return " ".join(f"{name} - {type_}" for name, type_ in objects.items())


def _domain_text(
    words: Vocabulary, declared: tuple[Signature, ...], axioms: list[str], actions: list[str], costly: bool
) -> str:
    blocks = ["(define (domain random)", "(:requirements :adl :derived-predicates :action-costs)"]
    if words.hierarchy.parents:
        blocks.append(f"(:types {declared_types(words.hierarchy)})")
    if words.objects:
        blocks.append(f"(:constants {listed(words.objects)})")
    blocks.append(f"(:predicates {' '.join(p.header for p in declared)})")
    if costly:
        blocks.append("(:functions (total-cost) - number (weight ?x0 - object) - number)")
    return "\n".join([*blocks, *axioms, *actions, ")"])


def _problem_text(
    chance: Choices,
    words: Vocabulary,
    wishes: list[str],
    constants: dict[str, ObjectType],
    charge: tuple[str, ...],
) -> str:
    basic = [p for p in words.predicates if p.role == "observed" and p.returns == BOOL]
    possible = [atom for p in basic for atom in ground_atoms(words, p)]
    chosen = chance.some(possible, 0, max(6, len(possible) * 2 // 3), unique=True) if possible else []
    chosen += [atom for atom in dict.fromkeys(wishes) if atom in possible and atom not in chosen]
    if charge:
        chosen += [f"(= (weight {name}) {chance.pick(charge)})" for name in words.objects]
    own = {name: type_ for name, type_ in words.objects.items() if name not in constants}
    metric = "\n(:metric minimize (total-cost))" if charge and chance.number(0, 3) else ""
    return (
        f"(define (problem sample) (:domain random)\n(:objects {listed(own)})\n"
        f"(:init {' '.join(chosen)})\n(:goal {{goal}}){metric})"
    )


def ground_atoms(words: Vocabulary, predicate: Signature) -> list[str]:
    """Every ground atom of a predicate over the objects at hand."""
    atoms = [[predicate.name]]
    for type_ in predicate.parameters:
        assert isinstance(type_, ObjectType)
        atoms = [[*prefix, name] for prefix in atoms for name in words.terms({}, type_)]
    return [f"({' '.join(atom)})" for atom in atoms]
