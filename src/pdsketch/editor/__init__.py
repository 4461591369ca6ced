"""The editor server: the questions of the Language Server Protocol, answered by `lang`."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
