"""What the camera of the Painting Factory sees."""

import numpy as np
import pytest

import pdsketch as pds
from pdsketch_paper.painting import layout
from pdsketch_paper.painting.layout import PALETTE, SIDE, SPAN, point
from pdsketch_paper.painting.pictures import Canvas, cuboid, lamp_from


def hue_of(pixels):
    """The colour of the palette that most of the pixels are a shade of."""
    unit = pixels.reshape(-1, 3) / np.maximum(np.linalg.norm(pixels.reshape(-1, 3), axis=1, keepdims=True), 1)
    wanted = PALETTE / np.linalg.norm(PALETTE, axis=1, keepdims=True)
    return int(np.bincount((unit @ wanted.T).argmax(1), minlength=8).argmax())


def test_crops_show_the_colour_of_blocks_and_bowls():
    world = pds.make_world("painting", light=0.3)
    for seed in range(8):
        state = world.reset(seed=seed)
        items = state["item-image"].numpy()[:, 10:22, 10:22]
        assert [hue_of(one) for one in items] == world.simulation.colours.tolist()
        bowls = state["container-image"].numpy()[1:, 10:22, 10:22]
        assert [hue_of(one) for one in bowls] == world.simulation.paints.tolist()


def test_a_painted_block_looks_so_and_one_below_another_is_hidden_in_part():
    world = pds.make_world("painting", placement_noise=0.0)
    world.reset(seed=1)
    for name, bowl in (("block#1", "bowl#1"), ("block#2", "bowl#2")):
        state = world.step(("move-into", name, bowl))
        assert hue_of(state["item-image"][int(name[-1]) - 1].numpy()[10:22, 10:22]) == int(
            world.simulation.paints[int(bowl[-1]) - 1]
        )
    state = world.step(("move-into", "block#1", "box"))
    above = state["item-pose"][0].numpy() + point(0, 0, SIDE) / SPAN
    state = world.step(("move-to", "block#2", tuple(above.tolist())))
    below = state["item-image"][0].numpy()
    assert hue_of(below[:8, 8:24]) == int(world.simulation.paints[1])
    assert hue_of(below[22:30, 8:24]) == int(world.simulation.paints[0])


def test_the_nearer_of_two_boxes_is_seen_whatever_the_order():
    near, far = (
        cuboid(point(0, -0.1, 0.1), point(0.1, 0.1, 0.1)),
        cuboid(point(0, 0.15, 0), point(0.1, 0.1, 0.1)),
    )
    pictures = []
    for order in ((near, far), (far, near)):
        canvas = Canvas(point(0, 0, 1), 1.0)
        for faces in order:
            canvas.draw(faces, (255, 0, 0) if faces is near else (0, 0, 255))
        pictures.append(canvas.pixels)
    assert np.array_equal(*pictures)
    seen = layout.to_pixels(layout.to_camera(point(0, -0.1, 0.2))).astype(int)
    assert pictures[0][seen[1], seen[0], 0] > 0


def test_what_is_outside_the_picture_has_an_empty_box_and_a_black_crop():
    assert layout.bounding_box(point(5, 0, 0)[None] + np.zeros((2, 3))) is None
    black = layout.crop(np.full((layout.HEIGHT, layout.WIDTH, 3), 255, np.uint8), None)
    assert black.shape == (32, 32, 3)
    assert not black.any()
    part = layout.crop(np.full((layout.HEIGHT, layout.WIDTH, 3), 255, np.uint8), (0, 5, 0, 3))
    assert part.all()


def test_a_film_shows_the_gantry_and_observations_do_not():
    world = pds.make_world("painting")
    world.reset(seed=0)
    film, seen = world.render(), world.pictures.take()
    assert film.shape == seen.shape == (layout.HEIGHT, layout.WIDTH, 3)
    assert film.dtype == np.uint8
    assert (film != seen).any()


class FakeRenderer:
    """MuJoCo's renderer where there is no driver."""

    def __init__(self, model, height, width):
        self.size, self.groups = (height, width), []

    def update_scene(self, data, camera, scene_option):
        self.groups.append((camera, bool(scene_option.geomgroup[3])))

    def render(self):
        return np.full((*self.size, 3), 7, np.uint8)

    def close(self):
        self.groups.append("closed")


def test_rendered_pictures_are_those_of_mujoco(monkeypatch):
    monkeypatch.setattr("mujoco.Renderer", FakeRenderer)
    world = pds.make_world("painting", images="rendered", light=0.5)
    state = world.reset(seed=0)
    assert (state["item-image"].numpy() == 7).all()
    assert (world.render() == 7).all()
    renderer = world.pictures._renderer
    assert renderer.groups == [("front", False), ("front", True)]
    world.pictures.close()
    assert renderer.groups[-1] == "closed"


def test_without_a_graphics_driver_the_way_out_is_told(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no display")

    monkeypatch.setattr("mujoco.Renderer", refuse)
    with pytest.raises(pds.Error, match='images="rasterised"') as refused:
        pds.make_world("painting", images="rendered")
    assert refused.value.diagnostics[0].code == "no-graphics"


def test_a_pixel_is_covered_where_its_centre_is():
    canvas = Canvas(lamp_from(np.array([0.0, 0.0, 1.0])), 1.0)
    plane = np.array([[0.0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    corners = np.array([[10.4, 20.4], [14.4, 20.4], [14.4, 23.4], [10.4, 23.4]])
    canvas._fill(plane, corners, np.array([200, 0, 0], np.uint8))
    rows, columns = np.nonzero(canvas.pixels[:, :, 0])
    assert sorted(set(rows.tolist())) == [20, 21, 22]
    assert sorted(set(columns.tolist())) == [10, 11, 12, 13]
