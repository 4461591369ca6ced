"""The engine in C++ (`core/` in the repository), called through ctypes: this module alone knows how.

The library lies beside this file, or where ``PDSKETCH_CORE`` says. Its functions
answer with a code, which `call` turns into the `LimitError` of the budget that
was reached, or into a `KeyboardInterrupt`: calls from the main thread are run in
a thread of their own, so that signals are heard meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from ctypes import Structure, byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import UNLIMITED, Budget, OutOfMemoryError, OutOfTimeError
from pdsketch.lang import error

VERSION: Final = 3
"""Of the interface; the library must say the same."""

_DONE, _OUT_OF_TIME, _OUT_OF_MEMORY, _INTERRUPTED = range(4)

Array = NDArray[Any]


class Rows(Protocol):
    """Lists of ints in two arrays, as `CSR`."""

    @property
    def starts(self) -> Array:
        """Where each row starts, and where the last one ends."""

    @property
    def items(self) -> Array:
        """The items of all rows."""


class GroundedTask(Protocol):
    """What the engine reads of a `Task`."""

    @property
    def n_facts(self) -> int: ...  # noqa: D102
    @property
    def n_basic(self) -> int: ...  # noqa: D102
    @property
    def init(self) -> Array: ...  # noqa: D102
    @property
    def goal(self) -> Array: ...  # noqa: D102
    @property
    def costs(self) -> Array: ...  # noqa: D102
    @property
    def preconditions(self) -> Rows: ...  # noqa: D102
    @property
    def effects(self) -> Rows: ...  # noqa: D102
    @property
    def conditions(self) -> Rows: ...  # noqa: D102
    @property
    def heads(self) -> Rows: ...  # noqa: D102
    @property
    def axiom_heads(self) -> Array: ...  # noqa: D102
    @property
    def axiom_bodies(self) -> Rows: ...  # noqa: D102
    @property
    def axiom_layers(self) -> Array: ...  # noqa: D102


# The structures of `core/interface.h`.


class _Limits(Structure):
    _fields_ = [("seconds", c_double), ("bytes", c_double), ("stop", c_void_p)]


class _Rows(Structure):
    _fields_ = [("n", c_int64), ("starts", c_void_p), ("items", c_void_p)]


class _Task(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_facts", "n_basic", "n_goal", "n_operators", "n_axioms")),
        *((name, c_void_p) for name in ("init", "goal", "costs")),
        *((name, _Rows) for name in ("preconditions", "effects", "conditions", "heads")),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", _Rows),
        ("axiom_layers", c_void_p),
    ]


_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "pds_version": (c_int32, []),
    "pds_last_error": (c_char_p, []),
    "pds_draft_new": (c_int32, [c_void_p] * 3),
    "pds_draft_free": (None, [c_void_p]),
    "pds_goal_new": (c_int32, [c_void_p] * 3),
    "pds_goal_free": (None, [c_void_p]),
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
    "pds_mutexes": (c_int32, [c_void_p] * 5),
    "pds_evaluator_new": (c_int32, [c_void_p] * 2 + [c_int32] * 2 + [c_void_p] * 2),
    "pds_evaluator_free": (None, [c_void_p]),
    "pds_evaluator_values": (c_int32, [c_void_p] * 2 + [c_int64] * 2 + [c_void_p] * 2),
    "pds_evaluator_preferred": (c_int64, [c_void_p] * 2 + [c_int64]),
    "pds_search_new": (c_int32, [c_void_p] * 5),
    "pds_search_free": (None, [c_void_p]),
    "pds_search_run": (c_int32, [c_void_p, c_double, c_void_p, c_void_p]),
    "pds_search_progress": (None, [c_void_p] * 2),
    "pds_search_result": (c_int32, [c_void_p] * 3),
    "pds_search_many": (c_int32, [c_void_p, c_int64, c_void_p, c_double, c_int32] + [c_void_p] * 3),
    "pds_plans_steps": (None, [c_void_p] * 2),
    "pds_plans_free": (None, [c_void_p]),
    "pds_search_nodes": (None, [c_void_p, c_int64, c_int64] + [c_void_p] * 5),
}
"""What each function answers with, and its arguments."""


@cache
def library() -> ctypes.CDLL:
    """The library, with the types of its functions."""
    path = Path(os.environ.get("PDSKETCH_CORE") or Path(__file__).with_name("_core.so"))
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as why:
        raise error(
            "no-engine",
            f"the planning engine cannot be loaded: {why}",
            help="install the package with `pip install .`, or in an editable install run `make core`",
        ) from None
    _refuse_an_older_one(path)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    if lib.pds_version() != VERSION:
        raise error("old-engine", f"{path} is not of this version of pdsketch", help="run `make core`")
    return lib


def _refuse_an_older_one(path: Path) -> None:
    """In a checkout, the library must not be older than its sources."""
    sources = Path(__file__).parents[2] / "core"
    if not sources.joinpath("interface.h").exists():
        return
    built = path.stat().st_mtime
    if any(source.stat().st_mtime > built for source in sources.glob("*.[ch]pp")):
        raise error(
            "old-engine",
            f"the sources in {sources} are newer than {path}",
            help="run `make core`",
        )


class Arrays:
    """Arrays as the library reads them; they live as long as this does."""

    def __init__(self) -> None:
        self._kept: list[Array] = []

    def at(self, array: Any, kind: Any) -> int:
        """The address of an array of a kind."""
        kept = np.ascontiguousarray(array, kind)
        self._kept.append(kept)
        return int(kept.ctypes.data)

    def rows(self, rows: Rows) -> _Rows:
        """Rows of ints."""
        return _Rows(len(rows.starts) - 1, self.at(rows.starts, np.int32), self.at(rows.items, np.int32))

    def task(self, task: GroundedTask) -> _Task:
        """A grounded task."""
        return _Task(
            task.n_facts,
            task.n_basic,
            len(task.goal),
            len(task.costs),
            len(task.axiom_heads),
            self.at(task.init[: task.n_basic], np.uint8),
            self.at(task.goal, np.int32),
            self.at(task.costs, np.float64),
            *map(self.rows, (task.preconditions, task.effects, task.conditions, task.heads)),
            self.at(task.axiom_heads, np.int32),
            self.rows(task.axiom_bodies),
            self.at(task.axiom_layers, np.int32),
        )


# Preparation: `core/preparation.h`.


class _DraftArrays(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_facts", "n_effects", "n_axioms")),
        ("preconditions", _Rows),
        ("costs", c_void_p),
        ("owners", c_void_p),
        ("conditions", _Rows),
        ("heads", _Rows),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", _Rows),
        ("derived", c_void_p),
        ("layers", c_void_p),
        ("groups", _Rows),
    ]


class _GoalArrays(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_literals", "n_facts", "n_axioms")),
        ("literals", c_void_p),
        ("possible", c_int32),
        ("layer", c_int32),
        ("axiom_heads", c_void_p),
        ("axiom_bodies", _Rows),
    ]


class _NarrowedArrays(Structure):
    _fields_ = [
        ("task", _Task),
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


class JoinProgram(Protocol):
    """What the engine reads of a `Program`."""

    @property
    def code(self) -> Array: ...  # noqa: D102
    @property
    def untriggered(self) -> int: ...  # noqa: D102
    @property
    def widths(self) -> Sequence[tuple[int, ...]]: ...  # noqa: D102
    @property
    def n_args(self) -> int: ...  # noqa: D102
    @property
    def n_indexes(self) -> int: ...  # noqa: D102
    @property
    def n_variables(self) -> int: ...  # noqa: D102
    @property
    def n_matched(self) -> int: ...  # noqa: D102
    @property
    def n_pointers(self) -> int: ...  # noqa: D102


class DraftedTask(Protocol):
    """What the engine reads of a `Draft`."""

    @property
    def preconditions(self) -> Rows: ...  # noqa: D102
    @property
    def costs(self) -> Array: ...  # noqa: D102
    @property
    def owners(self) -> Array: ...  # noqa: D102
    @property
    def conditions(self) -> Rows: ...  # noqa: D102
    @property
    def heads(self) -> Rows: ...  # noqa: D102
    @property
    def axiom_heads(self) -> Array: ...  # noqa: D102
    @property
    def axiom_bodies(self) -> Rows: ...  # noqa: D102


class OwnRows(NamedTuple):
    """Lists of ints in two arrays."""

    starts: Array
    items: Array


class Narrowed(NamedTuple):
    """A task that was made of a draft, see `core/narrow.hpp`."""

    solvable: bool
    kept: Array
    n_basic: int
    init: Array
    goal: Array
    chosen: Array
    costs: Array
    preconditions: OwnRows
    effects: OwnRows
    conditions: OwnRows
    heads: OwnRows
    axiom_heads: Array
    axiom_bodies: OwnRows
    axiom_layers: Array
    possible: Array


class _Owned:
    """Something that lives in the library until nobody needs it here."""

    def __init__(self, free: str) -> None:
        self.handle = c_void_p()
        self._free = getattr(library(), free)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._free(self.handle)


@final
class PreparedDraft(_Owned):
    """A draft, ready to be narrowed. ``groups`` are operators that are one ground action."""

    def __init__(
        self, draft: DraftedTask, derived: Array, layer: Array, groups: Rows, budget: Budget
    ) -> None:
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
            own.rows(groups),
        )
        call("pds_draft_new", byref(given), byref(self.handle), budget=budget)


@final
class PreparedGoal(_Owned):
    """A goal for a draft: literals, and ``n_facts`` derived facts of its own with their axioms."""

    def __init__(
        self,
        literals: Array,
        axiom_heads: Array,
        axiom_bodies: Rows,
        *,
        possible: bool,
        n_facts: int,
        layer: int,
    ) -> None:
        super().__init__("pds_goal_free")
        own = Arrays()
        given = _GoalArrays(
            len(literals),
            n_facts,
            len(axiom_heads),
            own.at(literals, np.int32),
            possible,
            layer,
            own.at(axiom_heads, np.int32),
            own.rows(axiom_bodies),
        )
        call("pds_goal_new", byref(given), byref(self.handle))


def narrow(draft: PreparedDraft, goal: PreparedGoal, init: Array, free: Array, budget: Budget) -> Narrowed:
    """The task from a state, the truth of the draft's first facts; ``free`` ones may be false, too."""
    own, found, made = Arrays(), _NarrowedArrays(), _Owned("pds_narrowed_free")
    state = (len(init), own.at(init, np.uint8), len(free), own.at(free, np.uint8))
    call("pds_narrow", draft.handle, goal.handle, *state, byref(made.handle), byref(found), budget=budget)
    task = found.task
    return Narrowed(
        bool(found.solvable),
        _copied(found.kept, task.n_facts, np.int32),
        task.n_basic,
        _copied(task.init, task.n_basic, np.bool_),
        _copied(task.goal, task.n_goal, np.int32),
        _copied(found.chosen, task.n_operators, np.int32),
        _copied(task.costs, task.n_operators, np.float64),
        _copied_rows(task.preconditions),
        _copied_rows(task.effects),
        _copied_rows(task.conditions),
        _copied_rows(task.heads),
        _copied(task.axiom_heads, task.n_axioms, np.int32),
        _copied_rows(task.axiom_bodies),
        _copied(task.axiom_layers, task.n_axioms, np.int32),
        _copied(found.possible, found.n_literals, np.bool_),
    )


