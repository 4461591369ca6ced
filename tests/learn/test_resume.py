"""A fit that was killed and resumed ends where an uninterrupted one does, bit for bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.learn.rooms import SKETCH

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.learn.files import save_episodes

STEPS = 24


@pytest.fixture(scope="module")
def place(rooms, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    (folder / "rooms.pdsketch").write_text(SKETCH)
    save_episodes(rooms[1][:12], folder / "data")
    assert main(command(folder, "whole")) == 0
    return folder


def command(place: Path, name: str, *more: str) -> list[str]:
    words = ["train", str(place / "rooms.pdsketch"), str(place / "data"), "-o", str(place / name)]
    settings = ["--steps", str(STEPS), "--batch", "32", "--checkpoint-every", "2", "--evaluate-every", "5"]
    return [*words, *settings, "--validation", "0.25", *more]


def weights(place: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(next((place / name).glob("weights*.safetensors")))


def test_killed_and_resumed_is_uninterrupted_bit_for_bit(place):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.Popen(
        [sys.executable, "-m", "pdsketch", *command(place, "killed")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    checkpoint = place / "killed" / "checkpoint.safetensors"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert checkpoint.exists()
    assert main(command(place, "killed", "--resume")) == 0
    whole, resumed = weights(place, "whole"), weights(place, "killed")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    logs = [(place / name / "log.csv").read_text() for name in ("whole", "killed")]
    assert logs[0] == logs[1]


def test_resuming_with_other_settings_is_refused(place, capsys):
    assert main(command(place, "whole", "--resume", "--sparsity", "0.5", "--json")) == 31
    found = json.loads(capsys.readouterr().out)
    assert [d["code"] for d in found["diagnostics"]] == ["bad-checkpoint"]


def test_a_torn_checkpoint_is_refused(place, rooms):
    torn = place / "torn.safetensors"
    torn.write_bytes((place / "whole" / "checkpoint.safetensors").read_bytes()[:100])
    with pytest.raises(pds.Error, match="bad-checkpoint"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1], steps=2, checkpoint=str(torn), resume=True)


def test_eval_reports_goals_transitions_and_blanks(place, capsys):
    assert main(["eval", str(place / "whole"), str(place / "data"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["positives"] + found["negatives"] == 12 * 7
    assert set(found["transitions"]) == {"at", "colour", "stands"}
    assert found["blanks"]["derived::near::f"]["trained"] is True
    assert main(["eval", str(place / "whole"), str(place / "data")]) == 0
    assert "derived::near::f" in capsys.readouterr().out


def test_bad_input_exits_with_31(place, capsys):
    assert (
        main(["train", str(place / "rooms.pdsketch"), str(place / "nothing"), "-o", str(place / "x")]) == 31
    )
    assert main(["eval", str(place / "nothing"), str(place / "data")]) == 31
    assert main(["eval", str(place / "whole"), str(place / "data"), "--device", "warp"]) == 31
    assert main(command(place, "y", "--learning-rate", "-1")) == 31
    assert "error[" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stps", 3),
        ("batch", 0),
        ("tnorm", "zadeh"),
        ("validation", 1.5),
        ("learning_rate", "fast"),
        ("resume", True),
    ],
)
def test_bad_options_are_errors(rooms, name, value):
    with pytest.raises(pds.Error, match=name if name != "stps" else "steps"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1], **{name: value})


def test_fit_refuses_what_it_cannot_learn_from(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=0)
    other = pds.parse_domain(SKETCH.replace("domain rooms", "domain other"))
    for bad in ([], ["episode"], None, pds.Model(other, seed=0)):
        with pytest.raises((pds.Error, TypeError)):
            pds.fit(model, bad, steps=1)
    with pytest.raises(pds.Error, match="other-domain"):
        pds.fit(pds.Model(other, seed=0), episodes, steps=1)


def test_logs_and_bar_are_written(rooms, tmp_path, capsys):
    pytest.importorskip("tensorboard")
    pds.fit(
        pds.Model(rooms[0], seed=0),
        rooms[1],
        steps=2,
        log=str(tmp_path / "log.csv"),
        tensorboard=str(tmp_path / "board"),
        progress=True,
    )
    header, row = (tmp_path / "log.csv").read_text().splitlines()
    assert header.startswith("step,goal,")
    assert row.startswith("2,")
    assert any((tmp_path / "board").iterdir())
    assert "goal" in capsys.readouterr().err
