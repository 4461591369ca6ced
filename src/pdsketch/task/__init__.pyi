"""The door of `task`: what other rooms may use, and where it stands."""

from pdsketch.task.explanation import explain as explain
from pdsketch.task.fragment import classify as classify
from pdsketch.task.grounding import UNREACHABLE as UNREACHABLE, Grounding as Grounding, ground as ground
from pdsketch.task.template import GoalFormula as GoalFormula, Narrowing as Narrowing, Template as Template