def _copied(address: int | None, size: int, kind: Any) -> Array:
    array = np.empty(size, kind)
    if address is not None and size:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array


def _copied_rows(rows: _Rows) -> OwnRows:
    starts = _copied(rows.starts, rows.n + 1, np.int32)
    return OwnRows(starts, _copied(rows.items, int(starts[-1]), np.int32))


@final
class Join(_Owned):
    """The joins of a program. Facts are rows: the address of a relation, and arguments; static ones first."""

    def __init__(self, program: JoinProgram, facts: Array, n_static: int, budget: Budget) -> None:
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
        call("pds_join_new", byref(given), byref(self.handle), budget=budget)

    def run(self, budget: Budget) -> None:
        """Derive everything that can be derived."""
        call("pds_join_run", self.handle, budget=budget)

    def facts(self) -> Array:
        """All facts, those of the beginning first."""
        first, columns = c_void_p(), c_int64()
        n = int(library().pds_join_facts(self.handle, byref(first), byref(columns)))
        rows = _copied(first.value, n * columns.value, np.int32).reshape(n, columns.value)
        return np.ascontiguousarray(rows[:, : self._n_columns])

    def counts(self) -> list[int]:
        """How many instances of each rule there are."""
        return [library().pds_join_n_instances(self.handle, rule) for rule in range(len(self._widths))]

    def take(self, rule: int, budget: Budget) -> Array:
        """The instances of a rule, a row each; they are not kept in the library as well."""
        n, width = int(library().pds_join_n_instances(self.handle, rule)), self._widths[rule]
        budget.reserve(4 * n * width)
        table = np.empty((n, width), np.int32)
        call("pds_join_take", self.handle, rule, c_void_p(table.ctypes.data), budget=budget)
        return table

    def find(self, relation: int, arguments: Array, budget: Budget) -> Array:
        """The fact of a relation, given by its address, for each row of arguments; -1 where there is none."""
        own, found = Arrays(), np.empty(len(arguments), np.int32)
        table = own.at(arguments, np.int32)
        places = (*arguments.shape, table, c_void_p(found.ctypes.data))
        call("pds_join_find", self.handle, relation, *places, budget=budget)
        return found


