"""A fit is resumed from its own checkpoint alone, and a checkpoint is whole or refused."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tests.files.killed import killed_at_each_step
from tests.files.test_writing import largest_file
from tests.training.rooms import SKETCH

import pdsketch as pds
from pdsketch.files.lock import lock_file
from pdsketch.files.reading import sealed
from pdsketch.files.tensors import blocks_of, digest_blocks
from pdsketch.training.checkpoint import (
    Checkpoint,
    FitProgress,
    OverwriteWarning,
    load_checkpoint,
    save_checkpoint,
)
from pdsketch.training.data.recorder import arrays_of
from pdsketch.training.progress import Csv

OPTIONS = {"steps": 4, "batch": 32, "evaluate_every": 1, "validation": 0.2, "forms": False}


@pytest.fixture(scope="module")
def saved(rooms, tmp_path_factory):
    """The checkpoint of a fit, which has all that a checkpoint can have."""
    path = tmp_path_factory.mktemp("checkpoint") / "fit.safetensors"
    pds.fit(pds.Model(rooms[0], seed=0), rooms[1][:12], checkpoint=str(path), **OPTIONS)
    kinds = {name.partition("/")[0] for name in load_file(path)}
    assert kinds == {"weight", "first", "moment"}
    return path


@pytest.fixture
def path(saved, tmp_path):
    shutil.copy(saved, tmp_path / "fit.safetensors")
    return tmp_path / "fit.safetensors"


def resume(path, domain, episodes, **changed):
    model = pds.Model(domain, seed=0, modules=changed.pop("modules", None))
    return pds.fit(model, episodes, checkpoint=str(path), resume=True, **{**OPTIONS, **changed})


def refused(path, domain, episodes, **changed) -> str:
    with pytest.raises(pds.Error) as caught:
        resume(path, domain, episodes, **changed)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == ("bad-checkpoint", str(path))
    assert "--force" in found.help
    return found.message


# -- another fit --------------------------------------------------------------------


def test_the_same_fit_is_resumed(path, rooms):
    report = resume(path, rooms[0], rooms[1][:12])
    assert report.resumed == 4
    assert "resumed at step 4" in str(report)


def test_another_sketch_is_refused(path, rooms):
    other, episodes = pds.parse_domain(SKETCH.replace("float32, 1]", "float32, 1, tolerance=0.2]")), []
    assert list(other.blanks) == list(rooms[0].blanks)
    for episode in rooms[1][:12]:
        states = [pds.State(other, s.objects, {n: s[n] for n in s.values}) for s in episode.states]
        episodes.append(pds.Episode(states, episode.actions, episode.goal, episode.success))
    message = refused(path, other, episodes)
    assert message == "belongs to another fit: the sketch is another one"


def test_options_are_named_with_their_old_and_new_values(path, rooms):
    message = refused(path, rooms[0], rooms[1][:12], usage=0.5, lookahead=0.2)
    assert message == (
        "belongs to another fit: option `lookahead` was 0.1, and is 0.2; option `usage` was 1.0, and is 0.5"
    )


def test_more_steps_and_other_files_are_no_other_fit(path, rooms):
    assert resume(path, rooms[0], rooms[1][:12], steps=5).steps == 5


def test_modules_of_the_users_own_are_named(path, rooms):
    given = {"derived::in-last::f": lambda at: at[..., :1]}
    message = refused(path, rooms[0], rooms[1][:12], modules=given)
    assert "the modules given were none, and are derived::in-last::f" in message


def of_columns(rooms):
    return arrays_of(rooms[1][:12], rooms[0])


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("goals", lambda c: {"goals": tuple(reversed(c.goals))}),
        ("actions", lambda c: {"actions": tuple(reversed(c.actions))}),
        ("success", lambda c: {"success": 1 - c.success}),
        ("executable", lambda c: {"executable": np.ones_like(c.executable)}),
        ("action", lambda c: {"action": (c.action + 1) % 3}),
        ("value/colour", lambda c: {"values": {**c.values, "colour": (c.values["colour"] + 1) % 3}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_columns_of_the_data_that_changed_are_named(path, rooms, column, change):
    columns = of_columns(rooms)
    message = refused(path, rooms[0], replace(columns, **change(columns)))
    assert message == f"belongs to another fit: the data differ in `{column}`"


def test_lengths_arguments_and_objects_are_part_of_the_data(rooms):
    columns = of_columns(rooms)
    length = columns.length.copy()
    length[0], length[1] = length[0] + 1, length[1] - 1
    for name, changed in (
        ("length", {"length": length}),
        ("arguments", {"arguments": columns.arguments + 1}),
        ("objects", {"universes": columns.universes[::-1]}),
        ("value/stands", {"fixed": frozenset()}),
    ):
        other = replace(columns, **changed).digests
        assert [key for key in other if other[key] != columns.digests[key]] == [name]


def test_other_data_are_named_by_their_columns(path, rooms):
    message = refused(path, rooms[0], rooms[1][12:24])
    assert message.startswith("belongs to another fit: the data differ in `")


def test_to_write_over_a_checkpoint_is_said(path, rooms):
    with pytest.warns(OverwriteWarning, match="`resume` goes on from it"):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1][:12], checkpoint=str(path), steps=1)


def test_two_fits_do_not_write_one_checkpoint(path, rooms):
    said = []

    def other() -> None:
        with pytest.raises(pds.Error, match="folder-in-use") as caught:
            resume(path, rooms[0], rooms[1][:12])
        said.append(caught)

    with lock_file(path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(said) == 1


# -- a damaged one --------------------------------------------------------------------


def changed(path, change_facts=None, change_tensors=None) -> None:
    """Change a checkpoint as somebody does who knows about digests."""
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
    facts, tensors = json.loads(metadata["facts"]), load_file(path)
    if change_tensors is not None:
        tensors = change_tensors(tensors)
        facts["tensors"] = digest_blocks(blocks_of(tensors))
    if change_facts is not None:
        facts = change_facts(facts)
    if isinstance(facts, dict):
        facts = sealed(facts)
    save_file(tensors, path, {**metadata, "facts": json.dumps(facts)})


@pytest.mark.parametrize("junk", [None, -1, "x", [3], {"a": "b"}, 1.5, True], ids=repr)
def test_facts_that_are_not_what_they_should_be_are_refused(saved, tmp_path, rooms, junk):
    with safe_open(saved, framework="pt") as file:
        names = list(json.loads(file.metadata()["facts"]))
    for name in set(names) - {"digest", "setup"}:
        path = tmp_path / f"{name}.safetensors"
        shutil.copy(saved, path)
        changed(path, lambda facts, name=name: {**facts, name: junk})
        refused(path, rooms[0], rooms[1][:12])


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: [],
        lambda facts: {},
        lambda facts: {k: v for k, v in facts.items() if k != "counts"},
        lambda facts: {**facts, "counts": {}, "sums": {"goal": 1.0}},
        lambda facts: {**facts, "history": [{"goal": 1.0}]},
        lambda facts: {**facts, "setup": 3},
        lambda facts: {**facts, "setup": {**facts["setup"], "modules": 3.5}},
        lambda facts: {**facts, "setup": {**facts["setup"], "data": ["goals"]}},
        lambda facts: {**facts, "setup": {**facts["setup"], "options": None}},
        lambda facts: {**facts, "round": 1},
        lambda facts: {**facts, "began": facts["step"] + 1},
        lambda facts: {**facts, "sums": {"goal": 10**400}, "counts": {"goal": 1}},
    ],
)
def test_facts_that_do_not_fit_together_are_refused(path, rooms, change):
    changed(path, change)
    refused(path, rooms[0], rooms[1][:12])


def without(kind):
    return lambda tensors: {n: t for n, t in tensors.items() if not n.startswith(kind)}


def first(tensors, kind):
    return next(name for name in tensors if name.startswith(kind) and tensors[name].dim() == 2)


@pytest.mark.parametrize(
    "change",
    [
        without("weight/"),
        without("first/"),
        lambda t: {**t, "weight/more": torch.zeros(1)},
        lambda t: {**t, "other/more": torch.zeros(1)},
        lambda t: {**t, "moment/exp_avg/nothing": torch.zeros(1)},
        lambda t: {**t, "moment/other/nothing": torch.zeros(1)},
        *(
            lambda t, k=k: {**t, first(t, k): torch.zeros(3, 3)}
            for k in ("weight", "first", "moment/exp_avg")
        ),
        *(
            lambda t, k=k: {**t, first(t, k): t[first(t, k)].long()}
            for k in ("weight", "first", "moment/exp_avg_sq")
        ),
        *(lambda t, k=k: {n: x for n, x in t.items() if n != first(t, k)} for k in ("first", "moment")),
    ],
)
def test_tensors_that_are_not_those_of_the_model_are_refused(path, rooms, change):
    changed(path, change_tensors=change)
    refused(path, rooms[0], rooms[1][:12])


def test_tensors_that_were_changed_are_noticed(path, rooms):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert "damaged" in refused(path, rooms[0], rooms[1][:12])


def test_pipes_and_other_files_are_no_checkpoints(path, rooms):
    save_file({"a": torch.zeros(1)}, path)
    assert "not a checkpoint" in refused(path, rooms[0], rooms[1][:12])
    path.write_bytes(b"\x80\x04\x95pickled.")
    refused(path, rooms[0], rooms[1][:12])
    path.unlink()
    os.mkfifo(path)
    assert "a pipe" in refused(path, rooms[0], rooms[1][:12])


# -- writing ----------------------------------------------------------------------------


def test_a_killed_writer_leaves_the_old_checkpoint_or_the_new_one(tmp_path):
    path, model = tmp_path / "fit.safetensors", torch.nn.Linear(2, 2)
    setup = {"sketch": "", "modules": [], "data": {}, "options": {}}

    def save(step: int) -> None:
        facts = FitProgress(step, [], {}, {}, 0, 0)
        save_checkpoint(path, Checkpoint(model.state_dict(), {}, model.state_dict(), {}, facts), setup)

    save(1)
    found = []
    for _ in killed_at_each_step(lambda: save(2)):
        found.append(load_checkpoint(path, model, setup).facts.step)
    assert found == sorted(found)
    assert set(found) == {1, 2}
    assert len(os.listdir(tmp_path)) > 1
    with lock_file(path):
        assert sorted(os.listdir(tmp_path)) == [".fit.safetensors.lock", "fit.safetensors"]


def test_a_full_disk_leaves_the_old_checkpoint(path, rooms):
    with pytest.raises(pds.Error, match="cannot-write") as caught, largest_file(10_000):
        resume(path, rooms[0], rooms[1][:12], steps=6)
    assert caught.value.diagnostics[0].file == str(path)
    assert resume(path, rooms[0], rooms[1][:12]).resumed == 4


def test_a_resumed_log_is_never_shorter_than_what_was_measured(tmp_path):
    history = [{"step": float(step), "goal": step / 8} for step in range(1, 6)]
    path = tmp_path / "log.csv"

    def rewrite() -> None:
        Csv(str(path), history).close()

    rewrite()
    whole = path.read_text()
    assert whole.splitlines()[:2] == ["step,goal", "1,0.125"]
    path.write_text(whole + "6,0.75\n7,0.8")
    for _ in killed_at_each_step(rewrite):
        assert path.read_text().startswith(whole)
    assert path.read_text() == whole
