"""Pick and place: the gantry moves over a block, presses, lifts, carries, lowers and lets go.

Like a robot's own controller it looks before it moves: what it cannot reach is
refused, and nothing happens. What it tries may still go wrong: `Noise` says how often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import final

import numpy as np

from pdsketch_paper.painting.goals import contained
from pdsketch_paper.painting.layout import (
    BOX_HALF,
    LOW,
    SIDE,
    SPAN,
    Array,
    point,
)
from pdsketch_paper.painting.mjcf import PARKED
from pdsketch_paper.painting.simulation import Simulation

SPEED = 1.2
"""Metres a second of the gantry."""

WINK = 0.04
"""Seconds between two targets of the gantry on its way."""

CLEARANCE = 0.06
"""How much higher than everything else the bottom of a carried block is."""

DROP = 0.002
"""How far above its place a block is let go."""

SETTLE = 0.3
"""Seconds for blocks to come to rest."""

MOST_SETTLING = 5
"""How many times as long is waited for blocks that still move."""

AT_REST = 0.02
"""Metres a second."""

PLACEMENT_NOISE = 0.002
"""Metres: a common industrial gantry's precision, and that of its suction cup's grip."""

_BESIDE = 0.046
"""How far apart blocks are put within a bowl, and ``_APART`` in the box."""

_ROOM = 1.05
"""How far from other blocks' centres a place in a container is, in edges of a block."""

_TIGHT, _OUTWARDS = 1.01, 1.1
"""The same where blocks in a bowl were pushed aside and leave no other place, and how much nearer to the wall
such a place may be."""

_APART = 0.075
_CROSS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
_GRID = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [-1, -1], [1, -1], [-1, 1], [1, 1]])


@final
@dataclass(frozen=True, slots=True)
class Noise:
    """How imprecise the controller is.

    ``placement`` is the standard deviation, in metres, of where blocks are put
    along x and along y; ``lost_grips`` the part of lifts whose suction fails on the
    way, so that the block falls.
    """

    placement: float
    lost_grips: float


@final
class Controller:
    """The two actions on a simulation; ``trouble`` says why the last one was not carried out.

    The ``watcher`` is called at every target of the gantry on its way.
    """

    def __init__(self, simulation: Simulation, noise: Noise) -> None:
        self.simulation, self.noise = simulation, noise
        self.trouble = ""
        self.watcher: Callable[[], None] | None = None

    def move_into(self, block: int, container: int, rng: np.random.Generator) -> bool:
        """Put a block into a container: at its centre, or beside what lies there."""
        target = self._free_spot(block, container)
        if target is None:
            return self._refuse("the container is full")
        return self._carry(block, target, rng)

    def move_to(self, block: int, target: Array, rng: np.random.Generator) -> bool:
        """Put a block at a place, in metres; where there is nothing to rest on it falls."""
        if not np.isfinite(target).all() or (target < LOW - 1e-6).any() or (target > LOW + SPAN + 1e-6).any():
            return self._refuse("the pose is out of reach")
        if self._occupied(block, target, SIDE * 0.8, SIDE * 0.6):
            return self._refuse("the pose is inside another block")
        return self._carry(block, target, rng)

    def _refuse(self, reason: str) -> bool:
        self.trouble = reason
        return False

    def _occupied(self, block: int, target: Array, wide: float, tall: float) -> bool:
        away = np.abs(np.delete(self.simulation.positions, block, 0) - target)
        return bool(((away[:, :2] < wide).all(1) & (away[:, 2] < tall)).any())

    def _free_spot(self, block: int, container: int) -> Array | None:
        simulation = self.simulation
        centre = simulation.containers[container]
        is_box = container == len(simulation.containers) - 1
        offsets = _GRID * min(_APART, BOX_HALF - SIDE) if is_box else _CROSS * _BESIDE
        inside = contained(simulation.positions, simulation.containers)[:, container]
        others = [simulation.positions[i] for i in np.flatnonzero(inside) if i != block]
        places = [(offset, _ROOM) for offset in offsets]
        if not is_box:
            places += [(offset * _OUTWARDS, _TIGHT) for offset in offsets[1:]]
        for offset, room in places:
            spot = centre + point(*offset, 0.0)
            if all(np.abs(spot[:2] - other[:2]).max() > SIDE * room for other in others):
                return np.asarray(spot)
        return None

    def _carry(self, block: int, target: Array, rng: np.random.Generator) -> bool:
        """The whole movement; whether the block was let go where it was meant to."""
        simulation, self.trouble = self.simulation, ""
        start = simulation.positions[block]
        above = simulation.positions - start
        if (np.abs(above[:, :2]).max(1)[above[:, 2] > SIDE / 2] < SIDE).any():
            return self._refuse("another block lies on it")
        meant = target + point(*rng.normal(0.0, self.noise.placement, 2), 0.0)
        lost = rng.random() < self.noise.lost_grips
        where_lost = rng.random()
        others = np.delete(simulation.positions, block, 0)
        height = max(others[:, 2].max(initial=0.0), target[2]) + SIDE / 2 + CLEARANCE + SIDE
        top = point(0.0, 0.0, SIDE / 2)
        over, beyond = start.copy(), meant.copy()
        over[2] = beyond[2] = height
        self._glide(over)
        self._glide(start + top)
        simulation.grip(block)
        self._glide(over)
        if lost:
            self._glide(over + where_lost * (beyond - over))
            simulation.release()
            self._finish()
            return self._refuse("the grip was lost")
        self._glide(beyond)
        self._glide(meant + top + point(0.0, 0.0, DROP), until_contact=block)
        simulation.pass_time(WINK)
        simulation.release()
        simulation.pass_time(WINK)
        self._glide(point(*simulation.cup[:2], height))
        self._finish()
        return True

    def _finish(self) -> None:
        """Away from the table, until everything rests."""
        simulation = self.simulation
        self._glide(np.array(PARKED))
        for _ in range(MOST_SETTLING):
            simulation.pass_time(SETTLE)
            if np.abs(simulation.data.qvel).max(initial=0.0) < AT_REST:
                return

    def _glide(self, target: Array, until_contact: int | None = None) -> None:
        """Move the cup there, slowly at both ends; a block that is lowered stops at what it touches."""
        simulation = self.simulation
        start = np.array(simulation.data.ctrl)
        winks = max(2, ceil(float(np.linalg.norm(target - start)) / SPEED / WINK))
        for part in np.linspace(0.0, 1.0, winks + 1)[1:]:
            simulation.drive(start + (target - start) * part * part * (3 - 2 * part))
            simulation.pass_time(WINK)
            if self.watcher is not None:
                self.watcher()
            if until_contact is not None and simulation.touches(until_contact):
                simulation.drive(simulation.cup)
                return
        simulation.pass_time(2 * WINK)
