"""Demonstrations of the Painting Factory."""

import numpy as np
import pytest

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.training.data.files import load_episodes
from pdsketch_paper.painting.data import demonstrate, demonstrations, table_seed
from pdsketch_paper.painting.goals import PAIRS


def test_the_oracle_succeeds_and_its_episodes_say_so():
    world = pds.make_world("painting")
    found = [demonstrate(world, table_seed(0, index)) for index in range(12)]
    assert all(one is not None for one in found)
    for one in found:
        (goal, success), *others = one.goals.items()
        assert goal in PAIRS
        assert success == (False, False, False, False, True)
        assert [action[0] for action in one.actions] == ["move-into"] * 3 + ["move-to"]
        assert [sum(success) for _, success in others[:3]] == [0, 0, 0]
        assert [success for _, success in others[3:6]] == [
            (False, True, False, False, False),
            (False, False, True, True, True),
            (False, False, False, True, False),
        ]
        colours = dict(others[8:])
        assert len(colours) >= 2
        assert all(success[-1] for success in list(colours.values())[:2])


def test_a_data_set_is_the_same_for_the_same_seed_and_holds_bytes():
    world = pds.make_world("painting", blocks=2, bowls=2)
    first, again, other = (world.demonstrations(2, seed) for seed in (0, 0, 1))
    assert first.digests == again.digests != other.digests
    assert first.values["item-image"].dtype == np.uint8
    assert first.values["item-image"].size == 2 * 5 * 2 * 32 * 32 * 3
    assert (first.success >= 0).all()


def test_failures_are_left_out_and_too_many_are_told(monkeypatch):
    world = pds.make_world("painting", blocks=2, bowls=2, lost_grips=0.2)
    assert len(list(demonstrations(world, 3, seed=0))) == 3
    monkeypatch.setattr("pdsketch_paper.painting.data.MOST_FAILURES", 2)
    with pytest.raises(pds.Error, match="failed 2 times in a row"):
        pds.make_world("painting", lost_grips=1.0).demonstrations(1)
    with pytest.raises(pds.Error, match="`pair` alone"):
        pds.make_world("painting", goals="tower of three").demonstrations(1)


def test_the_command_writes_episodes_that_can_be_read(tmp_path, capsys):
    folder = str(tmp_path / "data")
    words = ["data", "painting", "--episodes", "2", "--world-option", "blocks=2", "-o", folder]
    assert main(words) == 0
    episodes = load_episodes(folder, pds.make_world("painting").domain)
    assert len(episodes) == 2
    assert len(episodes[0].states[0]["item-pose"]) == 2
    assert main(["data", "painting", "--doors", "2", "-o", folder]) == 31
    assert "no option `doors`" in capsys.readouterr().err
