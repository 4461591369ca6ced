"""The engine in C++ (`core/` in the repository), called through ctypes: this room alone knows how.

The library lies beside this room, or where ``PDSKETCH_CORE`` says. Its functions
answer with a code, which becomes the `LimitError` of the budget that
was reached, or a `KeyboardInterrupt`: calls from the main thread are run in
a thread of their own, so that signals are heard meanwhile.
"""

from pdsketch.core.arrays import Bools, Floats, Ints, Longs
from pdsketch.core.library import library
from pdsketch.core.preparation import (
    Join,
    OwnRows,
    PreparedDraft,
    PreparedGoal,
    States,
    narrow,
)
from pdsketch.core.rows import CSR, csr_of, distinct, gather, group, owners_of, repeated, starts_of
from pdsketch.core.searching import (
    ENOUGH,
    ESTIMATES,
    EXHAUSTED,
    PAUSED,
    SOLVED,
    Phase,
    Posed,
    Search,
    SearchColumns,
    Solved,
    TaskEvaluator,
    TaskSearchProgress,
    search_many,
)

__all__ = [
    "CSR",
    "ENOUGH",
    "ESTIMATES",
    "EXHAUSTED",
    "PAUSED",
    "SOLVED",
    "Bools",
    "Floats",
    "Ints",
    "Join",
    "Longs",
    "OwnRows",
    "Phase",
    "Posed",
    "PreparedDraft",
    "PreparedGoal",
    "Search",
    "SearchColumns",
    "Solved",
    "States",
    "TaskEvaluator",
    "TaskSearchProgress",
    "csr_of",
    "distinct",
    "gather",
    "group",
    "library",
    "narrow",
    "owners_of",
    "repeated",
    "search_many",
    "starts_of",
]
