"""What networks make of numbers that never vary, and of ints of one type."""

from __future__ import annotations

import torch
from tests.nets.test_boolean_net import error, fit

from pdsketch.nets.default import BooleanNet, Head, make
from pdsketch.nets.normalise import Normalise, recording
from pdsketch.nets.signature import Input, Signature, Spec

BOOL = Spec("bool")
NUMBER = Spec("float", ())


def verdict(*inputs: Input) -> BooleanNet:
    net = make(Signature(inputs, BOOL), torch.Generator().manual_seed(0))
    assert isinstance(net, BooleanNet)
    return net


def test_a_number_that_never_varies_is_left_at_its_own_scale():
    scale = Normalise(2)
    with recording(scale):
        scale(torch.tensor([[3.0, 1.0], [3.0, 5.0]]))
    found = scale(torch.tensor([[3.0, 3.0], [4.0, 5.0]]))
    assert torch.allclose(found, torch.tensor([[0.0, 0.0], [1.0, 1.0]]))


def test_what_numbers_to_expect_is_said_once():
    head = Head(4, Spec("float", (1,)), None, residual=False)
    head.expect(torch.tensor([3.0]), torch.tensor([2.0]))
    head.expect(torch.tensor([9.0]), torch.tensor([9.0]))
    assert head.value(torch.zeros(1, 1), None).tolist() == [[3.0]]


def test_whether_two_ints_of_one_type_are_the_same_is_plain_to_see():
    """And of ints of different types it is not: equal numbers mean nothing then."""
    hue = Spec("int", (), 4)
    rng = torch.Generator().manual_seed(0)
    first, second = (torch.eye(4)[torch.randint(4, (100,), generator=rng)] for _ in range(2))
    same = (first * second).sum(-1)
    errors = []
    for kinds in (("hue", "hue"), ("hue", "day")):
        net = verdict(*(Input(hue, type_id=kind) for kind in kinds))
        fit(net, (first, second), same, steps=40)
        errors.append(error(net, (first, second), same))
    assert errors[0] == 0.0
    assert errors[1] > 0.1
