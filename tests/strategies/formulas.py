"""Random well-typed formulas, as text."""

from __future__ import annotations

from typing import Any

from pdsketch.lang.types import ObjectType

from .choices import Choices
from .functions import Linear
from .vocabulary import BOOL, Signature, Vocabulary

Scope = dict[str, ObjectType | str]

RETURNS = {
    BOOL: "bool",
    "level": ("float", ()),
    "pose": ("float", (2,)),
    "kind": ("int", 3),
    "count": ("int", 4),
}
"""What a plain function of each value type of the strategies returns."""

ORDERED = ("level", "kind", "count", "number")
"""The value types that can be compared by ``<``."""


def formula(chance: Choices, words: Vocabulary, scope: Scope, depth: int) -> str:
    """A Boolean expression over the variables in scope."""
    shapes = ["atom", "atom", "literal", "equal"]
    if depth > 0:
        shapes += ["and", "or", "implies", "forall", "exists", "not"]
    shape = chance.pick(shapes)
    match shape:
        case "atom":
            return atom(chance, words, scope, depth)
        case "literal":
            return f"(not {atom(chance, words, scope, depth)})"
        case "equal":
            return _equal(chance, words, scope)
        case "and" | "or":
            parts = [formula(chance, words, scope, depth - 1) for _ in range(chance.number(0, 3))]
            return f"({' '.join([shape, *parts])})"
        case "implies":
            word = chance.pick(["imply", "implies"])
            left, right = (formula(chance, words, scope, depth - 1) for _ in range(2))
            return f"({word} {left} {right})"
        case "not":
            return f"(not {formula(chance, words, scope, depth - 1)})"
        case _:
            inner, binder = quantify(chance, words, scope)
            return f"({shape} ({binder}) {formula(chance, words, inner, depth - 1)})"


def literals(chance: Choices, words: Vocabulary, scope: Scope, most: int, *, depth: int = 0) -> str:
    """A conjunction of literals, most of them positive: what makes plans long."""
    return f"(and {' '.join(literal_list(chance, words, scope, most, depth=depth))})"


def literal_list(chance: Choices, words: Vocabulary, scope: Scope, most: int, *, depth: int = 0) -> list[str]:
    """The parts of such a conjunction."""
    parts = []
    for _ in range(chance.number(1, most)):
        part = atom(chance, words, scope, depth)
        parts.append(f"(not {part})" if chance.number(0, 3) == 3 else part)
    return parts


def quantify(
    chance: Choices, words: Vocabulary, scope: Scope, *, objects_only: bool = False
) -> tuple[Scope, str]:
    """A larger scope, and the variables it adds as a quantifier writes them.

    Now and then the first one has the name of an outer one, and hides it.
    """
    types: list[ObjectType | str] = [ObjectType((name,)) for name in words.hierarchy.names]
    if len(words.hierarchy.parents) > 1:
        types.append(ObjectType(tuple(words.hierarchy.parents)[::-1][:2]))
    if "kind" in words.values and not objects_only:
        types.append("kind")
    chosen = chance.some(types, 1, 2)
    names = [f"?v{len(scope) + i}" for i in range(len(chosen))]
    if scope and chance.number(0, 4) == 4:
        names[0] = chance.pick(sorted(scope))
    variables = dict(zip(names, chosen, strict=True))
    binder = " ".join(f"{name} - {type_}" for name, type_ in variables.items())
    return {**scope, **variables}, binder