@final
class States(_Owned):
    """The states of a task, one at a time: the truth of all facts, derived ones included."""

    def __init__(self, task: GroundedTask, budget: Budget = UNLIMITED) -> None:
        super().__init__("pds_states_free")
        own = Arrays()
        self._n_basic, self._n_facts, self._n_operators = task.n_basic, task.n_facts, len(task.costs)
        given = own.task(task)
        call("pds_states_new", byref(given), byref(self.handle), budget=budget)

    def derived(self, basic: Array) -> Array:
        """All facts, of which the basic ones are given, the first of an array."""
        facts = np.zeros(self._n_facts, np.bool_)
        facts[: self._n_basic] = basic[: self._n_basic]
        call("pds_states_derive", self.handle, facts.ctypes.data)
        return facts

    def applicable(self, facts: Array) -> Array:
        """The operators whose preconditions hold."""
        found, n = np.empty(self._n_operators, np.int32), c_int64()
        own = Arrays()
        call("pds_states_applicable", self.handle, own.at(facts, np.uint8), found.ctypes.data, byref(n))
        return found[: n.value]

    def successor(self, facts: Array, operator: int) -> Array:
        """All facts after an operator, whose precondition is taken to hold."""
        after = np.array(facts, np.bool_)
        call("pds_states_apply", self.handle, operator, after.ctypes.data)
        return after


