"""Random well-typed domains, problems, formulas and ground actions, and an oracle for them.

- `classical()`: ADL with axioms and costs, no values.
- `sketch()`: value types, encoded predicates, blanks with plain functions.
- `reachable(sample, limit)`: optimal costs by brute force.
"""

from .classical import classical
from .exploration import key
from .oracle import Reached, reachable
from .sample import Sample
from .sketches import sketch

__all__ = ["Reached", "Sample", "classical", "key", "reachable", "sketch"]
