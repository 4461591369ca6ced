"""Films: frames of the world, also while it acts, the plan, and predictions beside observations."""

import pytest
from PIL import Image, ImageSequence

import pdsketch as pds
from pdsketch.envs.painting.modules import exact_modules
from pdsketch.experiments.film import Clip
from pdsketch.experiments.painting_film import painting_film


@pytest.fixture(scope="module")
def painting(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "painting.gif"
    world = pds.make_world("painting")
    return painting_film(pds.Model(world.domain, modules=exact_modules()), path, ["pair"]), path


def test_a_world_that_can_be_watched_is_filmed_while_it_acts(painting):
    frames, path = painting
    with Image.open(path) as film:
        shown = [frame.convert("RGB").crop((0, 0, 400, 300)) for frame in ImageSequence.Iterator(film)]
    assert frames >= 3 * 4
    assert len({frame.tobytes() for frame in shown}) >= 2 * 4


def test_the_table_is_drawn_as_predicted_and_as_observed(painting):
    _, path = painting
    with Image.open(path) as film:
        last = [*ImageSequence.Iterator(film)][-1].convert("RGB")
    table = last.crop((416, 174, 586, 284))
    colours = {colour for _, colour in table.getcolors(1 << 16)}
    assert len(colours) >= 4  # the table, containers, blocks in several colours


def test_arguments_are_shown_where_they_fit():
    def names(*plan):
        return Clip(None, 0, "", plan).names

    assert names(("go", "a", [0.5, 1])) == ["go a [0.50 1.00]"]
    assert names(("go", "a"), ("stay", "x" * 60)) == ["go", "stay"]
    assert names() == []
