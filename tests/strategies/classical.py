"""Random ADL tasks with axioms and costs, small enough for brute force."""

from __future__ import annotations

from hypothesis import strategies as st

from pdsketch.lang.types import Hierarchy, ObjectType

from .formulas import Draw, Scope, applied, formula, quantify
from .sample import Sample
from .vocabulary import Signature, Vocabulary

HIERARCHIES: tuple[dict[str, tuple[str, ...]], ...] = (
    {},
    {"a": ("object",), "b": ("object",)},
    {"a": ("object",), "b": ("a",)},
    {"a": ("object",), "b": ("a",), "c": ("a",)},
    {"a": ("object",), "b": ("object",), "c": ("a", "b")},
)


@st.composite
def classical(draw: Draw, *, axioms: bool = True, costs: bool = True) -> Sample:
    """A PDDL domain and problem: hierarchy, either, constants, ADL, axioms, costs."""
    hierarchy = Hierarchy(draw(st.sampled_from(HIERARCHIES)))
    objects = _objects(draw, hierarchy)
    constants = dict(list(objects.items())[: draw(st.integers(0, 1))])
    basic = tuple(_signature(draw, hierarchy, f"p{i}") for i in range(draw(st.integers(1, 4))))
    words = Vocabulary(hierarchy, constants, basic)
    axiom_texts: list[str] = []
    for layer in range(draw(st.integers(0, 2)) if axioms else 0):
        words, texts = recursive_predicates(draw, words, layer)
        axiom_texts += texts
    costly = costs and draw(st.booleans())
    weight = Signature("weight", (ObjectType(("object",)),), "number") if costly else None
    actions = [_action(draw, words, f"act{i}", weight) for i in range(draw(st.integers(1, 3)))]
    declared = words.predicates if draw(st.booleans()) else basic
    domain = _domain_text(words, declared, axiom_texts, actions, costly)
    whole = Vocabulary(hierarchy, objects, words.predicates)
    problem = _problem_text(draw, whole, basic, constants, costly)
    formulas = tuple(formula(draw, whole, {}, 3) for _ in range(2))
    return Sample(domain, problem, formulas)


def _objects(draw: Draw, hierarchy: Hierarchy) -> dict[str, ObjectType]:
    types = draw(st.lists(st.sampled_from(hierarchy.names), min_size=1, max_size=4))
    return {f"o{i}": ObjectType((name,)) for i, name in enumerate(types)}


def _type(draw: Draw, hierarchy: Hierarchy) -> ObjectType:
    singles = [ObjectType((name,)) for name in hierarchy.names]
    if len(hierarchy.parents) < 2:
        return draw(st.sampled_from(singles))
    names = list(hierarchy.parents)
    return draw(st.sampled_from([*singles, ObjectType((names[0], names[-1]))]))


def _signature(draw: Draw, hierarchy: Hierarchy, name: str, role: str = "observed") -> Signature:
    types = tuple(_type(draw, hierarchy) for _ in range(draw(st.integers(0, 2))))
    return Signature(name, types, role=role)


def recursive_predicates(draw: Draw, words: Vocabulary, layer: int) -> tuple[Vocabulary, list[str]]:
    """One or two derived predicates that may call each other, and whatever came before."""
    count = draw(st.integers(1, 2))
    component = tuple(_signature(draw, words.hierarchy, f"d{layer}{i}", "derived") for i in range(count))
    inside = Vocabulary(words.hierarchy, words.objects, component)
    texts = [f"(:derived {d.header} {_positive(draw, words, inside, d.scope, 3)})" for d in component]
    return words.with_predicates(*component), texts


def _positive(draw: Draw, words: Vocabulary, component: Vocabulary, scope: Scope, depth: int) -> str:
    """A formula in which the component stands under no negation."""
    calls = component.usable(scope, "bool")
    shapes = ["other", *(["call"] if calls else []), *(["and", "or", "forall", "exists"] if depth else [])]
    shape = draw(st.sampled_from(shapes))
    match shape:
        case "other":
            return formula(draw, words, scope, max(depth - 1, 0))
        case "call":
            return applied(draw, component, scope, draw(st.sampled_from(calls)), 0)
        case "and" | "or":
            parts = [_positive(draw, words, component, scope, depth - 1) for _ in range(2)]
            return f"({' '.join([shape, *parts])})"
        case _:
            inner, binder = quantify(draw, words, scope)
            return f"({shape} ({binder}) {_positive(draw, words, component, inner, depth - 1)})"


def _action(draw: Draw, words: Vocabulary, name: str, weight: Signature | None) -> str:
    header = _signature(draw, words.hierarchy, name)
    scope = header.scope
    effects = [_effect(draw, words, scope, 2) for _ in range(draw(st.integers(1, 3)))]
    if weight is not None and draw(st.booleans()):
        amount = str(draw(st.integers(0, 3)))
        if scope and draw(st.booleans()):
            amount = f"(weight {draw(st.sampled_from(sorted(scope)))})"
        effects.append(f"(increase (total-cost) {amount})")
    condition = formula(draw, words, scope, 2)
    precondition = f"\n  :precondition {condition}" if draw(st.booleans()) else ""
    return (
        f"(:action {name}\n  :parameters ({' '.join(header.typed_parameters)}){precondition}\n"
        f"  :effect (and {' '.join(effects)}))"
    )


def _effect(draw: Draw, words: Vocabulary, scope: Scope, depth: int) -> str:
    targets = words.usable(scope, "bool", ("observed",))
    shapes = (["add", "delete"] if targets else ["nothing"]) + (["when", "forall", "and"] if depth else [])
    shape = draw(st.sampled_from(shapes))
    match shape:
        case "nothing":
            return "(and)"
        case "add" | "delete":
            literal = applied(draw, words, scope, draw(st.sampled_from(targets)), 0)
            return literal if shape == "add" else f"(not {literal})"
        case "when":
            return f"(when {formula(draw, words, scope, 1)} {_effect(draw, words, scope, depth - 1)})"
        case "and":
            parts = [_effect(draw, words, scope, depth - 1) for _ in range(2)]
            return f"(and {' '.join(parts)})"
        case _:
            inner, binder = quantify(draw, words, scope)
            return f"(forall ({binder}) {_effect(draw, words, inner, depth - 1)})"


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
    draw: Draw,
    words: Vocabulary,
    basic: tuple[Signature, ...],
    constants: dict[str, ObjectType],
    costly: bool,
) -> str:
    possible = [atom for p in basic for atom in ground_atoms(words, p)]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True, max_size=6)) if possible else []
    if costly:
        chosen += [f"(= (weight {name}) {draw(st.integers(0, 3))})" for name in words.objects]
    own = {name: type_ for name, type_ in words.objects.items() if name not in constants}
    metric = "\n(:metric minimize (total-cost))" if costly and draw(st.booleans()) else ""
    return (
        f"(define (problem sample) (:domain random)\n(:objects {listed(own)})\n"
        f"(:init {' '.join(chosen)})\n(:goal {formula(draw, words, {}, 2)}){metric})"
    )


def ground_atoms(words: Vocabulary, predicate: Signature) -> list[str]:
    """Every ground atom of a predicate over the objects at hand."""
    atoms = [[predicate.name]]
    for type_ in predicate.parameters:
        assert isinstance(type_, ObjectType)
        atoms = [[*prefix, name] for prefix in atoms for name in words.terms({}, type_)]
    return [f"({' '.join(atom)})" for atom in atoms]
