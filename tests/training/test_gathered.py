"""Predicates that are gathered from the host batch by batch, and arrays that stay in their file."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from tests.training.rooms import world

import pdsketch as pds
from pdsketch.files.tensors import chunks
from pdsketch.training.data import device_dataset
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.files import load_episodes, save_episodes
from pdsketch.training.data.recorder import Recorder
from pdsketch.training.fitting import evaluate

CPU = torch.device("cpu")

PICTURES = """
(define (domain shades)
  (:types box)
  (:predicates
    (picture [return_type=vector[float32, 8, 8, 1]] ?b - box)
    (weight [return_type=float32] ?b - box))
  (:derived (look [return_type=vector[float32, 2]] ?b - box) (??f (picture ?b)))
  (:derived (dark ?b - box) (??f (look ?b)))
  (:action flip :parameters (?b - box) :effect (look::assign ?b (??f (look ?b)))))
"""


def pictures(count: int = 24, dtype=np.uint8):
    """Boxes whose pictures are light or dark; some episodes have no box at all."""
    domain = pds.parse_domain(PICTURES)
    rng, recorder = np.random.default_rng(0), Recorder(domain)
    for number in range(count):
        boxes = int(rng.integers(1, 4)) if number else 0
        dark = rng.random(boxes) < 0.5
        shown, actions, success = [], [], []
        for step in range(3):
            level = np.where(dark, 40, 200)[:, None, None, None]
            shown.append((level + rng.integers(-30, 30, size=(boxes, 8, 8, 1))).astype(dtype))
            success.append(int(dark.all()))
            if step < 2 and boxes:
                at = int(rng.integers(boxes))
                actions.append(("flip", f"b{at}"))
                dark[at] = not dark[at]
        recorder.add(
            {"box": [f"b{i}" for i in range(boxes)]},
            {
                "picture": np.stack(shown[: len(actions) + 1]),
                "weight": np.full((len(actions) + 1, boxes), 2.5),
            },
            actions,
            "(forall (?b - box) (dark ?b))",
            success[: len(actions) + 1],
        )
    return domain, recorder.arrays()


@pytest.fixture(scope="module")
def shades():
    return pictures()


def test_the_largest_predicates_are_gathered_until_the_others_fit(shades):
    _, arrays = shades
    states, most = int(arrays.length.sum()), 3
    sizes = {"picture": states * most * 64 * 4, "weight": states * most * 4}
    for budget, gathered in (
        (sizes["picture"] + sizes["weight"], set()),
        (sizes["picture"] + sizes["weight"] - 1, {"picture"}),
        (sizes["weight"], {"picture"}),
        (sizes["weight"] - 1, {"picture", "weight"}),
    ):
        data = put_on_device(arrays, CPU, budget / (1 << 30))
        assert set(data.gathered) == gathered
        assert set(data.states.tensors) == {"picture", "weight"} - gathered


def test_gathered_values_are_those_that_would_be_resident(shades):
    _, arrays = shades
    resident, gathered = put_on_device(arrays, CPU), put_on_device(arrays, CPU, 0.0)
    rng = np.random.default_rng(1)
    at = torch.from_numpy(rng.integers(resident.states.size, size=40))
    for name in arrays.values:
        expected = resident.values(name, at)
        assert expected.dtype == torch.float32
        assert torch.equal(gathered.values(name, at), expected)
        assert gathered.values(name, at[:0]).shape == expected[:0].shape
    one, other = resident.batch(at), gathered.batch(at)
    assert all(torch.equal(one.tensors[name], other.tensors[name]) for name in arrays.values)


@pytest.mark.parametrize("chunk", [1, 1000, 1 << 20])
def test_what_looks_at_all_states_does_so_in_chunks(shades, chunk, monkeypatch):
    _, arrays = shades
    resident = put_on_device(arrays, CPU)
    monkeypatch.setattr(device_dataset, "_CHUNK", chunk)
    gathered = put_on_device(arrays, CPU, 0.0)
    assert np.array_equal(resident.kinds, gathered.kinds)
    assert (resident.kinds // 2 % 2).any()
    one, other = (np.unique(data.hashes(), return_inverse=True)[1] for data in (resident, gathered))
    same = {(a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True)}
    assert len(same) == len(set(one.tolist())) == len(set(other.tolist()))


def fitted(domain, episodes, **options):
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=12, seed=0, batch=32, evaluate_every=6, **options)
    return model, report


def close(one, other) -> bool:
    weights = other.state_dict()
    return all(
        torch.allclose(t.float(), weights[name].float(), atol=1e-5) for name, t in one.state_dict().items()
    )


def test_a_fit_on_gathered_pictures_is_the_fit_on_resident_ones(shades):
    domain, arrays = shades
    (one, expected), (other, found) = (fitted(domain, arrays, resident_gib=gib) for gib in (None, 0.0))
    assert close(one, other)
    assert found.losses == pytest.approx(expected.losses, rel=1e-5)
    assert found.warnings == expected.warnings
    assert other.notes["trained"] == one.notes["trained"]


def test_a_fit_on_gathered_variables_is_the_fit_on_resident_ones():
    """Observed variables that actions write: statistics, targets and codes come from samples."""
    domain, episodes = world(30)
    (one, expected), (other, found) = (fitted(domain, episodes, resident_gib=gib) for gib in (None, 0.0))
    assert close(one, other)
    assert found.losses == pytest.approx(expected.losses, rel=1e-4)
    assert other.notes["codes"] == one.notes["codes"]
    assert str(evaluate(one, episodes)) == str(evaluate(one, episodes, resident_gib=0.0))


def test_little_memory_makes_smaller_parts_of_gathered_data(shades, monkeypatch):
    _, arrays = shades
    monkeypatch.setattr(device_dataset, "AT_ONCE", 10 * 3 * (64 + 1) * 4)
    examples = np.arange(len(put_on_device(arrays, CPU)))
    for gib, most in ((None, 32), (0.0, 10)):
        parts = put_on_device(arrays, CPU, gib).parts(examples, 32)
        assert max(map(len, parts)) <= most
        assert np.array_equal(np.concatenate(parts), examples)
        assert put_on_device(arrays, CPU, gib).parts(examples[:0], 32) == []


def test_pictures_given_as_bytes_stay_bytes_and_mean_the_same(tmp_path):
    domain, small = pictures(dtype=np.uint8)
    _, wide = pictures(dtype=np.float32)
    assert small.values["picture"].dtype == wide.values["picture"].dtype == np.uint8
    assert small.digests == wide.digests
    save_episodes(small, tmp_path / "data")
    stored = load_episodes(tmp_path / "data", domain)
    assert stored.values["picture"].dtype == np.uint8
    state = stored[1].states[0]
    assert state["picture"].dtype == torch.float32
    assert float(state["picture"].max()) > 1.0


def test_a_table_of_bytes_is_not_the_array_that_was_given():
    domain = pds.parse_domain(PICTURES)
    recorder, shown = Recorder(domain), np.full((1, 1, 8, 8, 1), 7, dtype=np.uint8)
    recorder.add({"box": ["b"]}, {"picture": shown, "weight": [[1.0]]}, [])
    shown[:] = 9
    assert set(recorder.arrays().values["picture"].tolist()) == {7}


def test_mapped_arrays_serve_as_those_in_memory(shades, tmp_path):
    domain, arrays = shades
    save_episodes(arrays, tmp_path / "data")
    mapped = load_episodes(tmp_path / "data", domain, map_from=1)
    assert not mapped.values["picture"].flags.writeable
    assert mapped.digests == arrays.digests
    assert [e.states for e in mapped] == [e.states for e in arrays]
    save_episodes(mapped, tmp_path / "again")
    assert load_episodes(tmp_path / "again", domain).digests == arrays.digests
    (one, _), (other, _) = (fitted(domain, data, resident_gib=0.0) for data in (arrays, mapped))
    assert all(torch.equal(t, other.state_dict()[name]) for name, t in one.state_dict().items())


def test_a_mapped_file_that_becomes_shorter_is_told_and_does_not_end_the_process(shades, tmp_path):
    domain, arrays = shades
    save_episodes(arrays, tmp_path / "data")
    (file,) = (tmp_path / "data").glob("arrays*")
    mapped = load_episodes(tmp_path / "data", domain, map_from=1)
    dataset = put_on_device(mapped, CPU, 0.0)
    os.truncate(file, 0)
    for read in (
        lambda: dataset.values("picture", torch.arange(2)),
        lambda: fitted(domain, mapped, resident_gib=0.0),
        lambda: mapped[0],
        lambda: save_episodes(mapped, tmp_path / "again"),
    ):
        with pytest.raises(pds.Error, match="became shorter") as caught:
            read()
        assert caught.value.diagnostics[0].file == str(file)


def test_what_is_wrong_in_a_late_chunk_is_found(tmp_path, monkeypatch):
    domain = pds.parse_domain(PICTURES)
    recorder = Recorder(domain)
    recorder.add({"box": ["b"]}, {"picture": np.zeros((1, 1, 8, 8, 1)), "weight": np.array([[1.5]])}, [])
    arrays = recorder.arrays()
    arrays.values["picture"] = np.r_[np.zeros(63, np.float32), np.float32(np.nan)]
    save_episodes(arrays, tmp_path / "data")
    monkeypatch.setattr("pdsketch.files.tensors.CHUNK", 16)
    with pytest.raises(pds.Error, match="not-finite"):
        load_episodes(tmp_path / "data", domain)


def test_chunks_are_all_of_an_array_and_at_least_one():
    numbers = np.arange(10)
    assert [len(part) for part in chunks(numbers[:0])] == [0]
    assert np.array_equal(np.concatenate(list(chunks(numbers))), numbers)


@pytest.mark.parametrize("wrong", [-1.0, "much", True])
def test_a_budget_that_is_none_is_refused(shades, wrong):
    domain, arrays = shades
    with pytest.raises(pds.Error, match="resident_gib"):
        pds.fit(pds.Model(domain, seed=0), arrays, steps=1, resident_gib=wrong)
