"""Compiled kernels and the flat arrays they work on: CSR rows, bit sets, arrays that grow."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
