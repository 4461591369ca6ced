"""What a fit looks at, prepared once: the packed episodes, their goals by family, and who reads what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Domain
from pdsketch.lang.load import parse_goal
from pdsketch.lang.terms import TRUE, Apply, Expr, walk
from pdsketch.lang.types import ObjectType, ValueType
from pdsketch.learn.alike import groups
from pdsketch.learn.columns import Array, width_of
from pdsketch.learn.goals import Reads, blanks_in, families, is_derived_table, signature
from pdsketch.learn.packed import Packed
from pdsketch.tensor.logic import CRISP, Logic
from pdsketch.tensor.lower import Lowering
from pdsketch.tensor.model import Model
from pdsketch.tensor.node import Node
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import Universe


@final
class Plan:
    """Who reads what, as arrays over goals (g), actions (a) and derived tables (t).

    ``family`` ``[g]``; ``slots`` ``[g, k]`` the table in each slot (−1: none);
    ``goal_wants`` ``[g + 1, t]`` and ``action_wants`` ``[a + 1, t]`` (the last row for no
    goal, for no action): the tables that must be computed, through others too.
    """

    def __init__(self, study: Study) -> None:
        reads, tables = study.reads, study.tables
        number = {name: at for at, name in enumerate(tables)}
        self.family = np.zeros(len(study.goals), dtype=np.int64)
        most = max((len(m) for f in study.families for m in f.members.values()), default=0)
        self.slots = np.full((len(study.goals), most), -1, dtype=np.int64)
        for at, family in enumerate(study.families):
            for goal, names in family.members.items():
                self.family[goal] = at
                self.slots[goal, : len(names)] = [number[name] for name in names]
        self.direct = [sorted(_direct_reads(study, f.skeleton)) for f in study.families]
        self.goal_wants = np.zeros((len(study.goals) + 1, len(tables)), dtype=np.bool_)
        for at, formula in enumerate(study.goals):
            self.goal_wants[at, [number[name] for name in reads.tables([formula])]] = True
        self.action_tables = [[number[n] for n in reads.action_tables(a.name)] for a in study.actions]
        self.action_wants = np.zeros((len(study.actions) + 1, len(tables)), dtype=np.bool_)
        for at, wanted in enumerate(self.action_tables):
            self.action_wants[at, wanted] = True
        self.action_reads = [sorted(reads.effects(a.name)) for a in study.actions]
        self.table_reads = [reads.predicate(name) for name in tables]
        self.callees = [_callees(study, name, number) for name in tables]
        self.signatures = [signature(study.domain.predicates[name]) for name in tables]


def _tables_in_order(domain: Domain) -> list[str]:
    order = [name for component in domain.components for name in component]
    return [name for name in order if is_derived_table(domain, name)]


def _callees(study: Study, name: str, number: dict[str, int]) -> list[int]:
    """The tables that a table reads; none for a fixpoint, which computes what it needs itself."""
    body = study.domain.predicates[name].body
    if body is None or name in study.domain.recursive:
        return []
    return [number[n] for n in study.reads.tables([body]) if n != name]


def _direct_reads(study: Study, skeleton: Expr) -> frozenset[str]:
    """The state variables that a skeleton reads beside its slots."""
    named = {n.predicate for n in walk(skeleton) if isinstance(n, Apply) and not n.predicate.startswith("$")}
    return frozenset[str]().union(*(study.reads.predicate(name) for name in named))


@final
class Study:
    """A model and the episodes that it is trained or measured on.

    ``tables`` are the domain's derived tables, callees first. What are called states
    here are examples of ``packed``. ``executed`` says of each whether
    its action was really carried out, so that what follows can be learned from:
    by ``executable``, else by a precondition without blanks.
    """

    def __init__(self, model: Model, packed: Packed) -> None:
        self.model = model
        self.engine = model.engine
        self.domain = model.domain
        self.packed = packed
        self.reads = Reads(model.domain)
        self.goals = self._goals()
        self.families = families(model.domain, self.goals)
        self.actions = [model.domain.actions[name] for name in packed.columns.actions]
        self.tables = _tables_in_order(model.domain)
        self.plan = Plan(self)
        self.alike = groups(self, range(len(self.tables)))
        self._skeletons: dict[tuple[str, int], Node] = {}
        self._nodes: dict[tuple[str, int], Node] = {}
        self.executed = self._executed()

    def _goals(self) -> list[Expr]:
        """The goals as terms, each with the objects of an episode that it is about.

        One that no episode was judged by may be about any objects, and there is nothing to ask it of.
        """
        columns = self.packed.columns
        used, first = np.unique(columns.goal, return_index=True)
        universe = dict(zip(used.tolist(), columns.universe[columns.owner[first]].tolist(), strict=True))
        return [
            self._goal(text, columns.universes[universe[at]]) if at in universe else TRUE
            for at, text in enumerate(columns.goals)
        ]

    def _goal(self, text: str, universe: Universe) -> Expr:
        goal = parse_goal(text, self.domain, universe.types)
        for name in sorted(self.reads.expression(goal)):
            if self.domain.predicates[name].role == "raw":
                raise error(
                    "absent-predicate",
                    f"the goal reads `{name}`, which only the encoder reads: it is absent after a step",
                    help="write the goal over encoded or carried predicates",
                )
        return goal

    def skeleton(self, at: int, logic: Logic) -> Node:
        """The node of a family's skeleton."""
        key = (logic.name, at)
        if key not in self._skeletons:
            family = self.families[at]
            self._skeletons[key] = Lowering(family.domain, logic).lower(family.skeleton)
        return self._skeletons[key]

    def table_node(self, table: int, logic: Logic) -> Node:
        """The node of a derived table."""
        key = (logic.name, table)
        if key not in self._nodes:
            predicate = self.domain.predicates[self.tables[table]]
            self._nodes[key] = self.engine.lowering(logic).table(predicate)
        return self._nodes[key]

    def batch(self, states: Array, tensors: dict[str, Tensor], at: Tensor | None = None) -> StateBatch:
        """A batch over the objects of some states of the data, at these places, with the given values."""
        whole, rows = self.packed.states, None
        if whole.rows is not None:
            rows = whole.rows.index_select(0, self.packed.rows(states) if at is None else at)
        return StateBatch(self.domain, whole.layout, rows, len(states), tensors)

    def observed(self, states: Array, names: Iterable[str]) -> dict[str, Tensor]:
        """What the data says of some predicates in some states."""
        at = self.packed.rows(states)
        tensors = self.packed.states.tensors
        return {name: tensors[name].index_select(0, at) for name in names if name in tensors}

    def parameters(self, action: int, states: Array) -> dict[str, Tensor]:
        """The arguments of the action that was taken in each of some states."""
        at = self.packed.rows(states)
        found, used = {}, 0
        for place, parameter in enumerate(self.actions[action].parameters):
            if isinstance(parameter.type, ObjectType):
                found[parameter.name] = self.packed.arguments[:, place].index_select(0, at).unsqueeze(1)
                continue
            width = width_of(parameter.type)
            numbers = self.packed.numbers[:, used : used + width].index_select(0, at)
            found[parameter.name] = _typed(numbers, parameter.type)
            used += width
        return found

    @torch.no_grad()
    def _executed(self) -> Array:
        packed = self.packed
        executed: Array = (packed.action >= 0) & (packed.executable != 0)
        for at, action in enumerate(self.actions):
            if self.has_blanks(action.precondition):
                continue
            asked = np.flatnonzero((packed.action == at) & (packed.executable < 0) & packed.once)
            for some in np.array_split(asked, max(1, len(asked) // 4096)):
                if not len(some):
                    continue
                names = self.reads.expression(action.precondition)
                run = self.engine.open(self.batch(some, self.observed(some, names)))
                ground = run.ground(self.parameters(at, some), 1)
                executed[some] = self.engine.precondition(ground, action.name, CRISP)[:, 0].cpu().numpy()
        first = np.flatnonzero(packed.once)
        found: Array = executed[first[packed.state]]
        return found

    def has_blanks(self, expr: Expr) -> bool:
        """Whether an expression calls a blank, through derived predicates too."""
        return bool(blanks_in(self.domain, expr))


def _typed(numbers: Tensor, type_: ValueType) -> Tensor:
    """Value arguments ``[n, width]`` as ``[n, 1, *shape]`` of their type."""
    value = numbers.reshape(len(numbers), 1, *(type_.shape or ()))
    if type_.prim == "float32":
        return value
    return value.round().to(torch.bool if type_.prim == "bool" else torch.int64)
