"""Learning the world of three rooms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.training.rooms import GOALS, SKETCH, world

import pdsketch as pds
from pdsketch.training.fitting import evaluate


@pytest.fixture(scope="module")
def trained(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=0)
    return model, pds.fit(model, episodes, steps=140, batch=128, learning_rate=6e-3)


def test_three_rooms_are_learned_perfectly_from_goal_labels(trained):
    _, report = trained
    assert report.train.goal_accuracy == 1.0
    assert report.train.step_accuracy == 1.0
    assert report.status == "finished"
    assert report.untrained == ()


def test_what_was_learned_holds_for_more_objects_than_were_seen(trained):
    model, _ = trained
    _, unseen = world(20, seed=5, boxes=(5, 8))
    measures = evaluate(model, unseen).measures
    assert measures.goal_accuracy == 1.0
    assert measures.step_accuracy > 0.99


def test_the_model_remembers_codes_and_trained_blanks(trained):
    model, _ = trained
    assert set(model.notes["trained"]) == set(model.domain.blanks)
    assert model.notes["codes"]["at"]["values"] == [[0.0, 1.0, 2.0]]


def test_a_saved_model_measures_the_same(trained, rooms, tmp_path):
    model, _ = trained
    model.save(str(tmp_path / "model"))
    again = pds.load_model(str(tmp_path / "model"))
    measures = evaluate(again, rooms[1]).measures
    assert measures.as_json() == evaluate(model, rooms[1]).measures.as_json()


def test_a_fit_is_deterministic(rooms):
    domain, episodes = rooms
    results = []
    for _ in range(2):
        model = pds.Model(domain, seed=3)
        pds.fit(model, episodes, steps=5, seed=4)
        results.append(model.state_dict())
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_a_blank_that_nothing_reaches_is_reported():
    domain = pds.parse_domain(
        SKETCH.replace("(:action left", "(:derived (unused ?r - robot) (??f (at ?r)))\n(:action left")
    )
    rng = np.random.default_rng(0)
    from tests.training.rooms import episode

    model = pds.Model(domain, seed=0)
    report = pds.fit(model, [episode(domain, rng, 2) for _ in range(10)], steps=5)
    assert report.untrained == ("derived::unused::f",)
    assert "derived::unused::f" not in model.notes["trained"]


def test_a_frozen_network_stays_as_it_is(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=0)
    frozen = model.blanks.network("derived::is-red::f").requires_grad_(False)
    before = {name: t.clone() for name, t in frozen.named_parameters()}
    pds.fit(model, episodes, steps=5)
    assert all(torch.equal(before[name], t) for name, t in frozen.named_parameters())


def test_the_papers_losses_run(rooms):
    domain, episodes = rooms
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=3, paper=True, validation=0.25)
    assert report.held_out is not None
    assert report.held_out_episodes == 10
    assert set(report.losses) == {"goal", "transition", "lookahead"}


def test_a_time_limit_stops_the_fit(rooms):
    report = pds.fit(pds.Model(rooms[0], seed=0), rooms[1], steps=600, time_limit=0.2)
    assert report.status == "out-of-time"
    assert report.steps < 600


LIFT = """
(define (domain lift)
  (:types box)
  (:predicates (weight [return_type=float32] ?b - box) (up ?b - box))
  (:derived (light ?b - box) (??f (weight ?b)))
  (:action lift :parameters (?b - box) :precondition (light ?b) :effect (up ?b)))
"""


def lifts(executable: bool):
    domain = pds.parse_domain(LIFT)
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(60):
        weight = rng.uniform(0, 10, size=2)
        at = int(rng.integers(2))
        done = bool(weight[at] < 5)
        ups = [[False, False], [done and at == 0, done and at == 1]]
        states = [pds.State(domain, {"box": ["a", "b"]}, {"weight": weight, "up": up}) for up in ups]
        episodes.append(
            pds.Episode(
                states,
                [("lift", "ab"[at])],
                "(exists (?b - box) (up ?b))",
                [0, int(done)],
                [done] if executable else None,
            )
        )
    return domain, episodes


def test_preconditions_are_learned_from_the_controllers_word_alone():
    domain, episodes = lifts(executable=True)
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=100)
    for weight, could in ((1.0, True), (9.0, False)):
        state = pds.State(domain, {"box": ["a"]}, {"weight": [weight], "up": [False]})
        assert bool(model.applicable(state, ("lift", "a"), crisp=True)) is could


def test_without_that_word_a_precondition_gets_no_gradient():
    domain, episodes = lifts(executable=False)
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=3)
    assert report.untrained == ("derived::light::f",)


IMAGES = """
(define (domain seen)
  (:types box)
  (:predicates (image [return_type=vector[float32, 8, 8, 1]] ?b - box))
  (:derived (look [return_type=vector[float32, 4]] ?b - box) (??f (image ?b)))
  (:derived (dark ?b - box) (??f (look ?b)))
  (:action flip :parameters (?b - box) :precondition (and)
    :effect (look::assign ?b (??f (look ?b)))))
