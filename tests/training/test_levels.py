"""The trial: which levels it chooses, and who goes without it."""

from __future__ import annotations

import numpy as np
import torch
from pdsketch.nets.nested import Nested

import pdsketch as pds
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.fitting import gather, open_training_set
from pdsketch.training.options import Options
from pdsketch.training.schedules import LONGEST_TRIAL
from pdsketch.training.trainer import Trainer

NEAR_AND_ODD = """
(define (domain choice)
  (:types thing - object code - vector[int64, 3, choices=4])
  (:predicates (code [return_type=code] ?t - thing))
  (:derived (red ?t - thing) (??f (code ?t)))
  (:derived (odd ?t - thing) (??f (code ?t))))
"""


def judged(count: int = 400) -> tuple[pds.Domain, list[pds.Episode]]:
    """*Red* is one colour; *odd* is an exclusive or, which no sum of evidence tells."""
    domain, rng = pds.parse_domain(NEAR_AND_ODD), np.random.default_rng(0)
    episodes = []
    for at in range(count):
        code = rng.integers(4, size=3)
        truth = code[1] == 2 if at % 2 else (code[0] >= 2) ^ (code[1] >= 2)
        state = pds.State(domain, {"thing": ["x"]}, {"code": code[None]})
        episodes.append(pds.Episode([state], [], "(red x)" if at % 2 else "(odd x)", [int(truth)]))
    return domain, episodes


def trainer(model: pds.Model, episodes: list[pds.Episode], **options: object) -> Trainer:
    training = open_training_set(model, put_on_device(gather(episodes, model.domain), torch.device("cpu")))
    every = np.arange(len(training.dataset))
    return Trainer(training, Options.of(**options), every, every[:0])


def test_each_network_gets_the_level_that_it_needs_and_keeps_it_when_saved(tmp_path):
    domain, episodes = judged()
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=300, batch=128)
    levels = {name.split("::")[1]: blank.level for name, blank in report.blanks.items()}
    assert levels == {"red": "linear", "odd": "perceptron"}
    model.save(tmp_path / "model")
    loaded = pds.load_model(tmp_path / "model")
    for name in domain.blanks:
        kept, found = model.blanks.network(name), loaded.blanks.network(name)
        assert isinstance(kept, Nested)
        assert isinstance(found, Nested)
        assert found.level == kept.level
    state = episodes[0].states[0]
    for formula in ("(red x)", "(odd x)"):
        assert torch.equal(model.holds(state, formula), loaded.holds(state, formula))


def test_after_the_trial_training_begins_again_with_all_examples():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    started = {name: t.clone() for name, t in model.named_parameters()}
    fit = trainer(model, episodes, steps=20, batch=16)
    held = np.intersect1d(fit.trial_sampler.draw(0), fit.levels.apart)
    assert len(fit.levels.apart) == 20
    assert not len(held)
    fit.earlier = fit.weights()
    for _ in range(10):
        fit.advance()
    assert any(not torch.equal(started[name], p) for name, p in model.named_parameters())
    fit._settle()
    assert all(torch.equal(started[name], p) for name, p in model.named_parameters())
    assert not fit.optimiser.state
    drawn = np.concatenate([fit.sampler.draw(step) for step in range(20)])
    assert set(drawn) == set(range(60))


def test_with_few_steps_left_the_fit_goes_on_from_where_it_is():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    fit = trainer(model, episodes, steps=20, batch=16)
    fit.earlier = fit.weights()
    for _ in range(round(LONGEST_TRIAL * 20)):
        fit.advance()
    before = {name: t.clone() for name, t in model.named_parameters()}
    fit._settle()
    assert all(torch.equal(before[name], p) for name, p in model.named_parameters())


def test_the_paper_has_no_trial():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    fit = trainer(model, episodes, steps=20, paper=True)
    assert fit.settled_at == 0
    assert not fit.levels.networks
    pds.fit(model, episodes, steps=5, paper=True)
    for name in domain.blanks:
        network = model.blanks.network(name)
        assert network.level == len(network.levels) - 1


