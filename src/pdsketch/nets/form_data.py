"""Plain data → forms. What comes from elsewhere is checked before a form is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from pdsketch.nets.clauses import ClauseForm
from pdsketch.nets.forms import (
    Base,
    BlankForm,
    Column,
    ComponentForm,
    Condition,
    CountForm,
    LinearForm,
    Node,
    TableForm,
    TreeForm,
    Value,
    component,
    element,
)
from pdsketch.nets.readings import InputReading, reading_of
from pdsketch.nets.signature import Signature, Spec

DEEPEST: Final = 64
"""No tree is deeper."""


class _WrongError(Exception):
    """These data describe no form."""


def form_of(signature: Signature, given: Any) -> BlankForm | None:
    """The form that plain data describe; None where they describe none of this signature."""
    try:
        return _form(signature, given)
    except _WrongError:
        return None


def _form(signature: Signature, given: Any) -> BlankForm:
    _need(isinstance(given, dict))
    sets = [at for at, one in enumerate(signature.inputs) if one.is_set]
    match given.get("kind"):
        case "tree":
            return _tree(signature, given)
        case "table":
            return _table(signature, given)
        case "linear":
            columns = _columns(signature, given.get("columns"))
            matrix = _values(signature, given.get("matrix"), free=True)
            _need(signature.output.prim == "float" or signature.output == Spec("bool"))
            _need(len(matrix) == 1 + len(columns))
            return LinearForm(signature, columns, matrix, _base(signature, given.get("base")))
        case "clauses":
            _need(signature.output == Spec("bool"))
            listed = [_list(clause) for clause in _list(given.get("clauses"))]
            return ClauseForm(signature, [[_test(signature, one) for one in clause] for clause in listed])
        case "at-least":
            at, count, few = given.get("set"), given.get("count"), given.get("few")
            _need(len(sets) == 1 and at == sets[0] and type(count) is int and count > 0)
            _need(isinstance(few, bool) and signature.output == Spec("bool"))
            own, other = element(signature, sets[0]), given.get("against")
            against = None if other is None else _form(own, other)
            return CountForm(
                signature, sets[0], _form(own, given.get("element")), count, few=few, against=against
            )
        case "componentwise":
            _need(bool(signature.output.shape) and signature.output.prim != "float")
            parts = [_form(component(signature), one) for one in _list(given.get("parts"))]
            _need(len(parts) == signature.output.size)
            return ComponentForm(signature, parts)
        case _:
            pass
    raise _WrongError


def _tree(signature: Signature, given: dict[str, Any]) -> TreeForm:
    base = _base(signature, given.get("base"))
    tests = [_test(signature, one) for one in _list(given.get("tests"))]
    leaves = _values(signature, given.get("leaves"))

    def node(one: Any, depth: int = 0) -> Node:
        _need(depth < DEEPEST)
        if isinstance(one, list):
            _need(len(one) == 3 and _is_place(one[0], tests))
            return one[0], node(one[1], depth + 1), node(one[2], depth + 1)
        _need(_is_place(one, leaves))
        found: int = one
        return found

    return TreeForm(signature, tests, node(given.get("node")), leaves, base)


def _table(signature: Signature, given: dict[str, Any]) -> TableForm:
    keys = [_reading(signature, one) for one in _list(given.get("keys"))]
    rows = {}
    for row in _list(given.get("rows")):
        _need(isinstance(row, list) and len(row) == 2)
        codes = tuple(_list(row[0]))
        _need(len(codes) == len(keys) and all(type(code) is int and abs(code) < 1 << 24 for code in codes))
        rows[codes] = _values(signature, [row[1]])[0]
    _need(bool(keys) and bool(rows))
    otherwise = _values(signature, [given.get("otherwise")])[0]
    return TableForm(signature, keys, rows, otherwise, _base(signature, given.get("base")))


def _test(signature: Signature, given: Any) -> Condition:
    _need(isinstance(given, list) and len(given) == 4 and isinstance(given[3], bool))
    return Condition(_reading(signature, given[0]), _number(given[1]), _number(given[2]), given[3])


def _reading(signature: Signature, given: Any) -> InputReading:
    found = reading_of(given, signature)
    if found is None:
        raise _WrongError
    return found


def _columns(signature: Signature, given: Any) -> list[Column]:
    found: list[Column] = []
    for one in _list(given):
        _need(isinstance(one, list) and len(one) == 2)
        found.append((_reading(signature, one[0]), None if one[1] is None else _number(one[1])))
    return found


def _values(signature: Signature, given: Any, *, free: bool = False) -> list[Value]:
    """Values of the output: numbers of any kind, codes or truths that there are."""
    output, found = signature.output, []
    most = None if output.prim == "float" or free else (output.choices or 2)
    for one in _list(given):
        value = tuple(_number(number) for number in _list(one))
        _need(len(value) == output.size)
        _need(most is None or all(number == int(number) and 0 <= number < most for number in value))
        found.append(value)
    _need(bool(found))
    return found


def _base(signature: Signature, given: Any) -> Base | None:
    """An argument of the type of the output, or an int of one that has as many choices."""
    if given is None:
        return None
    _need(isinstance(given, list) and len(given) == 2 and _is_place(given[0], signature.inputs))
    own, output, place = signature.inputs[given[0]].spec, signature.output, given[1]
    if output.prim == "float":
        _need(own == output and place is None)
    else:
        _need(output.is_categorical and own.is_categorical and own.choices == output.choices)
        _need(type(place) is int and 0 <= place < own.size)
    return Base(given[0], place)


def _list(given: Any) -> list[Any]:
    _need(isinstance(given, list))
    found: list[Any] = given
    return found


def _number(given: Any) -> float:
    _need(isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given))
    return float(given)


def _is_place(given: Any, among: Sequence[Any]) -> bool:
    return type(given) is int and 0 <= given < len(among)


def _need(holds: bool) -> None:
    if not holds:
        raise _WrongError
