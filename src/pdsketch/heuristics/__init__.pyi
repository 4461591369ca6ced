"""The door of `heuristics`: what other rooms may use, and where it stands."""

from pdsketch.heuristics.evaluator import Evaluator as Evaluator, KernelEvaluator as KernelEvaluator
from pdsketch.heuristics.names import NAMES as NAMES, unknown_heuristic as unknown_heuristic
from pdsketch.heuristics.registry import find_heuristic as find_heuristic
