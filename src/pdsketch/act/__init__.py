"""Agents act in worlds: what both are, the agent that plans, and rollouts."""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
