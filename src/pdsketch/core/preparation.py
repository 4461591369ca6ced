"""Preparation by the engine: joins, drafts that are narrowed, states (`core/interface.h`)."""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_int32, c_int64, c_void_p
from typing import Any, Final, NamedTuple, final

import numpy as np

from pdsketch.budget import UNLIMITED, Budget
from pdsketch.core.library import (
    Array,
    Arrays,
    Owned,
    RowsStructure,
    TaskStructure,
    call,
    declare,
    function,
)
from pdsketch.core.rows import CSR, csr_of
from pdsketch.core.task import Draft, Program, Task

declare(
    {
        "pds_draft_new": (c_int32, [c_void_p] * 3),
        "pds_draft_free": (None, [c_void_p]),
        "pds_narrow": (c_int32, [c_void_p] * 2 + [c_int64, c_void_p] * 2 + [c_void_p] * 3),
        "pds_narrowed_free": (None, [c_void_p]),
        "pds_join_new": (c_int32, [c_void_p] * 3),
        "pds_join_free": (None, [c_void_p]),
        "pds_join_run": (c_int32, [c_void_p] * 2),
        "pds_join_facts": (c_int64, [c_void_p] * 3),
        "pds_join_n_instances": (c_int64, [c_void_p, c_int64]),
        "pds_join_take": (c_int32, [c_void_p, c_int64, c_void_p, c_void_p]),
        "pds_join_find": (c_int32, [c_void_p, c_int32, c_int64, c_int64, c_void_p, c_void_p, c_void_p]),
        "pds_states_new": (c_int32, [c_void_p] * 3),
        "pds_states_free": (None, [c_void_p]),
        "pds_states_derive": (c_int32, [c_void_p] * 3),
        "pds_states_applicable": (c_int32, [c_void_p] * 5),
        "pds_states_apply": (c_int32, [c_void_p, c_int32, c_void_p, c_void_p]),
    }
)


_BRIEF: Final = 1 << 16
"""So many items take some milliseconds."""

_NONE: Final[Array] = np.zeros(0, np.int32)
_EMPTY: Final = csr_of([])


class _DraftArrays(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_facts", "n_effects", "n_axioms")),
        ("preconditions", RowsStructure),
        ("costs", c_void_p),
        ("owners", c_void_p),
        ("conditions", RowsStructure),
        ("heads", RowsStructure),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", RowsStructure),
        ("derived", c_void_p),
        ("layers", c_void_p),
        ("groups", RowsStructure),
    ]


class _GoalArrays(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_literals", "n_facts", "n_axioms")),
        ("literals", c_void_p),
        ("possible", c_int32),
        ("layer", c_int32),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", RowsStructure),
    ]


class _NarrowedArrays(Structure):
    _fields_ = [
        ("task", TaskStructure),
        ("kept", c_void_p),
        ("chosen", c_void_p),
        ("n_literals", c_int64),
        ("possible", c_void_p),
        ("solvable", c_int32),
    ]


class _Program(Structure):
    _fields_ = [
        ("n_code", c_int64),
        ("code", c_void_p),
        *(
            (n, c_int32)
            for n in ("n_args", "n_indexes", "n_variables", "n_matched", "n_pointers", "untriggered")
        ),
        ("n_rules", c_int64),
        ("widths", c_void_p),
        ("n_facts", c_int64),
        ("n_static", c_int64),
        ("facts", c_void_p),
    ]


class Narrowed(NamedTuple):
    """A task without names, made of a draft, see `core/narrow.hpp`.

    ``kept`` are the facts of the draft that are left, ``chosen`` the operators; in the initial state derived
    facts are false. ``possible`` says of every literal of the draft whether it can hold. An impossible goal
    leaves what of the goal can never hold, with nothing that could reach it.
    """

    solvable: bool
    kept: Array
    chosen: Array
    possible: Array
    task: Task