def test_encoders_take_no_part_in_the_choice():
    sketch = """
    (define (domain seen)
      (:types thing - object look - vector[float32, 4] hue - int64[choices=3])
      (:predicates (look [return_type=look] ?t - thing))
      (:derived (hue [return_type=hue] ?t - thing) (??f (look ?t)))
      (:derived (red ?t - thing) (??f (hue ?t)))
      (:action dye :parameters (?t - thing) :precondition (and)
        :effect (hue::assign ?t (??f (hue ?t)))))
    """
    domain = pds.parse_domain(sketch)
    assert domain.predicates["hue"].role == "encoded"
    looks = np.random.default_rng(0).normal(size=(4, 1, 4)).astype(np.float32)
    states = [pds.State(domain, {"thing": ["x"]}, {"look": look}) for look in looks]
    episodes = [pds.Episode(states[:2], [("dye", "x")], "(red x)", [0, 1])]
    model = pds.Model(domain, seed=0)
    networks = trainer(model, episodes, steps=2).levels.networks
    assert model.blanks.network("derived::hue::f") not in networks
    assert model.blanks.network("derived::red::f") in networks


def test_a_fit_that_is_stopped_in_its_trial_chooses_levels_by_what_it_has_learned():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=400, evaluate_every=100, callback=lambda seen: seen.step >= 100)
    assert report.status == "stopped"
    levels = {
        name: model.blanks.network(name).levels[model.blanks.network(name).level] for name in domain.blanks
    }
    assert "linear" in levels.values()


def test_a_fit_that_ends_worse_than_its_trial_goes_back_to_it():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    fit = trainer(model, episodes, steps=400, batch=32)
    assert fit.run() == "finished"
    earlier = {name: t.clone() for name, t in fit.earlier.items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    fit._finish()
    assert all(torch.equal(earlier[name], t) for name, t in model.state_dict().items())


def test_what_judges_the_trial_does_not_teach_it():
    domain, episodes = judged(60)
    fit = trainer(pds.Model(domain, seed=0), episodes, steps=20, batch=16)
    seen, terms = [], fit.losses.terms
    fit.losses.terms = lambda states, doubt: (seen.append(states), terms(states, doubt))[1]
    for _ in range(10):
        fit.advance()
    assert not len(np.intersect1d(np.concatenate(seen), fit.levels.apart))


def test_in_the_trial_every_level_answers_some_examples_and_afterwards_one_does():
    domain, episodes = judged(60)
    model = pds.Model(domain, seed=0)
    fit = trainer(model, episodes, steps=20, batch=64)
    network, drawn = model.blanks.network("derived::red::f"), []
    network.register_forward_hook(
        lambda self, args, answers: drawn.append(self.drawn(answers.shape[:-1], answers.device))
    )
    fit.earlier = fit.weights()
    fit.advance()
    assert drawn[-1].unique().tolist() == list(range(len(network.levels)))
    fit._settle()
    fit.advance()
    assert drawn[-1] is None


def test_a_resumed_fit_can_still_go_back_to_its_trial(tmp_path):
    domain, episodes = judged(60)
    options = {"steps": 100, "batch": 32, "evaluate_every": 10, "checkpoint": str(tmp_path / "fit")}
    first = trainer(pds.Model(domain, seed=0), episodes, callback=lambda now: now.step == 70, **options)
    assert first.run() == "stopped"
    model = pds.Model(domain, seed=0)
    rest = trainer(model, episodes, resume=True, **options)
    assert rest.run() == "finished"
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.neg_()
    rest._finish()
    assert all(torch.equal(first.earlier[name], t) for name, t in model.state_dict().items())


def test_episodes_are_kept_for_the_choice_whole(rooms):
    # 13 is no multiple of three: a third of the states would end in the middle of an episode.
    fit = trainer(pds.Model(rooms[0], seed=0), rooms[1][:13], steps=20, batch=64)
    episode = fit.training.dataset.episode
    taught = np.concatenate([fit.trial_sampler.draw(step) for step in range(20)])
    apart, rest = (set(episode[states].tolist()) for states in (fit.levels.apart, taught))
    assert len(apart) == 4
    assert len(rest) == 9
    assert not apart & rest
