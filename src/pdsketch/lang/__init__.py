"""Text → checked `Domain`. Imports neither torch nor numpy."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
