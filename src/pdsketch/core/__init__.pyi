"""The door of `core`: what other rooms may use, and where it stands."""

from pdsketch.core.joining import GroundDraft as GroundDraft, Join as Join, WrongCostError as WrongCostError
from pdsketch.core.preparation import (
    Narrowed as Narrowed,
    PreparedDraft as PreparedDraft,
    PreparedGoal as PreparedGoal,
    narrow as narrow,
)
from pdsketch.core.rows import (
    CSR as CSR,
    Bools as Bools,
    Floats as Floats,
    Ints as Ints,
    Longs as Longs,
    csr_of as csr_of,
    gather as gather,
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
    TaskSearchProgress as TaskSearchProgress,
    search_many as search_many,
)
from pdsketch.core.states import States as States, TaskEvaluator as TaskEvaluator
from pdsketch.core.task import Draft as Draft, Program as Program, Task as Task
