"""PDSketch: program what you know about a planning domain, learn the rest, plan for unseen goals.

Every public name stands in ``__init__.pyi`` and is loaded on first use, so that importing the package, or
checking a file, does not import torch.
"""

import os

from pdsketch.doors import open_door
from pdsketch.registration import register

__version__ = "0.2.0"

if any(
    name.startswith("pdsketch-") and name.endswith(".dist-info")
    for name in os.listdir(os.path.dirname(os.path.dirname(__file__)))
):
    import warnings

    warnings.warn(
        "another package called `pdsketch` is installed in the same folder as `pdsketch-planning`, and they "
        "overwrite each other's files: run `pip uninstall pdsketch pdsketch-planning`, then "
        "`pip install pdsketch-planning`",
        stacklevel=2,
    )

# Threads that wait for the next small step of torch sleep: by default they spin, which takes ten times as
# long as the work where other programs need the processors. It counts if torch is imported after us.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

register()
__getattr__, __dir__ = open_door(__name__, __file__)
__all__ = ["__version__", *__dir__()]  # noqa: PLE0604