@final
class PreparedDraft(Owned):
    """A draft, ready to be narrowed.

    Of the facts of ``draft``, ``derived`` says which are, and ``layer`` in which layer of axioms; ``budget``
    bounds the making.
    """

    def __init__(self, draft: Draft, derived: Array, layer: Array, budget: Budget) -> None:
        super().__init__("pds_draft_free")
        self._arrays = own = Arrays()  # which the library reads as long as this lives
        given = _DraftArrays(
            len(derived),
            len(draft.owners),
            len(draft.axiom_heads),
            own.rows(draft.preconditions),
            own.at(draft.costs, np.float64),
            own.at(draft.owners, np.int32),
            own.rows(draft.conditions),
            own.rows(draft.heads),
            own.at(draft.axiom_heads, np.int32),
            own.rows(draft.axiom_bodies),
            own.at(derived, np.uint8),
            own.at(layer, np.int32),
            own.rows(draft.groups),
        )
        rows = (draft.preconditions, draft.conditions, draft.heads, draft.axiom_bodies)
        self.size = len(derived) + sum(len(each.items) for each in rows)
        call("pds_draft_new", byref(given), byref(self.handle), budget=budget, brief=self.size < _BRIEF)


@final
class PreparedGoal:
    """A goal for a draft: ``literals``, and ``n_facts`` derived facts of its own with their axioms.

    The bodies of the axioms, ``axiom_heads`` with ``axiom_bodies``, are over facts before the head, and each
    fact has a layer of its own, from ``layer`` on. Where it is not ``possible``, the goal contradicts itself.
    """

    def __init__(
        self,
        literals: Array,
        axiom_heads: Array = _NONE,
        axiom_bodies: CSR = _EMPTY,
        *,
        possible: bool,
        n_facts: int = 0,
        layer: int = 0,
    ) -> None:
        self._arrays = own = Arrays()  # which the library reads as long as this lives
        self.given = _GoalArrays(
            len(literals),
            n_facts,
            len(axiom_heads),
            own.at(literals, np.int32),
            possible,
            layer,
            own.at(axiom_heads, np.int32),
            own.rows(axiom_bodies),
        )


def narrow(draft: PreparedDraft, goal: PreparedGoal, init: Array, free: Array, budget: Budget) -> Narrowed:
    """The task of a ``draft`` from a state to a ``goal``, made within ``budget``.

    ``init`` is the truth of the draft's first facts; ``free`` ones may be false, too.
    """
    own, found, made = Arrays(), _NarrowedArrays(), Owned("pds_narrowed_free")
    state = (len(init), own.at(init, np.uint8), len(free), own.at(free, np.uint8))
    places = (byref(made.handle), byref(found))
    brief = draft.size < _BRIEF
    call("pds_narrow", draft.handle, byref(goal.given), *state, *places, budget=budget, brief=brief)
    task = found.task
    whole = np.zeros(task.n_facts, np.bool_)
    whole[: task.n_basic] = _copied(task.init, task.n_basic, np.bool_)
    nameless = Task(
        facts=(),
        n_basic=task.n_basic,
        init=whole,
        goal=_copied(task.goal, task.n_goal, np.int32),
        operators=(),
        costs=_copied(task.costs, task.n_operators, np.float64),
        preconditions=_copied_rows(task.preconditions),
        effects=_copied_rows(task.effects),
        conditions=_copied_rows(task.conditions),
        heads=_copied_rows(task.heads),
        axiom_heads=_copied(task.axiom_heads, task.n_axioms, np.int32),
        axiom_bodies=_copied_rows(task.axiom_bodies),
        axiom_layers=_copied(task.axiom_layers, task.n_axioms, np.int32),
    )
    return Narrowed(
        bool(found.solvable),
        _copied(found.kept, task.n_facts, np.int32),
        _copied(found.chosen, task.n_operators, np.int32),
        _copied(found.possible, found.n_literals, np.bool_),
        nameless,
    )


def _copied(address: int | None, size: int, kind: Any) -> Array:
    array = np.empty(size, kind)
    if address is not None and size:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array


def _copied_rows(rows: RowsStructure) -> CSR:
    starts = _copied(rows.starts, rows.n + 1, np.int32)
    return CSR(starts, _copied(rows.items, int(starts[-1]), np.int32))


