"""Films: frames of the world, also while it acts, the plan, and predictions beside observations."""

import warnings

import pytest
from PIL import Image, ImageSequence

import pdsketch as pds
from pdsketch_paper.experiments.film import Clip
from pdsketch_paper.experiments.painting_film import main, painting_film
from pdsketch_paper.painting.modules import exact_modules


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


def test_what_cannot_be_filmed_is_said(tmp_path, monkeypatch, capsys):
    world = pds.make_world("painting")
    pds.Model(world.domain, seed=0).save(str(tmp_path / "untrained"))
    domain = pds.parse_domain("(define (domain other) (:predicates (p)) (:action a :effect (p)))")
    pds.Model(domain).save(str(tmp_path / "other"))
    for name, said in (
        ("untrained", "has no plan"),
        ("other", "no model of the"),
        ("none", "no such folder"),
    ):
        monkeypatch.setattr("sys.argv", ["film", str(tmp_path / name), str(tmp_path / "film.gif")])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert main() == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "film.gif").exists()


def test_arguments_are_shown_where_they_fit():
    def names(*plan):
        return Clip(None, 0, "", plan).names

    assert names(("go", "a", [0.5, 1])) == ["go a [0.50 1.00]"]
    assert names(("go", "a"), ("stay", "x" * 60)) == ["go", "stay"]
    assert names() == []
