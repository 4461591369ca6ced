"""The door of `task`: what other rooms may use, and where it stands."""

from pdsketch.task.axioms import (
    Axioms as Axioms,
    depends_on_itself as depends_on_itself,
    evaluate_axioms as evaluate_axioms,
    prepare_axioms as prepare_axioms,
)
from pdsketch.task.explanation import explain as explain
from pdsketch.task.fragment import classify as classify
from pdsketch.task.grounding import UNREACHABLE as UNREACHABLE, Grounding as Grounding, ground as ground
from pdsketch.task.mutexes import without_mutexes as without_mutexes
from pdsketch.task.narrowing import Narrowed as Narrowed, narrow as narrow
from pdsketch.task.reach import DraftRows as DraftRows
from pdsketch.task.simulate import successor as successor
from pdsketch.task.task import Task as Task
from pdsketch.task.template import Narrowing as Narrowing, Template as Template
