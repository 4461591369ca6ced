"""The table in MuJoCo, and the gantry that moves blocks on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, final

import numpy as np
import torch as _torch  # noqa: F401 - before MuJoCo: in the other order the interpreter crashes when it ends

from pdsketch.extras import missing_extra
from pdsketch_paper.painting.goals import contained
from pdsketch_paper.painting.layout import (
    BLOCK_JITTER,
    BLOCK_SLOTS,
    BOWL_JITTER,
    BOWL_SLOTS,
    BOX_HALF,
    BOX_JITTER,
    BOX_SLOTS,
    COLOUR_NAMES,
    HEIGHT,
    LOW,
    PALETTE,
    PARKED,
    REST,
    SIDE,
    SPAN,
    WIDTH,
    Array,
    point,
    scene_xml,
)

try:
    import mujoco
except ImportError as problem:
    raise missing_extra("mujoco", "painting", "pdsketch-paper") from problem

# MuJoCo writes its warnings into a file of the working folder; `Simulation.stable` tells of them instead.
mujoco.set_mju_user_warning(lambda _: None)

MOST_SPEED = 20.0
"""Metres a second: nothing on the table is ever as fast unless the physics has become unstable."""

_UNSTABLE = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


@final
class Simulation:
    """Blocks, bowls, the box and the gantry.

    ``blocks`` and ``paints`` are colours by number, of the blocks and of the bowls;
    containers are the bowls in their order, then the box, in which the first ``clutter`` blocks begin.
    """

    def __init__(self, blocks: int, bowls: int, clutter: int = 0) -> None:
        self.clutter = clutter
        self.model: Any = mujoco.MjModel.from_xml_string(scene_xml(blocks, bowls, WIDTH, HEIGHT))
        self.data: Any = mujoco.MjData(self.model)
        self.colours = np.zeros(blocks, dtype=np.int64)
        self.paints = np.zeros(bowls, dtype=np.int64)
        self.containers = np.zeros((bowls + 1, 3))
        body, geom = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_GEOM
        numbers = [mujoco.mj_name2id(self.model, body, f"block{i}") for i in range(blocks)]
        self._bodies = np.array(numbers, dtype=np.int64)
        self.geoms = np.array([mujoco.mj_name2id(self.model, geom, f"block{i}") for i in range(blocks)])
        joints = self.model.body_jntadr[self._bodies]
        self._places = self.model.jnt_qposadr[joints][:, None] + np.arange(7)
        named = [*(f"bowl{i}" for i in range(bowls)), "box"]
        ids = np.array([mujoco.mj_name2id(self.model, body, name) for name in named])
        self._mocap = self.model.body_mocapid[ids]
        self._bowl_geoms = [np.flatnonzero(self.model.geom_bodyid == number) for number in ids[:-1]]
        gantry = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, "gantry-x")
        self._gantry = int(self.model.jnt_qposadr[gantry])
        self.cup_body = mujoco.mj_name2id(self.model, body, "gantry-z")

    @property
    def time_step(self) -> float:
        """Seconds of one step."""
        return float(self.model.opt.timestep)

    @property
    def positions(self) -> Array:
        """The centres of the blocks ``[blocks, 3]``, in metres."""
        return np.array(self.data.xpos[self._bodies])

    @property
    def rotations(self) -> Array:
        """The rotation matrices of the blocks ``[blocks, 3, 3]``."""
        return np.array(self.data.xmat[self._bodies]).reshape(-1, 3, 3)

    @property
    def cup(self) -> Array:
        """Where the suction cup is."""
        return np.array(self.data.xpos[self.cup_body])

    @property
    def stable(self) -> bool:
        """Whether the physics can be believed: no number is out of bounds, and MuJoCo has not complained."""
        data = self.data
        if any(data.warning[warning].number for warning in _UNSTABLE):
            return False
        fine = np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()
        return bool(fine and np.abs(data.qvel).max() < MOST_SPEED)

    def begin(self, rng: np.random.Generator) -> None:
        """A new table: places and colours are drawn."""
        mujoco.mj_resetData(self.model, self.data)
        bowls, blocks = len(self.paints), len(self.colours)
        self.paints = rng.permutation(len(COLOUR_NAMES))[:bowls]
        self.colours = rng.integers(len(COLOUR_NAMES), size=blocks)
        slots = np.array(BOWL_SLOTS)[rng.permutation(len(BOWL_SLOTS))[:bowls]]
        self.containers[:-1, :2] = slots + rng.uniform(-BOWL_JITTER, BOWL_JITTER, (bowls, 2))
        self.containers[-1, :2] = rng.uniform(-BOX_JITTER, BOX_JITTER, 2)
        self.containers[:, 2] = REST
        self.data.mocap_pos[self._mocap] = self.containers
        starts = np.array(BLOCK_SLOTS)[rng.permutation(len(BLOCK_SLOTS))[: blocks - self.clutter]]
        if self.clutter:
            within = np.array(BOX_SLOTS)[rng.permutation(len(BOX_SLOTS))[: self.clutter]]
            starts = np.concatenate([self.containers[-1, :2] + within, starts])
        angles = rng.uniform(-0.2, 0.2, blocks)
        qpos = np.zeros((blocks, 7))
        qpos[:, :2] = starts + rng.uniform(-BLOCK_JITTER, BLOCK_JITTER, (blocks, 2))
        qpos[:, 2] = SIDE / 2
        qpos[: self.clutter, 2] = REST
        qpos[:, 3], qpos[:, 6] = np.cos(angles / 2), np.sin(angles / 2)
        self.data.qpos[self._places] = qpos
        self.data.qpos[self._gantry : self._gantry + 3] = PARKED
        self.data.ctrl[:] = PARKED
        self.show_colours()
        mujoco.mj_forward(self.model, self.data)

    def show_colours(self) -> None:
        """Give blocks and bowls the colours that they have in MuJoCo's pictures."""
        self.model.geom_rgba[self.geoms, :3] = PALETTE[self.colours] / 255
        for paint, geoms in zip(self.paints, self._bowl_geoms, strict=True):
            self.model.geom_rgba[geoms, :3] = PALETTE[paint] / 255

    def pass_time(self, seconds: float) -> None:
        """Let the physics go on."""
        mujoco.mj_step(self.model, self.data, nstep=max(1, round(seconds / self.time_step)))

    def drive(self, target: Array) -> None:
        """Where the gantry shall go from now on."""
        self.data.ctrl[:] = target

    def grip(self, block: int) -> None:
        """Hold a block where it is relative to the cup."""
        cup, data = self.cup_body, self.data
        turn, along, inverse = np.zeros(4), np.zeros(3), np.zeros(4)
        mujoco.mju_negQuat(inverse, data.xquat[cup])
        mujoco.mju_mulQuat(turn, inverse, data.xquat[self._bodies[block]])
        mujoco.mju_rotVecQuat(along, data.xpos[self._bodies[block]] - data.xpos[cup], inverse)
        self.model.eq_data[block, 3:6], self.model.eq_data[block, 6:10] = along, turn
        data.eq_active[block] = 1

    def release(self) -> None:
        """Hold nothing."""
        self.data.eq_active[:] = 0

    def touches(self, block: int) -> bool:
        """Whether a block has contact with anything."""
        pairs = self.data.contact.geom
        return bool((pairs == self.geoms[block]).any())


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
