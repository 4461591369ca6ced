"""Reports on episodes that are judged by several goals, by none, or by one whose success nobody told."""

from __future__ import annotations

import pytest
from tests.training.models import rooms_model
from tests.training.rooms import GOALS
from tests.training.test_episodes import judged, truths
from tests.training.test_fit import lifts

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.training.data.files import save_episodes


@pytest.fixture(scope="module")
def mixed(rooms):
    """Eight episodes by all three goals; then one by none, and one of unknown success."""
    episodes = [judged(e, truths(e)) for e in rooms[1][:8]]
    bare, unknown = rooms[1][8:10]
    return rooms[0], [*episodes, judged(bare, {}), judged(unknown, {GOALS[1]: None})]


def wrong_model(domain):
    """Right goes too far, and the last room is anywhere but there."""
    return rooms_model(domain, right=lambda at: at + 0.25, in_last=lambda at: (at < 1.5).float())


def test_judgements_are_counted_by_goal_and_steps_by_state(mixed):
    domain, episodes = mixed
    found = pds.evaluate(wrong_model(domain), episodes)
    states = sum(len(e.states) for e in episodes[:8])
    assert found.measures.judged.count == 3 * states
    assert [kind.judged.count for kind in found.measures.goals] == [2 * states, states]
    assert found.measures.steps == sum(len(e.actions) for e in episodes)
    alone = pds.evaluate(wrong_model(domain), [judged(e, {}) for e in episodes])
    assert alone.measures.effects == found.measures.effects
    assert "no goal was judged" in str(alone)
    assert alone.measures.goal_accuracy == 1.0


def test_the_worst_predictions_are_where_they_say(mixed):
    domain, episodes = mixed
    found = pds.evaluate(wrong_model(domain), episodes)
    steps, goals = found.worst(5), found.worst_goals(5)
    assert len(steps) == len(goals) == 5
    places = {(step.episode, step.step, step.variable) for step in found.wrong_steps}
    assert len(places) == len(found.wrong_steps)
    for step in steps:
        before, after = (episodes[step.episode].states[step.step + i]["at"][0, 0].item() for i in (0, 1))
        assert episodes[step.episode].actions[step.step] == ("right", "rob")
        assert (step.before, step.seen) == (f"[{before:g}]", f"[{after:g}]")
    for goal in goals:
        assert goal.formula == GOALS[2]
        assert episodes[goal.episode].goals[goal.formula][goal.state] == goal.label


def test_preconditions_are_counted_once_a_step():
    domain, episodes = lifts(executable=True)
    several = [
        pds.Episode(e.states, e.actions, None, None, e.executable, {e.goal: e.success, "(and)": [1, 1]})
        for e in episodes
    ]
    report = pds.fit(pds.Model(domain, seed=0), several, steps=2)
    assert report.train.preconditions["lift"].count == len(episodes)


def test_labels_of_other_goals_and_unknown_ones_do_not_contradict(mixed):
    domain, episodes = mixed
    first = episodes[0]
    success = first.goals[GOALS[2]]
    unknown = judged(first, {GOALS[2]: [None] * len(success)})
    model = rooms_model(domain)
    assert not any("contradict" in w for w in pds.evaluate(model, [*episodes, first, unknown]).warnings)
    flipped = judged(first, {GOALS[2]: [1 - success[0], *success[1:]]})
    (told,) = [w for w in pds.evaluate(model, [*episodes, flipped]).warnings if "contradict" in w]
    assert GOALS[2] in told


def test_goals_that_nobody_judged_are_no_goals_that_were_never_true(mixed):
    domain, episodes = mixed
    unknown = [judged(e, {GOALS[0]: None}) for e in episodes]
    warnings = pds.evaluate(rooms_model(domain), unknown).warnings
    assert not any("never true" in w for w in warnings)


def test_a_fit_reports_on_all_of_them(mixed):
    domain, episodes = mixed
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=3, validation=0.3, forms=False)
    counted = (report.train, report.held_out)
    assert sum(m.judged.count for m in counted) == 3 * sum(len(e.states) for e in episodes[:8])
    assert sum(m.steps for m in counted) == sum(len(e.actions) for e in episodes)
    assert report.worst(5)
    for goal in report.worst_goals(5):
        assert episodes[goal.episode].goals[goal.formula][goal.state] == goal.label
    assert "Goals by kind" in str(report)


def test_the_command_line_reports_on_them_and_writes_a_page(mixed, tmp_path, capsys):
    domain, episodes = mixed
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=2)
    model.save(str(tmp_path / "model"))
    save_episodes(episodes, tmp_path / "data")
    page = tmp_path / "report.html"
    assert main(["eval", str(tmp_path / "model"), str(tmp_path / "data"), "--html", str(page)]) == 0
    assert "Goals by kind" in capsys.readouterr().out
    assert "Goals by kind" in page.read_text(encoding="utf-8")


def test_the_report_names_the_form_of_each_blank(mixed):
    domain, episodes = mixed
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, steps=4)
    for name, blank in report.blanks.items():
        network = model.blanks.network(name)
        assert blank.form is not None
        form, *gate = blank.form.split(" if ")
        assert form == (model.forms[name].kind if name in model.forms else "network")
        assert bool(gate) == (getattr(network, "gate", None) is not None)
        assert blank.as_json()["form"] == blank.form
    assert "form" in str(report)
    assert pds.evaluate(rooms_model(domain), episodes).blanks["action::right::f"].form is None
