"""Files on disk: written whole or not at all, read with suspicion, and known to belong together."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
