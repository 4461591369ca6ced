"""What is observed of the table, as a state of the sketch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pdsketch.lang import Domain
from pdsketch_paper.painting.layout import Array, to_pose
from pdsketch_paper.painting.pictures import Pictures
from pdsketch_paper.painting.simulation import Simulation

SKETCH = Path(__file__).parent / "sketches" / "painting.pdsketch"

OBSERVED = ("item-pose", "item-image", "container-pose", "container-image")
"""The predicates that a domain may declare of the observation."""


@cache
def load_sketch() -> Domain:
    """The sketch that ships with the package."""
    from pdsketch.lang import load_domain

    return load_domain(SKETCH)


def observe(simulation: Simulation, pictures: Pictures, domain: Domain) -> dict[str, Array]:
    """A pose and a crop of each block and of each container, the box first; nothing else.

    Pictures are taken only where the domain declares them.
    """
    order = [len(simulation.paints), *range(len(simulation.paints))]
    values = {
        "item-pose": to_pose(simulation.positions),
        "container-pose": to_pose(simulation.containers)[order],
    }
    if "item-image" in domain.predicates or "container-image" in domain.predicates:
        values["item-image"], containers = pictures.crops()
        values["container-image"] = containers[order]
    return {name: value for name, value in values.items() if name in domain.predicates}
