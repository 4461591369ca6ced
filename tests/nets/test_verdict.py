"""Booleans: what evidence settles from few examples, and what is left to the perceptron."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from pdsketch.nets.default import add_sparsity, make
from pdsketch.nets.evidence import STRIDE
from pdsketch.nets.normalise import recording
from pdsketch.nets.signature import Input, Signature, Spec
from pdsketch.nets.verdict import Verdict

BOOL = Spec("bool")
CODE = Spec("int", (3,), 5)
POSE = Spec("float", (2,))
WAY = Spec("int", (), 4)
AHEAD = Signature((Input(POSE, type_id="pose"), Input(WAY), Input(POSE, type_id="pose")), BOOL)
STEPS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def verdict(signature: Signature, seed: int = 0) -> Verdict:
    net = make(signature, torch.Generator().manual_seed(seed))
    assert isinstance(net, Verdict)
    return net


def codes(count: int, seed: int = 0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.nn.functional.one_hot(torch.randint(5, (count, 3), generator=rng), 5).float()


def fit(net: Verdict, args: tuple, labels: torch.Tensor, steps: int = 300) -> None:
    with recording(net):
        net(*args)
    optimiser = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for _ in range(steps):
        truth = net(*args).squeeze(-1).clamp(1e-6, 1 - 1e-6)
        loss = torch.nn.functional.binary_cross_entropy(truth, labels)
        optimiser.zero_grad()
        loss.backward()
        add_sparsity(net, 1e-3)
        optimiser.step()


def error(net: Verdict, args: tuple, labels: torch.Tensor) -> float:
    with torch.no_grad():
        return float(((net(*args).squeeze(-1) > 0.5) != (labels > 0.5)).float().mean())


def test_nothing_is_known_at_first():
    assert torch.equal(verdict(Signature((Input(CODE),), BOOL))(codes(7)), torch.full((7, 1), 0.5))


def test_single_things_settle_one_int_of_a_code_from_few_examples():
    net = verdict(Signature((Input(CODE),), BOOL))
    net.level = net.levels.index("linear")
    few, many = codes(40), codes(2000, seed=1)
    fit(net, (few,), few[:, 1, 2])
    assert error(net, (many,), many[:, 1, 2]) == 0.0


def test_levels_are_those_that_the_signature_has_a_use_for():
    thing, things = Input(POSE), Input(POSE, is_set=True)
    assert verdict(Signature((Input(CODE),), BOOL)).levels == ("linear", "perceptron")
    assert verdict(Signature((thing,), BOOL)).levels == ("linear", "products", "perceptron")
    of_sets = ("linear", "counts", "sums", "perceptron", "counting")
    assert verdict(Signature((things,), BOOL)).levels == of_sets
    of_codes = ("linear", "counts", "perceptron", "counting")
    assert verdict(Signature((Input(CODE, is_set=True),), BOOL)).levels == of_codes


def test_a_lower_level_does_not_hear_what_is_above_it():
    net = verdict(AHEAD)
    args, _ = scenes(50, seed=0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.001)
        answers = []
        for level in range(len(net.levels)):
            net.level = level
            answers.append(net(*args))
        net.last.weight.add_(1.0)
        net.level = net.levels.index("products")
        assert torch.equal(net(*args), answers[net.level])
    assert not any(torch.equal(a, b) for a, b in pairwise(answers))


def test_an_exclusive_or_is_learned_too():
    net = verdict(Signature((Input(CODE),), BOOL))
    many = codes(2000)
    label = ((many[:, 0, 0] > 0.5) ^ (many[:, 1, 0] > 0.5)).float()
    fit(net, (many,), label, steps=600)
    assert error(net, (many,), label) < 0.05


def scenes(count: int, seed: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    robot = torch.randint(7, (count, 2), generator=rng).float()
    way = torch.nn.functional.one_hot(torch.randint(4, (count,), generator=rng), 4).float()
    item = torch.randint(7, (count, 2), generator=rng).float()
    item[::3] = robot[::3] + (way @ STEPS)[::3]
    return (robot, way, item), ((robot + way @ STEPS - item).abs().amax(-1) < 0.1).float()


def test_two_things_together_find_the_cell_ahead_whichever_way_one_looks():
    net = verdict(AHEAD)
    net.level = net.levels.index("products")
    args, labels = scenes(600, seed=0)
    fit(net, args, labels, steps=500)
    held_out, truth = scenes(5000, seed=1)
    assert error(net, held_out, truth) < 0.02


@pytest.mark.parametrize("spec", [CODE, POSE], ids=["codes", "numbers"])
def test_a_set_is_judged_by_its_elements_and_not_by_their_order(spec):
    net = verdict(Signature((Input(spec, is_set=True),), BOOL))
    torch.nn.init.normal_(net.evidence.votes, generator=torch.Generator().manual_seed(1))
    values = torch.rand(4, 6, *spec.axes, generator=torch.Generator().manual_seed(2))
    weights = torch.rand(4, 6, generator=torch.Generator().manual_seed(3))
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    shuffled = (values[:, order], weights[:, order])
    assert torch.allclose(net((values, weights)), net(shuffled), atol=1e-5)


def test_sparsity_is_the_gradient_of_what_evidence_and_perceptron_cost():
    net = verdict(AHEAD)
    add_sparsity(net, 0.3)
    assert net.evidence.votes.grad is None  # nothing learned, nothing shrunk
    rng = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(net.evidence.votes, generator=rng)
    groups = net.evidence.votes.square() @ net.evidence.member
    factors = net.first.weight.square().sum(0) @ net.member
    cost = STRIDE * (groups + 1e-8).sqrt().sum() + (factors + 1e-8).sqrt().sum()
    (0.3 * cost).backward()
    wanted = [p.grad.clone() for p in (net.evidence.votes, net.first.weight)]
    net.zero_grad(set_to_none=False)
    add_sparsity(net, 0.3)
    assert torch.allclose(net.evidence.votes.grad, wanted[0], atol=1e-4)
    assert torch.allclose(net.first.weight.grad, wanted[1], atol=1e-4)


def test_a_perceptron_answers_alone():
    net = verdict(AHEAD)
    args, _ = scenes(50, seed=0)
    before = net(*args)
    torch.nn.init.normal_(net.evidence.votes, generator=torch.Generator().manual_seed(1))
    assert torch.equal(net(*args), before)
    net.level = net.levels.index("products")
    assert not torch.allclose(net(*args), before)


def test_each_vote_belongs_to_one_factor():
    for signature in (AHEAD, Signature((Input(CODE), Input(POSE, is_set=True), Input(POSE)), BOOL)):
        member = verdict(signature).evidence.member
        assert torch.equal(member.sum(1), torch.ones(len(member)))