@final
class Join(Owned):
    """The joins of a ``program``, made within ``budget``.

    ``facts`` are rows, the address of a relation and arguments; the first ``n_static`` never change.
    """

    def __init__(self, program: Program, facts: Array, n_static: int, budget: Budget) -> None:
        super().__init__("pds_join_free")
        own, widths = Arrays(), [sum(cells) for cells in program.widths]
        given = _Program(
            len(program.code),
            own.at(program.code, np.int32),
            program.n_args,
            program.n_indexes,
            program.n_variables,
            program.n_matched,
            program.n_pointers,
            program.untriggered,
            len(widths),
            own.at(np.array(widths), np.int32),
            len(facts),
            n_static,
            own.at(facts, np.int32),
        )
        self._widths, self._n_columns = widths, 1 + program.n_args
        brief = facts.size < _BRIEF
        call("pds_join_new", byref(given), byref(self.handle), budget=budget, brief=brief)

    def run(self, budget: Budget) -> None:
        """Derive everything that can be derived."""
        call("pds_join_run", self.handle, budget=budget)

    def facts(self) -> Array:
        """All facts, those of the beginning first."""
        first, columns = c_void_p(), c_int64()
        n = int(function("pds_join_facts")(self.handle, byref(first), byref(columns)))
        rows = _copied(first.value, n * columns.value, np.int32).reshape(n, columns.value)
        return np.ascontiguousarray(rows[:, : self._n_columns])

    def counts(self) -> list[int]:
        """How many instances of each rule there are."""
        return [function("pds_join_n_instances")(self.handle, rule) for rule in range(len(self._widths))]

    def take(self, rule: int, budget: Budget) -> Array:
        """The instances of a rule, a row each; they are not kept in the library as well."""
        n, width = int(function("pds_join_n_instances")(self.handle, rule)), self._widths[rule]
        budget.reserve(4 * n * width)
        table = np.empty((n, width), np.int32)
        call("pds_join_take", self.handle, rule, table.ctypes.data, budget=budget, brief=n * width < _BRIEF)
        return table

    def find(self, relation: int, arguments: Array, budget: Budget) -> Array:
        """The fact of a relation, given by its address, for each row of arguments; -1 where there is none."""
        own, found = Arrays(), np.empty(len(arguments), np.int32)
        table = own.at(arguments, np.int32)
        places = (*arguments.shape, table, found.ctypes.data)
        brief = arguments.size < _BRIEF
        call("pds_join_find", self.handle, relation, *places, budget=budget, brief=brief)
        return found


@final
class States(Owned):
    """The states of a task, one at a time: the truth of all facts, derived ones included."""

    def __init__(self, task: Task, budget: Budget = UNLIMITED) -> None:
        super().__init__("pds_states_free")
        own = Arrays()
        self._n_basic, self._n_facts, self._n_operators = task.n_basic, task.n_facts, len(task.costs)
        given = own.task(task)
        call("pds_states_new", byref(given), byref(self.handle), budget=budget)

    def derived(self, basic: Array) -> Array:
        """All facts, of which the basic ones are given, the first of an array."""
        facts = np.zeros(self._n_facts, np.bool_)
        facts[: self._n_basic] = basic[: self._n_basic]
        call("pds_states_derive", self.handle, facts.ctypes.data, brief=True)
        return facts

    def applicable(self, facts: Array) -> Array:
        """The operators whose preconditions hold."""
        found, n = np.empty(self._n_operators, np.int32), c_int64()
        own = Arrays()
        given = own.at(facts, np.uint8)
        call("pds_states_applicable", self.handle, given, found.ctypes.data, byref(n), brief=True)
        return found[: n.value]

    def successor(self, facts: Array, operator: int) -> Array:
        """All facts after an operator, whose precondition is taken to hold."""
        after = np.array(facts, np.bool_)
        call("pds_states_apply", self.handle, operator, after.ctypes.data, brief=True)
        return after
