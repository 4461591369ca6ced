"""Episodes with one goal, several, or none: a trajectory is held once, however many goals judge it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.training.rooms import GOALS

import pdsketch as pds
from pdsketch.tensor.compile.logic import CRISP
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.files import load_episodes, save_episodes
from pdsketch.training.data.recorder import Recorder, arrays_of
from pdsketch.training.fitting import evaluate, gather, open_training_set
from pdsketch.training.time_slice import TimeSlice


def truths(episode: pds.Episode) -> dict[str, list[int]]:
    """Where each of the goals of the rooms holds, from the states themselves."""
    found: dict[str, list[int]] = {goal: [] for goal in GOALS}
    for state in episode.states:
        at, colour = int(state["at"]), np.asarray(state["colour"])
        here = np.asarray(state["stands"])[:, 0] == at
        marks = [(here & (colour == 0)).any(), (here & (colour == 2)).any(), at == 2]
        for goal, mark in zip(GOALS, marks, strict=True):
            found[goal].append(int(mark))
    return found


def judged(episode: pds.Episode, goals) -> pds.Episode:
    return pds.Episode(episode.states, episode.actions, goals=goals)


@pytest.fixture(scope="module")
def several(rooms):
    """Twelve episodes, each judged by all three goals."""
    return rooms[0], [judged(episode, truths(episode)) for episode in rooms[1][:12]]


def test_one_goal_is_several_goals_of_one(rooms):
    first = rooms[1][0]
    again = judged(first, {first.goal: first.success})
    assert again.goal == first.goal
    assert again.success == first.success
    assert dict(first.goals) == dict(again.goals)
    both = pds.Episode(first.states, first.actions, "(and)", None, goals={first.goal: first.success})
    assert list(both.goals) == ["(and)", first.goal]
    assert both.success is None


def test_states_are_held_once_and_judged_by_each_goal(several):
    domain, episodes = several
    dataset = put_on_device(arrays_of(episodes, domain), torch.device("cpu"))
    states = sum(len(e.states) for e in episodes)
    assert dataset.states.size == states
    assert len(dataset) == 3 * states
    assert dataset.once.sum() == states
    run = dataset.state[7:14]
    assert (run == np.arange(7)).all()
    assert dataset.outcomes[7:14].astype(int).tolist() == truths(episodes[0])[GOALS[1]]
    assert (dataset.action[6::7] == -1).all()


def test_time_slices_of_several_goals_say_what_each_goal_says_alone(several):
    domain, episodes = several
    model = pds.Model(domain, seed=1)
    training = open_training_set(model, put_on_device(gather(episodes, domain), model.device))
    some = np.random.default_rng(0).permutation(len(training.dataset))[:40]
    with torch.no_grad():
        current = TimeSlice(training, CRISP, torch.from_numpy(some))
        current.prepare(goals=True, step=True)
        found = current.truth()
        for row, example in enumerate(some):
            state = training.dataset.states[int(training.dataset.state[example])]
            goal = training.dataset.arrays.goals[training.dataset.goal[example]]
            assert bool(found[row]) == bool(model.holds(state, goal, crisp=True))


def test_several_goals_are_learned_and_each_transition_counts_once(several):
    domain, episodes = several
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=110, batch=96, learning_rate=6e-3)
    assert report.train.goal_accuracy > 0.97
    assert report.train.steps == sum(len(e.actions) for e in episodes)
    assert report.train.judged.count == 3 * sum(len(e.states) for e in episodes)
    alone = evaluate(model, [judged(e, {}) for e in episodes]).measures
    assert alone.steps_right == report.train.steps_right
    assert (alone.judged.positives, alone.judged.negatives) == (0, 0)


def test_episodes_without_goals_teach_their_transitions_alone(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, [judged(e, {}) for e in episodes], steps=5)
    assert set(report.losses) == {"transition"}
    assert "derived::is-red::f" in report.untrained
    assert "action::right::f" in model.notes["trained"]


@pytest.mark.parametrize("unknown", [None, [None] * 7])
def test_success_that_nobody_told_is_left_out(rooms, unknown):
    domain, episodes = rooms
    silent = [pds.Episode(e.states, e.actions, e.goal, unknown) for e in episodes[:20]]
    report = pds.fit(pds.Model(domain, seed=0), [*silent, *episodes[20:]], steps=3)
    states = sum(len(e.states) for e in episodes[20:])
    assert report.train.judged.count == states
    assert report.train.steps == sum(len(e.actions) for e in episodes)


def test_single_states_may_be_unknown(rooms):
    first = rooms[1][0]
    partly = judged(first, {GOALS[2]: [None, *truths(first)[GOALS[2]][1:]]})
    measures = evaluate(pds.Model(rooms[0], seed=0), [partly]).measures
    assert measures.judged.count == len(first.states) - 1


def test_goals_survive_the_disk_and_columns(several, rooms, tmp_path):
    domain, episodes = several
    first = rooms[1][0]
    odd = [judged(first, {}), judged(first, {GOALS[0]: None, GOALS[2]: [None, *[0] * 6]})]
    save_episodes([*episodes, *odd], tmp_path)
    loaded = load_episodes(tmp_path, domain)
    assert loaded.values["at"].size == 14 * 7
    for before, after in zip([*episodes, *odd], loaded, strict=True):
        assert list(before.goals) == list(after.goals)
        for goal, success in before.goals.items():
            assert success is after.goals[goal] or list(success) == list(after.goals[goal])


@pytest.mark.parametrize(
    "wrong",
    [
        {"goals": [GOALS[0]]},
        {"goals": None},
        {"goals": {GOALS[0]: [0, 1]}},
        {"goals": {GOALS[0]: 1}},
        {"goals": {GOALS[0]: [0, 1, 2, 0, 0, 0, 0]}},
        {"goals": {"(in-last bob)": None}},
        {"goals": {3: None}},
        {"goal": GOALS[0], "goals": {GOALS[0]: None}},
        {"success": [0] * 7},
    ],
)
def test_what_is_no_judgement_is_refused(rooms, wrong):
    first = rooms[1][0]
    with pytest.raises(pds.Error):
        pds.Episode(states=first.states, actions=first.actions, **wrong)


def test_a_goal_that_no_episode_was_judged_by_may_name_any_object(rooms):
    domain, episodes = rooms
    columns = arrays_of(episodes[:2], domain)
    more = replace(columns, goals=(*columns.goals, "(near rob somebody-else)"))
    models = [pds.Model(domain, seed=0) for _ in range(2)]
    with_it, without = (pds.fit(m, data, steps=2) for m, data in zip(models, (more, columns), strict=True))
    assert with_it.losses == without.losses
    assert str(evaluate(models[0], more)) == str(evaluate(models[1], columns))


@pytest.mark.parametrize("wrong", [[0, 2, 0], [0.5, 0, 1], [0, -1, 0]])
def test_success_is_0_or_1_or_unknown(rooms, wrong):
    states, actions = rooms[1][0].states[:3], rooms[1][0].actions[:2]
    assert pds.Episode(states, actions, GOALS[0], [0, None, 1]).success == [0, None, 1]
    with pytest.raises(pds.Error, match="must hold 0 and 1"):
        pds.Episode(states, actions, GOALS[0], wrong)
    with pytest.raises(pds.Error, match="must hold 0 and 1"):
        pds.Episode(states, actions, executable=wrong[:2])


def test_a_misspelt_value_is_told_what_it_may_mean():
    domain = pds.parse_domain(
        "(define (domain x) (:types lamp - object) (:predicates (lit ?l - lamp)) (:action go :effect (and)))"
    )
    with pytest.raises(pds.Error, match="there is no predicate `lid`") as refused:
        Recorder(domain).add({"lamp": ["a"]}, {"lid": np.zeros((2, 1))}, [("go",)])
    assert "`lit`" in refused.value.diagnostics[0].help
