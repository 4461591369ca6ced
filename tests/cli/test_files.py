"""Commands on full disks, in folders that others write into, and on names that are no files."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from tests.files.test_writing import largest_file
from tests.training.rooms import SKETCH

from pdsketch.cli.main import main
from pdsketch.files.lock import lock_folder
from pdsketch.files.writing import PREFIX
from pdsketch.training.data.files import save_episodes

ROOT = Path(__file__).parents[2]
BLOCKS = [str(ROOT / "examples" / "blocks" / name) for name in ("domain.pddl", "p01.pddl")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    from tests.training.rooms import world

    folder = tmp_path_factory.mktemp("place")
    (folder / "rooms.pdsketch").write_text(SKETCH)
    save_episodes(world(6)[1], folder / "data")
    return folder


def train(place, folder, *more: str) -> list[str]:
    words = ["train", str(place / "rooms.pdsketch"), str(place / "data"), "-o", str(folder)]
    return [*words, "--steps", "4", "--evaluate-every", "1", *more]


def said(capsys):
    return json.loads(capsys.readouterr().out)


# -- plan -o --------------------------------------------------------------------------


def test_a_plan_that_cannot_be_written_is_not_lost(tmp_path, capsys):
    (tmp_path / "plan").write_text("old")
    with largest_file(10):
        assert main(["plan", *BLOCKS, "-o", str(tmp_path / "plan")]) == 31
    caught = capsys.readouterr()
    assert caught.out.endswith("; cost = 4\n")
    assert f"{tmp_path / 'plan'}:1:1: error[cannot-write]" in caught.err
    assert (tmp_path / "plan").read_text() == "old"
    assert main(["plan", *BLOCKS, "-o", "/dev/full", "--json"]) == 31
    found = said(capsys)
    assert found["status"] == "solved"
    assert len(found["plan"]) == 4
    assert [d["code"] for d in found["diagnostics"]] == ["cannot-write"]


def test_a_folder_that_is_not_there_is_told_before_the_search(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pdsketch.cli.plan._chosen", None)
    assert main(["plan", *BLOCKS, "-o", str(tmp_path / "no" / "plan")]) == 31
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["plan", *BLOCKS, "-o", str(tmp_path)]) == 31
    assert "a file was wanted" in capsys.readouterr().err


def test_a_plan_goes_to_a_pipe_and_nowhere(tmp_path, capsys):
    assert main(["plan", *BLOCKS, "-o", "/dev/null"]) == 0
    assert capsys.readouterr().out == ""


# -- train ------------------------------------------------------------------------------


def test_resume_says_what_it_resumes(place, tmp_path, capsys):
    folder = tmp_path / "model"
    assert main(train(place, folder, "--resume", "--json")) == 0
    caught = capsys.readouterr()
    assert f"fit: nothing to resume: there is no {folder / 'checkpoint.safetensors'}\n" in caught.err
    assert json.loads(caught.out)["resumed"] is None
    assert main([*train(place, folder, "--resume"), "--steps", "6", "--json"]) == 0
    caught = capsys.readouterr()
    assert f"fit: resumes {folder / 'checkpoint.safetensors'}, at step 4 of 6\n" in caught.err
    assert json.loads(caught.out)["resumed"] == 4
    assert main(train(place, folder, "--force")) == 0
    assert f"{folder / 'checkpoint.safetensors'} of an earlier fit is removed" in capsys.readouterr().err


def test_a_changed_sketch_and_changed_data_are_not_resumed(place, tmp_path, capsys):
    from tests.training.rooms import world

    folder = tmp_path / "model"
    assert main(train(place, folder)) == 0
    other = tmp_path / "other.pdsketch"
    other.write_text(SKETCH.replace("float32, 1]", "float32, 1, tolerance=0.2]"))
    save_episodes(world(6, seed=1)[1], tmp_path / "data")
    words = train(place, folder, "--resume", "--json")
    for at, path, wanted in (
        (1, other, "the sketch is another one"),
        (2, tmp_path / "data", "the data differ in"),
    ):
        capsys.readouterr()
        assert main([*words[:at], str(path), *words[at + 1 :]]) == 31
        (found,) = said(capsys)["diagnostics"]
        assert found["code"] == "bad-checkpoint"
        assert wanted in found["message"]


def test_a_model_without_a_checkpoint_is_not_written_over_by_resuming(place, tmp_path, capsys):
    folder = tmp_path / "model"
    assert main(train(place, folder)) == 0
    (folder / "checkpoint.safetensors").unlink()
    assert main(train(place, folder, "--resume")) == 31
    assert "no checkpoint to resume from" in capsys.readouterr().err


def test_a_fit_that_was_killed_before_its_first_checkpoint_may_be_resumed(place, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "log.csv").write_text("step,goal\n1,0.5\n")
    for name in (".lock", ".log.csv.lock", f"{PREFIX}0123.part"):
        (folder / name).touch()
    assert main(train(place, folder, "--resume")) == 0
    assert sorted(os.listdir(folder)) == [
        "checkpoint.safetensors",
        "log.csv",
        "model.json",
        "sketch.pdsketch",
        "weights.safetensors",
    ]
    assert len((folder / "log.csv").read_text().splitlines()) == 5


def test_two_trainings_into_one_folder_are_refused(place, tmp_path, capsys):
    folder, codes = tmp_path / "model", []
    with lock_folder(folder):
        thread = threading.Thread(target=lambda: codes.append(main(train(place, folder, "--json"))))
        thread.start()
        thread.join()
    assert codes == [31]
    (found,) = said(capsys)["diagnostics"]
    assert (found["code"], found["file"]) == ("folder-in-use", str(folder))
    assert str(os.getpid()) in found["message"]


def test_a_training_on_a_full_disk_is_one_diagnostic(place, tmp_path, capsys):
    folder = tmp_path / "model"
    with largest_file(20_000):
        assert main(train(place, folder, "--json")) == 31
    (found,) = said(capsys)["diagnostics"]
    assert (found["code"], found["file"]) == ("cannot-write", str(folder / "checkpoint.safetensors"))
    assert "ulimit -f" in found["help"]
    assert os.listdir(folder) == ["log.csv"]
    assert main(train(place, folder, "--resume")) == 0


def test_training_follows_no_links(place, tmp_path):
    precious = tmp_path / "profile"
    precious.write_text("mine")
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("log.csv", "checkpoint.safetensors", "model.json", "weights.safetensors", "sketch.pdsketch"):
        (folder / name).symlink_to(precious)
    assert main(train(place, folder, "--force")) == 0
    assert precious.read_text() == "mine"
    assert not any(path.is_symlink() for path in folder.iterdir())


# -- eval ------------------------------------------------------------------------


def test_a_report_keeps_its_old_page_on_a_full_disk(place, tmp_path, capsys):
    assert main(train(place, tmp_path / "model")) == 0
    page = tmp_path / "report.html"
    page.write_text("old")
    with largest_file(100):
        assert main(["eval", str(tmp_path / "model"), str(place / "data"), "--html", str(page)]) == 31
    assert page.read_text() == "old"
    assert main(["eval", str(tmp_path / "model"), str(place / "data"), "--html", str(page)]) == 0
    assert "<html" in page.read_text()
    assert (
        main(["eval", str(tmp_path / "model"), str(place / "data"), "--html", str(tmp_path / "n" / "p")])
        == 31
    )
    assert "there is no such folder" in capsys.readouterr().err
