"""Batches in shares: the same fit in one process and in two."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from tests.act.onpolicy.lamps import SKETCH, Lamps

import pdsketch as pds
from pdsketch.cli.main import main


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a sketch and episodes of it."""
    folder = tmp_path_factory.mktemp("shares")
    (folder / "lamps.pdsketch").write_text(SKETCH)
    domain = pds.load_domain(folder / "lamps.pdsketch")
    pds.record([Lamps(domain) for _ in range(8)], episodes=40, max_steps=8, seed=0).save(folder / "data")
    return folder


def words(place: Path, name: str, *more: str) -> list[str]:
    fit = ["--steps", "24", "--batch", "64", "--evaluate-every", "8", "--checkpoint-every", "8"]
    files = [str(place / "lamps.pdsketch"), str(place / "data"), "-o", str(place / name)]
    return ["train", *files, *fit, *more]


def weights(place: Path, name: str) -> dict[str, torch.Tensor]:
    return pds.load_model(place / name).state_dict()


def furthest(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(
        float((one[name].double() - other[name].double()).abs().max()) for name in one if one[name].numel()
    )


def test_two_processes_learn_what_one_does_with_as_many_shares(place, capfd):
    assert main(words(place, "two", "--devices", "2", "--validation", "0.2")) == 0
    assert capfd.readouterr().out.count("finished after 24 steps") == 1
    assert main(words(place, "one", "--shares", "2", "--validation", "0.2")) == 0
    assert main(words(place, "whole", "--validation", "0.2")) == 0
    two, one, whole = (weights(place, name) for name in ("two", "one", "whole"))
    assert furthest(two, one) < 1e-4
    assert furthest(whole, one) > 1e-3  # else shares would make no difference at all
    logs = [(place / name / "log.csv").read_text().splitlines() for name in ("two", "one")]
    assert [line.split(",")[0] for line in logs[0]] == [line.split(",")[0] for line in logs[1]]
    figures = [[float(x) for x in log[-1].split(",") if x] for log in logs]
    assert figures[0] == pytest.approx(figures[1], abs=1e-3)


def test_two_processes_go_on_from_a_checkpoint_of_one(place):
    short = [word if word != "24" else "16" for word in words(place, "half", "--shares", "2")]
    assert main(short) == 0
    shutil.copytree(place / "half", place / "other-half")
    assert main(words(place, "half", "--devices", "2", "--resume")) == 0
    assert main(words(place, "other-half", "--shares", "2", "--resume")) == 0
    assert furthest(weights(place, "half"), weights(place, "other-half")) < 1e-4


def test_what_is_wrong_is_said_once_with_the_exit_code_of_one_process(place, capfd):
    assert main(words(place, "uneven", "--devices", "2", "--shares", "3")) == 31
    assert capfd.readouterr().err.count("3 shares cannot be dealt out to 2 processes") == 1
    assert main(words(place, "none", "--devices", "0")) == 2


def test_a_share_holds_its_part_of_every_stratum():
    from pdsketch.training.shares import Shares

    batch = torch.arange(10).numpy()
    shares = Shares(3, torch.device("cpu")).of(batch)
    assert [share.tolist() for share in shares] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert len(Shares(16, torch.device("cpu")).of(batch)) == 10
