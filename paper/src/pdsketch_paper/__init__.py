"""The reproduction of the PDSketch paper: BabyAI, the Painting Factory, baselines and experiments.

Every public name stands in ``__init__.pyi`` and is loaded on first use.
"""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
__all__ = __dir__()  # noqa: PLE0605
