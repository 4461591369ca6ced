"""A fit that was killed and resumed ends where an uninterrupted one does, bit for bit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.training.rooms import SKETCH

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.training import rounds, trainer
from pdsketch.training.data.files import save_episodes

STEPS = 12


@pytest.fixture(scope="module")
def place(rooms, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    (folder / "rooms.pdsketch").write_text(SKETCH)
    save_episodes(rooms[1][:12], folder / "data")
    assert main(command(folder, "whole")) == 0
    return folder


def command(place: Path, name: str, *more: str) -> list[str]:
    words = ["train", str(place / "rooms.pdsketch"), str(place / "data"), "-o", str(place / name)]
    settings = ["--steps", str(STEPS), "--batch", "32", "--evaluate-every", "5"]
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
    deadline = time.monotonic() + 600
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


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(place, capsys, monkeypatch):
    def measure(*args):
        if not pressed_before:
            pressed_before.append(True)
            signal.raise_signal(signal.SIGINT)
        return original(*args)

    original, pressed_before = trainer.measure, []
    with monkeypatch.context() as pressed:
        pressed.setattr(trainer, "measure", measure)
        assert main(command(place, "stopped", "--json")) == 130
    caught = capsys.readouterr()
    told = json.loads(caught.out)
    checkpoint = place / "stopped" / "checkpoint.safetensors"
    assert told["status"] == "interrupted"
    assert told["kept"] == f"5 of {STEPS} steps are kept in {checkpoint}"
    assert caught.err.endswith(f"pdsketch: interrupted; {told['kept']}; {told['resume']}\n")
    assert "--resume" in told["resume"]
    assert main(command(place, "stopped", "--resume")) == 0
    whole, resumed = weights(place, "whole"), weights(place, "stopped")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_ctrl_c_before_the_first_step_says_that_nothing_is_kept(place, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdsketch.training.gather", stop)
    assert main(command(place, "none")) == 130
    assert "nothing is kept" in capsys.readouterr().err
    assert not (place / "none").exists()


def test_ctrl_c_after_the_last_step_says_what_is_kept(place, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdsketch.training.diagnosis.report.Report.as_json", stop)
    assert main(command(place, "ended", "--steps", "2", "--json")) == 130
    kept = json.loads(capsys.readouterr().out)["kept"]
    assert kept == f"the last checkpoint is kept in {place / 'ended' / 'checkpoint.safetensors'}"


ROUND = 3
MEASURED = {"steps": 10, "batch": 32, "evaluate_every": 1, "validation": 0.2}


@pytest.fixture(scope="module")
def uninterrupted(rooms):
    """A model, and the report on its fit in short rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "ROUND_STEPS", ROUND)
        model = pds.Model(rooms[0], seed=0)
        return model, pds.fit(model, rooms[1][:12], **MEASURED)


@pytest.mark.parametrize("stop", [ROUND - 1, ROUND, ROUND + 1, 9], ids=lambda n: f"step-{n}")
def test_a_fit_may_be_resumed_in_any_round_and_between_two(rooms, uninterrupted, tmp_path, monkeypatch, stop):
    monkeypatch.setattr(rounds, "ROUND_STEPS", ROUND)
    domain, episodes = rooms[0], rooms[1][:12]
    whole_model, whole = uninterrupted
    options = {**MEASURED, "checkpoint": str(tmp_path / "fit.safetensors")}
    cut = pds.fit(pds.Model(domain, seed=0), episodes, callback=lambda now: now.step == stop, **options)
    assert (cut.status, cut.steps) == ("stopped", stop)
    model = pds.Model(domain, seed=0)
    rest = pds.fit(model, episodes, resume=True, **options)
    assert rest.history == whole.history
    wanted, found = whole_model.state_dict(), model.state_dict()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)
    assert {name: str(form) for name, form in model.forms.items()} == {
        name: str(form) for name, form in whole_model.forms.items()
    }


def test_resuming_with_other_settings_is_refused(place, capsys):
    assert main(command(place, "whole", "--resume", "--usage", "0.5", "--json")) == 31
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
    assert found["judged"]["positives"] + found["judged"]["negatives"] == 12 * 7
    assert {name for one in found["effects"].values() for name in one} == {"at", "colour", "stands"}
    assert found["blanks"]["derived::near::f"]["trained"] is True
    assert main(["eval", str(place / "whole"), str(place / "data")]) == 0
    assert "derived::near::f" in capsys.readouterr().out


def test_bad_input_exits_with_31(place, capsys):
    assert (
        main(["train", str(place / "rooms.pdsketch"), str(place / "nothing"), "-o", str(place / "x")]) == 31
    )
    assert main(["eval", str(place / "nothing"), str(place / "data")]) == 31
    assert main(["eval", str(place / "whole"), str(place / "data"), "--device", "warp"]) == 31
    assert "error[" in capsys.readouterr().err
    assert main(command(place, "y", "--learning-rate", "-1")) == 2  # a usage error, as any option's
    assert "--learning-rate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stps", 3),
        ("batch", 0),
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
    pds.fit(
        pds.Model(rooms[0], seed=0),
        rooms[1],
        steps=2,
        log=str(tmp_path / "log.csv"),
        progress=True,
    )
    header, row = (tmp_path / "log.csv").read_text().splitlines()
    assert header.startswith("step,goal,")
    assert row.startswith("2,")
    assert "goal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "meant"),
    [("lr", "learning_rate"), ("epochs", "steps"), ("batch_size", "batch"), ("LR", "learning_rate")],
)
def test_the_words_of_other_libraries_are_understood(rooms, name, meant):
    with pytest.raises(pds.Error, match=f"did you mean `{meant}"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1], **{name: 1})


