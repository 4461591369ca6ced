"""The states of one time step, observed or predicted: goals are evaluated on them, and actions taken.

A time slice (as of a dynamic Bayesian network) holds rows, one a state; its `step` is the
predicted slice after it, so that a rollout is a chain of slices. Derived tables are
computed once a slice, each only for the rows that need it: those whose goal names the
predicate, and those whose action reads it. A predicted slice takes over a table from
the slice before it for the rows whose action wrote nothing that the table depends on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from pdsketch.tensor import Assigned, FuzzyLogic, Run, StateBatch, fully_soft, is_categorical, unify
from pdsketch.training.training_set import TrainingSet


@final
class Transition:
    """One action in some rows of a slice: where (``first`` row of the next slice), and what it wrote.

    ``action`` is its number in the domain, ``rows`` are those that it was taken in, ``new`` the tables of the
    predicates after it. ``writes`` holds, for what it assigned under conditions, how far each entry was
    written and what would be written there (`assigned`).
    """

    def __init__(
        self,
        action: int,
        rows: Tensor,
        first: int,
        new: Mapping[str, Tensor],
        writes: Mapping[str, Assigned],
    ) -> None:
        self.action = action
        self.rows = rows
        self.first = first
        self.new = new
        self.writes = writes


@final
class TimeSlice:
    """Rows of states under one logic.

    ``training`` joins the model to its data, and ``logic`` evaluates its formulas. ``states`` are the
    examples that the rows are, or that they predict. ``before`` and ``transitions`` say how predicted rows
    came about, ``encoded`` what encoders say of rows, where it is known. ``judged`` are the rows whose goal
    is known to hold or not. Rows are ascending indices, as tensors on the data's device: on the host the
    arithmetic on them takes longer than the networks do on a GPU.
    """

    def __init__(
        self,
        training: TrainingSet,
        logic: FuzzyLogic,
        states: Tensor,
        before: TimeSlice | None = None,
        transitions: tuple[Transition, ...] = (),
        encoded: dict[str, Tensor] | None = None,
    ) -> None:
        self.training = training
        self.logic = logic
        self.states = states
        self.before = before
        self.transitions = transitions
        self.goal = training.dataset.examples.goal.index_select(0, states)
        self.judged = where(self.goal >= 0)
        self.action = training.dataset.examples.action.index_select(0, states)
        # The tables in the rows that need them, and where each row is there.
        self._computed: dict[int, Tensor] = {}
        self._places = torch.full((len(training.tables), len(states)), -1, device=states.device)
        # Those whose rows ascend.
        self._plain = set[int]()
        self._joined: dict[Hashable, tuple[Tensor, Tensor]] = {}
        self._split: tuple[Tensor, list[tuple[Transition, Tensor | None]]] | None = None
        self._encoded = encoded

    def __len__(self) -> int:
        return len(self.states)

    @property
    def outcomes(self) -> Tensor:
        """Whether the goals of the ``judged`` rows held."""
        return self.training.dataset.examples.outcomes.index_select(
            0, self.states.index_select(0, self.judged)
        )

    # -- values -------------------------------------------------------------------

    def value(self, name: str, rows: Tensor, at: Tensor | None = None) -> Tensor:
        """A state variable in some rows; ``at``: their states, where they are known."""
        if self.before is not None:
            return self._predicted(name, rows)
        if self.training.domain.predicates[name].role == "encoded":
            encoded = self._encode()
            if name in encoded:
                return encoded[name] if len(rows) == len(self) else encoded[name].index_select(0, rows)
        at = self.training.dataset.rows(self.states.index_select(0, rows)) if at is None else at
        return self.training.dataset.values(name, at)

    def _predicted(self, name: str, rows: Tensor) -> Tensor:
        assert self.before is not None
        parts = []
        for transition, own in self._by_transition(rows):
            if name not in transition.new:
                origin = transition.rows if own is None else transition.rows.index_select(0, own)
                parts.append(self.before.value(name, origin))
            else:
                parts.append(
                    transition.new[name] if own is None else transition.new[name].index_select(0, own)
                )
        whole = unify(parts, self.training.domain.predicates[name].type)
        return whole[0] if len(whole) == 1 else torch.cat(whole)

    def _by_transition(self, rows: Tensor) -> list[tuple[Transition, Tensor | None]]:
        """The transitions that some rows came from, and which of its rows they are (None: all)."""
        if self._split is None or self._split[0] is not rows:
            ends = torch.tensor(
                [transition.first + len(transition.rows) for transition in self.transitions],
                device=rows.device,
            )
            found, first = [], 0
            for transition, end in zip(
                self.transitions, torch.searchsorted(rows, ends).tolist(), strict=True
            ):
                if end > first:
                    every = end - first == len(transition.rows)
                    found.append((transition, None if every else rows[first:end] - transition.first))
                first = end
            self._split = rows, found
        return self._split[1]

    def _encode(self) -> dict[str, Tensor]:
        """Every encoded variable that the data does not give, in all rows."""
        if self._encoded is None:
            self._encoded = encode(self.training, self.states, self.logic)
        return self._encoded

    @property
    def encoded(self) -> dict[str, Tensor]:
        """The variables that were encoded for these rows so far."""
        return self._encoded or {}

    def batch(self, rows: Tensor, names: Iterable[str]) -> StateBatch:
        """Some rows as a batch that holds the given state variables."""
        states = self.states.index_select(0, rows)
        at = self.training.dataset.rows(states)
        tensors = {name: self.value(name, rows, at) for name in names if self._holds(name)}
        return self.training.batch(states, tensors, at)

    def _holds(self, name: str) -> bool:
        predicate = self.training.domain.predicates[name]
        return predicate.role == "encoded" or name in self.training.dataset

    # -- derived tables -------------------------------------------------------------

    def prepare(self, *, goals: bool, step: bool) -> None:
        """Compute the tables that the goals of all rows need, and their actions, callees first."""
        schedule = self.training.schedule
        wanted = torch.zeros(
            len(self.training.tables), len(self), dtype=torch.bool, device=self.states.device
        )
        if goals:
            wanted |= schedule.goal_wants[self.goal].T
        if step:
            wanted |= schedule.action_wants[self.action].T & self.moving
        for table in where(wanted.any(1)).tolist():
            self._compute(table, wanted[table])

    @cached_property
    def moving(self) -> Tensor:
        """Which rows' actions were carried out."""
        return self.training.moved.index_select(0, self.states)

    def _compute(self, table: int, wanted: Tensor) -> None:
        """A table in some rows: taken over where nothing changed, else computed."""
        parts = []
        kept, fresh = None, where(wanted)
        if self.before is not None and table in self.before._computed:
            same = self._untouched[table] & (self.before._places[table].index_select(0, self._origin) >= 0)
            kept, fresh = where(wanted & same), where(wanted & ~same)
            if len(kept):
                parts.append(self.before._taken(table, self._origin.index_select(0, kept)))
        if len(fresh):
            parts.append(self._evaluated(table, fresh))
        if kept is None or not len(kept):
            self._plain.add(table)
        rows = fresh if kept is None else torch.cat([kept, fresh])
        self._places[table, rows] = torch.arange(len(rows), device=rows.device)
        self._computed[table] = parts[0] if len(parts) == 1 else torch.cat(parts)

    def _evaluated(self, table: int, rows: Tensor) -> Tensor:
        """A table in some rows, from what it reads."""
        training = self.training
        lookup = None if self.logic.crisp or self.before is not None else training.lookups.get(table)
        if lookup is not None:
            truth = lookup.truth(self.states.index_select(0, rows), self.logic)
            if truth is not None:
                return truth
        run = self.open(rows, training.schedule.table_reads[table], training.schedule.callees[table])
        name = training.tables[table]
        found = training.engine.predicate(run, name, self.logic)
        type_ = training.domain.predicates[name].type
        return found if self.logic.crisp or not is_categorical(type_) else fully_soft(found, type_)

    def open(self, rows: Tensor, names: Iterable[str], tables: Sequence[int]) -> Run:
        """A run over some rows that knows the tables already computed."""
        run = self.training.engine.open(self.batch(rows, names), checked=False)
        nodes = [self.training.table_node(table, self.logic) for table in tables]
        run.remember(nodes, [self.table(table, rows) for table in tables])
        return run

    @cached_property
    def _untouched(self) -> Tensor:
        """Whether a row's action wrote nothing that a table depends on ``[table, row]``."""
        reads = self.training.schedule.table_reads
        apart = [[table.isdisjoint(transition.new) for transition in self.transitions] for table in reads]
        device = self.states.device
        lengths = torch.tensor([len(transition.rows) for transition in self.transitions], device=device)
        transition = torch.repeat_interleave(lengths, output_size=len(self))
        return torch.tensor(apart, device=device).index_select(1, transition)

    @cached_property
    def _origin(self) -> Tensor:
        """The rows of the slice before that these came from."""
        return torch.cat([transition.rows for transition in self.transitions])

    @property
    def tables(self) -> Mapping[int, Tensor]:
        """The tables computed so far, each for the rows that need it."""
        return {table: self.table(table, where(self._places[table] >= 0)) for table in self._computed}

    def table(self, table: int, rows: Tensor) -> Tensor:
        """A table that was computed, in some rows."""
        if table in self._plain and len(rows) == len(self._computed[table]):
            return self._computed[table]
        return self._taken(table, rows)

    def _taken(self, table: int, rows: Tensor) -> Tensor:
        """A table that was computed, in some rows in any order."""
        return self._computed[table].index_select(0, self._places[table].index_select(0, rows))

    # -- goals and actions ------------------------------------------------------------

    def truth(self) -> Tensor:
        """The truth of the goals of the ``judged`` rows, in their order."""
        if not len(self.judged):
            return torch.zeros(0, device=self.training.dataset.device)
        family = self.training.schedule.family.index_select(0, self.goal.index_select(0, self.judged))
        groups = sorted_by(family, len(self.training.families))
        parts = []
        for at, own in groups:
            rows = self.judged.index_select(0, own)
            parts.append(self._family_truth(at, rows).expand(len(rows)))
        if len(parts) == 1:
            return parts[0]
        order = torch.cat([own for _, own in groups])
        return torch.cat(parts).index_select(0, order.argsort())

    def _family_truth(self, at: int, rows: Tensor) -> Tensor:
        schedule = self.training.schedule
        node = self.training.skeleton(at, self.logic)
        batch = self.batch(rows, schedule.direct[at])
        slots = schedule.slots.index_select(0, self.goal.index_select(0, rows))
        for slot, among in enumerate(schedule.slot_tables[at]):
            if among:
                batch.tensors[f"${slot}"] = self._slot(among, slots[:, slot], rows)
        return node(self.training.engine.open(batch, checked=False))

    def _slot(self, among: Sequence[int], tables: Tensor, rows: Tensor) -> Tensor:
        """The table of a slot: each row from the predicate that its goal names, one of ``among``."""
        if len(among) == 1:
            return self.table(among[0], rows)
        whole, begins = self._join(self.training.schedule.signatures[among[0]])
        return whole.index_select(0, begins.index_select(0, tables) + self._places[tables, rows])

    def _join(self, key: Hashable) -> tuple[Tensor, Tensor]:
        """All tables of one signature, one after the other, and where each begins."""
        if key not in self._joined:
            alike = [t for t in self._computed if self.training.schedule.signatures[t] == key]
            whole = torch.cat([self._computed[table] for table in alike])
            begins, first = [0] * len(self.training.tables), 0
            for table in alike:
                begins[table] = first
                first += len(self._computed[table])
            self._joined[key] = whole, torch.tensor(begins, device=whole.device)
        return self._joined[key]

    def preconditions(self, *more: int) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
        """An action, rows, the truth of its precondition, and the controller's word, action by action.

        Where the data has that word, and blanks are in the precondition, or it is one ``more`` to look at.
        """
        training = self.training
        word = training.dataset.examples.executable.index_select(0, self.states)
        for at in (*training.guarded, *more):
            rows = where((self.action == at) & (word >= 0))
            if not len(rows):
                continue
            action = training.actions[at]
            batch = self.batch(rows, sorted(training.reads.reads(action.precondition)))
            run = training.engine.open(batch, checked=False)
            ground = run.ground(training.parameters(at, self.states.index_select(0, rows)), 1)
            truth = training.engine.precondition(ground, action.name, self.logic)[:, 0]
            yield at, rows, truth, word.index_select(0, rows) > 0

    def step(self, among: Tensor | None = None) -> TimeSlice:
        """The predicted next states of the rows that moved; ``among``: only of those where it says so."""
        schedule, count = self.training.schedule, len(self.training.actions)
        transitions, first = [], 0
        moving = self.moving if among is None else self.moving & among
        for at, rows in sorted_by(torch.where(moving, self.action, count), count):
            run = self.open(rows, schedule.action_reads[at], schedule.action_tables[at])
            ground = run.ground(self.training.parameters(at, self.states.index_select(0, rows)), 1)
            program = self.training.engine.program(self.training.actions[at].name, self.logic)
            transitions.append(Transition(at, rows, first, program.written(ground), program.assigned(ground)))
            first += len(rows)
        rows = torch.cat([transition.rows for transition in transitions]) if transitions else self.states[:0]
        return TimeSlice(
            self.training, self.logic, self.states.index_select(0, rows) + 1, self, tuple(transitions)
        )


def where(mask: Tensor) -> Tensor:
    """The places at which a mask holds."""
    return mask.nonzero().squeeze(1)


def sorted_by(key: Tensor, count: int) -> list[tuple[int, Tensor]]:
    """The keys below ``count`` that occur, and the places of each, ascending."""
    sizes = torch.bincount(key, minlength=count + 1).tolist()
    parts = torch.split(key.argsort(stable=True), sizes)
    return [(at, parts[at]) for at in range(count) if sizes[at]]


def encode(training: TrainingSet, states: Tensor, logic: FuzzyLogic) -> dict[str, Tensor]:
    """The encoded variables of some states of the data, where it does not give them."""
    predicates, data = training.domain.predicates.values(), training.dataset
    missing = [p.name for p in predicates if p.role == "encoded" and p.name not in data]
    if not missing:
        return {}
    names = training.reads.encoder_inputs(missing)
    run = training.engine.open(training.batch(states, training.observed(states, names)), checked=False)
    return {name: training.engine.predicate(run, name, logic) for name in missing}
