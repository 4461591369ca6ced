"""The computation graph of a sketch: what is computed from what, as a picture."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
