"""Relabelling: what a trajectory says of goals that nobody pursued."""

from __future__ import annotations

import pytest
from tests.training.rooms import GOALS

import pdsketch as pds

AT_TWO = "(= (colour b0) 2)"


def in_last(state: pds.State) -> bool:
    return bool(state["at"][0, 0] == 2)


def test_goals_are_added_and_the_states_are_the_same_objects(rooms):
    episodes = rooms[1][:5]
    more = pds.hindsight(episodes, {GOALS[2]: in_last, AT_TWO: None})
    for before, after in zip(episodes, more, strict=True):
        assert all(a is b for a, b in zip(before.states, after.states, strict=True))
        assert set(after.goals) == {before.goal, GOALS[2], AT_TWO}
        assert (after.goal, after.success) == (before.goal, before.success)
        assert [int(in_last(s)) for s in after.states] == list(after.goals[GOALS[2]])
        assert [int(s["colour"][0] == 2) for s in after.states] == list(after.goals[AT_TWO])


def test_goals_may_depend_on_the_episode(rooms):
    def goals(episode):
        return {f"(= (colour {name}) 0)": None for name in episode.states[0].objects["box"]}

    for episode in pds.hindsight(rooms[1][:5], goals):
        assert len(episode.goals) == 1 + len(episode.states[0].objects["box"])


def test_what_the_environment_said_stays(rooms):
    first = rooms[1][0]
    partly = pds.Episode(first.states, first.actions, goals={GOALS[2]: [1, *[None] * 6]})
    (after,) = pds.hindsight([partly], {GOALS[2]: lambda state: False})
    assert list(after.goals[GOALS[2]]) == [1, *[0] * 6]


def test_a_function_may_know_nothing(rooms):
    (after,) = pds.hindsight(rooms[1][:1], {AT_TWO: lambda state: None})
    assert list(after.goals[AT_TWO]) == [None] * 7
    assert pds.hindsight([], {AT_TWO: None}) == []


def test_blanks_that_are_given_count_as_known(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, {"derived::in-last::f": lambda at: (at > 1.5).float()})
    (after,) = pds.hindsight(episodes[:1], {"(not (in-last rob))": None}, model=model)
    assert [1 - int(in_last(s)) for s in after.states] == list(after.goals["(not (in-last rob))"])


def test_relabelled_episodes_are_learned_from(rooms):
    domain, episodes = rooms
    bare = [pds.Episode(e.states, e.actions) for e in episodes]
    report = pds.fit(pds.Model(domain, seed=0), pds.hindsight(bare, {GOALS[2]: in_last}), steps=40)
    assert report.train.goal_accuracy > 0.95
    assert report.train.positives > 0


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ({"(in-last rob)": None}, "derived::in-last::f"),
        ({AT_TWO: lambda state: 0.5}, "0.5"),
        ({AT_TWO: lambda state: "yes"}, "yes"),
        ({AT_TWO: 1}, "no function"),
        ([AT_TWO], "maps goals"),
        ({"(= (color b0) 2)": None}, "did you mean `colour`"),
        ({3: None}, "written as text"),
    ],
)
def test_what_cannot_be_judged_is_told(rooms, goals, told):
    with pytest.raises(pds.Error, match=told):
        pds.hindsight(rooms[1][:1], goals)
    with pytest.raises(pds.Error, match="not an Episode"):
        pds.hindsight(["episode"], goals)
