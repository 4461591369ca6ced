"""What a fit leaves on the model: codes, noise of encodings, experience."""

import numpy as np
import pytest
import torch
from torch import nn

import pdsketch as pds
from pdsketch.tensor.states.codes import codes_of, tolerance_of
from pdsketch.training.diagnosis.notes import note_verdicts

PICTURES = """
(define (domain pictures)
  (:types lamp - object look - vector[float32, 2])
  (:predicates (picture [return_type=vector[float32, 3]] ?l - lamp) (height [return_type=float32] ?l - lamp))
  (:derived (look-of [return_type=look] ?l - lamp) (??e (picture ?l)))
  (:derived (lit ?l - lamp) (??f (look-of ?l)))
  (:action switch :parameters (?l - lamp) :effect (look-of::assign ?l (??g (look-of ?l))))
  (:action wait :parameters (?l - lamp) :effect (height::assign ?l (height ?l)))
  (:action lift :parameters (?l - lamp) :effect (increase (height ?l) 1)))
"""
DOMAIN = pds.parse_domain(PICTURES)


class Flip(nn.Module):
    """Exact, but with a weight to train."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return torch.stack([self.weight - x[..., 0], x[..., 1]], -1)


MODULES = {
    "derived::look-of::e": lambda p: p[..., :2],
    "derived::lit::f": lambda x: (x[..., 0] > 0.5).float(),
}


class Lamps:
    """Two lamps; pictures show whether each is lit, with noise."""

    def __init__(self, noise, seed=0):
        self.noise = noise
        self.rng = np.random.default_rng(seed)
        self.lit = [0.0, 0.0]

    def observe(self):
        clean = np.array([[lit, 1.0 - i, 0.0] for i, lit in enumerate(self.lit)])
        picture = clean + self.rng.uniform(-self.noise, self.noise, clean.shape)
        return pds.State(DOMAIN, {"lamp": ["a", "b"]}, {"picture": picture, "height": [2.0, 2.0]})

    def step(self, action):
        if action[0] == "switch":
            at = "ab".index(action[1])
            self.lit[at] = 1 - self.lit[at]


def trained(noise):
    world = Lamps(noise)
    episodes = []
    for _ in range(20):
        states, actions = [world.observe()], []
        for _ in range(8):
            actions.append((["switch", "wait"][world.rng.integers(2)], "ab"[world.rng.integers(2)]))
            world.step(actions[-1])
            states.append(world.observe())
        episodes.append(pds.Episode(states, actions, "(lit a)", [s["picture"][0, 0] > 0.5 for s in states]))
    model = pds.Model(DOMAIN, modules={**MODULES, "action::switch::g": Flip()}, seed=0)
    pds.fit(model, episodes, steps=2, seed=0)
    return model


@pytest.fixture(scope="module")
def noisy():
    return trained(0.05)


def test_the_noise_of_an_encoder_is_measured_and_only_of_encoded_variables(noisy):
    look, height = (DOMAIN.predicates[name] for name in ("look-of", "height"))
    assert 0.05 < tolerance_of(noisy.notes, look) < 0.25
    assert tolerance_of(noisy.notes, height) == height.type.tolerance
    assert tolerance_of({}, look) == look.type.tolerance


def test_states_are_told_apart_no_finer_than_the_noise(noisy):
    (first, _) = codes_of(noisy.notes)["look-of"].steps
    assert 0.05 < first < 0.25


def test_a_constant_may_be_changed_by_a_hand_written_effect(noisy):
    state = Lamps(0.0).observe()
    result = pds.plan(noisy, state, "(= (height a) 4)", max_expansions=200)
    assert result.plan == [("lift", "a")] * 2


def test_notes_survive_a_folder(noisy, tmp_path):
    noisy.save(str(tmp_path / "model"))
    again = pds.load_model(str(tmp_path / "model"), modules={**MODULES, "action::switch::g": Flip()})
    assert again.notes == noisy.notes


def test_a_policy_on_noisy_pictures_follows_its_plan(noisy):
    for seed in range(5):
        policy = pds.Policy(noisy)
        policy.run(Lamps(0.05, seed), "(and (lit a) (lit b))", observe=Lamps.observe)
        assert [m.replanned for m in policy.trace] == [True, False]
        strict = pds.Policy(noisy, tolerance={"Look-Of": 1e-3})
        strict.run(Lamps(0.05, seed), "(and (lit a) (lit b))", observe=Lamps.observe)
        assert [m.replanned for m in strict.trace] == [True, True]


def test_a_switch_that_fails_is_noticed_through_the_noise(noisy):
    class Stuck(Lamps):
        fails = 1

        def step(self, action):
            self.fails -= 1
            if self.fails < 0:
                super().step(action)

    policy = pds.Policy(noisy)
    policy.run(Stuck(0.05), "(and (lit a) (lit b))", observe=Lamps.observe)
    assert [m.replanned for m in policy.trace] == [True, True, False]


def test_the_word_on_each_blank_stays_with_the_model(noisy):
    assert noisy.notes["verdicts"]["derived::lit::f"] == "given"
    assert noisy.notes["verdicts"].keys() == DOMAIN.blanks.keys()
    notes = dict(noisy.notes)
    note_verdicts(notes, {"derived::lit::f": "never-called", "action::switch::g": "ambiguous"})
    assert notes["verdicts"] == {"derived::lit::f": "given", "action::switch::g": "ambiguous"}


def test_steps_of_several_goals_are_watched_as_often_as_those_of_one():
    world = Lamps(0.0)
    states = [world.observe()]
    for _ in range(40):
        world.step(("switch", "a"))
        states.append(world.observe())
    told = [s["picture"][0, 0] > 0.5 for s in states]
    actions = [("switch", "a")] * 40
    models = []
    for goals in ({"(lit a)": told}, {"(lit a)": told, "(and (lit a))": told, "(lit b)": None}, {}):
        model = pds.Model(DOMAIN, modules={**MODULES, "action::switch::g": Flip()}, seed=0)
        pds.fit(model, [pds.Episode(states, actions, goals=goals)], steps=1, learning_rate=1e-9)
        del model.notes["made_from"]
        models.append(model)
    assert models[0].notes == models[1].notes
    assert models[0].notes["spread"] == models[2].notes["spread"]
