"""Random well-typed formulas, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from pdsketch.lang.types import ObjectType

from .functions import Linear
from .vocabulary import BOOL, Signature, Vocabulary

Draw = Callable[[st.SearchStrategy[Any]], Any]
Scope = dict[str, ObjectType | str]

RETURNS = {
    BOOL: "bool",
    "level": ("float", ()),
    "pose": ("float", (2,)),
    "kind": ("int", 3),
    "count": ("int", 4),
}
"""What a plain function of each value type of the strategies returns."""


def formula(draw: Draw, words: Vocabulary, scope: Scope, depth: int) -> str:
    """A Boolean expression over the variables in scope."""
    shapes = ["atom", "atom", "literal", "equal"]
    if depth > 0:
        shapes += ["and", "or", "implies", "forall", "exists", "not"]
    shape = draw(st.sampled_from(shapes))
    match shape:
        case "atom":
            return atom(draw, words, scope, depth)
        case "literal":
            return f"(not {atom(draw, words, scope, depth)})"
        case "equal":
            return _equal(draw, words, scope)
        case "and" | "or":
            parts = [formula(draw, words, scope, depth - 1) for _ in range(draw(st.integers(0, 3)))]
            return f"({' '.join([shape, *parts])})"
        case "implies":
            word = draw(st.sampled_from(["imply", "implies"]))
            left, right = (formula(draw, words, scope, depth - 1) for _ in range(2))
            return f"({word} {left} {right})"
        case "not":
            return f"(not {formula(draw, words, scope, depth - 1)})"
        case _:
            inner, binder = quantify(draw, words, scope)
            return f"({shape} ({binder}) {formula(draw, words, inner, depth - 1)})"


def quantify(draw: Draw, words: Vocabulary, scope: Scope, *, objects_only: bool = False) -> tuple[Scope, str]:
    """A larger scope, and the variables it adds as a quantifier writes them."""
    types: list[ObjectType | str] = [ObjectType((name,)) for name in words.hierarchy.names]
    if "kind" in words.values and not objects_only:
        types.append("kind")
    chosen = draw(st.lists(st.sampled_from(types), min_size=1, max_size=2))
    variables = {f"?v{len(scope) + i}": type_ for i, type_ in enumerate(chosen)}
    binder = " ".join(f"{name} - {type_}" for name, type_ in variables.items())
    return {**scope, **variables}, binder


def atom(draw: Draw, words: Vocabulary, scope: Scope, depth: int) -> str:
    """A predicate of terms in scope, a blank, or a comparison of values."""
    shapes = [p for p in words.usable(scope, BOOL) if depth > 0 or not _takes_values(p)]
    others = []
    if words.values:
        others += ["=", "<"]
    if words.blanks is not None:
        others.append("blank")
    if not shapes and not others:
        return draw(st.sampled_from(["true", "false", "(and)", "(or)"]))
    choice = draw(st.sampled_from([*shapes, *others]))
    match choice:
        case "=":
            type_ = draw(st.sampled_from(sorted(words.values)))
            left, right = (value(draw, words, scope, type_, depth - 1) for _ in range(2))
            return f"({draw(st.sampled_from(['=', 'equal', 'eq']))} {left} {right})"
        case "<":
            type_ = draw(st.sampled_from(["level", "kind", "count"]))
            left, right = (value(draw, words, scope, type_, depth - 1) for _ in range(2))
            return f"({draw(st.sampled_from(['<', '<=', '>', '>=']))} {left} {right})"
        case "blank":
            return blank(draw, words, scope, BOOL, depth)
        case _:
            return applied(draw, words, scope, choice, depth)


def applied(draw: Draw, words: Vocabulary, scope: Scope, predicate: Signature, depth: int) -> str:
    """``(p …)`` with terms that fit."""
    args = [
        value(draw, words, scope, type_, depth - 1)
        if isinstance(type_, str)
        else draw(st.sampled_from(words.terms(scope, type_)))
        for type_ in predicate.parameters
    ]
    return f"({' '.join([predicate.name, *args])})"


def value(draw: Draw, words: Vocabulary, scope: Scope, type_: str, depth: int) -> str:
    """An expression of a value type."""
    plain: list[Any] = [name for name, own in scope.items() if own == type_]
    plain += [p for p in words.usable(scope, type_) if depth > 0 or not _takes_values(p)]
    compound = ["literal"]
    if depth > 0:
        compound += ["arithmetic"] if type_ in ("level", "pose", "count") else []
        compound += ["blank"] if words.blanks is not None and type_ != "count" else []
    choice = draw(st.sampled_from([*plain, *plain, *compound]))
    match choice:
        case "literal":
            return draw(st.sampled_from(words.values[type_]))
        case "arithmetic":
            left = value(draw, words, scope, type_, depth - 1)
            right = value(draw, words, scope, type_, depth - 1)
            half = "2" if type_ == "count" else "0.5"
            return draw(
                st.sampled_from(
                    [f"(+ {left} {right})", f"(- {left} {right})", f"(- {left})", f"(* {half} {left})"]
                )
            )
        case "blank":
            return blank(draw, words, scope, type_, depth)
        case Signature():
            return applied(draw, words, scope, choice, depth)
        case _:
            return choice


def blank(draw: Draw, words: Vocabulary, scope: Scope, returns: str, depth: int) -> str:
    """``(??f …)`` of values, Booleans and sets; its plain function is noted with the vocabulary."""
    assert words.blanks is not None
    simple = words.without("external")
    args = []
    for _ in range(draw(st.integers(0 if depth <= 0 else 1, 2))):
        type_ = draw(st.sampled_from([BOOL, *sorted(words.values)]))
        over_sets = depth > 0 and draw(st.booleans())
        args.append(_set(draw, simple, scope, type_) if over_sets else _input(draw, simple, scope, type_))
    weights = tuple(draw(st.sampled_from([1, -1, 2])) for _ in args)
    name = words.blanks.fresh(Linear(weights, draw(st.integers(-1, 2)), RETURNS[returns]))
    return f"({' '.join([f'??{name}', *args])})"


def _input(draw: Draw, words: Vocabulary, scope: Scope, type_: str) -> str:
    found = words.usable(scope, type_, ("observed", "encoded", "derived", "raw"))
    found = [p for p in found if not _takes_values(p)]
    if found:
        return applied(draw, words, scope, draw(st.sampled_from(found)), 0)
    return "true" if type_ == BOOL else draw(st.sampled_from(words.values[type_]))


def _set(draw: Draw, words: Vocabulary, scope: Scope, type_: str) -> str:
    """A set of values: ``foreach`` with or without ``when``, or ``when`` alone."""
    shape = draw(st.sampled_from(["foreach", "foreach-when", "when"]))
    if shape == "when":
        return f"(when {_input(draw, words, scope, BOOL)} {_input(draw, words, scope, type_)})"
    inner, binder = quantify(draw, words, scope, objects_only=True)
    body = _input(draw, words, inner, type_)
    if shape == "foreach-when":
        body = f"(when {_input(draw, words, inner, BOOL)} {body})"
    return f"(foreach ({binder}) {body})"


def _equal(draw: Draw, words: Vocabulary, scope: Scope) -> str:
    """``=`` of two terms of one object type."""
    terms = words.terms(scope, ObjectType(("object",)))
    if not terms:
        return "(and)"
    left = draw(st.sampled_from(terms))
    known = {**words.objects, **scope}
    right = draw(st.sampled_from([t for t in terms if known[t] == known[left]]))
    return f"(= {left} {right})"


def _takes_values(predicate: Signature) -> bool:
    return any(isinstance(type_, str) for type_ in predicate.parameters)