def test_an_unknown_option_far_from_any_name_lists_what_there_is(rooms):
    with pytest.raises(pds.Error, match="lookahead"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1], zzz=1)


def test_a_resumed_run_can_be_made_longer(place, capsys):
    shutil.copytree(place / "whole", place / "longer")
    longer = [*command(place, "longer"), "--resume", "--json"]
    longer[longer.index(str(STEPS))] = str(STEPS + 8)
    capsys.readouterr()
    assert main(longer) == 0
    caught = capsys.readouterr()
    found = json.loads(caught.out)
    assert found["steps"] == STEPS + 8
    assert [row["step"] for row in found["history"]] == [5, 10, 12, 15, 20]
    assert "fit: step 15 of 20" in caught.err
    whole, extended = weights(place, "whole"), weights(place, "longer")
    assert any(not torch.equal(whole[name], extended[name]) for name in whole)


def test_a_model_is_not_written_over_unless_forced(place, tmp_path, capsys):
    assert main([*command(place, "whole"), "--json"]) == 31
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [d["code"] for d in found] == ["folder-exists"]
    assert "--force" in found[0]["help"]
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("dear")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    words = command(place, "whole", "--steps", "1")
    at = words.index("-o") + 1
    for name, more, code in (
        ("letters", [], 31),
        ("letters", ["--force"], 0),
        ("file", ["--force"], 31),
        ("empty", [], 0),
        ("empty", ["--force"], 0),
    ):
        words[at] = str(tmp_path / name)
        assert main([*words, *more]) == code
    assert (tmp_path / "letters" / "mine.txt").read_text() == "dear"


def test_a_failed_start_leaves_no_folder_behind(place):
    assert main(["train", str(place / "rooms.pdsketch"), str(place / "no"), "-o", str(place / "new")]) == 31
    assert not (place / "new").exists()


def test_a_warm_start_begins_where_the_other_model_ended(place, rooms, capsys):
    assert main(command(place, "warm", "--from", str(place / "whole"), "--steps", "0")) == 0
    whole, warm = weights(place, "whole"), weights(place, "warm")
    assert all(torch.equal(whole[name], warm[name]) for name in whole)
    other = place / "other.pdsketch"
    other.write_text(SKETCH.replace("(is-red ?b - box) (??f (colour ?b))", "(is-red ?b - box) (??f (at ?b))"))
    words = ["train", str(other), str(place / "data"), "-o", str(place / "x"), "--from", str(place / "whole")]
    assert main(words) == 31


def test_fit_goes_on_with_a_loaded_model(place, rooms):
    model = pds.load_model(place / "whole")
    before = {name: t.clone() for name, t in model.state_dict().items()}
    first = pds.fit(model, rooms[1][:12], steps=0)
    assert all(torch.equal(before[name], t) for name, t in model.state_dict().items())
    assert first.untrained == ()
    later = pds.fit(model, rooms[1][:12], steps=20, learning_rate=1e-3)
    assert later.train.goal_accuracy >= first.train.goal_accuracy


def test_a_callback_sees_each_measurement_and_may_stop(rooms, tmp_path):
    domain, episodes = rooms
    seen = []

    def watch(progress):
        seen.append(progress)
        return progress.step >= 4

    options = {"evaluate_every": 2, "validation": 0.2, "checkpoint": str(tmp_path / "fit.safetensors")}
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=9, callback=watch, **options)
    assert report.status == "stopped"
    assert [(p.step, p.steps) for p in seen] == [(2, 9), (4, 9)]
    assert {"goal", "accuracy", "held_out_loss"} <= set(seen[0].figures)
    with pytest.raises(TypeError):
        seen[0].figures["goal"] = 0.0
    resumed = pds.fit(
        pds.Model(domain, seed=0),
        episodes,
        steps=9,
        resume=True,
        callback=seen.append,
        **options,
    )
    assert resumed.status == "finished"
    assert [p.step for p in seen] == [2, 4, 6, 8, 9]


def test_a_callback_may_raise_stop_iteration_or_use_the_model(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=0)

    def watch(progress):
        model.eval()
        model.holds(episodes[0].states[0], episodes[0].goal)
        if progress.step == 4:
            raise StopIteration
        return 1

    report = pds.fit(model, episodes, steps=6, evaluate_every=2, callback=watch)
    assert (report.status, report.steps) == ("stopped", 4)


@pytest.mark.parametrize("callback", [3, lambda: None, lambda a, b: None])
def test_a_bad_callback_is_told_before_the_fit(rooms, callback):
    with pytest.raises(pds.Error, match="callback"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1], steps=1, callback=callback)
