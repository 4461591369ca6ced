"""Whole sketches to be learned, one story a class; see `sketches.py`."""

from sketch_tasks import keys, pushing, relations, sets, walls
from sketch_tasks.core import TASKS, Task

__all__ = ["TASKS", "Task", "keys", "pushing", "relations", "sets", "walls"]
