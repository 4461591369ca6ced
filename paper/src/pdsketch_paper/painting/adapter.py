"""The Painting Factory as a world: MuJoCo's table, seen as poses and crops of the camera's picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.act import is_count
from pdsketch.lang import Domain, Step, did_you_mean, error
from pdsketch.tensor import State
from pdsketch.training import EpisodeArrays
from pdsketch_paper.painting.goals import GOALS, PAIR, contained, holds, names_of
from pdsketch_paper.painting.layout import (
    BLOCK_SLOTS,
    BOWL_SLOTS,
    BOX_SLOTS,
    COLOUR_NAMES,
    Array,
    to_metres,
    to_pose,
)
from pdsketch_paper.painting.pictures import Mode, Pictures
from pdsketch_paper.painting.simulation import PLACEMENT_NOISE, Controller, Noise, Simulation

SKETCH = Path(__file__).parent / "sketches" / "painting.pdsketch"


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


_DRAWS = 100
"""How many tables are drawn for one that lends itself to a goal."""

_ACTIONS = ("move-into", "move-to")


@final
class PaintingWorld:
    """A table with blocks, bowls of paint and a box, in MuJoCo: paint, put beside, stack.

    ``goals`` is a kind of goal (`GOALS`), or a formula over the predicates of the
    sketch. ``images`` are ``rasterised`` by the package itself, or ``rendered`` by
    MuJoCo, which needs a graphics driver. ``placement_noise`` is in metres,
    ``lost_grips`` a part of all lifts; ``light`` is how much the brightness of one
    episode may differ from that of another. Blocks in bowls are painted. Success is
    judged by the positions and colours of the simulator; no goal holds at the start.
    ``clutter`` of the blocks begin in the box. ``trouble`` says why an action was not carried out.
    """

    def __init__(  # noqa: PLR0913 - the options of a world
        self,
        blocks: int = 4,
        bowls: int = 4,
        goals: str = PAIR,
        images: str = "rasterised",
        placement_noise: float = PLACEMENT_NOISE,
        lost_grips: float = 0.0,
        light: float = 0.1,
        *,
        clutter: int = 0,
        sketch: Domain | None = None,
    ) -> None:
        _count("clutter", clutter, 0, len(BOX_SLOTS))
        _count("blocks", blocks, max(1, clutter), len(BLOCK_SLOTS) + clutter)
        _count("bowls", bowls, 0, min(len(BOWL_SLOTS), len(COLOUR_NAMES)))
        if goals not in GOALS and not str(goals).lstrip().startswith("("):
            hint = did_you_mean(str(goals), GOALS) or f"one of: {', '.join(GOALS)}; or a formula"
            raise error("bad-setting", f"`goals` of the world `painting` cannot be {goals!r:.60}", help=hint)
        if images not in ("rasterised", "rendered"):
            raise error("bad-setting", f"`images` are rasterised or rendered, and {images!r:.40} is given")
        _amount("placement_noise", placement_noise, 0.2)
        _amount("lost_grips", lost_grips, 1.0)
        _amount("light", light, 0.9)
        self.goals, self.light = goals, light
        self.domain = load_sketch() if sketch is None else sketch
        self.simulation = Simulation(blocks, bowls, clutter)
        mode: Mode = "rendered" if images == "rendered" else "rasterised"
        self.pictures = Pictures(self.simulation, mode)
        self.controller = Controller(self.simulation, Noise(placement_noise, lost_grips))
        self.goal = ""
        self.success: bool | None = None
        self.executed, self.ended = True, False
        self.observation: dict[str, Array] = {}
        self._rng: np.random.Generator | None = None

    @property
    def trouble(self) -> str:
        """Why the last action was not carried out, or the episode ended; nothing where all is well."""
        return self.controller.trouble

    @property
    def watcher(self) -> Callable[[], None] | None:
        """Called every few hundredths of a second while an action goes on: to `render`, for films."""
        return self.controller.watcher

    @watcher.setter
    def watcher(self, function: Callable[[], None] | None) -> None:
        self.controller.watcher = function

    def reset(self, seed: int | None = None) -> State:
        """A new table. Where it does not lend itself to the goals, others are drawn from the same seed."""
        rng = np.random.default_rng(seed)
        for _ in range(_DRAWS):
            self.simulation.begin(rng)
            goal = self._draw_goal(rng)
            if goal is not None and not holds(self.simulation, goal):
                break
        else:
            raise error(
                "no-such-room", f"no table of {_DRAWS} lends itself to goals of the kind `{self.goals:.60}`"
            )
        lamp = np.array([-0.4, -0.6, 1.6]) + rng.uniform(-1, 1, 3) * self.light
        self.pictures.begin(lamp, 1.0 + rng.uniform(-self.light, self.light))
        self.goal, self._rng, self.controller.trouble = goal, rng, ""
        self.success, self.executed, self.ended = False, True, False
        return self._observed()

    def step(self, action: Step) -> State:
        """Carry out an action, or refuse it; ``executed`` and ``trouble`` say which, and why."""
        if self._rng is None:
            raise error("not-reset", "the world has no state yet", help="call world.reset(seed) first")
        if self.ended:
            raise error("not-reset", f"the episode is over: {self.trouble}", help="call world.reset(seed)")
        name, *arguments = action
        if name not in _ACTIONS:
            raise error(
                "unknown-action", f"there is no action `{name}`", help=did_you_mean(str(name), _ACTIONS)
            )
        if len(arguments) != 2:
            raise error("arity-mismatch", f"`{name}` takes two arguments, and {len(arguments)} are given")
        block = self._place(arguments[0], "item")
        if name == "move-into":
            container = self._place(arguments[1], "container")
            self.executed = self.controller.move_into(block, container, self._rng)
        else:
            self.executed = self.controller.move_to(block, _position(arguments[1]), self._rng)
        if not self.simulation.stable:
            self.controller.trouble = "the physics became unstable, and the episode was ended"
            self.executed, self.ended, self.success = False, True, False
            self.simulation.begin(self._rng)  # numbers that can be looked at
            return self._observed()
        self._paint()
        self.success = holds(self.simulation, self.goal)
        return self._observed()

    def render(self) -> NDArray[Any]:
        """What the camera sees, the gantry included."""
        return self.pictures.take(gantry=True)

    def demonstrations(self, episodes: int, seed: int = 0, split: str = "train") -> EpisodeArrays:
        """An oracle's episodes, as `pdsketch.fit` takes them."""
        from pdsketch_paper.painting.data import generate

        if self.goals != PAIR:
            raise error(
                "no-demonstrations",
                f"the oracle knows goals of the kind `{PAIR}` alone",
                help="leave out `goals`",
            )
        return generate(self, episodes, seed, split)

    def _draw_goal(self, rng: np.random.Generator) -> str | None:
        if self.goals not in GOALS:
            return self.goals
        simulation = self.simulation
        return GOALS[self.goals](simulation.colours.tolist(), simulation.paints.tolist(), rng)

    def _paint(self) -> None:
        """Blocks that lie in bowls take their colour."""
        simulation = self.simulation
        inside = contained(simulation.positions, simulation.containers)[:, :-1]
        for block, bowl in np.argwhere(inside):
            simulation.colours[block] = simulation.paints[bowl]
        simulation.show_colours()

    def _place(self, name: Any, type_: str) -> int:
        """The number of a block, or of a container; the box is the last."""
        known = names_of(self.simulation)[type_]
        if type_ == "container":
            known = [*known, "box"]
        if name not in known:
            raise error(
                "unknown-object", f"there is no {type_} `{name}`", help=did_you_mean(str(name), known)
            )
        return known.index(name)

    def _observed(self) -> State:
        self.observation = observe(self.simulation, self.pictures, self.domain)
        return State(self.domain, names_of(self.simulation), self.observation)


def _position(pose: Any) -> NDArray[Any]:
    """The place that a pose argument means, in metres."""
    try:
        numbers = np.asarray(pose, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != (3,):
        raise error("shape-mismatch", f"a pose is three numbers between 0 and 1; {pose!r:.60} is given")
    return to_metres(numbers)


def _count(option: str, value: Any, least: int, most: int) -> None:
    if not is_count(value) or not least <= value <= most:
        raise error(
            "bad-setting",
            f"`{option}` of the world `painting` is a whole number from {least} to {most};"
            f" {value!r:.40} is given",
        )


def _amount(option: str, value: Any, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise error(
            "bad-setting",
            f"`{option}` of the world `painting` is a number from 0 to {most:g}; {value!r:.40} is given",
        )
