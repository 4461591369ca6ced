"""Episodes on disk: what is written is read back, and nothing else is accepted."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.numpy import load_file, save_file
from tests.files.killed import killed_at_each_step
from tests.files.reseal import reseal
from tests.files.test_writing import largest_file

import pdsketch as pds
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.files import load_episodes, save_episodes
from pdsketch.training.data.recorder import Recorder, arrays_of


@pytest.fixture(scope="module")
def folder(rooms, tmp_path_factory):
    path = tmp_path_factory.mktemp("episodes") / "data"
    save_episodes(rooms[1], path)
    return path


def same(a: pds.Episode, b: pds.Episode) -> bool:
    return (
        list(a.actions) == list(b.actions)
        and a.goal == b.goal
        and list(map(int, a.success)) == list(map(int, b.success))
        and (None if a.executable is None else list(a.executable)) == b.executable
        and all(
            s.objects == t.objects and all((s[name] == t[name]).all() for name in s.values)
            for s, t in zip(a.states, b.states, strict=True)
        )
    )


def test_episodes_survive_the_disk(rooms, folder):
    domain, episodes = rooms
    loaded = load_episodes(folder, domain)
    assert len(loaded) == len(episodes)
    assert all(same(a, b) for a, b in zip(episodes, loaded, strict=True))


def test_packed_states_are_the_states_of_the_episodes(rooms):
    domain, episodes = rooms
    dataset = put_on_device(arrays_of(episodes, domain), torch.device("cpu"))
    states = [state for episode in episodes for state in episode.states]
    assert len(dataset) == len(states)
    for at in (0, 7, 100, len(states) - 1):
        found = dataset.states[at]
        assert found.objects == states[at].objects
        assert all((found[name] == states[at][name]).all() for name in found.values)


def test_what_never_changes_is_stored_once_an_episode(rooms, folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["predicates"]["stands"]["per"] == "episode"
    assert manifest["predicates"]["at"]["per"] == "state"


VALUES = """
(define (domain values)
  (:types box)
  (:constants first - box)
  (:predicates (pose [return_type=vector[float32, 2]] ?b - box) (open ?b - box) (lit))
  (:action put :parameters (?b - box ?p - vector[float32, 2]) :precondition (and)
    :effect (pose::assign ?b ?p)))
