"""The commands of the reproduction: ``pdsketch data``, ``baseline``, ``demo`` and ``reproduce``."""
