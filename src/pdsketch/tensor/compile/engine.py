"""The tensor program of a domain, on batches: what the model, the trainer and the planners run.

A `Run` is one evaluation of one batch. Everything asked of the same run shares
what was computed: a planner opens one run for its frontier, asks for the goal,
then for each action's preconditions and successors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.lang import Action, Domain, Expr, ObjectType, Variable, unfold_all
from pdsketch.tensor.compile.blanks import Functions
from pdsketch.tensor.compile.effects import CompiledAction, compile_action
from pdsketch.tensor.compile.logic import CRISP, FuzzyLogic
from pdsketch.tensor.compile.lower import Lowering
from pdsketch.tensor.compile.node import Axis, Node, Run, aligned
from pdsketch.tensor.compile.read import ActionParameter, Along, Binding
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.universe import ObjectLayout


@final
@dataclass(frozen=True, slots=True, eq=False)
class GroundActions:
    """All ground instances of an action in the states of a layout, by its object parameters.

    ``places[?p]`` is ``[universe or 1, n]``: where the instance's object stands
    on the axis of the parameter's type. The instances of each universe are in the
    order of the axes, the last parameter changing fastest.
    """

    places: Mapping[str, Tensor]
    count: int

    def of(self, batch: StateBatch) -> dict[str, Tensor]:
        """The places for each state of a batch, ``[state or 1, n]``."""
        return {name: _by_row(table, batch) for name, table in self.places.items()}


def _by_row(table: Tensor, batch: StateBatch) -> Tensor:
    return table if batch.rows is None or table.shape[0] == 1 else table.index_select(0, batch.rows)


@final
class Engine:
    """The compiled forms of a domain's expressions and actions under each logic."""

    def __init__(self, domain: Domain, functions: Functions) -> None:
        self.domain = domain
        self.functions = functions
        self.kept: dict[str, object] = {}
        """What later rooms keep beside it, under names of theirs; it goes where this goes."""
        self._lowerings: dict[str, Lowering] = {}
        self._programs: dict[tuple[str, str], CompiledAction] = {}
        self._groundings: dict[tuple[int, str], tuple[ObjectLayout, GroundActions]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        """A program of its own for a copy of the functions; compiled forms are made again."""
        return Engine(self.domain, deepcopy(self.functions, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the compiled forms, which are closures."""
        return Engine, (self.domain, self.functions)

    def for_domain(self, domain: Domain) -> Engine:
        """The program of another domain with the same functions."""
        return Engine(domain, self.functions)

    def open(self, batch: StateBatch, *, checked: bool = True) -> Run:
        """Begin an evaluation of a batch. ``checked``: look for NaN in what modules return (on the CPU)."""
        return Run(batch, self.functions, checked=checked)

    def lowering(self, logic: FuzzyLogic) -> Lowering:
        """The nodes under a logic."""
        found = self._lowerings.get(logic.name)
        if found is None:
            found = self._lowerings[logic.name] = Lowering(self.domain, logic, self.functions.gated)
        return found

    def node(self, expr: Expr, logic: FuzzyLogic = CRISP) -> Node:
        """The node of a closed expression."""
        return self.lowering(logic).lower(expr)

    def grounded(self, expr: Expr, variables: Sequence[Variable], logic: FuzzyLogic = CRISP) -> Node:
        """The node of an expression whose variables are parameters, as those of an action are."""
        scope: dict[str, Binding] = {}
        for variable in variables:
            assert isinstance(variable.type, ObjectType)
            scope[variable.name] = ActionParameter(variable.name, variable.type)
        return self.lowering(logic).lower(expr, scope)

    def truth(self, run: Run, expr: Expr, logic: FuzzyLogic = CRISP) -> Tensor:
        """The truth of a closed formula in each state, ``[state]``; Boolean under `CRISP`."""
        value = self.node(expr, logic)(run)
        return value if value.shape[0] == run.batch.size else value.expand(run.batch.size, *value.shape[1:])

    def table(self, run: Run, expr: Expr, variables: Sequence[Variable], logic: FuzzyLogic = CRISP) -> Tensor:
        """The value of an open expression for all objects, ``[state, *variables, *value]``.

        ``run`` holds the states and what is computed of them already. ``variables`` are the free ones of
        ``expr``, in the order of the axes; ``logic`` is that of its connectives.
        """
        axes = tuple(Axis(depth, v.type) for depth, v in enumerate(variables))
        node = self.lowering(logic).lower(
            expr, {v.name: Along(a) for v, a in zip(variables, axes, strict=True)}
        )
        tensor = aligned(node, axes)(run)
        return tensor.expand(run.batch.size, *map(run.size, axes), *tensor.shape[1 + len(axes) :])

    def predicate(self, run: Run, name: str, logic: FuzzyLogic = CRISP) -> Tensor:
        """The values of a predicate, derived or not, ``[state, *objects, *value]``."""
        predicate = self.domain.predicates[name]
        tensor = self.lowering(logic).table(predicate)(run)
        sizes = [run.batch.layout.size(type_) for type_ in predicate.object_types]
        return tensor.expand(run.batch.size, *sizes, *tensor.shape[1 + len(sizes) :])

    def encode(self, run: Run, logic: FuzzyLogic) -> StateBatch:
        """The batch with every encoded predicate that it does not hold yet."""
        tensors = run.batch.tensors
        missing = [
            p.name for p in self.domain.predicates.values() if p.role == "encoded" and p.name not in tensors
        ]
        if not missing:
            return run.batch
        found = {name: self.predicate(run, name, logic).contiguous() for name in missing}
        return run.batch.with_tensors({**tensors, **found})

    def program(self, action: str, logic: FuzzyLogic = CRISP) -> CompiledAction:
        """The compiled action."""
        key = (action, logic.name)
        found = self._programs.get(key)
        if found is None:
            found = compile_action(self.domain.actions[action], self.lowering(logic))
            self._programs[key] = found
        return found

    def plain_program(self, action: str) -> CompiledAction:
        """The crisp action, derived predicates written out: blanks are asked about its arguments alone."""
        key = (action, "written out")
        if key not in self._programs:
            self._programs[key] = compile_action(
                _written_out(self.domain.actions[action], self.domain), self.lowering(CRISP)
            )
        return self._programs[key]

    def precondition(self, run: Run, action: str, logic: FuzzyLogic = CRISP) -> Tensor:
        """The precondition of each ground instance of a run, ``[state, instance]``."""
        return self.per_instance(run, self.program(action, logic).precondition)

    def cost(self, run: Run, action: str) -> Tensor | None:
        """What each ground instance costs, ``[state, instance]``; None: the action does not say."""
        node = self.program(action, CRISP).cost
        return None if node is None else self.per_instance(run, node)

    def per_instance(self, run: Run, node: Node) -> Tensor:
        """The value of a node of a program for each ground instance of a run, ``[state, instance]``."""
        value = node(run)
        if not node.axes:
            value = value.unsqueeze(1)
        return value.expand(run.batch.size, run.instances)

    def successors(
        self, run: Run, action: str, logic: FuzzyLogic = CRISP, keep: Tensor | None = None
    ) -> StateBatch:
        """The states after each ground instance: state 0 with all instances, then state 1, …

        The batch of ``run`` must be encoded, and its instances are those of ``action``, a name; ``logic``
        evaluates gates and values. ``keep``: places among these ``state · n + instance`` to return alone.
        """
        return self.after(run, self.program(action, logic), keep)

    def after(self, run: Run, program: CompiledAction, keep: Tensor | None = None) -> StateBatch:
        """The same for a program of an action."""
        batch = run.batch
        new = program.written(run)
        rest = {name: t for name, t in _carried(batch).items() if name not in new}
        if keep is not None:
            new = {name: tensor.index_select(0, keep) for name, tensor in new.items()}
            parents = keep if run.instances == 1 else torch.div(keep, run.instances, rounding_mode="floor")
            kept = batch.with_tensors(rest).select(parents)
            return kept.with_tensors({**kept.tensors, **new})
        if run.instances != 1:
            rest = {name: t.repeat_interleave(run.instances, 0) for name, t in rest.items()}
        return batch.with_tensors({**rest, **new}, batch.size * run.instances)

    def ground(self, batch: StateBatch, action: str) -> GroundActions:
        """All ground instances of an action by its object parameters; value parameters are left out."""
        key = (id(batch.layout), action)
        found = self._groundings.get(key)
        if found is None:
            if len(self._groundings) > 1024:
                self._groundings.clear()
            found = self._groundings[key] = (batch.layout, self._grounding(batch.layout, action))
        return found[1]

    def _grounding(self, layout: ObjectLayout, action: str) -> GroundActions:
        variables = [p for p in self.domain.actions[action].parameters if isinstance(p.type, ObjectType)]
        columns = []
        for universe in layout.universes:
            sizes = [len(universe.members(v.type)) for v in variables if isinstance(v.type, ObjectType)]
            grids = torch.meshgrid(*map(torch.arange, sizes), indexing="ij") if sizes else ()
            columns.append([grid.flatten() for grid in grids])
        count = max((len(column[0]) if column else 1 for column in columns), default=0)
        with torch.inference_mode(False):
            places = {}
            for i, variable in enumerate(variables):
                padded = [torch.nn.functional.pad(c[i], (0, count - len(c[i]))) for c in columns]
                table = torch.stack(padded).to(layout.device)
                alike = all(torch.equal(padded[0], other) for other in padded)
                places[variable.name] = table[:1].clone() if alike else table
        return GroundActions(places, count)


def _written_out(action: Action, domain: Domain) -> Action:
    effects = [
        replace(
            update,
            condition=unfold_all(update.condition, domain),
            value=None if update.value is None else unfold_all(update.value, domain),
        )
        for update in action.effects
    ]
    return replace(action, precondition=unfold_all(action.precondition, domain), effects=tuple(effects))


def _carried(batch: StateBatch) -> dict[str, Tensor]:
    """What is carried over a step: everything but what the encoder alone reads."""
    predicates = batch.domain.predicates
    return {name: t for name, t in batch.tensors.items() if predicates[name].is_state}
