"""PDSketch: program what you know about a planning domain, learn the rest, plan for unseen goals.

Every public name stands in ``__init__.pyi`` and is loaded on first use, so that importing the package, or
checking a file, does not import torch.
"""

from pdsketch.doors import open_door

__version__ = "0.1.0"

__getattr__, __dir__ = open_door(__name__, __file__)
__all__ = ["__version__", *__dir__()]  # noqa: PLE0604
