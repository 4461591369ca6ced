"""Whole sketches to be learned, one story a class; see `sketches.py`."""

from sketch_tasks import keys, pushing, quantities, relations, sets, tables, walls
from sketch_tasks.core import TASKS, Task

__all__ = ["TASKS", "Task", "keys", "pushing", "quantities", "relations", "sets", "tables", "walls"]
