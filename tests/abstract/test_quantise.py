"""Encoders trained with their codes: `pds.quantise`."""

import re

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.quantise import QuantisationLayer, code_agreement, quantised
from pdsketch.cli.main import main
from pdsketch.training.data.files import save_episodes
from pdsketch.training.data.recorder import arrays_of

PICTURES = """
(define (domain pictures)
  (:types thing - object picture - vector[float32, 3] look - vector[float32, 3])
  (:predicates (picture-of [return_type=picture] ?t - thing))
  (:derived (look-of [return_type=look] ?t - thing) (??e (picture-of ?t)))
  (:derived (red ?t - thing) (??f (look-of ?t)))
  (:action paint :parameters (?t - thing) :effect (look-of::assign ?t (??g (look-of ?t)))))
"""


@pytest.fixture(scope="module")
def pictures():
    """Whether a thing is red is a small difference in its picture; two other numbers differ more."""
    domain, rng = pds.parse_domain(PICTURES), np.random.default_rng(0)

    def seen(red, noise):
        picture = np.array([[0.1 * red, *noise]], np.float32)
        return pds.State(domain, objects={"thing": ["a"]}, values={"picture-of": picture})

    episodes = []
    for _ in range(300):
        first, noise = int(rng.integers(2)), rng.uniform(-1, 1, 2)
        states = [seen(first, noise), seen(1, noise)]
        episodes.append(pds.Episode(states, [("paint", "a")], "(red a)", [bool(first), True]))
    model = pds.Model(domain, seed=0)
    # Networks read codes. After twice as many steps, k-means leaves nothing to gain on some seeds.
    pds.fit(model, episodes, steps=150, batch=64, validation=0.0, forms=False)
    return model, episodes


def test_an_encoder_trained_with_its_codes_agrees_with_them_more_often_than_with_k_means(tmp_path, pictures):
    model, episodes = pictures
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    notes = str(model.notes)
    tries = (pds.quantise(model, episodes, codes={"look": 4}, epochs=16, seed=seed) for seed in range(4))
    found = next(one for one in tries if one.helps)  # on some seeds, a copy that agrees more judges worse
    assert found.agreement > found.agreement_before
    assert found.accuracy == found.accuracy_before == 1.0
    # The model itself is as it was, and the copy is not.
    assert str(model.notes) == notes
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert not all(torch.equal(t, weights[name]) for name, t in found.model.state_dict().items())
    found.model.save(tmp_path / "m")
    again = pds.load_model(tmp_path / "m")
    books = Codebooks(again.domain, again.notes)
    assert code_agreement(again, books) == pytest.approx(found.agreement)
    (look,) = [b for b in pds.rules(again).codebooks if b.name == "look"]
    assert look.error == pytest.approx(found.errors["look"])
    # Trained on, its encoder is another one, and codes are made anew.
    pds.fit(again, episodes, steps=1, forms=False, validation=0.0)
    assert "codebooks" not in again.notes


def test_where_it_does_not_help_the_copy_is_as_the_model_was(monkeypatch, pictures):
    model, episodes = pictures
    monkeypatch.setattr("pdsketch.abstract.andor.quantise.LEARNING_RATE", 0.3)
    found = pds.quantise(model, episodes, codes={"look": 3})
    assert not found.helps
    assert found.model is not model
    assert all(torch.equal(t, model.state_dict()[name]) for name, t in found.model.state_dict().items())


def test_models_without_encoders_and_wrong_options_are_refused():
    domain = pds.parse_domain("""
        (define (domain d) (:types o) (:predicates (x [return_type=float32] ?o - o))
          (:derived (good ?o - o) (??f (x ?o))))
    """)
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0.0]})
    model = pds.Model(domain, seed=0)
    with pytest.raises(pds.Error, match="no encoder whose vectors have codes by k-means"):
        pds.quantise(model, [pds.Episode([state], [], "(good a)", [True])])
    with pytest.raises(pds.Error, match="`epochs` is a count"):
        pds.quantise(model, [], epochs=0)


def test_gradients_pass_straight_through_and_draw_values_to_codes_that_follow_them():
    network = torch.nn.Linear(1, 2)
    layer = QuantisationLayer(torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
    given = torch.tensor([[0.0], [1.0]])
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[0.8], [0.8]]))
        network.bias.fill_(0.1)
    with quantised({"t": layer}, {"t": [network]}):
        values = network(given)
        assert torch.equal(values, torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
        (values * torch.tensor([1.0, 0.0])).sum().backward()
    # d/dw of the sum is that of the values themselves, but for the pull of 0.1 and -0.1 to the codes.
    pull = 2 * 0.25 / 4 * 0.1 / 0.25
    assert network.bias.grad.tolist() == pytest.approx([2.0, 0.0], abs=1e-6)
    assert network.weight.grad[:, 0].tolist() == pytest.approx([1.0 - pull, -pull])
    assert layer.codes[0].tolist() == pytest.approx([0.001, 0.001], rel=0.1)
    assert torch.equal(network(given), network.weight.T * given + network.bias)


def test_the_command_line_writes_a_copy_and_says_how_well_codes_agree(tmp_path, pictures, capsys):
    model, episodes = pictures
    model.save(tmp_path / "m")
    save_episodes(arrays_of(episodes, model.domain), tmp_path / "data")
    before = (tmp_path / "m" / "model.json").read_bytes()
    words = ["rules", str(tmp_path / "m"), "--codes", "--code-count", "look=3"]
    assert main([*words, "--quantise", str(tmp_path / "data")]) == 31
    assert "--quantise needs -o DIR" in capsys.readouterr().err
    assert main([*words, "--quantise", str(tmp_path / "data"), "-o", str(tmp_path / "q")]) == 0
    said = capsys.readouterr()
    assert re.search(r"codes agree with [\d.]+ % of values recorded, by k-means with [\d.]+ %", said.err)
    assert "look: 3 codes (k-means), of look-of, quantisation error" in said.out
    assert (tmp_path / "m" / "model.json").read_bytes() == before
    assert pds.load_model(tmp_path / "q").notes["code_counts"] == {"look": 3}
