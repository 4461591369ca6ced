"""The table in MuJoCo: where everything is, what colour it has, and time that passes."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import torch as _torch  # noqa: F401 - before MuJoCo: in the other order the interpreter crashes when it ends

from pdsketch.extras import missing_extra
from pdsketch_paper.painting.layout import (
    BLOCK_JITTER,
    BLOCK_SLOTS,
    BOWL_JITTER,
    BOWL_SLOTS,
    BOX_JITTER,
    COLOUR_NAMES,
    HEIGHT,
    PALETTE,
    REST,
    SIDE,
    WIDTH,
    Array,
)
from pdsketch_paper.painting.mjcf import PARKED, scene_xml

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
    containers are the bowls in their order, then the box.
    """

    def __init__(self, blocks: int, bowls: int) -> None:
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
        starts = np.array(BLOCK_SLOTS)[rng.permutation(len(BLOCK_SLOTS))[:blocks]]
        angles = rng.uniform(-0.2, 0.2, blocks)
        qpos = np.zeros((blocks, 7))
        qpos[:, :2] = starts + rng.uniform(-BLOCK_JITTER, BLOCK_JITTER, (blocks, 2))
        qpos[:, 2] = SIDE / 2
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
