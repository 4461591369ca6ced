"""Joins of the engine, and the draft that they lead to (`core/join.cpp`, `core/drafting.cpp`)."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from ctypes import Structure, byref, c_double, c_int32, c_int64, c_void_p
from typing import final

from pdsketch.budget import Budget
from pdsketch.core.library import Arrays, Owned, RowsStructure, call, declare, function, ints_at
from pdsketch.core.task import Program

declare(
    {
        "pds_join_new": (c_int32, [c_void_p] * 3),
        "pds_join_free": (None, [c_void_p]),
        "pds_join_run": (c_int32, [c_void_p] * 2),
        "pds_join_n_facts": (c_int64, [c_void_p]),
        "pds_join_n_instances": (c_int64, [c_void_p, c_int64]),
        "pds_join_draft": (c_int32, [c_void_p] * 4),
        "pds_join_facts": (None, [c_void_p, c_int64, c_void_p, c_int64, c_void_p]),
        "pds_join_operators": (None, [c_void_p, c_int64, c_void_p, c_int64, c_void_p]),
    }
)


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


class _Plan(Structure):
    _fields_ = [
        ("n_rules", c_int64),
        ("rules", c_void_p),
        ("n_constants", c_int64),
        ("constants", c_void_p),
        ("n_values", c_int64),
        ("values", c_void_p),
        ("goal", c_int32),
        ("largest_cost", c_double),
    ]


class _Drafted(Structure):
    _fields_ = [
        ("draft", c_void_p),
        *((name, c_int64) for name in ("n_facts", "n_operators", "n_goal", "n_axioms", "n_items")),
        ("goal", c_void_p),
        ("possible", c_int32),
        ("wrong_rule", c_int32),
        ("wrong_cost", c_double),
        ("wrong_objects", c_void_p),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", RowsStructure),
        ("derived", c_void_p),
        ("layers", c_void_p),
    ]


class WrongCostError(Exception):
    """An instance of a rule has a cost that no operator may have."""

    def __init__(self, rule: int, objects: Sequence[int], cost: float) -> None:
        super().__init__(rule, objects, cost)
        self.rule = rule
        self.objects = objects
        self.cost = cost


@final
class Join(Owned):
    """The joins of a ``program``, made within ``budget``.

    ``facts`` are rows, the address of a relation and arguments; the first ``n_static`` never change.
    """

    def __init__(self, program: Program, facts: array[int], n_static: int, budget: Budget) -> None:
        super().__init__("pds_join_free")
        own = Arrays()
        self._program, self._widths = program, [sum(cells) for cells in program.widths]
        given = _Program(
            len(program.code),
            own.at(program.code, "i"),
            program.n_args,
            program.n_indexes,
            program.n_variables,
            program.n_matched,
            program.n_pointers,
            program.untriggered,
            len(self._widths),
            own.at(array("i", self._widths), "i"),
            len(facts) // (1 + program.n_args),
            n_static,
            own.at(facts, "i"),
        )
        call("pds_join_new", byref(given), byref(self.handle), budget=budget)

    def run(self, budget: Budget) -> None:
        """Derive everything that can be derived."""
        call("pds_join_run", self.handle, budget=budget)

    @property
    def n_facts(self) -> int:
        """How many facts there are."""
        return int(function("pds_join_n_facts")(self.handle))

    def counts(self) -> list[int]:
        """How many instances of each rule there are."""
        return [function("pds_join_n_instances")(self.handle, rule) for rule in range(len(self._widths))]

    def draft(self, values: array[float], largest_cost: float, budget: Budget) -> GroundDraft:
        """The draft that the program describes; ``values`` are those of static facts that are functions.

        Raises `WrongCostError` where a cost is negative or larger than allowed.
        """
        own, found, program = Arrays(), _Drafted(), self._program
        plan = _Plan(
            len(program.drafts),
            own.at(program.drafts, "i"),
            len(program.constants),
            own.at(program.constants, "d"),
            len(values),
            own.at(values, "d"),
            program.goal,
            largest_cost,
        )
        call("pds_join_draft", self.handle, byref(plan), byref(found), budget=budget)
        if found.wrong_rule >= 0:
            n_variables, _, _ = program.widths[found.wrong_rule]
            objects = ints_at(found.wrong_objects, n_variables)
            raise WrongCostError(found.wrong_rule, objects, found.wrong_cost)
        return GroundDraft(self, found)

    def facts(self, facts: array[int]) -> list[list[int]]:
        """For each fact the number of its relation or disjunction, and its objects."""
        width = 1 + max(self._program.n_args, self._program.n_variables)
        return self._table("pds_join_facts", facts, width)

    def operators(self, operators: array[int]) -> list[list[int]]:
        """For each operator of the draft its rule, and the objects of the first variables."""
        return self._table("pds_join_operators", operators, 1 + self._program.named)

    def _table(self, name: str, numbers: array[int], width: int) -> list[list[int]]:
        own, rows = Arrays(), array("i", bytes(4 * len(numbers) * width))
        places = (len(numbers), own.at(numbers, "i"), width, own.at(rows, "i"))
        function(name)(self.handle, *places)
        flat = rows.tolist()
        return [flat[first : first + width] for first in range(0, len(flat), width)]


@final
class GroundDraft:
    """What the joins led to: facts, operators and axioms, before anything is pruned. It keeps the ``join``.

    ``size`` is about how many items there are.
    """

    def __init__(self, join: Join, found: Structure) -> None:
        self.join = join
        self._found = found
        self.handle = c_void_p(found.draft)
        self.size: int = found.n_facts + found.n_items
        self.n_facts: int = found.n_facts
        self.n_operators: int = found.n_operators
        self.possible = bool(found.possible)
        self.goal = ints_at(found.goal, found.n_goal)

    @property
    def derived(self) -> bytes:
        """Which facts are derived."""
        return ctypes.string_at(self._found.derived, self.n_facts)

    @property
    def layers(self) -> array[int]:
        """In which layer of axioms each fact is."""
        return ints_at(self._found.layers, self.n_facts)

    @property
    def axioms(self) -> tuple[array[int], array[int], array[int]]:
        """The heads of the axioms; where their bodies start, and the literals of these."""
        n, bodies = self._found.n_axioms, self._found.axiom_bodies
        starts = ints_at(bodies.starts, n + 1)
        return ints_at(self._found.axiom_heads, n), starts, ints_at(bodies.items, starts[-1])
