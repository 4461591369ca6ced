"""The door of `heuristics`: what other rooms may use, and where it stands."""

from pdsketch.heuristics.evaluator import EngineEvaluator as EngineEvaluator
from pdsketch.heuristics.registry import (
    NAMES as NAMES,
    find_heuristic as find_heuristic,
    unknown_heuristic as unknown_heuristic,
)
