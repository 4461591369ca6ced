"""Relations beyond the data: arguments of one type are moved together to where training had such ones."""

import pytest
import torch

from pdsketch.nets.boolean_net import BooleanNet
from pdsketch.nets.signature import Input, Signature, Spec

PLACE = Spec("float", (2,))


def relation(kindred=True):
    """A perceptron of two places with random weights, of which the first was seen from 0 to 6."""
    inputs = (Input(PLACE, False, "place"), Input(PLACE, False, "place" if kindred else "other"))
    network = BooleanNet(Signature(inputs, Spec("bool")), torch.Generator().manual_seed(0))
    torch.nn.init.normal_(network.last.weight)
    for i, (low, high) in {"0": (0.0, 6.0), "1": (-2.0, 7.0)}.items():
        encoder = network.features.encoders[i]
        encoder.normalise.mean.fill_(3.0)
        encoder.normalise.spread.fill_(2.0)
        encoder.normalise.low.fill_((low - 3) / 2)
        encoder.normalise.high.fill_((high - 3) / 2)
    return network.eval()


def moved_inside(network, places):
    singles = dict(enumerate(places))
    return network.features.moved_inside(singles, network.features.alone(singles))


def at(*places):
    return tuple(torch.tensor([place]) for place in places)


@pytest.mark.parametrize(
    ("outside", "inside"),
    [
        (((11.0, 3.0), (12.0, 3.0)), ((6.0, 3.0), (7.0, 3.0))),
        (((11.0, 12.0), (9.0, 12.0)), ((6.0, 6.0), (4.0, 6.0))),
        (((-3.0, 3.0), (-3.0, 4.0)), ((0.0, 3.0), (0.0, 4.0))),
        (((3.0, 3.0), (9.0, 3.0)), ((1.0, 3.0), (7.0, 3.0))),
        (((30.0, 3.0), (0.0, 3.0)), ((6.0, 3.0), (-2.0, 3.0))),
    ],
)
def test_two_places_are_moved_together_and_so_is_what_holds_of_them(outside, inside):
    network = relation()
    moved = moved_inside(network, at(*outside))
    for i, place in enumerate(inside):
        assert moved[i][0].tolist() == pytest.approx(place, abs=1e-3)
    with torch.no_grad():
        assert network(*at(*outside)).item() == pytest.approx(network(*at(*inside)).item(), abs=1e-3)
        assert network(*at((3.0, 3.0), (5.0, 1.0))) != network(*at(*outside))


def test_within_the_data_while_training_and_of_other_types_nothing_is_moved():
    network = relation()
    assert moved_inside(network, at((0.0, 6.0), (7.0, -2.0))) is None
    outside = at((11.0, 3.0), (12.0, 3.0))
    with torch.no_grad():
        moved = network(*outside)
        network.train()
        assert network(*outside) != moved
    assert moved_inside(relation(kindred=False), outside) is None


def test_of_what_is_known_of_some_numbers_alone_nothing_is_moved():
    network = relation()
    network.features.encoders["1"].normalise.low[0] = torch.inf
    assert moved_inside(network, at((11.0, 3.0), (12.0, 3.0))) is None
