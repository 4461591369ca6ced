"""Values on their way into a state: the quick way and the careful one agree, whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.tensor.states.validation import _validated_carefully, validated

SKETCH = """
(define (domain mixed)
  (:types box)
  (:predicates
    (pose [return_type=vector[float32, 2]] ?b - box)
    (hue [return_type=int64[choices=200]] ?b - box)
    (count [return_type=int64])
    (open ?b - box) (lit)))
"""

GOOD = {"pose": [[0, 1], [2, 3]], "hue": [0, 199], "count": -5, "open": [True, False], "lit": False}


@pytest.fixture(scope="module")
def domain():
    return pds.parse_domain(SKETCH)


def build(domain, **change) -> pds.State:
    return pds.State(domain, {"box": ["a", "b"]}, {**GOOD, **change})


@pytest.mark.parametrize("form", [np.asarray, torch.as_tensor, lambda v: v])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"pose": [[0.5, 1e30], [-2.5, 3]]},
        {"pose": [[True, False], [False, True]]},
        {"open": [1, 0]},
        {"open": [1.0, 0.0], "lit": 1},
        {"hue": [3.0, 4.0]},
        {"count": True},
        {"count": 2**40},
    ],
)
def test_both_ways_agree(domain, form, change):
    values = {name: form(value) for name, value in {**GOOD, **change}.items()}
    universe = build(domain).batch.layout.universes[0]
    quick, careful = validated(universe, values), _validated_carefully(universe, values)
    assert list(quick) == list(careful)
    for name, tensor in quick.items():
        assert tensor.dtype == careful[name].dtype
        assert torch.equal(tensor, careful[name])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.uint64, np.float16, np.float64]
)
def test_every_width_of_numbers_is_taken(domain, dtype):
    state = build(domain, hue=np.array([1, 100], dtype=dtype), pose=np.array([[1, 2], [3, 4]], dtype=dtype))
    assert state["hue"].tolist() == [1, 100]
    assert state["pose"].dtype == torch.float32


@pytest.mark.parametrize(
    "change",
    [
        {"hue": np.array([-1, 5])},
        {"hue": np.array([-100, 5], dtype=np.int8)},
        {"hue": [0, 200]},
        {"hue": [0.5, 1]},
        {"pose": [[0, 1], [2, float("nan")]]},
        {"pose": [[0, 1], [2, float("inf")]]},
        {"pose": [[0, 1], [2, 1e300]]},
        {"pose": np.array([[0, 1], [2, np.inf]], dtype=np.float32)},
        {"pose": [[0, 1], [2]]},
        {"pose": [["a", "b"], ["c", "d"]]},
        {"open": [2, 0]},
        {"open": [True]},
        {"nothing": 1},
    ],
)
def test_what_is_wrong_is_told_either_way(domain, change):
    with pytest.raises(pds.Error):
        build(domain, **change)


def test_a_state_keeps_its_values_when_the_array_changes(domain):
    array, tensor = np.zeros((2, 2), dtype=np.float32), torch.zeros(2, dtype=torch.int64)
    state = build(domain, pose=array, hue=tensor)
    array += 1
    tensor += 1
    assert not state["pose"].any()
    assert not state["hue"].any()


def test_gradients_flow_into_a_state(domain):
    pose = torch.zeros(2, 2, requires_grad=True)
    build(domain, pose=pose)["pose"].sum().backward()
    assert pose.grad is not None


def test_objects_are_checked_though_others_like_them_are_known(domain):
    first = build(domain)
    assert build(domain).batch.layout is first.batch.layout
    for objects in ({"box": "ab"}, {"box": [["a"], ["b"]]}, [("box", ["a", "b"])], {"box": None}):
        with pytest.raises(pds.Error):
            pds.State(domain, objects, GOOD)
