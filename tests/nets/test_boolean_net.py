"""Booleans: what evidence settles from few examples, and what is left to the perceptron."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from pdsketch.nets.additive import COEFFICIENT_SCALE
from pdsketch.nets.boolean_net import BooleanNet
from pdsketch.nets.default import add_sparsity, make
from pdsketch.nets.normalise import bounding, recording
from pdsketch.nets.seen_values import MOST_VALUES, noting_values
from pdsketch.nets.signature import Input, Signature, Spec

BOOL = Spec("bool")
CODE = Spec("int", (3,), 5)
POSE = Spec("float", (2,))
WAY = Spec("int", (), 4)
AHEAD = Signature((Input(POSE, type_id="pose"), Input(WAY), Input(POSE, type_id="pose")), BOOL)
STEPS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def verdict(signature: Signature, seed: int = 0) -> BooleanNet:
    net = make(signature, torch.Generator().manual_seed(seed))
    assert isinstance(net, BooleanNet)
    return net


def codes(count: int, seed: int = 0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.nn.functional.one_hot(torch.randint(5, (count, 3), generator=rng), 5).float()


def fit(net: BooleanNet, args: tuple, labels: torch.Tensor, steps: int = 300) -> None:
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


def error(net: BooleanNet, args: tuple, labels: torch.Tensor) -> float:
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
    torch.nn.init.normal_(net.additive.coefficients, generator=torch.Generator().manual_seed(1))
    values = torch.rand(4, 6, *spec.axes, generator=torch.Generator().manual_seed(2))
    weights = torch.rand(4, 6, generator=torch.Generator().manual_seed(3))
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    shuffled = (values[:, order], weights[:, order])
    assert torch.allclose(net((values, weights)), net(shuffled), atol=1e-5)


def test_sparsity_is_the_gradient_of_what_evidence_and_perceptron_cost():
    net = verdict(AHEAD)
    add_sparsity(net, 0.3)
    assert net.additive.coefficients.grad is None  # nothing learned, nothing shrunk
    rng = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(net.additive.coefficients, generator=rng)
    effects = net.additive.coefficients * net.additive.loudness
    groups = effects.square() @ net.additive.member
    factors = net.first.weight.square().sum(0) @ net.member
    cost = COEFFICIENT_SCALE * (groups + 1e-8).sqrt().sum() + (factors + 1e-8).sqrt().sum()
    (0.3 * cost).backward()
    wanted = [p.grad.clone() for p in (net.additive.coefficients, net.first.weight)]
    net.zero_grad(set_to_none=False)
    add_sparsity(net, 0.3)
    assert torch.allclose(net.additive.coefficients.grad, wanted[0], atol=1e-3)
    assert torch.allclose(net.first.weight.grad, wanted[1], atol=1e-4)


def test_a_perceptron_answers_alone():
    net = verdict(AHEAD)
    args, _ = scenes(50, seed=0)
    before = net(*args)
    torch.nn.init.normal_(net.additive.coefficients, generator=torch.Generator().manual_seed(1))
    assert torch.equal(net(*args), before)
    net.level = net.levels.index("products")
    assert not torch.allclose(net(*args), before)


def poses(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cells of a room; one in six is carried, [-1, -1], and one in a hundred gone, [-2, -2]."""
    rng = torch.Generator().manual_seed(seed)
    found = torch.randint(7, (count, 2), generator=rng).float()
    found[::6], found[::100] = -1.0, -2.0
    return found, (found[:, 0] == -1).float()


def test_a_rare_value_of_a_number_is_told_from_its_neighbour():
    net = verdict(Signature((Input(POSE),), BOOL))
    seen, carried = poses(1000, seed=0)
    with noting_values(net):
        net(seen)
    for level in ("linear", "products"):
        net.level = net.levels.index(level)
        fit(net, (seen,), carried)
        assert error(net, (seen,), carried) == 0.0


def test_whether_two_values_of_numbers_are_the_same_is_plain_to_see():
    net = verdict(Signature((Input(POSE, type_id="pose"), Input(POSE, type_id="pose")), BOOL))
    net.level = net.levels.index("linear")
    rng = torch.Generator().manual_seed(0)
    one, other = (torch.randint(7, (600, 2), generator=rng).float() for _ in range(2))
    other[::5] = one[::5]
    same = (one == other).all(-1).float()
    fit(net, (one, other), same)
    assert error(net, (one, other), same) == 0.0
    assert error(net, (one + 20, other + 20), same) == 0.0


def test_a_value_that_was_not_seen_is_no_truer_than_the_nearest_that_was():
    net = verdict(Signature((Input(POSE),), BOOL))
    net.level = net.levels.index("linear")
    seen, carried = poses(1000, seed=0)
    with noting_values(net):
        net(seen)
    fit(net, (seen,), carried)
    net.eval()
    beyond, ends = torch.tensor([[-3.0, -3.0], [8.0, 8.0]]), torch.tensor([[-2.0, -2.0], [6.0, 6.0]])
    assert bool((net(beyond) < 0.1).all())
    assert bool((net(ends) < 0.1).all())
    with torch.no_grad():  # what speaks for the nearest value does not speak for another
        first = net.additive.spans["linear"][1] - 2 * MOST_VALUES
        before = net(beyond)
        net.additive.coefficients[0, first] = 1.0
        assert bool(net(ends)[0] > 0.9)
        assert bool(net(beyond)[0] < net(ends)[0])
        assert torch.equal(net(beyond)[1], before[1])


def test_each_vote_belongs_to_one_factor():
    for signature in (AHEAD, Signature((Input(CODE), Input(POSE, is_set=True), Input(POSE)), BOOL)):
        member = verdict(signature).additive.member
        assert torch.equal(member.sum(1), torch.ones(len(member)))


def test_beyond_the_numbers_seen_products_are_no_truer_than_at_the_edge():
    net = verdict(Signature((Input(POSE),), BOOL))
    seen = torch.cartesian_prod(torch.arange(7.0), torch.arange(7.0))
    with recording(net):
        net(seen)
    first, _ = net.additive.spans["products"]
    with torch.no_grad(), bounding(net):
        net.level = net.levels.index("products")
        net.additive.coefficients[0, first + 2] = 0.01  # x · y
        inside = net(seen)
    beyond, edge = torch.tensor([[9.0, 9.0]]), torch.tensor([[6.0, 6.0]])
    assert bool(net(beyond) > net(edge))  # a parabola, while it is trained
    net.eval()
    assert torch.equal(net(seen), inside)
    assert bool(net(beyond) == net(edge))
