"""Heuristics on grounded tasks, in one registry."""
