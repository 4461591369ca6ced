"""The worst steps and goals."""

from __future__ import annotations

import torch
from tests.training.models import rooms_model

import pdsketch as pds
from pdsketch.training.diagnosis.worst import KEPT, brief


def test_the_worst_steps_say_what_was_predicted_and_what_was_seen(rooms):
    model = rooms_model(rooms[0], right=lambda at: at + 0.25, dye=lambda colour: 20 * colour)
    found = pds.evaluate(model, rooms[1])
    kinds = {step.action for step in found.worst(2)}
    assert kinds == {"(right rob)", "(dye rob)"}
    for step in found.worst(20):
        episode = rooms[1][step.episode]
        assert episode.actions[step.step][0] == step.action[1:].split()[0]
        if step.action == "(right rob)":
            before, after = (episode.states[step.step + i]["at"][0, 0].item() for i in (0, 1))
            assert step.variable == "(at rob)"
            assert (step.before, step.predicted, step.seen) == (
                f"[{before:g}]",
                f"[{before + 0.25:g}]",
                f"[{after:g}]",
            )


def test_the_step_furthest_off_comes_first(rooms):
    found = pds.evaluate(rooms_model(rooms[0], right=lambda at: at * 3), rooms[1])
    assert found.worst(1)[0].predicted == "[6]"


def test_the_worst_goals_say_truth_and_label(rooms):
    found = pds.evaluate(rooms_model(rooms[0], in_last=lambda at: torch.full_like(at, 0.7)), rooms[1])
    goal = found.worst_goals(1)[0]
    assert goal.formula == "(in-last rob)"
    assert goal.label is False
    assert 0.69 < goal.truth < 0.71
    assert rooms[1][goal.episode].success[goal.state] == 0


def test_nothing_is_worst_where_all_is_right_and_what_is_kept_is_bounded(rooms):
    right = pds.evaluate(rooms_model(rooms[0]), rooms[1])
    assert right.worst() == right.worst_goals() == ()
    wrong = rooms_model(rooms[0], right=lambda at: at + 9, in_last=lambda at: (at < 1.5).float())
    found = pds.evaluate(wrong, rooms[1])
    assert len(found.wrong_goals) == KEPT
    assert 0 < len(found.wrong_steps) <= KEPT


def test_long_values_are_shown_briefly():
    assert brief(torch.tensor(True)) == "true"
    assert brief(torch.tensor([0.123456, 2.0])) == "[0.1235, 2]"
    assert brief(torch.zeros(8, 8)) == "[0, 0, 0, 0, 0, 0, … 64 numbers]"
