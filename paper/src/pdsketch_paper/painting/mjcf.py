"""The scene as MuJoCo's XML: procedural shapes alone, one free body a block, a gantry with a suction cup."""

from __future__ import annotations

from functools import cache
from math import cos, pi, sin, tan
from xml.etree.ElementTree import Element, SubElement, tostring

from pdsketch_paper.painting.layout import (
    BOWL_HEIGHT,
    BOWL_RADIUS,
    BOWL_SIDES,
    BOX_HALF,
    BOX_HEIGHT,
    BROWN,
    EYE,
    FIELD,
    FLOOR,
    REST,
    RIGHT,
    SIDE,
    STEEL,
    TABLE,
    UP,
    WALL,
    ZONE_COLOURS,
    ZONES,
)

TIME_STEP = 0.004
"""Seconds of a physics step: blocks of this size stay at rest with it, and with twice as much they creep."""

BLOCK_MASS = 0.05
FRICTION = "0.8 0.005 0.0001"
GANTRY_GAIN = "3000"
"""Newtons a metre: with a kilogramme a joint, the cup follows its target within a tenth of a second."""

GANTRY_GROUP = 3
"""MuJoCo draws geoms of this group in films, not in observations."""

PARKED = (0.0, 0.0, 0.28)
"""Where the cup waits."""

EDGE = 0.02
"""The rim around the table, which keeps blocks that roll on it."""


@cache
def scene_xml(blocks: int, bowls: int, width: int, height: int) -> str:
    """The model of a table with so many blocks and bowls; everything is moved to its place later."""
    root = Element("mujoco", model="painting")
    SubElement(root, "option", timestep=str(TIME_STEP), integrator="implicitfast", cone="elliptic")
    visual = SubElement(root, "visual")
    SubElement(visual, "global", offwidth=str(width), offheight=str(height))
    SubElement(visual, "headlight", ambient="0.45 0.45 0.45", diffuse="0.35 0.35 0.35", specular="0 0 0")
    SubElement(visual, "quality", shadowsize="1024")
    world = SubElement(root, "worldbody")
    SubElement(world, "light", pos="-0.4 -0.6 1.6", dir="0.25 0.35 -0.9", diffuse="0.35 0.35 0.35")
    SubElement(
        world,
        "camera",
        name="front",
        pos=_text(EYE),
        xyaxes=_text([*RIGHT, *UP]),
        fovy=str(FIELD),
    )
    _table(world)
    _tray(world)
    for i in range(bowls):
        _bowl(world, f"bowl{i}")
    for i in range(blocks):
        body = SubElement(world, "body", name=f"block{i}", pos=f"{-0.44 + 0.1 * i} 0 {SIDE / 2}")
        SubElement(body, "freejoint")
        half = _text([SIDE / 2] * 3)
        SubElement(
            body,
            "geom",
            name=f"block{i}",
            type="box",
            size=half,
            mass=str(BLOCK_MASS),
            friction=FRICTION,
            condim="4",
        )
    _gantry(root, world, blocks)
    return tostring(root, encoding="unicode")


def _table(world: Element) -> None:
    top = {"type": "box", "friction": FRICTION, "rgba": _rgba(TABLE)}
    SubElement(world, "geom", {**top, "name": "table", "size": "0.52 0.42 0.02", "pos": "0 0 -0.02"})
    for x, y, a, b in ((0.515, 0, 0.005, 0.42), (0, 0.415, 0.52, 0.005)):
        for sign in (1, -1):
            size, pos = _text([a, b, EDGE / 2]), _text([sign * x, sign * y, EDGE / 2])
            SubElement(world, "geom", {**top, "size": size, "pos": pos})
    for name, (left, right, near, far) in ZONES.items():
        size = _text([(right - left) / 2, (far - near) / 2, 0.0005])
        pos = _text([(left + right) / 2, (near + far) / 2, 0.0])
        SubElement(world, "geom", _shape(size, pos, ZONE_COLOURS[name]), contype="0", conaffinity="0")


def _tray(world: Element) -> None:
    body = SubElement(world, "body", name="box", mocap="true", pos=f"0 0 {REST}")
    floor, low = FLOOR / 2 - REST, BOX_HEIGHT / 2 - REST
    SubElement(body, "geom", _shape(_text([BOX_HALF, BOX_HALF, FLOOR / 2]), _text([0, 0, floor]), BROWN))
    away, long = BOX_HALF + WALL / 2, BOX_HALF + WALL
    for sign in (1, -1):
        upright = BOX_HEIGHT / 2
        SubElement(
            body, "geom", _shape(_text([WALL / 2, long, upright]), _text([sign * away, 0, low]), BROWN)
        )
        SubElement(
            body, "geom", _shape(_text([long, WALL / 2, upright]), _text([0, sign * away, low]), BROWN)
        )


def _bowl(world: Element, name: str) -> None:
    body = SubElement(world, "body", name=name, mocap="true", pos=f"0.3 0 {REST}")
    floor = _shape(_text([BOWL_RADIUS, FLOOR / 2]), _text([0, 0, FLOOR / 2 - REST]), TABLE)
    SubElement(body, "geom", {**floor, "type": "cylinder", "name": f"{name}-floor"})
    away, wide = BOWL_RADIUS + WALL / 2, (BOWL_RADIUS + WALL) * tan(pi / BOWL_SIDES)
    for side in range(BOWL_SIDES):
        angle = 2 * pi * side / BOWL_SIDES
        place = _text([away * cos(angle), away * sin(angle), BOWL_HEIGHT / 2 - REST])
        wall = _shape(_text([WALL / 2, wide, BOWL_HEIGHT / 2]), place, TABLE)
        SubElement(body, "geom", wall, euler=f"0 0 {angle * 180 / pi}")


def _gantry(root: Element, world: Element, blocks: int) -> None:
    """Three sliding joints, driven to positions; the cup is welded to a block to hold it."""
    part = world
    for axis, direction in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")):
        part = SubElement(part, "body", name=f"gantry-{axis}", gravcomp="1")
        SubElement(part, "joint", name=f"gantry-{axis}", type="slide", axis=direction)
        SubElement(part, "inertial", pos="0 0 0", mass="1", diaginertia="0.01 0.01 0.01")
    seen = {
        "type": "cylinder",
        "contype": "0",
        "conaffinity": "0",
        "group": str(GANTRY_GROUP),
        "rgba": _rgba(STEEL),
    }
    SubElement(part, "geom", {**seen, "size": "0.012 0.006", "pos": "0 0 0.006"})
    SubElement(part, "geom", {**seen, "size": "0.006 0.15", "pos": "0 0 0.16"})
    drive = SubElement(root, "actuator")
    for axis in "xyz":
        SubElement(drive, "position", joint=f"gantry-{axis}", kp=GANTRY_GAIN, dampratio="1")
    suction = SubElement(root, "equality")
    for i in range(blocks):
        SubElement(suction, "weld", body1="gantry-z", body2=f"block{i}", active="false", solref="0.01 1")


def _shape(size: str, pos: str, colour: tuple[int, int, int]) -> dict[str, str]:
    return {"type": "box", "size": size, "pos": pos, "rgba": _rgba(colour), "friction": FRICTION}


def _rgba(colour: tuple[int, int, int]) -> str:
    return _text([*(channel / 255 for channel in colour), 1])


def _text(numbers: object) -> str:
    return " ".join(f"{x:.6g}" for x in numbers)  # type: ignore[attr-defined]