def atom(chance: Choices, words: Vocabulary, scope: Scope, depth: int) -> str:
    """A predicate of terms in scope, a blank, or a comparison of values."""
    shapes = [p for p in words.usable(scope, BOOL) if depth > 0 or not _takes_values(p)]
    others = []
    if words.values:
        others += ["=", "<"]
    if words.values and depth > 0 and shapes:
        others.append("same")
    if words.blanks is not None:
        others.append("blank")
    if not shapes and not others:
        return chance.pick(["true", "false", "(and)", "(or)"])
    choice = chance.pick([*shapes, *others])
    match choice:
        case "=":
            return _compared(chance, words, scope, ["=", "equal", "eq"], sorted(words.values), depth)
        case "<":
            types = [type_ for type_ in ORDERED if type_ in words.values]
            return _compared(chance, words, scope, ["<", "<=", ">", ">="], types, depth)
        case "same":
            left, right = (applied(chance, words, scope, chance.pick(shapes), depth - 1) for _ in range(2))
            return f"(= {left} {right})"
        case "blank":
            return blank(chance, words, scope, BOOL, depth)
        case _:
            return applied(chance, words, scope, choice, depth)


def _compared(
    chance: Choices, words: Vocabulary, scope: Scope, ops: list[str], types: list[str], depth: int
) -> str:
    """Two values of one type, or an int beside a float that is not written as a number."""
    told = [t for t in types if words.usable(scope, t) or t in scope.values()]
    type_ = chance.pick(told if told and chance.number(0, 7) else types)
    left = value(chance, words, scope, type_, depth - 1)
    mixed = type_ == "level" and "count" in words.values and not left[-1].isdigit()
    if mixed and chance.number(0, 2) == 2:
        type_ = "count"
    right = value(chance, words, scope, type_, depth - 1)
    return f"({chance.pick(ops)} {left} {right})"


def applied(chance: Choices, words: Vocabulary, scope: Scope, predicate: Signature, depth: int) -> str:
    """``(p …)`` with terms that fit; now and then one that fits for some objects alone."""
    args = []
    for type_ in predicate.parameters:
        if isinstance(type_, str):
            args.append(value(chance, words, scope, type_, depth - 1))
            continue
        loose = predicate.returns == BOOL and chance.number(0, 7) == 7
        args.append(chance.pick((words.wider_terms if loose else words.terms)(scope, type_)))
    return f"({' '.join([predicate.name, *args])})"


def value(chance: Choices, words: Vocabulary, scope: Scope, type_: str, depth: int) -> str:
    """An expression of a value type."""
    plain: list[Any] = [name for name, own in scope.items() if own == type_]
    plain += [p for p in words.usable(scope, type_) if depth > 0 or not _takes_values(p)]
    compound = ["literal"]
    if depth > 0:
        compound += ["arithmetic"] if type_ in ("level", "pose", "count", "number") else []
        compound += ["component"] if type_ == "level" and "pose" in words.values else []
        compound += ["blank"] if words.blanks is not None and type_ != "count" else []
    choice = chance.pick([*plain, *plain, *compound])
    match choice:
        case "literal":
            return chance.pick(words.values[type_])
        case "arithmetic":
            left = value(chance, words, scope, type_, depth - 1)
            right = value(chance, words, scope, type_, depth - 1)
            half = "2" if type_ == "count" else "0.5"
            shapes = [f"(+ {left} {right})", f"(- {left} {right})", f"(- {left})", f"(* {half} {left})"]
            shapes += [f"(+ {left} {right} {left})"]
            shapes += [] if type_ == "count" else [f"(/ {left} 2)", f"(/ {left} -0.5)"]
            return chance.pick(shapes)
        case "component":
            return f"(component {value(chance, words, scope, 'pose', depth - 1)} {chance.number(0, 1)})"
        case "blank":
            return blank(chance, words, scope, type_, depth, stated=True)
        case Signature():
            return applied(chance, words, scope, choice, depth)
        case _:
            return choice


