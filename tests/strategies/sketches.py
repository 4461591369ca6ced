"""Random sketches: values, encoded predicates, external functions, and blanks with plain functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from pdsketch.lang.types import Hierarchy, ObjectType

from .choices import Choices, Draw, chosen
from .classical import declared_types, ground_atoms, listed, lively, recursive_predicates
from .formulas import RETURNS, Scope, blank, formula, literals, value
from .functions import Linear
from .oracle import far_goal
from .sample import Sample
from .vocabulary import BOOL, Blanks, Signature, Vocabulary

HIERARCHY = Hierarchy({"item": ("object",), "robot": ("object",), "box": ("item",)})
VALUE_TYPES = (
    "level - float32 pose - vector[float32, 2, tolerance=0.25] kind - int64[choices=3] count - int64"
)
LITERALS = {
    "level": ("0.0", "0.5", "-1.0"),
    "pose": ("[0.0, 1.0]", "[0.5, 0.5]"),
    "kind": ("0", "1", "2"),
    "count": ("0", "1", "3"),
}
DATA = {
    "level": (0.0, 0.5, 1.0),
    "pose": ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)),
    "kind": (0, 1, 2),
    "count": (0, 1, 3),
}
EXTERNALS = (
    Signature("near", ("pose", "pose"), role="external"),
    Signature("high", ("level",), role="external"),
    Signature("ahead", ("pose", "kind"), "pose", "external"),
    Signature("turned", ("kind",), "kind", "external"),
)


@dataclass
class _Author:
    """What has been written so far."""

    words: Vocabulary
    functions: dict[str, Linear] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)

    blanks: bool = True
    costly: bool = False

    def within(self, prefix: str) -> Vocabulary:
        """The vocabulary inside one definition: raw predicates are the encoder's, blanks are its own."""
        own = Blanks(prefix, self.functions) if self.blanks else None
        return replace(self.words.without("raw"), blanks=own)


@st.composite
def sketch(draw: Draw, *, value_parameters: bool = True) -> Sample:
    """A sketch, a problem for it, and a plain function for each blank and external predicate."""
    return chosen(draw, lambda chance: sketch_from(chance, value_parameters=value_parameters), lively)


def sketch_from(
    chance: Choices,
    *,
    value_parameters: bool = True,
    blanks: bool = True,
    costs: bool = False,
    formulas: int = 2,
    goal: str | None = None,
) -> Sample:
    """`sketch`, where the choices come from; a ``goal`` that is given is not chosen.

    With ``costs``, actions may cost something.

    Without ``blanks`` the domain says everything itself: no function is left out, and
    values that actions take have choices.
    """
    objects = _objects(chance)
    constants = dict(list(objects.items())[: chance.number(0, 1)])
    observed = _observed(chance)
    costly = costs and chance.coin()
    author = _Author(Vocabulary(HIERARCHY, constants, observed, LITERALS), blanks=blanks, costly=costly)
    externals = tuple(chance.some(EXTERNALS, 0, 3, unique=True)) if blanks else ()
    for external in externals:
        weights = tuple(chance.pick([1, -1, 2]) for _ in external.parameters)
        author.functions[external.name] = Linear(weights, chance.number(-1, 1), RETURNS[external.returns])
    raw, encoded = _encoders(chance, author) if blanks else ((), ())
    author.words = author.words.with_predicates(*externals, *encoded)
    _derived(chance, author, objects)
    for i in range(chance.number(1, 4)):
        _action(chance, author, f"act{i}", encoded if i == 0 else (), value_parameters)
    domain = "\n".join(
        [
            "(define (domain random-sketch)",
            f"(:types {declared_types(HIERARCHY)} {VALUE_TYPES})",
            *([f"(:constants {listed(constants)})"] if constants else []),
            f"(:predicates {' '.join(p.header for p in (*observed, *raw, *externals))})",
            *(["(:functions (total-cost) - number)"] if costly else []),
            *author.blocks,
            ")",
        ]
    )
    whole = replace(author.words.without("raw"), objects=objects)
    problem = _problem(chance, whole, (*observed, *raw), constants)
    if costly:
        problem = problem.removesuffix(")") + "\n(:metric minimize (total-cost)))"
    others = tuple(formula(chance, whole, {}, 2) for _ in range(formulas))
    candidates = {"pose": DATA["pose"], "level": DATA["level"]}
    roles = {p.name: p.role for p in (*author.words.predicates, *raw)}

    far = goal is None and chance.number(0, 2) > 0
    if not far and goal is None:
        goal = formula(chance, whole, {}, 2)
    first = problem.format(goal="(and)" if goal is None else goal)
    sample = Sample(domain, first, others, author.functions, candidates, roles)
    return sample.with_goal(problem.format(goal=far_goal(sample))) if far else sample


