"""The latent states of many searches in shared tensors: roots, expansion, fingerprints.

Only what actions write is stored for each node; everything else is read from
the root of its problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.budget import current
from pdsketch.lang import TRUE, Action, Predicate, Step, effect_expressions
from pdsketch.search.latent.frontier import capacity, grown, row_bytes
from pdsketch.search.latent.instances import MOST_INSTANCES, Candidates, Instances, checked_cost
from pdsketch.search.latent.margin import NO_MARGIN, SOFT, Margin
from pdsketch.search.memory import Memory
from pdsketch.tensor import DEFAULT_STEP, SURE, Codes, Model, Quantiser, Run, StateBatch, codes_of, is_sound

# 128-bit fingerprints of quantised states, so that two states are one node when their codes agree.
#
# A fingerprint is a sum over predicates, so that an action changes the share of
# what it writes alone.


@final
class Fingerprint:
    """The shares of one ``predicate``.

    Multilinear hashing: Σ codeᵢ·mᵢ mod 2⁶⁴ with random odd m, twice. Distinct states share both sums with a
    probability of about 2⁻¹²⁰. The m are drawn by the ``number`` of the predicate, and lie on ``device``.
    Floats have the ``codes`` that a fit has recorded; None: steps of size ``step``.
    """

    def __init__(
        self,
        predicate: Predicate,
        codes: Codes | None,
        device: torch.device,
        number: int,
        step: float = DEFAULT_STEP,
    ) -> None:
        self.predicate = predicate
        self.exact = predicate.type.prim != "float32"
        self._axes = len(predicate.parameters)
        self._codes = codes
        self._step = step
        self._quantiser: Quantiser | None = None
        self._weights: Tensor | None = None
        self._device = device
        self._number = number

    def shares(self, table: Tensor, real: Tensor | None = None) -> Tensor:
        """The share of each state in its fingerprint, ``[state, 2]``, from ``[state, *objects, *value]``.

        ``real`` says which entries stand for objects, ``[state, *objects]``; the others do not count.
        """
        if not table.numel():
            return torch.zeros(table.shape[0], 2, dtype=torch.int64, device=table.device)
        flat = self.codes(table).reshape(table.shape[0], -1)
        if real is not None:
            flat = flat * _repeated(real, flat.shape[1])
        if self._weights is None or self._weights.shape[0] != flat.shape[1]:
            self._weights = _odd_numbers(flat.shape[1], self._number).to(self._device)
        return (flat.unsqueeze(-1) * self._weights).sum(1)

    def codes(self, table: Tensor) -> Tensor:
        """The codes of a table, as int64."""
        if self.exact:
            return table.to(torch.int64)
        columns = table.reshape(table.shape[0] * _count(table, self._axes), -1)
        return self._ready(columns.shape[1]).codes(columns)

    def snap(self, table: Tensor) -> Tensor:
        """The table with floats rounded to their codes."""
        if self.exact or not table.numel():
            return table
        columns = table.reshape(table.shape[0] * _count(table, self._axes), -1)
        return self._ready(columns.shape[1]).snap(columns).reshape(table.shape)

    def _ready(self, dimensions: int) -> Quantiser:
        if self._quantiser is None:
            codes = self._codes
            if codes is None or len(codes.steps) != dimensions:
                codes = Codes.uniform(dimensions, self._step)
            self._quantiser = Quantiser(codes, self._device)
        return self._quantiser


def _count(table: Tensor, axes: int) -> int:
    return int(torch.Size(table.shape[1 : 1 + axes]).numel())


def _repeated(real: Tensor, width: int) -> Tensor:
    """``[state, *objects]`` as ``[state, width]``: once for each number of a value."""
    flat = real.reshape(real.shape[0], -1)
    return flat.repeat_interleave(width // max(flat.shape[1], 1), dim=1)


def _odd_numbers(n: int, number: int) -> Tensor:
    generator = torch.Generator().manual_seed(number)
    low = torch.randint(0, 2**32, (n, 2), generator=generator)
    high = torch.randint(-(2**31), 2**31, (n, 2), generator=generator)
    return (high << 32) | low | 1


def fingerprints(
    predicates: Sequence[Predicate],
    codes: Mapping[str, Codes],
    device: torch.device,
    resolution: float | None = None,
) -> dict[str, Fingerprint]:
    """A fingerprint for each of the ``predicates``, with the codes that training recorded, or a step for all.

    ``codes`` are by predicate; a ``resolution`` takes their place. ``device`` is that of the states.
    """
    found = {} if resolution is not None else codes
    step = DEFAULT_STEP if resolution is None else resolution
    return {p.name: Fingerprint(p, found.get(p.name), device, i, step) for i, p in enumerate(predicates)}


def of_problem(problems: Tensor) -> Tensor:
    """The share that tells the states of one problem from those of another, ``[state, 2]``."""
    mixed = (problems + 1) * -7046029254386353131
    return torch.stack([mixed, (mixed ^ (mixed >> 31)) * -4658895280553007687], dim=-1)


Tables = dict[str, Tensor]

GUESS: Final = 16.0
"""What a step costs more that rests on a guess: a way without one may be so much longer. Set by hand."""

_COPIES: Final = 4
"""What is computed for a successor, as a multiple of what it takes; set by hand."""


# Successors on their way from a tensor call into the store.


@final
@dataclass(frozen=True, slots=True)
class Children:
    """States on their way into the store.

    ``parent[i]`` counts within the expanded nodes; ``action`` is the number of the ground action that was
    taken (`Space.step`); ``shares`` are those of each changing predicate in the fingerprint. A table that the
    action does not write is None: it is the parent's, and is fetched for those that are kept.
    """

    parent: Tensor
    action: Tensor
    cost: Tensor
    shares: Tensor
    tables: dict[str, Tensor | None]

    def __len__(self) -> int:
        return self.parent.shape[0]

    def select(self, index: Tensor) -> Children:
        """Some of them."""
        parent, action, cost, shares = (column.index_select(0, index) for column in self.columns)
        tables = {name: None if t is None else t.index_select(0, index) for name, t in self.tables.items()}
        return Children(parent, action, cost, shares, tables)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        """What is known of each child, besides its tables."""
        return (self.parent, self.action, self.cost, self.shares)

    def table(self, name: str) -> Tensor:
        """A table that is there."""
        found = self.tables[name]
        assert found is not None
        return found

    def completed(self, parents: StateBatch) -> Children:
        """With the parents' tables in place of those that were not written."""
        tables: dict[str, Tensor | None] = {
            name: parents.tensor(name).index_select(0, self.parent) if table is None else table
            for name, table in self.tables.items()
        }
        return Children(self.parent, self.action, self.cost, self.shares, tables)


