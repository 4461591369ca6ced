"""What a fit looks at, prepared once: the data set, its goals by family, and who reads what."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import (
    TRUE,
    Apply,
    BlankCall,
    Domain,
    Expr,
    Object,
    ObjectType,
    Predicate,
    ValueType,
    error,
    map_children,
    rename_bound,
)
from pdsketch.nets import BooleanNet, is_free
from pdsketch.tensor import CRISP, FuzzyLogic, Model, Node, StateBatch, Universe, presented
from pdsketch.training.data.device_dataset import DeviceDataset
from pdsketch.training.data.episode_arrays import Array, width_of

# Goals that differ only in their predicates are evaluated together. ``(exists (?o - item) (and (is-red ?o)
# (is-box ?o)))`` and the same with *blue* and *key* have one skeleton, ``(exists (?o - item) (and ($0 ?o)
# ($1 ?o)))``. Each derived predicate is computed once, for the states whose goals mention it; then the
# skeleton is evaluated once for all of them, on tables whose rows come from the predicate that the row's
# goal names.


@final
@dataclass(frozen=True, eq=False)
class Family:
    """Goals of one skeleton.

    ``domain`` declares the skeleton's slots ``$0``, ``$1`` … as if they were
    observed. ``members`` maps each goal's index to the predicates in the slots.
    """

    skeleton: Expr
    domain: Domain
    members: dict[int, tuple[str, ...]]


def families(domain: Domain, goals: Iterable[Expr]) -> list[Family]:
    """The goals, grouped by skeleton."""
    found: dict[Hashable, Family] = {}
    for at, goal in enumerate(goals):
        slots: dict[str, int] = {}
        skeleton = _skeleton(goal, domain, slots)
        signatures = tuple(signature(domain.predicates[name]) for name in slots)
        family = found.get((skeleton, signatures))
        if family is None:
            declared = [
                Predicate(
                    f"${i}", domain.predicates[name].parameters, domain.predicates[name].type, "observed"
                )
                for i, name in enumerate(slots)
            ]
            wider = replace(domain, predicates={**domain.predicates, **{p.name: p for p in declared}})
            family = found[skeleton, signatures] = Family(skeleton, wider, {})
        family.members[at] = tuple(slots)
    return list(found.values())


def kinds(domain: Domain, goals: Iterable[Expr]) -> list[list[int]]:
    """The goals by what they ask of which predicates, whatever the objects; of those over several derived
    predicates at once (a red box, a blue key), all of one skeleton are one kind.
    """
    found: dict[Hashable, list[int]] = {}
    for at, goal in enumerate(goals):
        slots: dict[str, int] = {}
        skeleton = _skeleton(_impersonal(goal), domain, slots)
        alike = tuple(signature(domain.predicates[name]) for name in slots)
        found.setdefault((skeleton, tuple(slots) if len(slots) == 1 else alike), []).append(at)
    return list(found.values())


def _impersonal(goal: Expr) -> Expr:
    """The goal with objects named by the order in which they come."""
    names: dict[Object, str] = {}

    def renamed(node: Expr) -> Expr:
        if isinstance(node, Object):
            return replace(node, name=names.setdefault(node, f"#{len(names)}"))
        return map_children(node, renamed)

    return renamed(goal)


def signature(predicate: Predicate) -> tuple[Hashable, ...]:
    """What two predicates must share for their tables to take each other's place."""
    return (*(p.type for p in predicate.parameters), predicate.type)


