"""Random sketches: values, encoded predicates, external functions, and blanks with plain functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from pdsketch.lang.types import Hierarchy, ObjectType

from .classical import declared_types, ground_atoms, listed, recursive_predicates
from .formulas import RETURNS, Draw, Scope, blank, formula, value
from .functions import Linear
from .sample import Sample
from .vocabulary import BOOL, Blanks, Signature, Vocabulary

HIERARCHY = Hierarchy({"item": ("object",), "robot": ("object",), "box": ("item",)})
VALUE_TYPES = "level - float32 pose - vector[float32, 2, tolerance=0.3] kind - int64[choices=3] count - int64"
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

    def within(self, prefix: str) -> Vocabulary:
        """The vocabulary inside one definition: raw predicates are the encoder's, blanks are its own."""
        return replace(self.words.without("raw"), blanks=Blanks(prefix, self.functions))


@st.composite
def sketch(draw: Draw, *, value_parameters: bool = True) -> Sample:
    """A sketch, a problem for it, and a plain function for each blank and external predicate."""
    objects = _objects(draw)
    constants = dict(list(objects.items())[: draw(st.integers(0, 1))])
    observed = _observed(draw)
    author = _Author(Vocabulary(HIERARCHY, constants, observed, LITERALS))
    externals = tuple(draw(st.lists(st.sampled_from(EXTERNALS), unique=True, max_size=3)))
    for external in externals:
        weights = tuple(draw(st.sampled_from([1, -1, 2])) for _ in external.parameters)
        author.functions[external.name] = Linear(weights, draw(st.integers(-1, 1)), RETURNS[external.returns])
    raw, encoded = _encoders(draw, author)
    author.words = author.words.with_predicates(*externals, *encoded)
    _derived(draw, author)
    for i in range(draw(st.integers(1, 3))):
        _action(draw, author, f"act{i}", encoded if i == 0 else (), value_parameters)
    domain = "\n".join(
        [
            "(define (domain random-sketch)",
            f"(:types {declared_types(HIERARCHY)} {VALUE_TYPES})",
            *([f"(:constants {listed(constants)})"] if constants else []),
            f"(:predicates {' '.join(p.header for p in (*observed, *raw, *externals))})",
            *author.blocks,
            ")",
        ]
    )
    whole = replace(author.words.without("raw"), objects=objects)
    problem = _problem(draw, whole, (*observed, *raw), constants)
    formulas = tuple(formula(draw, whole, {}, 2) for _ in range(2))
    return Sample(domain, problem, formulas, author.functions, {"pose": DATA["pose"], "level": DATA["level"]})


def _objects(draw: Draw) -> dict[str, ObjectType]:
    types = ["item", *draw(st.lists(st.sampled_from(["item", "robot", "box"]), max_size=3))]
    return {f"o{i}": ObjectType((name,)) for i, name in enumerate(types)}


def _object_types(draw: Draw, most: int) -> tuple[ObjectType, ...]:
    names = draw(st.lists(st.sampled_from(["item", "item", "robot", "box", "object"]), max_size=most))
    return tuple(ObjectType((name,)) for name in names)


def _observed(draw: Draw) -> tuple[Signature, ...]:
    booleans = [Signature(f"b{i}", _object_types(draw, 2)) for i in range(draw(st.integers(1, 2)))]
    returns = draw(st.lists(st.sampled_from(sorted(LITERALS)), min_size=1, max_size=3))
    values = [Signature(f"v{i}", _object_types(draw, 2), type_) for i, type_ in enumerate(returns)]
    return (*booleans, *values)


def _encoders(draw: Draw, author: _Author) -> tuple[tuple[Signature, ...], tuple[Signature, ...]]:
    """Raw predicates, and the predicates that blanks compute from them."""
    item = (ObjectType(("item",)),)
    raw, encoded = [], []
    for i, returns in enumerate(draw(st.lists(st.sampled_from([BOOL, "pose", "kind", "level"]), max_size=2))):
        source = Signature(f"raw{i}", item, draw(st.sampled_from(["pose", "level", BOOL])), "raw")
        target = Signature(f"e{i}", item, returns, "encoded")
        function = Linear((draw(st.sampled_from([1, -1])),), draw(st.integers(-1, 1)), RETURNS[returns])
        author.functions[f"derived::{target.name}::f"] = function
        author.blocks.append(f"(:derived {target.header} (??f ({source.name} ?x0)))")
        raw.append(source)
        encoded.append(target)
    return tuple(raw), tuple(encoded)


