"""The door of `heuristics`: what other rooms may use, and where it stands."""

from pdsketch.heuristics.evaluator import EngineEvaluator as EngineEvaluator, Evaluator as Evaluator
from pdsketch.heuristics.names import NAMES as NAMES, unknown_heuristic as unknown_heuristic
from pdsketch.heuristics.registry import find_heuristic as find_heuristic
