"""Observations as states of a sketch: each sketch takes of an observation what it declares."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdsketch.lang import Domain
from pdsketch_paper.babyai.observation import Observation
from pdsketch_paper.babyai.pictures import picture_of

SKETCHES = Path(__file__).parent / "sketches"

_ONE_HOT_SIZES = (11, 6, 3)  # PDS-Base: type, colour, state
_DOOR, _OPEN = 4, 0


@cache
def load_sketch(name: str) -> Domain:
    """One of the sketches that ship with the package: ``base``, ``abs``, ``rob`` or ``image``."""
    from pdsketch.lang import load_domain

    return load_domain(SKETCHES / f"{name}.pdsketch")


def objects_of(domain: Domain, observation: Observation) -> dict[str, list[str]]:
    """The objects of the observation by type, as `State` takes them; the robot is the constant ``agent``."""
    objects = {"item": [f"item#{i + 1}" for i in range(observation.item_pose.shape[-2])]}
    if "wall" in domain.hierarchy.parents:
        objects["wall"] = [f"wall#{i + 1}" for i in range(len(observation.wall_pose))]
    return objects


def values_of(domain: Domain, observation: Observation) -> dict[str, NDArray[Any]]:
    """A value for each predicate that the sketch observes; an axis of time comes first where there is one."""
    pose, code = observation.item_pose, observation.item_code
    robot, direction = observation.robot_pose[..., None, :], observation.robot_direction[..., None]
    if "view" in domain.predicates:
        return {"view": picture_of(observation).reshape(*observation.robot_direction.shape, -1)}
    if "robot-feature" in domain.predicates:
        return _undivided(robot, direction, pose, code)
    time, walls = pose.shape[:-2], observation.wall_pose.shape[0]
    code = np.concatenate([code, np.broadcast_to(observation.wall_code, (*time, walls, 3))], axis=-2)
    values: dict[str, NDArray[Any]] = {
        "robot-pose": robot,
        "robot-direction": direction,
        "item-pose": np.concatenate(
            [pose, np.broadcast_to(observation.wall_pose, (*time, walls, 2))], axis=-2
        ),
        "item-feature": code,
    }
    if "is-obstacle" in domain.predicates:
        values["is-obstacle"] = ~((code[..., 0] == _DOOR) & (code[..., 2] == _OPEN))
    return values


def _undivided(
    robot: NDArray[Any], direction: NDArray[Any], pose: NDArray[Any], code: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """PDS-Base's vectors: everything about the robot, or about an item, side by side."""
    parts = [pose, *(np.eye(n, dtype=np.float32)[code[..., i]] for i, n in enumerate(_ONE_HOT_SIZES))]
    return {
        "robot-feature": np.concatenate([robot, np.eye(4, dtype=np.float32)[direction]], axis=-1),
        "item-feature": np.concatenate(parts, axis=-1),
    }


def to_state(domain: Domain, observation: Observation) -> Any:
    """The observation as a `pdsketch.State` of the sketch."""
    from pdsketch.tensor import State

    return State(domain, objects=objects_of(domain, observation), values=values_of(domain, observation))