def _derived(draw: Draw, author: _Author) -> None:
    """Derived predicates: of any type, over objects and values, and recursive Boolean ones."""
    for i in range(draw(st.integers(0, 2))):
        returns = draw(st.sampled_from([BOOL, BOOL, "level", "pose", "kind"]))
        over_value = ("pose",) if draw(st.integers(0, 3)) == 0 else ()
        signature = Signature(f"d{i}", (*_object_types(draw, 2), *over_value), returns, "derived")
        words = author.within(f"derived::{signature.name}")
        write = formula(draw, words, signature.scope, 2) if returns == BOOL else None
        body = write or value(draw, words, signature.scope, returns, 2)
        author.blocks.append(f"(:derived {signature.header} {body})")
        author.words = author.words.with_predicates(signature)
    if draw(st.booleans()):
        plain = tuple(p for p in author.words.predicates if p.role == "observed" and p.returns == BOOL)
        words, texts = recursive_predicates(draw, replace(author.words, predicates=plain, values={}), 9)
        author.blocks += texts
        author.words = author.words.with_predicates(*words.predicates[len(plain) :])


def _action(
    draw: Draw, author: _Author, name: str, must_assign: tuple[Signature, ...], value_parameters: bool
) -> None:
    over_value = (draw(st.sampled_from(["kind", "pose"])),) if draw(st.integers(0, 2)) == 0 else ()
    parameters = (*_object_types(draw, 2), *(over_value if value_parameters else ()))
    header = Signature(name, parameters)
    words, scope = author.within(f"action::{name}"), header.scope
    possible = [p for p in words.predicates if p.role in ("observed", "encoded")]
    chosen = draw(
        st.lists(st.sampled_from(possible), unique=True, min_size=0 if must_assign else 1, max_size=3)
    )
    targets = [*must_assign, *(p for p in chosen if p not in must_assign)]
    effects = [_effect(draw, words, scope, target) for target in targets]
    condition = formula(draw, words, scope, 1) if draw(st.booleans()) else "(and)"
    author.blocks.append(
        f"(:action {name}\n  :parameters ({' '.join(header.typed_parameters)})\n"
        f"  :precondition {condition}\n  :effect (and {' '.join(effects)}))"
    )


def _effect(draw: Draw, words: Vocabulary, scope: Scope, target: Signature) -> str:
    """One update of a predicate, for the action's own objects or for all objects.

    The bound variables are exactly the target's arguments, so that no two
    instances write one variable.
    """
    own = [words.terms(scope, type_) for type_ in target.parameters if isinstance(type_, ObjectType)]
    if all(own) and draw(st.booleans()):
        args, inner, binder = [draw(st.sampled_from(terms)) for terms in own], scope, None
    else:
        added = {f"?y{i}": type_ for i, type_ in enumerate(target.parameters)}
        args, inner = list(added), {**scope, **added}
        binder = " ".join(f"{variable} - {type_}" for variable, type_ in added.items()) or None
    written = _write(draw, words, inner, target, args)
    if draw(st.booleans()):
        written = f"(when {formula(draw, words, inner, 1)} {written})"
    if binder is not None:
        written = f"({draw(st.sampled_from(['foreach', 'forall']))} ({binder}) {written})"
    return written


def _write(draw: Draw, words: Vocabulary, scope: Scope, target: Signature, args: list[str]) -> str:
    atom = f"({' '.join([target.name, *args])})"
    if target.returns == BOOL:
        shape = draw(st.sampled_from(["add", "delete", "assign", "assign"]))
        if shape != "assign":
            return atom if shape == "add" else f"(not {atom})"
        new = formula(draw, words, scope, 1)
    elif target.returns == "count" or draw(st.booleans()):
        new = value(draw, words, scope, target.returns, 1)
    else:
        new = blank(draw, words, scope, target.returns, 1)
    if draw(st.booleans()):
        return f"({target.name}::assign {' '.join([*args, new])})"
    return f"(assign {atom} {new})"


def _problem(
    draw: Draw, words: Vocabulary, given: tuple[Signature, ...], constants: dict[str, ObjectType]
) -> str:
    init = []
    for predicate in given:
        for atom in ground_atoms(words, predicate):
            if predicate.returns == BOOL:
                init += [atom] if draw(st.booleans()) else []
            else:
                number = draw(st.sampled_from(DATA[predicate.returns]))
                shown = f"[{number[0]}, {number[1]}]" if isinstance(number, tuple) else str(number)
                init.append(f"(= {atom} {shown})")
    own = {name: type_ for name, type_ in words.objects.items() if name not in constants}
    return (
        f"(define (problem sample) (:domain random-sketch)\n(:objects {listed(own)})\n"
        f"(:init {' '.join(init)})\n(:goal {formula(draw, replace(words, blanks=None), {}, 2)}))"
    )