def mutexes(task: GroundedTask, groups: Array, budget: Budget) -> tuple[Array, Array]:
    """For each literal the set of those that it may hold with, as bits, and which axioms' bodies may hold."""
    own, size = Arrays(), 2 * task.n_facts
    budget.reserve(16 * size * ((size + 63) // 64))
    pairs = np.zeros((size, (size + 63) // 64), np.uint64)
    consistent = np.zeros(len(task.axiom_heads), np.bool_)
    given = own.task(task)
    places = (own.at(groups, np.int32), c_void_p(pairs.ctypes.data), c_void_p(consistent.ctypes.data))
    call("pds_mutexes", byref(given), *places, budget=budget)
    return pairs, consistent


# Heuristics and searches: `core/searching.cpp`.

ESTIMATES: Final = ("blind", "goalcount", "max", "add", "ff", "lmcut")
"""The heuristics in the order in which the library numbers them."""

PAUSED, SOLVED, EXHAUSTED, ENOUGH = range(4)
"""How far a search came: not to an end, to a plan, to the end of its states, to its limit of expansions."""

_FOREVER: Final = 1 << 62

_BRIEF: Final = 1 << 20
"""So many conditions are looked at in some milliseconds."""


def _size(task: GroundedTask) -> int:
    """About how many conditions an evaluation looks at, or how many items making it ready does."""
    rows = (task.preconditions, task.effects, task.conditions, task.heads, task.axiom_bodies)
    return sum(len(each.items) for each in rows) + task.n_facts


class _Settings(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("estimate", "lazy", "per_effect")),
        *((name, c_double) for name in ("g_weight", "h_weight")),
        *((name, c_int64) for name in ("most_expansions", "rounds", "patience")),
    ]


class Progress(Structure):
    """How far a search came, see `core/interface.h`."""

    _fields_ = [
        *(
            (name, c_int64)
            for name in (
                "expanded",
                "evaluated",
                "generated",
                "states",
                "bytes",
                "goal",
                "n_steps",
                "n_unreached",
            )
        ),
        ("best_h", c_double),
    ]

    expanded: int
    evaluated: int
    generated: int
    states: int
    bytes: int
    goal: int
    n_steps: int
    n_unreached: int
    best_h: float


class SearchSettings(NamedTuple):
    """Which search: ``f = g_weight * g + h_weight * h``, lazy or not, and the heuristic.

    Each of the first ``rounds`` ends after ``patience`` evaluations without a lower h.
    """

    estimate: str
    g_weight: float
    h_weight: float
    lazy: bool = False
    per_effect: bool = False
    most_expansions: int | None = None
    rounds: int = 0
    patience: int = 0


def _settings(settings: SearchSettings) -> _Settings:
    most = settings.most_expansions
    return _Settings(
        ESTIMATES.index(settings.estimate),
        settings.lazy,
        settings.per_effect,
        settings.g_weight,
        settings.h_weight,
        _FOREVER if most is None else max(0, most),
        settings.rounds,
        settings.patience,
    )


class SearchColumns(NamedTuple):
    """Nodes of a search, column by column; ``status`` is 0 where open, 1 where expanded, 2 in dead ends."""

    parent: Array
    operator: Array
    g: Array
    h: Array
    status: Array


@final
class Evaluator(_Owned):
    """A heuristic of a task, for any states of it. It holds room to work in: not for several threads."""

    def __init__(
        self, task: GroundedTask, estimate: str, costs: Array | None, *, per_effect: bool, budget: Budget
    ) -> None:
        super().__init__("pds_evaluator_free")
        own = Arrays()
        given, prices = own.task(task), None if costs is None else own.at(costs, np.float64)
        number, self._size, self._room = ESTIMATES.index(estimate), _size(task), len(task.costs)
        arguments = (byref(given), prices, number, per_effect, byref(self.handle))
        call("pds_evaluator_new", *arguments, budget=budget, brief=8 * self._size < _BRIEF)

    def values(self, states: Array, budget: Budget) -> Array:
        """The value of each state, ``[state, fact]``, of which the first are the task's basic facts."""
        own, values = Arrays(), np.empty(len(states))
        rows = (own.at(states, np.uint8), *states.shape, values.ctypes.data)
        brief = self._size * len(states) < _BRIEF
        call("pds_evaluator_values", self.handle, *rows, budget=budget, brief=brief)
        return values

    def preferred(self) -> Array:
        """The preferred operators of the state that was evaluated last."""
        found = np.empty(self._room, np.int32)
        count = library().pds_evaluator_preferred(self.handle, found.ctypes.data, len(found))
        return found[:count]


@final
class Search(_Owned):
    """A search for a plan. ``costs`` stand in for the task's in the heuristic."""

    def __init__(
        self, task: GroundedTask, settings: SearchSettings, costs: Array | None, budget: Budget
    ) -> None:
        super().__init__("pds_search_free")
        own = Arrays()
        given, prices = own.task(task), None if costs is None else own.at(costs, np.float64)
        chosen = _settings(settings)
        self._size = _size(task)
        arguments = (byref(given), byref(chosen), prices, byref(self.handle))
        call("pds_search_new", *arguments, budget=budget, brief=8 * self._size < _BRIEF)

    def run(self, seconds: float, budget: Budget) -> int:
        """Go on for about so long; returns how far it came."""
        found = c_int32(PAUSED)
        brief = self._size < _BRIEF  # one step is, and between two of them slices end
        call("pds_search_run", self.handle, seconds, byref(found), budget=budget, brief=brief)
        return found.value

    def progress(self) -> Progress:
        """What it took so far."""
        progress = Progress()
        library().pds_search_progress(self.handle, byref(progress))
        return progress

    def result(self) -> tuple[list[int], list[int]]:
        """The plan's operators, and the goal literals that even the relaxed task does not reach."""
        progress = self.progress()
        steps = np.empty(progress.n_steps, np.int32)
        unreached = np.empty(progress.n_unreached, np.int32)
        library().pds_search_result(self.handle, steps.ctypes.data, unreached.ctypes.data)
        return steps.tolist(), unreached.tolist()

    def nodes(self, first: int, last: int) -> SearchColumns:
        """Some of the nodes that were met."""
        kinds = (np.int32, np.int32, np.float64, np.float64, np.uint8)
        columns = SearchColumns(*(np.empty(last - first, kind) for kind in kinds))
        places = (column.ctypes.data for column in columns)
        library().pds_search_nodes(self.handle, first, last, *places)
        return columns


class _Posed(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("draft", "goal", "init")),
        *((name, c_int64) for name in ("n_init", "most_expansions")),
    ]


class Posed(NamedTuple):
    """A draft with a goal, from an initial state, and how many expansions its search may take."""

    draft: PreparedDraft
    goal: PreparedGoal
    init: Array
    most_expansions: int


class Solved(NamedTuple):
    """What came of it: whether there is a plan, what that took, and operators of the draft."""

    is_solved: bool
    expanded: int
    evaluated: int
    generated: int
    plan: list[int]


def search_many(
    posed: Sequence[Posed], settings: SearchSettings, work: float, threads: int, budget: Budget
) -> list[Solved]:
    """Narrow each draft and search it eagerly; what is found does not depend on the number of threads.

    No search looks at more conditions than ``work``, whatever it may expand.
    """
    own, made = Arrays(), _Owned("pds_plans_free")
    rows = [
        _Posed(
            each.draft.handle,
            each.goal.handle,
            own.at(each.init, np.uint8),
            len(each.init),
            each.most_expansions,
        )
        for each in posed
    ]
    given, found = (_Posed * len(rows))(*rows), np.empty((len(rows), 5), np.int64)
    places = (byref(made.handle), found.ctypes.data)
    call(
        "pds_search_many", given, len(rows), byref(_settings(settings)), work, threads, *places, budget=budget
    )
    steps = np.empty(int(found[:, 4].sum()), np.int32)
    library().pds_plans_steps(made.handle, steps.ctypes.data)
    plans = np.split(steps, np.cumsum(found[:-1, 4]))
    return [
        Solved(bool(solved), *counts, plan.tolist())
        for (solved, *counts, _), plan in zip(found.tolist(), plans, strict=True)
    ]


def call(name: str, *arguments: Any, budget: Budget = UNLIMITED, brief: bool = False) -> None:
    """Call a function whose last argument are limits: those of ``budget``, and Ctrl-C.

    Raises the budget's `LimitError` where a limit is reached. A ``brief`` call takes less than Ctrl-C may.
    """
    budget.check()
    stop = c_int32(0)
    limits = _Limits(budget.left(), budget.room(), ctypes.addressof(stop))
    function = getattr(library(), name)
    if brief:
        answer = int(function(*arguments, byref(limits)))
    else:
        answer = _attended(lambda: int(function(*arguments, byref(limits))), stop)
    if answer == _OUT_OF_TIME:
        raise OutOfTimeError
    if answer == _OUT_OF_MEMORY:
        raise MemoryError if budget.memory == inf else OutOfMemoryError
    if answer != _DONE:
        raise RuntimeError(f"{name}: {library().pds_last_error().decode(errors='replace')}")


def _attended(function: Callable[[], int], stop: c_int32) -> int:
    """Call a function that ends soon after ``stop`` is set, and set it where a signal raises an exception.

    Python runs handlers of signals in the main thread, between two of its own steps: so that thread waits,
    and another one is in the library.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    answers: list[int] = []
    done = threading.Event()

    def run() -> None:
        try:
            answers.append(function())
        finally:
            done.set()

    thread = threading.Thread(target=run, name="pdsketch-core", daemon=True)
    thread.start()
    try:
        done.wait()
    except BaseException:
        stop.value = 1
        thread.join()
        raise
    thread.join()
    (answer,) = answers
    return answer
