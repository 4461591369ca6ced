"""Where functions over codes say something else than the model does in a state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import prod
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.corrections import NetworkFunction
from pdsketch.abstract.andor.functions import CodeInput
from pdsketch.abstract.andor.translate import Translator
from pdsketch.kernels import Longs
from pdsketch.lang import Expr, Object, ObjectType, ValueType, Variable, free_variables, map_children, walk
from pdsketch.tensor import StateBatch

MOST_ROWS: Final = 4096
"""Combinations of objects for which a function is asked in a state; one of more is left out. Set by hand."""

WrongCase = tuple[NetworkFunction, Longs, Longs]
"""A function, the codes on its axes, and its results there."""


def wrong_cases(
    translator: Translator,
    state: StateBatch,
    owners: Collection[str],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> list[WrongCase]:
    """The cases that one state shows to be wrong, of functions of some actions and derived predicates.

    ``owners`` are the names of these actions and predicates, whose functions ``translator`` has put into
    rules; ``state`` is a batch of one, encoded. ``arguments`` are those of the action's parameters: objects
    and values. ``names`` are the objects of the state by the names that formulas have for them.
    """
    functions = {
        function.network.key: function.network
        for function in translator.functions.values()
        if function.owner in owners and function.network is not None
    }
    found = []
    for function in functions.values():
        inputs = list(dict.fromkeys(axis.input for axis in function.axes))
        given = _values(translator, state, inputs, arguments, names)
        if given is None:
            continue
        n = len(next(iter(given.values()))) if given else 1
        rows = _codes(translator, function, given, n)
        if rows is None:
            continue
        said = translator.corrected(function)(rows)
        device = translator.evaluator.programs.device
        done = function.answers({name: values[None].to(device) for name, values in given.items()}, n)
        differ = np.flatnonzero((said != done).any(1))
        cases = {(*rows[i].tolist(), *done[i].tolist()): i for i in differ.tolist()}
        found += [(function, rows[i], done[i]) for i in cases.values()]
    return found


def _values(
    translator: Translator,
    state: StateBatch,
    inputs: list[CodeInput],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> dict[str, Tensor] | None:
    """The values of inputs in a state, ``[n, *shape]`` each, for all objects; None: they are not known."""
    engine, universe = translator.model.engine, state.universe(0)
    objects = dict(_object_variables(inputs))
    members = [universe.members(v.type) for v in objects.values() if isinstance(v.type, ObjectType)]
    if prod(map(len, members)) > MOST_ROWS:
        return None
    n = prod(map(len, members))
    chosen = np.ones([len(m) for m in members], np.bool_)
    for axis, (name, own) in enumerate(zip(objects, members, strict=True)):
        if name in arguments:
            along = [len(own) if i == axis else 1 for i in range(len(members))]
            chosen &= np.array([o == arguments[name] for o in own], np.bool_).reshape(along)
    kept = torch.from_numpy(np.flatnonzero(chosen.reshape(-1)))
    found, run = {}, engine.open(state)
    for each in inputs:
        if isinstance(each.expr, Variable):
            if each.expr.name not in arguments:
                return None
            value = torch.as_tensor(arguments[each.expr.name])
            found[each.variable.name] = value.expand(len(kept), *value.shape)
            continue
        table = engine.table(run, _named(each.expr, names), list(objects.values()))[0]
        shape = tuple(table.shape[len(members) :])
        found[each.variable.name] = table.reshape(n, *shape).cpu()[kept]
    return found


def _object_variables(inputs: list[CodeInput]) -> Iterator[tuple[str, Variable]]:
    for each in inputs:
        free = free_variables(each.expr)
        for node in walk(each.expr):
            if isinstance(node, Variable) and node.name in free and isinstance(node.type, ObjectType):
                yield node.name, node


def _codes(
    translator: Translator, function: NetworkFunction, given: Mapping[str, Tensor], n: int
) -> Longs | None:
    """The codes of the values of inputs on the axes of a function; None: some have none."""
    columns = []
    for axis in function.axes:
        values, type_ = given[axis.input.variable.name], axis.input.type
        if axis.part is None:
            columns.append((values.reshape(n) > 0.5).numpy().astype(np.int64))
            continue
        if not len(axis.part.book):
            return None
        numbers = values.double().reshape(n, _size(type_)).numpy()
        columns.append(axis.part.book.nearest(numbers[:, list(axis.part.dimensions)]))
    return np.stack(columns, -1) if columns else np.zeros((n, 0), np.int64)


def _size(type_: ValueType) -> int:
    return prod(type_.shape or ())


def _named(expr: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(expr, Object):
        return Object(names.get(expr.name, expr.name), expr.type, expr.span)
    return map_children(expr, lambda part: _named(part, names))
