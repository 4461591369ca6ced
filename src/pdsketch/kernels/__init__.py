"""Flat arrays: their types, and CSR rows."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