def _objects(chance: Choices) -> dict[str, ObjectType]:
    types = ["item", *chance.some(["item", "robot", "box"], 0, 3)]
    if chance.coin():
        types = ["item", "robot", "box", *types[2:]]
    return {f"o{i}": ObjectType((name,)) for i, name in enumerate(types)}


def _object_types(chance: Choices, most: int) -> tuple[ObjectType, ...]:
    names = chance.some(["item", "item", "robot", "box", "object"], 0, most)
    return tuple(ObjectType((name,)) for name in names)


def _observed(chance: Choices) -> tuple[Signature, ...]:
    booleans = [Signature(f"b{i}", _object_types(chance, 2)) for i in range(chance.number(1, 2))]
    returns = chance.some(sorted(LITERALS), 1, 3)
    values = [Signature(f"v{i}", _object_types(chance, 2), type_) for i, type_ in enumerate(returns)]
    return (*booleans, *values)


def _encoders(chance: Choices, author: _Author) -> tuple[tuple[Signature, ...], tuple[Signature, ...]]:
    """Raw predicates, and the predicates that blanks compute from them."""
    item = (ObjectType(("item",)),)
    raw, encoded = [], []
    for i, returns in enumerate(chance.some([BOOL, "pose", "kind", "level"], 0, 2)):
        source = Signature(f"raw{i}", item, chance.pick(["pose", "level", BOOL]), "raw")
        target = Signature(f"e{i}", item, returns, "encoded")
        function = Linear((chance.pick([1, -1]),), chance.number(-1, 1), RETURNS[returns])
        author.functions[f"derived::{target.name}::f"] = function
        author.blocks.append(f"(:derived {target.header} (??f ({source.name} ?x0)))")
        raw.append(source)
        encoded.append(target)
    return tuple(raw), tuple(encoded)


def _derived(chance: Choices, author: _Author, objects: dict[str, ObjectType]) -> None:
    """Derived predicates: of any type, over objects and values, and recursive Boolean ones."""
    for i in range(chance.number(0, 2)):
        returns = chance.pick([BOOL, BOOL, "level", "pose", "kind"])
        over_value = ("pose",) if chance.number(0, 3) == 0 else ()
        signature = Signature(f"d{i}", (*_object_types(chance, 2), *over_value), returns, "derived")
        words = author.within(f"derived::{signature.name}")
        write = formula(chance, words, signature.scope, 2) if returns == BOOL else None
        body = write or value(chance, words, signature.scope, returns, 2)
        author.blocks.append(f"(:derived {signature.header} {body})")
        author.words = author.words.with_predicates(signature)
    if chance.coin():
        plain = tuple(p for p in author.words.predicates if p.role == "observed" and p.returns == BOOL)
        words, texts = recursive_predicates(
            chance, replace(author.words, predicates=plain, values={}), 9, objects
        )
        author.blocks += texts
        author.words = author.words.with_predicates(*words.predicates[len(plain) :])


def _action(
    chance: Choices, author: _Author, name: str, must_assign: tuple[Signature, ...], value_parameters: bool
) -> None:
    open_types = ["kind", "pose"] if author.blanks else ["kind"]
    over_value = (chance.pick(open_types),) if chance.number(0, 2) == 0 else ()
    parameters = (*_object_types(chance, 2), *(over_value if value_parameters else ()))
    header = Signature(name, parameters)
    words, scope = author.within(f"action::{name}"), header.scope
    possible = [p for p in words.predicates if p.role in ("observed", "encoded")]
    chosen = chance.some(possible, 0 if must_assign else min(2, len(possible)), 3, unique=True)
    targets = [*must_assign, *(p for p in chosen if p not in must_assign)]
    effects = [effect for target in targets for effect in _effects(chance, words, scope, target)]
    if author.costly and chance.number(0, 3):
        effects.append(f"(increase (total-cost) {chance.pick(['0', '1', '2.5', '0.25', '10'])})")
    conditions = [
        lambda: "(and)",
        lambda: literals(chance, words, scope, 2),
        lambda: formula(chance, words, scope, 1),
    ]
    condition = chance.pick(conditions)()
    author.blocks.append(
        f"(:action {name}\n  :parameters ({' '.join(header.typed_parameters)})\n"
        f"  :precondition {condition}\n  :effect (and {' '.join(effects)}))"
    )