def blank(
    chance: Choices, words: Vocabulary, scope: Scope, returns: str, depth: int, *, stated: bool = False
) -> str:
    """``(??f …)`` of values, Booleans and sets; its plain function is noted with the vocabulary.

    What it returns is ``stated`` where its place may not tell.
    """
    assert words.blanks is not None
    simple = words.without("external")
    used = _used_again(chance, simple, scope, returns) if chance.number(0, 3) == 0 else None
    if used is not None:
        name, args = used
    else:
        args, types = [], []
        for _ in range(chance.number(0 if depth <= 0 else 1, 2)):
            types.append(chance.pick([BOOL, *sorted(words.values)]))
            over_sets = depth > 0 and chance.coin()
            args.append((_set if over_sets else _input)(chance, simple, scope, types[-1]))
        weights = tuple(chance.pick([1, -1, 2]) for _ in args)
        name = words.blanks.fresh(Linear(weights, chance.number(-1, 2), RETURNS[returns]))
        if all(_is_read(arg) for arg in args):
            words.blanks.plain[name] = (returns, tuple(types))
    head = f"??{name} [return_type={returns}]" if stated else f"??{name}"
    return f"({' '.join([head, *args])})"


def _used_again(
    chance: Choices, words: Vocabulary, scope: Scope, returns: str
) -> tuple[str, list[str]] | None:
    """A blank of this definition once more, with other arguments of the same types."""
    assert words.blanks is not None
    known = [name for name, (own, _) in words.blanks.plain.items() if own == returns]
    if not known:
        return None
    name = chance.pick(known)
    args = [_input(chance, words, scope, type_) for type_ in words.blanks.plain[name][1]]
    return (name, args) if all(map(_is_read, args)) else None


def _is_read(arg: str) -> bool:
    """Whether an argument is a predicate, which has the wanted type; a number may have another."""
    return (
        arg.startswith("(")
        and not arg.startswith(("(foreach", "(when"))
        and "??" not in arg
        and "::" not in arg
    )


def _input(chance: Choices, words: Vocabulary, scope: Scope, type_: str) -> str:
    found = words.usable(scope, type_, ("observed", "encoded", "derived", "raw"))
    found = [p for p in found if not _takes_values(p)]
    if found:
        return applied(chance, words, scope, chance.pick(found), 0)
    return "true" if type_ == BOOL else chance.pick(words.values[type_])


def _set(chance: Choices, words: Vocabulary, scope: Scope, type_: str) -> str:
    """A set of values: ``foreach``, ``when``, both, or the sugar for them."""
    shape = chance.pick(["foreach", "foreach-when", "when", "wildcard", "cond-select"])
    if shape in ("wildcard", "cond-select"):
        found = [p for p in words.usable(scope, type_) if p.parameters and not _takes_values(p)]
        if found:
            return _sugared_set(chance, words, scope, chance.pick(found), wildcard=shape == "wildcard")
    if shape == "when":
        return f"(when {_input(chance, words, scope, BOOL)} {_input(chance, words, scope, type_)})"
    inner, binder = quantify(chance, words, scope, objects_only=True)
    body = _input(chance, words, inner, type_)
    if shape == "foreach-when":
        body = f"(when {_input(chance, words, inner, BOOL)} {body})"
    return f"(foreach ({binder}) {body})"


def _sugared_set(
    chance: Choices, words: Vocabulary, scope: Scope, predicate: Signature, *, wildcard: bool
) -> str:
    """``(p ?x ??)`` or ``(p::cond-select ?x COND)``."""
    args = []
    for type_ in predicate.parameters:
        assert isinstance(type_, ObjectType)
        args.append("??" if wildcard and chance.coin() else chance.pick(words.terms(scope, type_)))
    if wildcard:
        args[-1] = "??"
        return f"({' '.join([predicate.name, *args])})"
    return f"({predicate.name}::cond-select {' '.join(args)} {_input(chance, words, scope, BOOL)})"


def _equal(chance: Choices, words: Vocabulary, scope: Scope) -> str:
    """``=`` of two terms, mostly of one object type."""
    terms = words.terms(scope, ObjectType(("object",)))
    if not terms:
        return "(and)"
    left = chance.pick(terms)
    known = {**words.objects, **scope}
    alike = [t for t in terms if known[t] == known[left] and t != left]
    right = chance.pick(terms if not alike or chance.number(0, 3) == 3 else alike)
    return f"(= {left} {right})"


def _takes_values(predicate: Signature) -> bool:
    return any(isinstance(type_, str) for type_ in predicate.parameters)
