"""The door of `core`: what other rooms may use, and where it stands."""

from pdsketch.core.preparation import (
    Join as Join,
    Narrowed as Narrowed,
    PreparedDraft as PreparedDraft,
    PreparedGoal as PreparedGoal,
    States as States,
    narrow as narrow,
)
from pdsketch.core.rows import (
    CSR as CSR,
    Bools as Bools,
    Floats as Floats,
    Ints as Ints,
    Longs as Longs,
    csr_of as csr_of,
    distinct as distinct,
    gather as gather,
    group as group,
    owners_of as owners_of,
    repeated as repeated,
    starts_of as starts_of,
)
from pdsketch.core.searching import (
    ENOUGH as ENOUGH,
    EXHAUSTED as EXHAUSTED,
    PAUSED as PAUSED,
    SOLVED as SOLVED,
    Phase as Phase,
    Posed as Posed,
    Search as Search,
    SearchColumns as SearchColumns,
    Solved as Solved,
    TaskEvaluator as TaskEvaluator,
    TaskSearchProgress as TaskSearchProgress,
    search_many as search_many,
)
from pdsketch.core.task import Draft as Draft, Program as Program, Task as Task
