"""What is observed of the table, as a state of the sketch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pdsketch.envs.painting.layout import Array, to_pose
from pdsketch.envs.painting.pictures import Pictures
from pdsketch.envs.painting.simulation import Simulation
from pdsketch.lang.domain import Domain

SKETCH = Path(__file__).parent / "sketches" / "painting.pdsketch"

OBSERVED = ("item-pose", "item-image", "container-pose", "container-image")
"""The predicates that a domain may declare of the observation."""


@cache
def load_sketch() -> Domain:
    """The sketch that ships with the package."""
    from pdsketch.lang.load import load_domain

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