def _skeleton(goal: Expr, domain: Domain, slots: dict[str, int]) -> Expr:
    """The goal with slots for derived predicates, and bound variables named by their place."""
    places = count()

    def fill(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.predicate in domain.analysis.tables:
            slot = slots.setdefault(node.predicate, len(slots))
            node = replace(node, predicate=f"${slot}")
        return map_children(node, fill)

    return fill(rename_bound(goal, lambda _: f"?{next(places)}"))


@final
class ReadSchedule:
    """Who reads what, as tensors over goals (g), actions (a) and derived tables (t).

    ``family`` ``[g]``; ``slots`` ``[g, k]`` the table in each slot (−1: none), and
    ``slot_tables``, by family and slot, all tables that are in it for some goal;
    ``goal_wants`` ``[g + 1, t]`` and ``action_wants`` ``[a + 1, t]`` (the last row for no
    goal, for no action): the tables that must be computed, through others too.
    """

    def __init__(self, training: TrainingSet) -> None:
        reads, tables = training.reads, training.tables
        number = {name: at for at, name in enumerate(tables)}
        device = training.dataset.device
        of_goal = np.zeros(len(training.goals), dtype=np.int64)
        most = max((len(m) for f in training.families for m in f.members.values()), default=0)
        slots = np.full((len(training.goals), most), -1, dtype=np.int64)
        self.slot_tables: list[list[list[int]]] = []
        for at, family in enumerate(training.families):
            for goal, names in family.members.items():
                of_goal[goal] = at
                slots[goal, : len(names)] = [number[name] for name in names]
            members = slots[of_goal == at] if family.members else slots[:0]
            self.slot_tables.append([np.unique(column[column >= 0]).tolist() for column in members.T])
        self.family = torch.from_numpy(of_goal).to(device)
        self.slots = torch.from_numpy(slots).to(device)
        self.direct = [_direct_reads(training, f) for f in training.families]
        goal_wants = np.zeros((len(training.goals) + 1, len(tables)), dtype=np.bool_)
        for at, formula in enumerate(training.goals):
            goal_wants[at, [number[name] for name in reads.read_tables([formula])]] = True
        self.goal_wants = torch.from_numpy(goal_wants).to(device)
        self.action_tables = [[number[n] for n in reads.effect_tables(a.name)] for a in training.actions]
        action_wants = np.zeros((len(training.actions) + 1, len(tables)), dtype=np.bool_)
        for at, wanted in enumerate(self.action_tables):
            action_wants[at, wanted] = True
        self.action_wants = torch.from_numpy(action_wants).to(device)
        self.action_reads = [sorted(reads.effect_reads(a.name)) for a in training.actions]
        self.table_reads = [reads.predicate_reads(name) for name in tables]
        self.callees = [_callees(training, name, number) for name in tables]
        self.signatures = [signature(training.domain.predicates[name]) for name in tables]


def _callees(training: TrainingSet, name: str, number: dict[str, int]) -> list[int]:
    """The tables that a table reads; none for a fixpoint, which computes what it needs itself."""
    body = training.domain.predicates[name].body
    if body is None or name in training.domain.recursive:
        return []
    return [number[n] for n in training.reads.read_tables([body]) if n != name]


def _direct_reads(training: TrainingSet, family: Family) -> list[str]:
    """The state variables that a skeleton reads beside its slots."""
    return sorted(n for n in family.domain.analysis.reads(family.skeleton) if n in training.domain.predicates)


@final
class TrainingSet:
    """A model and the episodes that it is trained or measured on.

    ``tables`` are the domain's derived tables, callees first. What are called states
    here are examples of ``dataset``. ``executed`` says of each whether
    its action was really carried out, so that what follows can be learned from:
    by ``executable``, else by a precondition without blanks; ``moved`` is the same
    on the device.
    """

    def __init__(self, model: Model, dataset: DeviceDataset) -> None:
        self.model = model
        self.engine = model.engine
        self.domain = model.domain
        self.dataset = dataset
        self.reads = model.domain.analysis
        self.goals = self._goals()
        self.families = families(model.domain, self.goals)
        self.kinds = kinds(model.domain, self.goals)
        self.actions = [model.domain.actions[name] for name in dataset.arrays.actions]
        self.tables = list(model.domain.analysis.tables)
        self.schedule = ReadSchedule(self)
        self.lookups = lookups(self)
        self._skeletons: dict[tuple[str, int], Node] = {}
        self._nodes: dict[tuple[str, int], Node] = {}
        self.executed = self._executed()
        # The actions whose preconditions are learned, and those with written ones that were refused.
        self.guarded = [at for at, a in enumerate(self.actions) if self.has_blanks(a.precondition)]
        self.refused = sorted({*dataset.action[dataset.executable == 0].tolist()} - {-1, *self.guarded})
        self.moved = torch.from_numpy(self.executed).to(dataset.device)

    def _goals(self) -> list[Expr]:
        """The goals as terms, each with the objects of an episode that it is about.

        One that no episode was judged by may be about any objects, and there is nothing to ask it of.
        """
        arrays = self.dataset.arrays
        used, first = np.unique(arrays.goal, return_index=True)
        universe = dict(zip(used.tolist(), arrays.universe[arrays.owner[first]].tolist(), strict=True))
        return [
            self._goal(text, arrays.universes[universe[at]]) if at in universe else TRUE
            for at, text in enumerate(arrays.goals)
        ]

    def _goal(self, text: str, universe: Universe) -> Expr:
        goal = universe.formula(text)
        for name in self.reads.absent_reads(goal):
            raise error(
                "absent-predicate",
                f"the goal reads `{name}`, which only the encoder reads: it is absent after a step",
                help="write the goal over encoded or carried predicates",
            )
        return goal

    def skeleton(self, at: int, logic: FuzzyLogic) -> Node:
        """The node of a family's skeleton."""
        key = (logic.name, at)
        if key not in self._skeletons:
            family = self.families[at]
            self._skeletons[key] = self.engine.for_domain(family.domain).node(family.skeleton, logic)
        return self._skeletons[key]

    def table_node(self, table: int, logic: FuzzyLogic) -> Node:
        """The node of a derived table."""
        key = (logic.name, table)
        if key not in self._nodes:
            predicate = self.domain.predicates[self.tables[table]]
            self._nodes[key] = self.engine.lowering(logic).table(predicate)
        return self._nodes[key]

    def batch(self, states: Tensor, tensors: dict[str, Tensor], at: Tensor | None = None) -> StateBatch:
        """A batch over the objects of some states of the data, at these places, with the given values."""
        whole, rows = self.dataset.states, None
        if whole.rows is not None:
            rows = whole.rows.index_select(0, self.dataset.rows(states) if at is None else at)
        return StateBatch(self.domain, whole.layout, rows, len(states), tensors)

    def observed(self, states: Tensor, names: Iterable[str]) -> dict[str, Tensor]:
        """What the data says of some predicates in some states."""
        at = self.dataset.rows(states)
        return {name: self.dataset.values(name, at) for name in names if name in self.dataset}

    def parameters(self, action: int, states: Tensor) -> dict[str, Tensor]:
        """The arguments of the action that was taken in each of some states."""
        at = self.dataset.rows(states)
        found, used = {}, 0
        for place, parameter in enumerate(self.actions[action].parameters):
            if isinstance(parameter.type, ObjectType):
                found[parameter.name] = self.dataset.arguments[:, place].index_select(0, at).unsqueeze(1)
                continue
            width = width_of(parameter.type)
            numbers = self.dataset.numbers[:, used : used + width].index_select(0, at)
            found[parameter.name] = _typed(numbers, parameter.type)
            used += width
        return found

    @torch.no_grad()
    def _executed(self) -> Array:
        dataset = self.dataset
        executed: Array = (dataset.action >= 0) & (dataset.executable != 0)
        for at, action in enumerate(self.actions):
            if self.has_blanks(action.precondition):
                continue
            asked = np.flatnonzero((dataset.action == at) & (dataset.executable < 0) & dataset.once)
            for some in self.dataset.parts(asked):
                names = self.reads.reads(action.precondition)
                states = dataset.place(some)
                run = self.engine.open(self.batch(states, self.observed(states, names)))
                ground = run.ground(self.parameters(at, states), 1)
                executed[some] = self.engine.precondition(ground, action.name, CRISP)[:, 0].cpu().numpy()
        first = np.flatnonzero(dataset.once)
        found: Array = executed[first[dataset.state]]
        return found

    def has_blanks(self, expr: Expr) -> bool:
        """Whether an expression calls a blank, through derived predicates too."""
        return bool(self.reads.blanks(expr))


def _typed(numbers: Tensor, type_: ValueType) -> Tensor:
    """Value arguments ``[n, width]`` as ``[n, 1, *shape]`` of their type."""
    value = numbers.reshape(len(numbers), 1, *(type_.shape or ()))
    if type_.prim == "float32":
        return value
    return value.round().to(torch.bool if type_.prim == "bool" else torch.int64)


# Truths of observed variables that take few values: networks are asked about each value once.

MOST_VALUES: Final = 512
"""A variable that takes more values than this is read state by state."""


@final
class Values:
    """The values of a variable in the data, ``[value, *axes]``, and which it has where ``[s, *objects]``."""

    def __init__(self, name: str, values: Tensor, numbers: Tensor) -> None:
        self.name = name
        self.values = values
        self.numbers = numbers
        self.objects = prod(numbers.shape[1:])


@final
class Lookup:
    """A derived predicate that is a blank of one observed variable, such as ``(??f (item-feature ?o))``.

    A step reads such a variable of every object in every state, and there are a few dozen codes: asked about
    the codes alone, the networks of PDS-Abs take a fifth less of a fit. ``body`` is the blank's call in the
    ``predicate``, ``values`` those of the variable in the data of ``training``.
    """

    def __init__(self, training: TrainingSet, predicate: Predicate, body: BlankCall, values: Values) -> None:
        self._training = training
        self._predicate = predicate
        self._body = body
        self._values = values

    def truth(self, states: Tensor, logic: FuzzyLogic) -> Tensor | None:
        """The predicate's table in some states of the data; None where its network must see each of them."""
        training, values = self._training, self._values
        functions = training.engine.functions
        network = functions.calls.get(self._body.blank)
        if len(values.values) > len(states) * values.objects or functions.watcher is not None:
            return None
        if type(network) is not BooleanNet or not is_free(network):
            return None
        answers: Tensor = network(values.values).flatten()
        at = training.dataset.rows(states)
        numbers = values.numbers.index_select(0, at)
        run = training.engine.open(training.batch(states, {values.name: numbers}, at), checked=False)
        index = training.engine.table(run, self._body.args[0], self._predicate.parameters, logic)
        return answers.index_select(0, index.flatten()).reshape(index.shape)


def lookups(training: TrainingSet) -> dict[int, Lookup]:
    """The derived tables that can be looked up."""
    found, known = {}, dict[str, Values | None]()
    for table, name in enumerate(training.tables):
        predicate = training.domain.predicates[name]
        body = predicate.body
        if not predicate.type.is_bool or not isinstance(body, BlankCall) or len(body.args) != 1:
            continue
        argument = body.args[0]
        if (
            not isinstance(argument, Apply)
            or argument.type != training.domain.blanks[body.blank].inputs[0].type
            or name in training.domain.recursive
            or not all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        ):
            continue
        if argument.predicate not in known:
            known[argument.predicate] = _values(training, training.domain.predicates[argument.predicate])
        values = known[argument.predicate]
        if values is not None:
            found[table] = Lookup(training, predicate, body, values)
    return found


def _values(training: TrainingSet, predicate: Predicate) -> Values | None:
    """The values of an observed int with choices or Boolean, unless they are many."""
    tensor = training.dataset.states.tensors.get(predicate.name)
    observed = predicate.role == "observed"
    if not observed or tensor is None or tensor.is_floating_point() or not tensor.numel():
        return None
    objects = tensor.shape[: 1 + len(predicate.parameters)]
    flat = tensor.reshape(prod(objects), -1).long()
    if int(flat.min()) < 0 or (int(flat.max()) + 1) ** flat.shape[1] >= 1 << 62:
        return None
    powers = torch.tensor([(int(flat.max()) + 1) ** i for i in range(flat.shape[1])], device=flat.device)
    keys = (flat * powers).sum(1)  # CUDA multiplies no matrices of ints
    found, numbers = torch.unique(keys, return_inverse=True)
    if len(found) > MOST_VALUES:
        return None
    values = torch.empty(len(found), flat.shape[1], dtype=torch.int64, device=flat.device)
    values[numbers] = flat
    values = values.reshape(len(found), *tensor.shape[len(objects) :]).to(tensor.dtype)
    return Values(predicate.name, presented(values, predicate.type, 1), numbers.reshape(objects))
