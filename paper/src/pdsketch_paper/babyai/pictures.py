"""Observations as pictures: the codes of the cells of our own room, as Minigrid encodes a grid."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pdsketch_paper.babyai.observation import Observation

SIDE: Final = 7
"""Cells along one side of a picture: our own room, both walls included."""

_EMPTY: Final = (1, 0, 0)
_WALL: Final = (2, 5, 0)
_AGENT: Final = (10, 0)


def picture_of(observation: Observation) -> NDArray[Any]:
    """``[(states,) x, y, 3]``, with the robot; what is carried or gone is not to be seen."""
    robots = observation.robot_pose.reshape(-1, 2).astype(np.int64)
    poses = observation.item_pose.reshape(len(robots), -1, 2).astype(np.int64)
    codes = observation.item_code.reshape(len(robots), -1, 3)
    found = np.empty((len(robots), SIDE, SIDE, 3), dtype=np.uint8)
    found[:] = _WALL
    found[:, 1:-1, 1:-1] = _EMPTY
    state, item = np.nonzero(np.all(poses >= 0, axis=-1))
    found[state, poses[state, item, 0], poses[state, item, 1]] = codes[state, item]
    rows = np.arange(len(robots))
    found[rows, robots[:, 0], robots[:, 1], :2] = _AGENT
    found[rows, robots[:, 0], robots[:, 1], 2] = observation.robot_direction.reshape(-1)
    return found.reshape(*observation.robot_direction.shape, SIDE, SIDE, 3)