def joined(parts: Sequence[Children]) -> Children:
    """Completed children, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    parent, action, cost, shares = map(torch.cat, zip(*(part.columns for part in parts), strict=True))
    tables: dict[str, Tensor | None] = {
        name: torch.cat([part.table(name) for part in parts]) for name in parts[0].tables
    }
    return Children(parent, action, cost, shares, tables)


# The store.


@final
class Space:
    """The states of the nodes of several problems, and how they grow.

    ``roots`` are the initial states, ``candidates`` the values that arguments may have, an entry for each
    problem; ``model`` predicts successors. With ``snap``, their floats are rounded to their codes;
    ``resolution`` tells floats apart in steps of that size instead. With ``costs``, actions cost what they
    say, else 1. Preconditions and gates must hold by the ``margin``. Steps have the prices of ``memories``,
    an entry for each problem, and are left out where these are infinite; guesses cost more.

    ``runaways`` counts, for a problem, the successors that were dropped because they are not finite, by the
    action and the predicate.
    """

    def __init__(
        self,
        model: Model,
        roots: StateBatch,
        candidates: Sequence[Candidates],
        *,
        snap: bool,
        costs: bool,
        resolution: float | None = None,
        margin: Margin = NO_MARGIN,
        memories: Sequence[Memory | None] = (),
    ) -> None:
        self.model = model
        self._memories = {p: memory for p, memory in enumerate(memories) if memory is not None}
        self.domain = model.domain
        self.roots = roots
        self.device = roots.device
        self.snap = snap
        self._costs = costs
        self.universes = [roots.universe(p) for p in range(roots.size)]
        actions = self.domain.actions.values()
        self.instances = [Instances(a, self.universes, candidates, self.device) for a in actions]
        self._margin = margin
        self._truths = [margin.of_action(model, a.name) for a in actions]
        self._actions = [model.engine.program(a.name) for a in actions]
        self._guessing = [model.engine.program(a.name, SOFT) if _guesses(model, a) else None for a in actions]
        changing = {update.target.predicate for a in actions for update in a.effects}
        self.changing = tuple(p for p in self.domain.state_predicates if p.name in changing)
        codes = codes_of(model.notes)
        self.prints: Mapping[str, Fingerprint] = fingerprints(self.changing, codes, self.device, resolution)
        self._rounding = fingerprints(self.changing, codes, self.device)
        self._order = {p.name: i for i, p in enumerate(self.changing)}
        self.runaways: dict[int, Counter[tuple[str, str]]] = {}
        self.per_node = max(1, sum(i.count for i in self.instances))
        self.instances_of_each = np.maximum(1, sum(i.sizes for i in self.instances))
        self.row_bytes = 24 + sum(
            16 + row_bytes(self.roots.tensor(predicate.name)) for predicate in self.changing
        )
        self.size = 0
        self._tables: Tables = {}
        self._shares = torch.empty(0, len(self.changing), 2, dtype=torch.int64, device=self.device)
        self._problem = torch.empty(0, dtype=torch.int64, device=self.device)

    @property
    def nbytes(self) -> int:
        """The memory that the states take."""
        return self.size * self.row_bytes

    @property
    def together(self) -> int:
        """How many nodes can be expanded together, by what their successors take."""
        return max(1, int(self._portion / self.per_node))

    @property
    def _portion(self) -> float:
        """How many successors can be made together; what is computed for one is some times as large."""
        return current().at_once / (_COPIES * self.row_bytes)

    def start(self) -> Children:
        """The roots, as children of nothing."""
        n = self.roots.size
        problems = torch.arange(n, device=self.device)
        tables = {p.name: self.roots.tensor(p.name) for p in self.changing}
        shares = torch.zeros(n, len(self.changing), 2, dtype=torch.int64, device=self.device)
        for name, table in tables.items():
            shares[:, self._order[name]] = self._share(name, table, problems)
        zeros = torch.zeros(n, dtype=torch.int64, device=self.device)
        return Children(problems, zeros, zeros.double(), shares, dict(tables))

    def store(self, children: Children, problems: Tensor) -> None:
        """Keep the states of nodes, one behind the other."""
        n = self.size + len(children)
        self._reserve(n, children)
        for name in children.tables:
            self._tables[name][self.size : n] = children.table(name)
        self._shares[self.size : n] = children.shares
        self._problem[self.size : n] = problems
        self.size = n

    def batch(self, nodes: Tensor) -> StateBatch:
        """The states of stored nodes."""
        tables = {name: table.index_select(0, nodes) for name, table in self._tables.items()}
        return self.states(tables, self._problem.index_select(0, nodes))

    def states(self, tables: Tables, problems: Tensor, reads: frozenset[str] | None = None) -> StateBatch:
        """Whole states from what changes: the rest is that of each problem's root.

        ``reads`` leaves out what is not among these predicates: a picture of each state is a lot to copy.
        """
        alone = self.roots.size == 1
        tensors = {}
        for name, root in self.roots.tensors.items():
            if reads is not None and name not in reads:
                continue
            if name in tables:
                tensors[name] = tables[name]
            elif self.domain.predicates[name].is_state:
                n = problems.shape[0]
                tensors[name] = root.expand(n, *root.shape[1:]) if alone else root.index_select(0, problems)
        rows = None if self.roots.rows is None else self.roots.rows.index_select(0, problems)
        return StateBatch(self.domain, self.roots.layout, rows, problems.shape[0], tensors)

    def fingerprint(self, shares: Tensor, problems: Tensor) -> Tensor:
        """The fingerprints of states, ``[state, 2]``, from their shares; they differ between problems."""
        return shares.sum(1) + of_problem(problems)

    def expand(self, batch: StateBatch, nodes: Tensor) -> Iterator[Children]:
        """All successors of stored nodes, whose states are ``batch``.

        One tensor call for each action, or several where it has very many instances.
        """
        problems = self.problems(nodes)
        shares = self._shares.index_select(0, nodes)
        run = self.model.engine.open(batch)
        step = max(1, int(self._portion / batch.size))
        for number, instances in enumerate(self.instances):
            for first in range(0, instances.count, step):
                some = slice(first, min(first + step, instances.count))
                part = self._apply(number, some, run, problems, shares)
                if part is not None and len(part):
                    yield part

    def problems(self, nodes: Tensor) -> Tensor:
        """The problem of each stored node."""
        return self._problem.index_select(0, nodes)

    def step(self, problem: int, number: int) -> Step:
        """The step of a plan that the number of a ground action stands for."""
        action, instance = divmod(number, MOST_INSTANCES)
        return self.instances[action].step(problem, instance)

    def _apply(
        self, number: int, some: slice, states: Run, problems: Tensor, shares: Tensor
    ) -> Children | None:
        """The successors by some instances of one action, where its precondition holds and nothing bars it.

        Where most instances are left out, the effects of the others are computed for these alone: of eight
        things, one can be picked up.
        """
        instances = self.instances[number]
        batch, count = states.batch, some.stop - some.start
        arguments = instances.arguments(problems, some)
        run = states.ground(arguments, count)
        allowed = self._allowed(number, run, instances.existing(problems, some))
        price = self._price_met(number, batch, problems, arguments)
        if price is not None:
            allowed = price.isfinite() if allowed is None else allowed & price.isfinite()
        if allowed is None:
            allowed = torch.ones(batch.size, count, dtype=torch.bool, device=self.device)
        parent, instance = allowed.nonzero(as_tuple=True)
        if not len(parent):
            return None
        flat = parent * count + instance
        price = None if price is None else price.reshape(-1)[flat]
        if 2 * len(parent) < allowed.numel():
            few = {name: value[parent, instance].unsqueeze(1) for name, value in arguments.items()}
            run = self.model.engine.open(batch.select(parent)).ground(few, 1)
            flat = torch.arange(len(parent), device=self.device)
        return self._children(number, run, flat, parent, instance + some.start, problems, shares, price)

    def _price_met(
        self, number: int, batch: StateBatch, problems: Tensor, arguments: Mapping[str, Tensor]
    ) -> Tensor | None:
        """What instances cost more by what was met, ``[state, instance]``; None: nothing."""
        if not self._memories:
            return None
        action = self._actions[number].action.name
        count = max((a.shape[1] for a in arguments.values()), default=1)
        usual = max(memory.rates.price(action) for memory in self._memories.values())
        found = torch.full((batch.size, count), usual, dtype=torch.float64, device=self.device)
        knowing = {p: memory for p, memory in self._memories.items() if memory.knows(action)}
        for problem, memory in knowing.items():
            rows = (problems == problem).nonzero().squeeze(1)
            if not len(rows):
                continue
            own = {name: values.index_select(0, rows) for name, values in arguments.items()}
            found[rows] = memory.prices(action, batch.select(rows), own)
        return found if knowing or usual else None

    def _children(
        self,
        number: int,
        run: Run,
        rows: Tensor,
        parent: Tensor,
        instance: Tensor,
        problems: Tensor,
        shares: Tensor,
        price: Tensor | None,
    ) -> Children:
        """The successors that stand in these rows of a run, of parents and by instances; finite ones alone.

        Those that are not are counted in ``runaways``.
        """
        owners = problems.index_select(0, parent)
        new = {n: t.index_select(0, rows) for n, t in self._actions[number].written(run).items()}
        cost = self._cost(number, run)[rows]
        if price is not None:
            cost = cost + price
        guessing = self._guessing[number]
        if guessing is not None:
            guessed = _spread(guessing.known(run), run).reshape(-1)[rows] <= SURE
            cost = cost + GUESS * guessed
        shares = shares.index_select(0, parent)
        tables: dict[str, Tensor | None] = dict.fromkeys(self._order)
        for name, table in new.items():
            tables[name] = rounded = self._rounding[name].snap(table) if self.snap else table
            shares[:, self._order[name]] = self._share(name, rounded, owners)
        made = Children(parent, number * MOST_INSTANCES + instance, cost, shares, tables)
        return self._finite(number, made, owners)

    def _cost(self, number: int, run: Run) -> Tensor:
        """What each instance costs: 1, or what the action says."""
        n = run.batch.size * run.instances
        if not self._costs:
            return torch.ones(n, dtype=torch.float64, device=self.device)
        action = self._actions[number]
        if action.cost is None:
            return torch.zeros(n, dtype=torch.float64, device=self.device)
        return checked_cost(action.action, _spread(action.cost(run), run).reshape(-1).double())

    def _allowed(self, number: int, run: Run, existing: Tensor | None) -> Tensor | None:
        """Which instances may be applied, ``[state, instance]``; None: all."""
        action, truth = self._actions[number], self._truths[number]
        if action.action.precondition == TRUE and truth is None:
            return existing
        held = _spread(action.precondition(run), run)
        if truth is not None:
            held = held & self._margin.clears(_spread(truth(run), run))
        return held if existing is None else held & existing

    def _finite(self, number: int, made: Children, owners: Tensor) -> Children:
        sound = {}
        for name, table in made.tables.items():
            fine = None if table is None else is_sound(table, self.domain.predicates[name].type)
            if fine is not None:
                sound[name] = fine.reshape(len(fine), -1).all(1)
        if not sound:
            return made
        good = torch.stack([*sound.values()]).all(0)
        if bool(good.all()):
            return made
        for name, fine in sound.items():
            for problem, count in Counter(owners[~fine].tolist()).items():
                counts = self.runaways.setdefault(problem, Counter())
                counts[self._actions[number].action.name, name] += count
        return made.select(good.nonzero().squeeze(1))

    def _share(self, name: str, table: Tensor, problems: Tensor) -> Tensor:
        return self.prints[name].shares(table, self._real(name, problems))

    def _real(self, name: str, problems: Tensor) -> Tensor | None:
        """Which entries of a table stand for objects, ``[state, *objects]``; None: all do."""
        rows = self.roots.rows
        if rows is None:
            return None
        types = self.domain.predicates[name].object_types
        return self.roots.layout.real(types, rows.index_select(0, problems))

    def _reserve(self, needed: int, children: Children) -> None:
        room = self._problem.shape[0]
        if needed <= room:
            return
        size = capacity(room, max(needed, 256), self.row_bytes, self.device)
        for name in children.tables:
            old = self._tables.get(name, children.table(name)[:0])
            self._tables[name] = grown(old, size)
        self._shares = grown(self._shares, size)
        self._problem = grown(self._problem, size)


def _guesses(model: Model, action: Action) -> bool:
    """Whether a step may rest on a guess."""
    expressions = (action.precondition, *effect_expressions(action.effects))
    return any(model.blanks.guesses(model.domain.analysis.blanks(one)) for one in expressions)


def _spread(value: Tensor, run: Run) -> Tensor:
    """A value over states and instances, in full: ``[state, instance]``."""
    if value.dim() == 1:
        value = value.unsqueeze(1)
    return value.expand(run.batch.size, run.instances)
