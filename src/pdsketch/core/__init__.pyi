"""The door of `core`: what other rooms may use, and where it stands."""

from pdsketch.core.preparation import (
    Join as Join,
    OwnRows as OwnRows,
    PreparedDraft as PreparedDraft,
    PreparedGoal as PreparedGoal,
    States as States,
    mutexes as mutexes,
    narrow as narrow,
)
from pdsketch.core.searching import Posed as Posed, SearchColumns as SearchColumns, Solved as Solved
