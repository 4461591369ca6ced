"""Boolean networks: perceptrons that begin without an opinion."""

from __future__ import annotations

import pytest
import torch

from pdsketch.nets.default import BooleanNet, make
from pdsketch.nets.normalise import recording
from pdsketch.nets.signature import Input, Signature, Spec

BOOL = Spec("bool")
CODE = Spec("int", (3,), 5)
POSE = Spec("float", (2,))
WAY = Spec("int", (), 4)
AHEAD = Signature((Input(POSE, type_id="pose"), Input(WAY), Input(POSE, type_id="pose")), BOOL)


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
        optimiser.step()


def error(net: BooleanNet, args: tuple, labels: torch.Tensor) -> float:
    with torch.no_grad():
        return float(((net(*args).squeeze(-1) > 0.5) != (labels > 0.5)).float().mean())


def test_nothing_is_known_at_first():
    assert torch.equal(verdict(Signature((Input(CODE),), BOOL))(codes(7)), torch.full((7, 1), 0.5))


def test_an_exclusive_or_is_learned_too():
    net = verdict(Signature((Input(CODE),), BOOL))
    many = codes(2000)
    label = ((many[:, 0, 0] > 0.5) ^ (many[:, 1, 0] > 0.5)).float()
    fit(net, (many,), label, steps=600)
    assert error(net, (many,), label) < 0.05


@pytest.mark.parametrize("spec", [CODE, POSE], ids=["codes", "numbers"])
def test_a_set_is_judged_by_its_elements_and_not_by_their_order(spec):
    net = verdict(Signature((Input(spec, is_set=True),), BOOL))
    torch.nn.init.normal_(net.last.weight, generator=torch.Generator().manual_seed(1))
    values = torch.rand(4, 6, *spec.axes, generator=torch.Generator().manual_seed(2))
    weights = torch.rand(4, 6, generator=torch.Generator().manual_seed(3))
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    shuffled = (values[:, order], weights[:, order])
    assert torch.allclose(net((values, weights)), net(shuffled), atol=1e-5)
