"""Drafts are narrowed to initial states and goals by the engine (`core/narrow.cpp`)."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import Structure, byref, c_int32, c_int64, c_void_p
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

from pdsketch.budget import Budget
from pdsketch.core.joining import GroundDraft
from pdsketch.core.library import Arrays, Owned, RowsStructure, TaskStructure, call, declare, ints_at
from pdsketch.core.task import Draft, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdsketch.core.rows import CSR, Bools, Ints

declare(
    {
        "pds_draft_new": (c_int32, [c_void_p] * 3),
        "pds_draft_free": (None, [c_void_p]),
        "pds_narrow": (c_int32, [c_void_p] * 2 + [c_int64, c_void_p] * 2 + [c_void_p] * 3),
        "pds_narrowed_free": (None, [c_void_p]),
    }
)


_BRIEF: Final = 1 << 16
"""So many items take some milliseconds."""

_NONE: Final = array("i")


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


@final
class PreparedDraft(Owned):
    """A draft, ready to be narrowed.

    Of the facts of ``draft``, ``derived`` says which are, and ``layer`` in which layer of axioms; ``budget``
    bounds the making.
    """

    def __init__(self, draft: Draft, derived: Bools, layer: Ints, budget: Budget) -> None:
        super().__init__("pds_draft_free")
        self._arrays = own = Arrays()  # which the library reads as long as this lives
        given = _DraftArrays(
            len(derived),
            len(draft.owners),
            len(draft.axiom_heads),
            own.rows(draft.preconditions),
            own.at(draft.costs, "d"),
            own.at(draft.owners, "i"),
            own.rows(draft.conditions),
            own.rows(draft.heads),
            own.at(draft.axiom_heads, "i"),
            own.rows(draft.axiom_bodies),
            own.at(derived, "B"),
            own.at(layer, "i"),
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
        literals: array[int] | Ints,
        axiom_heads: array[int] | Ints = _NONE,
        axiom_bodies: CSR | None = None,
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
            own.at(literals, "i"),
            possible,
            layer,
            own.at(axiom_heads, "i"),
            own.rows(axiom_bodies),
        )


@final
class Narrowed(Owned):
    """A task without names, made of a draft, see `core/narrow.hpp`.

    An impossible goal leaves what of the goal can never hold, with nothing that could reach it. ``structure``
    is what the library reads.
    """

    def __init__(self) -> None:
        super().__init__("pds_narrowed_free")
        self.found = _NarrowedArrays()

    @property
    def structure(self) -> TaskStructure:
        """The task as the library reads it."""
        found: TaskStructure = self.found.task
        return found

    @property
    def solvable(self) -> bool:
        """Whether the goal is within reach of the relaxed task."""
        return bool(self.found.solvable)

    @property
    def kept(self) -> array[int]:
        """The facts of the draft that are left."""
        return ints_at(self.found.kept, self.structure.n_facts)

    @property
    def chosen(self) -> array[int]:
        """The operators of the draft that are left."""
        return ints_at(self.found.chosen, self.structure.n_operators)

    @property
    def costs(self) -> array[float]:
        """The costs of these operators."""
        n = self.structure.n_operators
        return array("d", ctypes.string_at(self.structure.costs, 8 * n) if n else b"")

    @cached_property
    def possible(self) -> bytes:
        """By literal of the draft, whether it can hold."""
        return ctypes.string_at(self.found.possible, self.found.n_literals)

    @cached_property
    def task(self) -> Task:
        """The task in arrays; in the initial state derived facts are false."""
        import numpy as np

        from pdsketch.core.rows import CSR

        def copied(address: int | None, size: int, kind: Any) -> NDArray[Any]:
            whole = np.empty(size, kind)
            if address is not None and size:
                ctypes.memmove(whole.ctypes.data, address, whole.nbytes)
            return whole

        def rows(given: RowsStructure) -> CSR:
            starts = copied(given.starts, given.n + 1, np.int32)
            return CSR(starts, copied(given.items, int(starts[-1]), np.int32))

        task = self.structure
        init = np.zeros(task.n_facts, np.bool_)
        init[: task.n_basic] = copied(task.init, task.n_basic, np.bool_)
        return Task(
            facts=(),
            n_basic=task.n_basic,
            init=init,
            goal=copied(task.goal, task.n_goal, np.int32),
            operators=(),
            costs=copied(task.costs, task.n_operators, np.float64),
            preconditions=rows(task.preconditions),
            effects=rows(task.effects),
            conditions=rows(task.conditions),
            heads=rows(task.heads),
            axiom_heads=copied(task.axiom_heads, task.n_axioms, np.int32),
            axiom_bodies=rows(task.axiom_bodies),
            axiom_layers=copied(task.axiom_layers, task.n_axioms, np.int32),
        )


def narrow(
    draft: PreparedDraft | GroundDraft,
    goal: PreparedGoal,
    init: array[int] | Bools,
    free: array[int] | Bools,
    budget: Budget,
) -> Narrowed:
    """The task of a ``draft`` from a state to a ``goal``, made within ``budget``.

    ``init`` is the truth of the draft's first facts; ``free`` ones may be false, too.
    """
    own, made = Arrays(), Narrowed()
    state = (len(init), own.at(init, "B"), len(free), own.at(free, "B"))
    places = (byref(made.handle), byref(made.found))
    brief = draft.size < _BRIEF
    call("pds_narrow", draft.handle, byref(goal.given), *state, *places, budget=budget, brief=brief)
    return made


def structure_of(task: Task | Narrowed, own: Arrays) -> TaskStructure:
    """A task as the library reads it; ``own`` keeps its arrays."""
    if isinstance(task, Narrowed):
        return task.structure
    return TaskStructure(
        task.n_facts,
        task.n_basic,
        len(task.goal),
        len(task.costs),
        len(task.axiom_heads),
        own.at(task.init[: task.n_basic], "B"),
        own.at(task.goal, "i"),
        own.at(task.costs, "d"),
        *map(own.rows, (task.preconditions, task.effects, task.conditions, task.heads)),
        own.at(task.axiom_heads, "i"),
        own.rows(task.axiom_bodies),
        own.at(task.axiom_layers, "i"),
    )