"""


def flips(count: int):
    domain = pds.parse_domain(IMAGES)
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(count):
        n = int(rng.integers(1, 4))
        dark = rng.random(n) < 0.5
        states, success, actions = [], [], []
        for step in range(3):
            shade = np.where(dark, 0.2, 0.8)[:, None, None, None]
            images = shade + rng.normal(0, 0.05, size=(n, 8, 8, 1))
            states.append(pds.State(domain, {"box": [f"b{i}" for i in range(n)]}, {"image": images}))
            success.append(int(dark.all()))
            if step < 2:
                at = int(rng.integers(n))
                actions.append(("flip", f"b{at}"))
                dark = np.where(np.arange(n) == at, ~dark, dark)
        episodes.append(pds.Episode(states, actions, "(forall (?b - box) (dark ?b))", success))
    return domain, episodes


def test_encoded_variables_are_learned_from_images():
    domain, episodes = flips(60)
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=150, batch=64, lookahead=1.0)
    assert report.train.goal_accuracy > 0.97
    assert "look" in model.notes["codes"]
    right = [
        bool(model.holds(model.step(e.states[0], e.actions[0]), e.goal) > 0.5) == bool(e.success[1])
        for e in episodes
    ]
    assert np.mean(right) > 0.9


def test_a_type_without_objects_can_be_learned_about():
    domain = pds.parse_domain(
        SKETCH.replace(
            "(at [return_type=place] ?r - robot)", "(at [return_type=place] ?r - robot) (shut ?d - door)"
        ).replace("robot box - object", "robot box door - object")
    )
    rng = np.random.default_rng(0)
    made = []
    for _ in range(3):
        states, actions = [], []
        for step in range(3):
            values = {"at": [[step]], "colour": [0], "stands": [[1]], "shut": []}
            states.append(pds.State(domain, {"robot": ["rob"], "box": ["b"]}, values))
            actions.append(("right", "rob"))
        made.append(pds.Episode(states, actions[:-1], "(in-last rob)", [0, 0, int(rng.integers(1, 2))]))
    report = pds.fit(pds.Model(domain, seed=0), made, steps=2)
    assert report.train.effects["right"]["shut"].variables == 0


@pytest.mark.parametrize(
    "change", [{"states": None}, {"actions": None}, {"success": 1}, {"executable": True}, {"states": [1, 2]}]
)
def test_what_is_no_list_of_states_and_actions_is_refused(rooms, change):
    first = rooms[1][0]
    given = {"states": first.states[:2], "actions": first.actions[:1], "goal": first.goal, "success": [0, 0]}
    with pytest.raises(pds.Error):
        pds.Episode(**{**given, **change})


def test_fit_refuses_what_holds_no_episodes(rooms):
    with pytest.raises(pds.Error, match="NoneType"):
        pds.fit(pds.Model(rooms[0]), None, steps=1)


@pytest.mark.parametrize("paper", [False, True])
def test_an_episode_without_the_objects_that_blanks_are_about_can_be_learned_from(paper):
    domain = pds.parse_domain(SKETCH)
    empty = np.zeros((0, 1), dtype=np.float32)
    states = [
        pds.State(domain, {"robot": ["rob"]}, {"at": [[step]], "colour": [], "stands": empty})
        for step in range(3)
    ]
    episode = pds.Episode(states, [("right", "rob"), ("dye", "rob")], GOALS[0], [0, 0, 0])
    report = pds.fit(pds.Model(domain, seed=0), [episode], steps=3, paper=paper)
    assert report.status == "finished"


def test_a_module_that_returns_nan_is_told(rooms):
    model = pds.Model(rooms[0], {"action::right::f": lambda at: at * float("nan")}, seed=0)
    with pytest.raises(pds.Error):
        pds.fit(model, rooms[1], steps=3)
