"""The door of `heuristics`: what other rooms may use, and where it stands."""

from pdsketch.heuristics.evaluator import Evaluator as Evaluator, KernelEvaluator as KernelEvaluator
from pdsketch.heuristics.explore import UNREACHED as UNREACHED, Work as Work, make_work as make_work
from pdsketch.heuristics.names import NAMES as NAMES, unknown_heuristic as unknown_heuristic
from pdsketch.heuristics.narrowed import relax_narrowed as relax_narrowed, work_of as work_of
from pdsketch.heuristics.registry import (
    evaluate as evaluate,
    find_heuristic as find_heuristic,
    is_goal as is_goal,
)
from pdsketch.heuristics.relaxation import Relaxation as Relaxation, relax as relax
from pdsketch.heuristics.unary import Rows as Rows, sort as sort
