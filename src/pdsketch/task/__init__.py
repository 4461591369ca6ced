"""Domain and objects → the grounded task as flat integer arrays."""