"""


def test_value_arguments_constants_and_executable_survive(tmp_path):
    domain = pds.parse_domain(VALUES)
    state = pds.State(
        domain,
        {"box": ["b"]},
        {"pose": [[0, 0.5], [1, 1]], "open": [True, False], "lit": True},
    )
    episode = pds.Episode(
        [state, state, state],
        [("put", "first", (0.25, 1)), ("PUT", "b", [2, 3])],
        "(lit)",
        [0, 0, 1],
        [True, False],
    )
    save_episodes([episode], tmp_path)
    (loaded,) = load_episodes(tmp_path, domain)
    assert loaded.actions == (("put", "first", (0.25, 1.0)), ("put", "b", (2.0, 3.0)))
    assert loaded.executable == (True, False)
    assert (loaded.states[1]["pose"] == state["pose"]).all()


def test_one_data_set_serves_sketches_that_know_less(rooms, folder):
    domain = pds.parse_domain(
        """(define (domain less) (:types robot box - object place - vector[float32, 1])
             (:predicates (at [return_type=place] ?r - robot))
             (:derived (near ?r - robot ?b - box) (??f (at ?r)))
             (:derived (is-red ?b - box) (??f)) (:derived (is-blue ?b - box) (??f))
             (:derived (in-last ?r - robot) (??f (at ?r)))
             (:action left :parameters (?r - robot) :precondition (and) :effect (and))
             (:action right :parameters (?r - robot) :precondition (and) :effect (and))
             (:action dye :parameters (?r - robot) :precondition (and) :effect (and)))"""
    )
    assert set(load_episodes(folder, domain).values) == {"at"}


def bad(path, domain) -> list[str]:
    with pytest.raises(pds.Error) as caught:
        load_episodes(path, domain)
    return [d.code for d in caught.value.diagnostics]


@pytest.mark.parametrize("name", ["manifest.json", "arrays.safetensors"])
def test_a_missing_file_is_an_error(rooms, folder, tmp_path, name):
    shutil.copytree(folder, tmp_path / "data")
    (tmp_path / "data" / name).unlink()
    assert bad(tmp_path / "data", rooms[0]) == ["bad-data"]


def test_no_folder_is_an_error(rooms, tmp_path):
    assert bad(tmp_path / "nothing", rooms[0]) == ["bad-data"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_malformed_manifests_give_errors(rooms, folder, tmp_path_factory, data):
    domain, _ = rooms
    manifest = json.loads((folder / "manifest.json").read_text())
    junk = st.one_of(
        st.none(), st.integers(-5, 5), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.just({})
    )
    path, where = data.draw(st.sampled_from(list(places(manifest)))), manifest
    for key in path[:-1]:
        where = where[key]
    before = where[path[-1]]
    where[path[-1]] = data.draw(junk)
    copy = tmp_path_factory.mktemp("fuzz") / "data"
    shutil.copytree(folder, copy)
    reseal(copy, "manifest.json", manifest)
    try:
        columns = load_episodes(copy, domain)
    except pds.Error:
        return
    # What is accepted can be used; a name or a count that nothing depends on may be anything.
    data = put_on_device(columns, torch.device("cpu"))
    assert len(data) == columns.length.sum() or before == where[path[-1]]


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_malformed_arrays_give_errors(rooms, folder, tmp_path_factory, data):
    domain, _ = rooms
    copy = tmp_path_factory.mktemp("fuzz") / "data"
    shutil.copytree(folder, copy)
    arrays = load_file(copy / "arrays.safetensors")
    name = data.draw(st.sampled_from(sorted(arrays)))
    change = data.draw(st.sampled_from(["drop", "shorten", "negate", "large", "float", "flat", "nan"]))
    array = arrays.pop(name)
    changed = {
        "drop": None,
        "shorten": array[:-1].copy(),
        "negate": (-array.astype(np.int64) - 1),
        "large": array.astype(np.int64) + 1000,
        "float": array.astype(np.float32) + 0.5,
        "flat": array.reshape(-1, 1, 1).copy(),
        "nan": np.full(array.shape, np.nan, dtype=np.float32),
    }[change]
    if changed is not None:
        arrays[name] = changed
    save_file(arrays, copy / "arrays.safetensors")
    reseal(copy, "manifest.json")
    try:
        columns = load_episodes(copy, domain)
    except pds.Error:
        return
    assert len(put_on_device(columns, torch.device("cpu"))) == columns.length.sum()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 2000), noise=st.binary(max_size=20))
def test_torn_files_give_errors(rooms, folder, tmp_path_factory, cut, noise):
    copy = tmp_path_factory.mktemp("fuzz") / "data"
    shutil.copytree(folder, copy)
    raw = (copy / "arrays.safetensors").read_bytes()
    (copy / "arrays.safetensors").write_bytes(raw[: min(cut, len(raw) - 1)] + noise)
    assert bad(copy, rooms[0]) == ["bad-data"]
    reseal(copy, "manifest.json")
    assert bad(copy, rooms[0]) == ["bad-data"]


@pytest.fixture
def copy(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "data")
    return tmp_path / "data"


def why(path, domain) -> str:
    with pytest.raises(pds.Error) as caught:
        load_episodes(path, domain)
    (found,) = caught.value.diagnostics
    assert found.code == "bad-data"
    return found.message


def with_arrays(copy, **changed) -> None:
    arrays = load_file(copy / "arrays.safetensors")
    save_file({**arrays, **changed}, copy / "arrays.safetensors")
    reseal(copy, "manifest.json")


def test_lengths_whose_sum_wraps_around_are_refused(rooms, copy):
    length = load_file(copy / "arrays.safetensors")["length"].astype(np.int64)
    # Four times 2^62 are 0 in 64 bits, so that the sum of all is what it was.
    length[:4] = 2**62
    length[4] += 4 * 7
    with np.errstate(over="ignore"):
        assert length.sum() == 7 * len(length)
    with_arrays(copy, length=length)
    assert "`length` holds numbers outside" in why(copy, rooms[0])


def test_lengths_that_do_not_add_up_are_refused(rooms, copy):
    length = load_file(copy / "arrays.safetensors")["length"].astype(np.int64)
    length[0] += 1
    with_arrays(copy, length=length)
    assert "do not add up to 280 states" in why(copy, rooms[0])


def test_counts_in_the_manifest_are_compared_with_the_arrays(rooms, copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    for what in ("episodes", "states"):
        reseal(copy, "manifest.json", {**manifest, what: manifest[what] + 1})
        assert f"{what}, and the arrays of" in why(copy, rooms[0])


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("success", np.int64, 256),
        ("success", np.uint16, 257),
        ("executable", np.uint8, 255),
        ("action", np.int64, 2**32),
    ],
)
def test_numbers_are_checked_before_they_are_cast(rooms, copy, name, kind, number):
    array = np.zeros_like(load_file(copy / "arrays.safetensors")[name], dtype=kind)
    array[3] = number
    with_arrays(copy, **{name: array})
    assert f"`{name}` holds numbers outside" in why(copy, rooms[0])


def test_values_that_their_type_cannot_hold_are_refused(rooms, copy):
    arrays = load_file(copy / "arrays.safetensors")
    domain = pds.parse_domain("(define (domain d) (:predicates (n [return_type=int64])))")
    recorder = Recorder(domain)
    for value in (2**63 - 2, 1 - 2**63):
        recorder.add({}, {"n": np.array([value])}, [])
    for value in (2**63 - 1, -(2**63), np.uint64(2**63), 2.0**63, 0.5):
        with pytest.raises(pds.Error, match="value-out-of-range"):
            recorder.add({}, {"n": np.array([value])}, [])
        with pytest.raises(pds.Error, match="value-out-of-range"):
            pds.State(domain, {}, {"n": np.array(value)})
    with_arrays(copy, **{"value/at": np.full(len(arrays["value/at"]), 1e300)})
    with pytest.raises(pds.Error, match="too large for a float32") as found:
        load_episodes(copy, rooms[0])
    assert str(copy) in str(found.value)


def test_a_dtype_that_numpy_does_not_have_is_refused(rooms, copy):
    raw = (copy / "arrays.safetensors").read_bytes()
    (copy / "arrays.safetensors").write_bytes(raw.replace(b'"dtype":"I8"', b'"dtype":"F8_E5M2"'))
    length = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + length].replace(b'"I8"', b'"F8_E5M2"')
    (copy / "arrays.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + length :])
    reseal(copy, "manifest.json")
    assert "F8_E5M2" in why(copy, rooms[0])


def test_a_killed_writer_leaves_the_old_episodes_or_the_new_ones(rooms, copy):
    domain, episodes = rooms
    old, new = (arrays_of(some, domain) for some in (episodes, episodes[::-1]))
    found = []
    for _ in killed_at_each_step(lambda: save_episodes(new, copy)):
        digests = load_episodes(copy, domain).digests
        assert digests in (old.digests, new.digests)
        found.append(digests == new.digests)
        save_episodes(old, copy)
    assert set(found) == {False, True}


def test_files_of_two_data_sets_do_not_belong_together(rooms, copy, tmp_path):
    domain, episodes = rooms
    save_episodes(episodes[::-1], tmp_path / "other")
    shutil.copy(tmp_path / "other" / "manifest.json", copy)
    assert "does not belong to the others" in why(copy, domain)


def test_a_disk_that_runs_full_leaves_the_old_episodes(rooms, copy):
    domain, episodes = rooms
    with pytest.raises(pds.Error, match="cannot-write"), largest_file(1000):
        save_episodes(episodes[::-1], copy)
    assert [e.goal for e in load_episodes(copy, domain)] == [e.goal for e in episodes]


def test_a_predicate_of_other_objects_is_refused(rooms, copy):
    from tests.training.rooms import SKETCH

    domain = pds.parse_domain(
        SKETCH.replace(
            "(stands [return_type=place] ?b - box)", "(stands [return_type=place] ?b - robot)"
        ).replace("(at ?r) (stands ?b)", "(at ?r)")
    )
    assert "`stands` was recorded with the arguments ['box']; the domain's: robot" in why(copy, domain)
    wider = pds.parse_domain(
        SKETCH.replace("robot box - object", "thing - object robot - object box - thing").replace(
            "(stands [return_type=place] ?b - box)", "(stands [return_type=place] ?b - thing)"
        )
    )
    assert len(load_episodes(copy, wider)) == 40


def test_objects_that_no_episode_has_are_refused(rooms, copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["universes"].append({"box": [f"b{i}" for i in range(1000)]})
    reseal(copy, "manifest.json", manifest)
    assert "no episode has" in why(copy, rooms[0])


def test_more_universes_than_episodes_are_refused_before_they_are_made(rooms, copy, monkeypatch):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["universes"] += [{"box": []}] * (manifest["episodes"] + 1)
    reseal(copy, "manifest.json", manifest)
    made = []
    monkeypatch.setattr("pdsketch.training.data.files.Universe.of", lambda *_: made.append(1))
    assert "no episode has" in why(copy, rooms[0])
    assert not made


def test_arguments_wider_than_the_actions_need_are_refused(rooms, copy):
    arrays = load_file(copy / "arrays.safetensors")
    with_arrays(copy, arguments=np.full((len(arrays["action"]), 1000), -1, dtype=np.int8))
    assert "`arguments` has 240 × 1000 entries instead of 240 × 1" in why(copy, rooms[0])


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(rooms, copy):
    import os

    for name in ("manifest.json", "arrays.safetensors"):
        (copy / name).rename(copy / "away")
        os.mkfifo(copy / name)
        assert "a pipe" in why(copy, rooms[0])
        (copy / name).unlink()
        (copy / "away").rename(copy / name)


def test_the_same_episodes_have_the_same_digests_in_memory_and_on_disk(rooms, copy):
    domain, episodes = rooms
    recorded, loaded = arrays_of(episodes, domain), load_episodes(copy, domain)
    assert recorded.digests == loaded.digests
    other = arrays_of([*episodes[:-1], episodes[0]], domain)
    differing = {name for name in other.digests if other.digests[name] != loaded.digests[name]}
    assert "action" in differing
    assert "objects" not in differing


def test_a_recorder_refuses_what_does_not_fit(rooms):
    domain, _ = rooms
    good = {
        "objects": {"robot": ["rob"], "box": ["b"]},
        "values": {"at": np.zeros((2, 1, 1)), "colour": [[0], [1]], "stands": np.zeros((2, 1, 1))},
        "actions": [("left", "rob")],
        "goal": "(in-last rob)",
        "success": [0, 1],
    }
    Recorder(domain).add(**good)
    wrong = [
        {"objects": {"robot": ["rob"], "bax": ["b"]}},
        {"objects": {"robot": ["rob", "rob"], "box": ["b"]}},
        {"values": {**good["values"], "at": np.full((2, 1, 1), np.nan)}},
        {"values": {**good["values"], "at": np.zeros((2, 2, 1))}},
        {"values": {**good["values"], "colour": [[0], [7]]}},
        {"values": {**good["values"], "colour": [[0.5], [1]]}},
        {"values": {**good["values"], "colour": [["red"], ["blue"]]}},
        {"values": {**good["values"], "is-red": [[True], [True]]}},
        {"values": {**good["values"], "nothing": [1, 2]}},
        {"actions": []},
        {"actions": [("jump", "rob")]},
        {"actions": [("left", "b")]},
        {"actions": [("left",)]},
        {"actions": ["left"]},
        {"goal": "(in-last bob)"},
        {"goal": "(is-red"},
        {"goal": 3},
        {"success": [0, 0.5]},
        {"success": [0, 1, 1]},
        {"success": [0, "no"]},
        {"success": [0, 1], "goal": None},
        {"executable": [2]},
        {"executable": [True, True]},
    ]
    for change in wrong:
        with pytest.raises(pds.Error):
            Recorder(domain).add(**{**good, **change})


def test_an_episode_refuses_what_does_not_fit(rooms):
    episode = rooms[1][0]
    other = pds.State(rooms[0], {"robot": ["rob"]}, {"at": [[0]], "colour": [], "stands": np.zeros((0, 1))})
    good = {
        "states": episode.states,
        "actions": episode.actions,
        "goal": episode.goal,
        "success": episode.success,
    }
    wrong = [
        {"states": []},
        {"states": [*episode.states[:-1], other]},
        {"actions": episode.actions[:-1]},
        {"actions": [("left", "nobody"), *episode.actions[1:]]},
        {"success": episode.success[:-1]},
        {"success": ["yes"] * len(episode.success)},
        {"goal": "(no-such-thing)"},
        {"executable": [1]},
    ]
    for change in wrong:
        with pytest.raises(pds.Error):
            pds.Episode(**{**good, **change})
