"""Expressions evaluated on values that are given, apart from any state.

What an expression reads is put into variables over values first; then it is evaluated for many
combinations of their values at once. A blank that is given a set is evaluated on sets of given elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.lang import TRUE, BlankCall, Expr, Update, ValueType, Variable
from pdsketch.tensor.compile.calls import SetArgument, call, gate
from pdsketch.tensor.compile.logic import CRISP, FuzzyLogic
from pdsketch.tensor.compile.node import INSTANCE, Axis, Node, Run
from pdsketch.tensor.compile.read import Binding
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.universe import ObjectLayout, Universe
from pdsketch.tensor.states.values import convert, harden

HELD: Final = "?held@"
"""The parameter that says which elements are in a set, ``[1, row, element]``."""


@final
class Detached:
    """Evaluates expressions of a model, crisply, whose only free variables are over values."""

    def __init__(self, model: Model) -> None:
        self._model = model
        universe = Universe.known(model.domain, dict(model.domain.constants))
        layout = ObjectLayout((universe,), torch.device(model.device))
        self._nothing = StateBatch(model.domain, layout, None, 1, {})
        self._lowering = model.engine.lowering(CRISP)

    @property
    def device(self) -> torch.device:
        """Where values are to be."""
        return torch.device(self._model.device)

    @property
    def gated(self) -> Set[str]:
        """The blanks whose network decides itself whether it writes."""
        return self._lowering.gated

    def value(
        self, expr: Expr, type_: ValueType, variables: Sequence[Variable], logic: FuzzyLogic = CRISP
    ) -> Node:
        """The program of an expression, as a value of a type that it may be assigned to.

        The ``variables`` of ``expr`` are parameters, its value is of ``type_``; softly, by another
        ``logic``, it says how sure it is.
        """
        return self._model.engine.lowering(logic).as_type(expr, type_, _scope(variables, (INSTANCE,)))

    def gate(self, update: Update, value: Expr, variables: Sequence[Variable]) -> Node | None:
        """When a network writes what an update without a condition assigns; None: always."""
        plain = replace(update, condition=TRUE, value=value)
        return self._lowering.condition(plain, _scope(variables, (INSTANCE,)))

    def of_sets(
        self,
        called: BlankCall,
        arguments: Sequence[Expr | None],
        body: Expr,
        outer: Sequence[Variable],
        inner: Sequence[Variable],
        size: int,
        wanted: ValueType | None,
    ) -> Node:
        """The program of a blank on sets of ``size`` places, of which `HELD` says which are in.

        ``called`` is the blank's call. Of its ``arguments``, the one that is None is the set, of which
        ``body`` is the value of an element; ``inner`` are the variables of the elements, ``[1, row, element,
        *value]``, ``outer`` those of the call, ``[1, row, *value]``. ``wanted`` is the type of the value;
        None: its gate.
        """
        callee = self._lowering.callee(called.blank)
        axis = Axis(1, ValueType("int64", (), size))
        scope = _scope(outer, (INSTANCE,))
        own = {**scope, **_scope(inner, (INSTANCE, axis))}
        held = Node((INSTANCE, axis), lambda run: run.parameters[HELD])
        given: list[Node | SetArgument] = []
        for argument, type_ in zip(arguments, callee.inputs, strict=True):
            if argument is None:
                given.append(SetArgument(self._lowering.as_type(body, type_, own), held, (axis,)))
            else:
                given.append(self._lowering.as_type(argument, type_, scope))
        if wanted is None:
            return gate(callee, given, CRISP)
        node, returned, type_ = call(callee, given, CRISP), called.type, wanted
        if returned.prim == type_.prim and returned.choices == type_.choices:
            return node
        return Node(node.axes, lambda run: convert(node(run), returned, type_))

    def run(self, node: Node, parameters: Mapping[str, Tensor], rows: int) -> Tensor:
        """The values of a program for rows of parameters, ``[1, row, …]`` each."""
        run = Run(self._nothing, self._model.blanks, checked=False).ground(parameters, rows)
        value = node(run)
        value = value if node.axes else value.unsqueeze(1)
        return value.expand(1, rows, *value.shape[2:])[0]


def _scope(variables: Sequence[Variable], axes: tuple[Axis, ...]) -> dict[str, Binding]:
    return {variable.name: _given(variable, axes) for variable in variables}


def _given(variable: Variable, axes: tuple[Axis, ...]) -> Node:
    name, type_ = variable.name, variable.type
    assert isinstance(type_, ValueType)
    return Node(axes, lambda run: harden(run.parameters[name], type_))
