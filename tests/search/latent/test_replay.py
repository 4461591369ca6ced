"""Plans replayed side by side, with and without a watch, are plans replayed one by one and step by step."""

import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.strategies import sketch
from tests.tensor.agreement import model_of

import pdsketch as pds
from pdsketch.budget import OutOfMemoryError
from pdsketch.lang.diagnostics import Error
from pdsketch.search.latent.margin import NO_MARGIN, Margin
from pdsketch.search.latent.replay import PlanReplay, Trail, Verdicts, doubts_of, looked_at
from pdsketch.tensor.experience import Watch


def alone(model, state, goal, plan):
    """At which step a plan fails, None at none, and whether its goal holds behind it."""
    for number, step in enumerate(plan, start=1):
        if not bool(model.applicable(state, step, crisp=True)):
            return number, False
        state = model.step(state, step, crisp=True)
    return None, bool(model.holds(state, goal, crisp=True))


def replayed(model, states, goals, plans):
    trail, verdicts = Trail(), Verdicts()
    PlanReplay(model, False, NO_MARGIN).run(states, goals, plans, trail, verdicts)
    return trail, verdicts


@given(sketch(), st.data())
@settings(max_examples=40, deadline=None)
def test_plans_replayed_together_are_plans_taken_step_by_step(sample, data):
    model, state = model_of(sample), sample.problem.state
    assume(sample.steps)
    goals = [model.formula(state.batch, goal) for goal in (sample.problem.goal, *sample.formulas)]
    plans = [data.draw(st.lists(st.sampled_from(sample.steps), max_size=4)) for _ in goals]
    try:
        state = model.encode(state, crisp=True).crisp()
        expected = [alone(model, state, *one) for one in zip(goals, plans, strict=True)]
    except Error:
        assume(False)
    states = [state] * len(goals)
    _, verdicts = replayed(model, states, goals, plans)
    for i, (failed, last) in enumerate(expected):
        assert (verdicts[i] is None) == last
        assert (failed is not None) == (f"step {failed} of" in (verdicts[i] or ""))


SKETCH = """
(define (domain corridor)
  (:types thing - object x - float32[tolerance=0.1])
  (:predicates (at [return_type=x] ?t - thing) (free ?t - thing))
  (:derived (far ?t - thing) (??f (at ?t)))
  (:action push :parameters (?t - thing) :precondition (not (far ?t)) :effect (at::assign ?t (??g (at ?t))))
  (:action fling :parameters (?t - thing) :precondition (free ?t) :effect (at::assign ?t (??h (at ?t)))))
"""


@pytest.fixture
def corridor():
    domain = pds.parse_domain(SKETCH)

    def fling(at):
        if bool((at < 0).any()):
            raise ValueError("nothing is flung from below 0")
        return at + 5

    modules = {
        "derived::far::f": lambda at: (at > 2.5).float(),
        "action::push::g": lambda at: at + 1,
        "action::fling::h": fling,
    }
    model = pds.Model(domain, modules)

    def state(at, free=True):
        return pds.State(domain, {"thing": ["a"]}, {"at": [at], "free": [free]})

    return model, state


def test_effects_are_asked_only_where_the_precondition_holds(corridor):
    model, state = corridor
    states = [state(-1.0, free=False), state(0.0), state(3.0), state(1.0)]
    plans = [[("fling", "a")], [("fling", "a")], [("push", "a")], [("push", "a"), ("push", "a")]]
    goals = [model.formula(states[0].batch, "(far a)")] * 4
    trail, verdicts = replayed(model, states, goals, plans)
    assert "step 1 of the plan, ('fling', 'a'), is not applicable" in verdicts[0]
    assert "step 1 of the plan, ('push', 'a'), is not applicable" in verdicts[2]
    assert (verdicts[1], verdicts[3]) == (None, None)
    assert [(steps, owners) for _, steps, owners in trail.moves] == [
        ([("fling", "a"), ("push", "a")], [1, 3]),
        ([("push", "a")], [3]),
    ]
    assert [batch.tensors["at"].flatten().tolist() for batch, _, _ in trail.moves] == [[0.0, 1.0], [2.0]]


def test_states_stay_with_their_plans_where_these_take_different_actions(corridor):
    model, state = corridor
    states = [state(0.0), state(1.0), state(2.0)]
    plans = [[(name, "a")] for name in ("push", "fling", "push")]
    goals = [model.formula(one.batch, "(far a)") for one in states]
    trail, verdicts = replayed(model, states, goals, plans)
    assert [batch.tensors["at"].flatten().tolist() for batch, _, _ in trail.ends] == [[1.0, 6.0, 3.0]]
    assert [verdicts[i] is None for i in range(3)] == [False, True, True]


def test_doubts_are_those_of_the_plans_whose_states_a_blank_was_asked_about(corridor):
    model, state = corridor
    notes = {"experience": {"action::push::g": [{"low": [0], "high": [1], "least": [-0.1], "most": [1.1]}]}}
    model.notes.update({**notes, "trained": [*model.domain.blanks]})
    states = [state(2.0), state(0.0), state(1.0)]
    plans = [[("push", "a")], [("push", "a")], [("push", "a"), ("push", "a")]]
    goals = [model.formula(states[0].batch, "(far a)")] * 3
    trail, _ = replayed(model, states, goals, plans)
    watch = doubts_of(model, trail)
    said = [watch.sentences(i) for i in range(3)]
    assert said[1] == ()
    assert all("`action::push::g` was never trained on 2" in sentence for (sentence,) in (said[0], said[2]))


def test_a_step_that_is_not_sure_enough_is_not_taken(corridor):
    model, state = corridor
    unsure = pds.Model(model.domain, {**model.blanks.given, "derived::far::f": lambda at: 0.2 + 0 * at})
    goal = [unsure.formula(state(0.0).batch, "(free a)")]
    for margin, fails in ((Margin(0.9), True), (Margin(0.7), False)):
        verdicts = Verdicts()
        PlanReplay(unsure, False, margin).run([state(0.0)], goal, [[("push", "a")]], Trail(), verdicts)
        assert (verdicts[0] is not None) == fails


def test_where_a_limit_ends_the_questions_about_a_plan_it_was_replayed_all_the_same(corridor, monkeypatch):
    model, state = corridor
    model.notes["trained"] = [*model.domain.blanks]

    def noticed(self, callee, *call):
        if callee.name == "action::push::g":
            raise OutOfMemoryError

    monkeypatch.setattr(Watch, "__call__", noticed)
    goals, trail = [model.formula(state(1.0).batch, "(far a)")], Trail()
    plans = [[("push", "a"), ("push", "a")]]
    verdicts, said = looked_at(model, [state(1.0)], goals, plans, snap=False, trail=trail, margin=NO_MARGIN)
    assert verdicts == {0: None}
    assert "a limit was reached" in said[0][0]
    assert [owners for _, _, owners in trail.moves] == [[0], [0]]
    assert len(trail.ends) == 1