def _effects(chance: Choices, words: Vocabulary, scope: Scope, target: Signature) -> list[str]:
    """An update of a predicate; of Booleans and numbers there may be another that goes together with it."""
    first = _effect(chance, words, scope, target)
    literal = target.returns == BOOL and "assign" not in first
    changes = any(word in first for word in ("(increase", "(decrease"))
    if not (literal or changes) or chance.coin():
        return [first]
    for _ in range(5):
        second = _effect(chance, words, scope, target)
        if "assign" not in second and "(scale" not in second:
            return [first, second]
    return [first]


def _effect(chance: Choices, words: Vocabulary, scope: Scope, target: Signature) -> str:
    """One update of a predicate, for the action's own objects or for all objects.

    The bound variables of an assignment are exactly the target's arguments, so that no
    two instances assign one variable.
    """
    own = [words.terms(scope, type_) for type_ in target.parameters if isinstance(type_, ObjectType)]
    if all(own) and chance.coin():
        args, inner, binder = [chance.pick(terms) for terms in own], scope, None
    else:
        added = {f"?y{i}": type_ for i, type_ in enumerate(target.parameters)}
        args, inner = list(added), {**scope, **added}
        binder = " ".join(f"{variable} - {type_}" for variable, type_ in added.items()) or None
    written = _write(chance, words, inner, target, args)
    if "assign" not in written and chance.number(0, 3) == 3:
        # One more variable, so that several instances change one value.
        extra = chance.pick(["item", "box", "robot"])
        inner, binder = {**inner, "?z": ObjectType((extra,))}, f"{binder or ''} ?z - {extra}".strip()
        return _quantified(chance, binder, f"(when {formula(chance, words, inner, 1)} {written})")
    if "::assign" in written and chance.coin():
        return _quantified(chance, binder, _guarded(chance, words, inner, target, args))
    if chance.coin():
        written = f"(when {formula(chance, words, inner, 1)} {written})"
    return _quantified(chance, binder, written)


def _quantified(chance: Choices, binder: str | None, effect: str) -> str:
    return effect if binder is None else f"({chance.pick(['foreach', 'forall'])} ({binder}) {effect})"


def _guarded(chance: Choices, words: Vocabulary, scope: Scope, target: Signature, args: list[str]) -> str:
    """``(p::cond-assign ARGS COND VALUE)``."""
    condition = formula(chance, words, scope, 1)
    if target.returns == BOOL:
        new = formula(chance, words, scope, 1)
    else:
        new = value(chance, words, scope, target.returns, 1)
    return f"({target.name}::cond-assign {' '.join([*args, condition, new])})"


def _write(chance: Choices, words: Vocabulary, scope: Scope, target: Signature, args: list[str]) -> str:
    atom = f"({' '.join([target.name, *args])})"
    if target.returns in ("level", "count", "pose") and chance.number(0, 3) == 0:
        amount = chance.pick(LITERALS[target.returns])
        if target.returns == "pose" and chance.coin():
            amount = "0.5"
        if chance.number(0, 3) == 3:
            word = "scale-up" if target.returns == "count" or chance.coin() else "scale-down"
            return f"({word} {atom} 2)"
        return f"({chance.pick(['increase', 'decrease'])} {atom} {amount})"
    if target.returns == BOOL:
        shape = chance.pick(["add", "delete", "assign", "assign"])
        if shape != "assign":
            return atom if shape == "add" else f"(not {atom})"
        new = formula(chance, words, scope, 1)
    elif target.returns == "count" or words.blanks is None or chance.coin():
        new = value(chance, words, scope, target.returns, 1)
    else:
        new = blank(chance, words, scope, target.returns, 1)
    if chance.coin():
        return f"({target.name}::assign {' '.join([*args, new])})"
    return f"(assign {atom} {new})"


def _problem(
    chance: Choices, words: Vocabulary, given: tuple[Signature, ...], constants: dict[str, ObjectType]
) -> str:
    init = []
    for predicate in given:
        for atom in ground_atoms(words, predicate):
            if predicate.returns == BOOL:
                init += [atom] if chance.coin() else []
            else:
                number = chance.pick(DATA[predicate.returns])
                shown = f"[{number[0]}, {number[1]}]" if isinstance(number, tuple) else str(number)
                init.append(f"(= {atom} {shown})")
    own = {name: type_ for name, type_ in words.objects.items() if name not in constants}
    return (
        f"(define (problem sample) (:domain random-sketch)\n(:objects {listed(own)})\n"
        f"(:init {' '.join(init)})\n(:goal {{goal}}))"
    )
