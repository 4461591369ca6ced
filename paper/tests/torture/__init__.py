"""Faults in anger, with the commands of the reproduction: ``python -m paper.tests.torture``."""
