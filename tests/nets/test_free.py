"""Who else listens to a Boolean network, and the price of what several read."""

from __future__ import annotations

import torch

from pdsketch.nets.default import is_free, make
from pdsketch.nets.forms import TreeForm
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.signature import Input, Signature, Spec

CODE = Input(Spec("int", (3,), 5), type_id="code")
POSE = Input(Spec("float", (2,)), type_id="pose")
TURN = Input(Spec("int", (), 4), type_id="turn")
SIGNATURES = {
    "code": Signature((CODE,), Spec("bool")),
    "poses": Signature((POSE, TURN, POSE), Spec("bool")),
    "flags": Signature((Input(Spec("bool")), Input(Spec("float", (3,)))), Spec("bool")),
}


def networks(signature: Signature, count: int = 4):
    made = [make(signature, torch.Generator().manual_seed(at)) for at in range(count)]
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for module in (part for network in made for part in network.modules()):
            for parameter in module.parameters(recurse=False):
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
            if isinstance(module, Normalise):
                module.mean.copy_(torch.randn(module.mean.shape, generator=generator))
                module.spread.copy_(0.5 + torch.rand(module.spread.shape, generator=generator))
    return made


def arguments(signature: Signature, count: int, rows: int):
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(count, rows, *one.spec.axes, generator=generator) for one in signature.inputs]


def learned(made, truth):
    """The gradients of a loss of what some networks said."""
    weights = torch.rand(truth.shape, generator=torch.Generator().manual_seed(2))
    for network in made:
        network.zero_grad(set_to_none=True)
    (truth * weights).sum().backward()
    return [parameter.grad for network in made for parameter in network.parameters()]


def test_who_is_watched_or_recorded_is_not_free():
    (network,) = networks(SIGNATURES["poses"], 1)
    assert is_free(network)
    hook = network.register_forward_hook(lambda *_: None)
    assert not is_free(network)
    hook.remove()
    next(m for m in network.modules() if isinstance(m, Normalise)).recording = True
    assert not is_free(network)


def test_for_whom_a_form_answers_is_not_free():
    (network,) = networks(SIGNATURES["flags"], 1)
    assert is_free(network)
    network.form = TreeForm(network.signature, [], 0, [(1.0,)])
    assert not is_free(network)
