"""Whole sketches to be learned, one story a class; see `sketches.py`."""

from sketch_tasks import (
    errands,
    keys,
    large,
    pushing,
    quantities,
    rare,
    refusals,
    relations,
    sets,
    tables,
    twice,
    walls,
)
from sketch_tasks.core import TASKS, Task

__all__ = [
    "TASKS",
    "Task",
    "errands",
    "keys",
    "large",
    "pushing",
    "quantities",
    "rare",
    "refusals",
    "relations",
    "sets",
    "tables",
    "twice",
    "walls",
]
