"""Model → a symbolic task that stands in for it, so that heuristics of tasks guide its search."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
