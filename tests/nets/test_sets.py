"""What Boolean networks say of sets, of numbers far out, and of what never varies."""

from __future__ import annotations

import pytest
import torch
from tests.nets.test_verdict import error, fit

from pdsketch.nets.default import add_sparsity, make
from pdsketch.nets.heads import Head
from pdsketch.nets.normalise import Normalise, recording
from pdsketch.nets.signature import Input, Signature, Spec
from pdsketch.nets.verdict import Verdict

BOOL = Spec("bool")
NUMBER = Spec("float", ())


def verdict(*inputs: Input) -> Verdict:
    net = make(Signature(inputs, BOOL), torch.Generator().manual_seed(0))
    assert isinstance(net, Verdict)
    return net


def at_level(net: Verdict, level: str, args) -> torch.Tensor:
    net.level = net.levels.index(level)
    with torch.no_grad():
        return net(*args)


def loud(net: Verdict, kind: str) -> None:
    """Let one kind of evidence speak; sets are asked for large numbers."""
    first, end = net.evidence.spans[kind]
    with torch.no_grad():
        net.evidence.votes[:, first:end] = 0.004
        for questions in (one for voices in net.evidence.sets.values() for one in (voices.some, voices.many)):
            questions.weight[:] = torch.tensor([1.0, 0.0])


def numbers(*rows):
    """Sets of numbers, all of weight 1."""
    values = torch.tensor(rows, dtype=torch.float32).unsqueeze(-1)
    return (values, torch.ones(values.shape[:-1]))


@pytest.mark.parametrize("kind", ["counts", "sums"])
def test_a_level_of_sets_is_heard_from_where_it_begins(kind):
    net = verdict(Input(NUMBER, is_set=True))
    loud(net, kind)
    sets = (numbers([1.0, 2.0, 3.0], [4.0, 5.0, 9.0]),)
    below = net.levels[net.levels.index(kind) - 1]
    assert torch.allclose(at_level(net, below, sets), torch.full((2, 1), 0.5))
    assert not torch.allclose(at_level(net, kind, sets), torch.full((2, 1), 0.5), atol=1e-3)


def test_a_sum_is_measured_from_zero():
    """Zeros add nothing to it, however many there are."""
    net = verdict(Input(NUMBER, is_set=True))
    with recording(net):
        net(numbers([5.0, 6.0, 7.0, 8.0]))
    loud(net, "sums")
    few, more = numbers([5.0, 6.0]), numbers([5.0, 6.0, 0.0, 0.0])
    assert torch.allclose(at_level(net, "sums", (few,)), at_level(net, "sums", (more,)), atol=1e-5)


def test_one_element_that_matters_is_heard_among_many():
    net = verdict(Input(NUMBER, is_set=True))
    loud(net, "linear")
    alone = at_level(net, "linear", (numbers([3.0]),))
    among = at_level(net, "linear", (numbers([3.0, *[-3.0] * 40]),))
    assert torch.allclose(alone, among, atol=1e-4)
    assert not torch.allclose(alone, at_level(net, "linear", (numbers([-3.0]),)), atol=0.05)


def test_elements_of_weight_zero_are_not_heard():
    net = verdict(Input(NUMBER, is_set=True))
    loud(net, "linear")
    values, weights = numbers([-3.0, 3.0])
    weights[0, 1] = 0.0
    assert torch.allclose(
        at_level(net, "linear", ((values, weights),)), at_level(net, "linear", (numbers([-3.0]),)), atol=0.05
    )


def test_a_number_far_out_speaks_no_louder_than_one_far_off():
    net = verdict(Input(NUMBER))
    loud(net, "linear")
    far, further = (at_level(net, "linear", (torch.tensor([[x]]),)) for x in (40.0, 4000.0))
    assert torch.allclose(far, further, atol=1e-3)


def test_the_square_of_a_number_tells_near_from_far():
    net = verdict(Input(NUMBER))
    loud(net, "products")
    left, right, middle = (at_level(net, "products", (torch.tensor([[x]]),)) for x in (-2.0, 2.0, 0.0))
    assert torch.allclose(left, right, atol=1e-5)
    assert not torch.allclose(left, middle, atol=1e-2)


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


def test_what_nothing_reached_is_not_shrunk():
    net = make(Signature((Input(NUMBER),), NUMBER), torch.Generator().manual_seed(0))
    add_sparsity(net, 1.0)
    assert all(parameter.grad is None for parameter in net.parameters())


def test_whether_two_ints_of_one_type_are_the_same_is_plain_to_see():
    """And of ints of different types it is not: equal numbers mean nothing then."""
    hue = Spec("int", (), 4)
    rng = torch.Generator().manual_seed(0)
    first, second = (torch.eye(4)[torch.randint(4, (100,), generator=rng)] for _ in range(2))
    same = (first * second).sum(-1)
    errors = []
    for kinds in (("hue", "hue"), ("hue", "day")):
        net = verdict(*(Input(hue, type_id=kind) for kind in kinds))
        net.level = net.levels.index("linear")
        fit(net, (first, second), same, steps=60)
        errors.append(error(net, (first, second), same))
    assert errors[0] == 0.0
    assert errors[1] > 0.1
