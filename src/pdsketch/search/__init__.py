"""Search: the engine over grounded tasks, batches of tensors over learned models."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
