"""Effects apply at once, mix their writers as the language says, and leave the rest alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st
from tests.tensor.agreement import assert_close
from tests.tensor.worlds import GRID, facing, grid_state

from pdsketch.lang.load import parse_domain
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State, StateBatch

WRITERS = parse_domain("""
(define (domain writers)
  (:types item - object small - item pose - vector[float32, 2] hue - int64[choices=3])
  (:predicates (v [return_type=float32] ?o - item) (w [return_type=float32] ?o - item)
    (at [return_type=pose] ?o - item) (n [return_type=int64] ?o - item) (h [return_type=hue] ?o - item)
    (b ?o - item) (on ?a - item ?b - item) (g [return_type=float32] ?o - item) (x [return_type=float32])
    (truth ?t - float32))
  (:action two :parameters (?o - item) :effect (and
    (when (truth (g ?o)) (assign (v ?o) (w ?o)))
    (when (truth (x)) (assign (v ?o) 10))))
  (:action all :parameters () :effect (forall (?o - item) (when (truth (g ?o)) (assign (x) (w ?o)))))
  (:action some-small :parameters () :effect
    (forall (?s - small) (when (truth (g ?s)) (assign (v ?s) (w ?s)))))
  (:action literals :parameters (?o - item) :effect (and
    (when (truth (g ?o)) (b ?o)) (when (truth (w ?o)) (not (b ?o))) (when (truth (v ?o)) (b ?o))))
  (:action between :parameters (?o - item) :effect (and
    (not (b ?o)) (when (truth (g ?o)) (assign (b ?o) (truth (w ?o)))) (when (truth (v ?o)) (b ?o))))
  (:action swap :parameters (?a - item ?b - item) :effect (and
    (assign (v ?a) (v ?b)) (assign (v ?b) (v ?a))))
  (:action chain :parameters (?o - item) :effect (and (assign (v ?o) (w ?o)) (assign (w ?o) (v ?o))))
  (:action numbers :parameters (?o - item) :effect (and
    (increase (v ?o) 2) (when (truth (g ?o)) (decrease (v ?o) (w ?o)))
    (scale-up (w ?o) 3) (increase (n ?o) 1)))
  (:action both :parameters (?a - item ?b - item) :effect (and (not (on ?a ?b)) (on ?b ?a)))
  (:action clear :parameters (?a - item) :effect (forall (?b - item) (not (on ?a ?b))))
  (:action hue :parameters (?o - item) :effect (when (truth (g ?o)) (assign (h ?o) 2)))
  (:action up :parameters (?o - item) :effect (assign (h ?o) (+ (h ?o) 1)))
  (:action put :parameters (?o - item ?p - pose ?h - hue) :effect
    (and (assign (at ?o) ?p) (assign (h ?o) ?h))))
""")

TRUTH = {"truth": lambda t: t.clamp(0, 1)}
NAMES = ["a", "b", "c"]


def state(**changes) -> State:
    values = {
        "v": [1.0, 2.0, 3.0],
        "w": [5.0, 6.0, 7.0],
        "at": torch.zeros(3, 2),
        "n": [1, 2, 3],
        "h": [0, 1, 2],
        "b": [True, False, True],
        "on": torch.eye(3) > 0,
        "g": [0.25, 0.5, 1.0],
        "x": 0.5,
    }
    return State(WRITERS, {"item": ["a"], "small": ["b", "c"]}, {**values, **changes})


MODEL = {tnorm: Model(WRITERS, TRUTH, tnorm=tnorm) for tnorm in ("godel", "product", "lukasiewicz")}
model = MODEL["godel"]
few = settings(max_examples=40, deadline=None)
truths = st.floats(0, 1, width=32)


@few
@given(truths, truths, st.sampled_from(sorted(MODEL)))
def test_several_writers_mix_by_their_gates(c1, c2, tnorm):
    after = MODEL[tnorm].step(state(g=[c1, 0, 0], x=c2), ("two", "a"))
    either = MODEL[tnorm].logic.disj(torch.tensor(c1), torch.tensor(c2))
    total = c1 + c2
    mean = (c1 * 5 + c2 * 10) / total if total else 0.0
    wanted = (1 - either) * 1.0 + either * mean
    assert torch.allclose(
        after["v"], torch.stack([wanted.float(), torch.tensor(2.0), torch.tensor(3.0)]), atol=1e-4
    )


def test_one_entry_written_from_many_objects_takes_their_mean():
    after = model.step(state(g=[0.25, 0.0, 0.75], w=[4.0, 9.0, 8.0], x=2.0), ("all",))
    assert torch.allclose(after["x"], torch.tensor(0.25 * 2.0 + 0.75 * (0.25 * 4 + 0.75 * 8)))


def test_crisp_writers_that_disagree_take_the_mean():
    after = model.step(state(g=[1.0, 0.2, 0.9], w=[4.0, 100.0, 8.0]), ("all",), crisp=True)
    assert after["x"] == 6.0


ROOMS = parse_domain("""
(define (domain rooms) (:types room) (:predicates (at ?r - room) (in ?r - room))
  (:action move :parameters (?from ?to - room) :effect
    (and (at::assign ?from (??left (in ?from))) (at::assign ?to (??entered (in ?to))))))
""")


@pytest.mark.parametrize("crisp", [True, False])
@pytest.mark.parametrize("at", [True, False])
@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("tnorm", sorted(MODEL))
def test_of_truth_values_that_are_assigned_true_wins(crisp, at, swapped, tnorm):
    blanks = ["action::move::left", "action::move::entered"]
    first, second = reversed(blanks) if swapped else blanks
    rooms = Model(ROOMS, {first: torch.zeros_like, second: torch.ones_like}, tnorm=tnorm)
    before = State(ROOMS, {"room": ["a", "b"]}, {"at": [at, at], "in": [at, at]})
    after = rooms.step(before, ("move", "a", "a"), crisp=crisp)["at"]
    assert [float(truth) for truth in after] == [1.0, float(at)]


def test_no_writer_leaves_the_value():
    assert model.step(state(g=[0, 0, 0]), ("all",))["x"] == 0.5
    empty = State(
        WRITERS,
        {},
        {**{k: [] for k in ("v", "w", "n", "h", "b", "g")}, "at": [], "on": torch.zeros(0, 0), "x": 0.5},
    )
    for crisp in (True, False):
        assert model.step(empty, ("all",), crisp=crisp)["x"] == 0.5


@few
@given(truths, truths, truths, st.booleans(), st.sampled_from(sorted(MODEL)))
def test_literal_effects_add_after_they_delete(a1, d, a2, old, tnorm):
    given_ = state(g=[a1, 0, 0], w=[d, 0, 0], v=[a2, 0, 0], b=[old, False, True])
    a = MODEL[tnorm].logic.disj(torch.tensor(a1), torch.tensor(a2))
    found = MODEL[tnorm].step(given_, ("literals", "a"))["b"]
    assert torch.allclose(found[0], a + (1 - a) * (1 - d) * float(old), atol=1e-5)
    assert found[1:].tolist() == [0.0, 1.0]


@few
@given(truths, truths, truths)
def test_a_boolean_assignment_stands_between_deletes_and_adds(c, w, a):
    given_ = state(g=[c, 0, 0], w=[w, 0, 0], v=[a, 0, 0])
    found = model.step(given_, ("between", "a"))["b"][0]
    assert torch.allclose(found, torch.tensor(a + (1 - a) * c * w), atol=1e-5)


def test_right_hand_sides_read_the_old_state():
    for crisp in (True, False):
        assert model.step(state(), ("swap", "a", "c"), crisp=crisp)["v"].tolist() == [3, 2, 1]
        after = model.step(state(), ("chain", "b"), crisp=crisp)
        assert (after["v"][1], after["w"][1]) == (6, 2)


def test_two_parameters_may_be_one_object():
    assert model.step(state(), ("swap", "b", "b"))["v"].tolist() == [1, 2, 3]
    after = model.step(state(on=torch.zeros(3, 3)), ("both", "a", "a"), crisp=True)
    assert after["on"][0, 0]


def test_numbers_change_by_what_is_added_and_scaled():
    after = model.step(state(g=[0.5, 0, 0]), ("numbers", "a"))
    assert after["v"].tolist() == [1 + 2 - 2.5, 2, 3]
    assert after["w"].tolist() == [15, 6, 7]
    assert after["n"].tolist() == [2, 2, 3]
    assert after["n"].dtype == torch.int64


def test_ints_with_choices_become_probabilities_when_soft_and_stay_ints_when_crisp():
    soft = model.step(state(), ("hue", "a"))["h"]
    assert torch.allclose(soft[0], torch.tensor([0.75, 0.0, 0.25]))
    assert soft[1:].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert model.step(state(g=[0.6, 0, 0]), ("hue", "a"), crisp=True)["h"].tolist() == [2, 1, 2]
    assert model.step(state(), ("up", "a"), crisp=True)["h"].tolist() == [1, 1, 2]
    assert model.step(model.step(state(), ("hue", "a")), ("up", "a"))["h"][0].tolist() == [0, 0.5, 0.5]


def test_an_int_stays_within_its_choices():
    for crisp in (True, False):
        after = model.step(state(), ("up", "c"), crisp=crisp).crisp()
        assert after["h"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("crisp", [True, False])
def test_what_no_effect_mentions_keeps_its_value_bit_for_bit(crisp):
    before = state(v=[0.1, 1 / 3, 1e-30], w=[1e30, -0.0, 0.7])
    for step in (
        ("two", "a"),
        ("literals", "b"),
        ("clear", "c"),
        ("put", "b", (1.5, 2.5), 1),
        ("both", "a", "b"),
    ):
        after = model.step(before, step, crisp=crisp)
        written = {u.target.predicate for u in WRITERS.actions[step[0]].effects}
        for name in before.values:
            if name not in written:
                assert after[name] is before[name] or torch.equal(after[name], before[name])
                assert after[name].dtype == before[name].dtype
        for name in written & {"v", "at"}:
            others = [i for i, n in enumerate(NAMES) if n != step[1]]
            assert torch.equal(after[name][others], before[name][others])
    closed = model.step(state(v=[0.1, 1 / 3, 1e-30], g=[0, 0, 0], x=0.0), ("two", "a"), crisp=crisp)
    assert torch.equal(closed["v"], state(v=[0.1, 1 / 3, 1e-30])["v"])


def test_a_gate_of_one_writes_exactly():
    after = model.step(state(g=[1, 0, 0], x=0.0, w=[1 / 3, 0, 0]), ("two", "a"))
    assert after["v"][0] == torch.tensor(1 / 3)


def test_subtypes_are_written_where_they_stand_on_the_axis():
    for crisp in (True, False):
        after = model.step(state(g=[1, 0, 1]), ("some-small",), crisp=crisp)
        assert after["v"].tolist() == [1, 2, 7]


def test_padding_is_never_written_in_earnest():
    def some(objects, n):
        zeros = torch.zeros(n)
        return State(
            WRITERS,
            objects,
            {
                "v": torch.arange(n) + 1.0,
                "w": torch.arange(n) + 10.0,
                "at": torch.zeros(n, 2),
                "n": zeros,
                "h": zeros,
                "b": zeros,
                "on": torch.zeros(n, n),
                "g": torch.ones(n),
                "x": 0.0,
            },
        )

    states = [
        some({"small": ["s"], "item": ["i", "j"]}, 3),
        some({"item": ["i"], "small": ["s", "t", "u"]}, 4),
        some({"item": ["i"]}, 1),
    ]
    for crisp in (True, False):
        for step in (("some-small",), ("all",)):
            together = model.step(StateBatch.of(states), step, crisp=crisp)
            for alone, found in zip(states, together, strict=True):
                assert model.step(alone, step, crisp=crisp) == found


def test_value_arguments_are_written_as_given():
    for crisp in (True, False):
        after = model.step(state(), ("put", "b", (1.5, 2.5), 2), crisp=crisp).crisp()
        assert after["at"].tolist() == [[0, 0], [1.5, 2.5], [0, 0]]
        assert after["h"].tolist() == [0, 2, 2]


def test_a_step_leaves_out_what_only_the_encoder_reads():
    grid = Model(GRID, {"facing": facing}, seed=0)
    after = grid.step(grid_state(), ("forward", "agent"))
    assert "item-image" not in after
    assert "item-feature" in after
    assert after["robot-pose"].tolist() == [[4, 3]]
    again = grid.step(after, ("forward", "agent"))
    assert again["robot-pose"].tolist() == [[5, 3]]
    assert torch.equal(after["item-feature"], again["item-feature"])


def test_different_actions_in_one_batch_are_each_applied_to_their_own_states():
    grid = Model(GRID, {"facing": facing}, seed=0)
    states = [grid_state(), grid_state(keys=()), grid_state(night=True), grid_state(keys=("x", "y"))]
    steps = [("forward", "agent"), ("unlock", "home"), ("turn", "agent"), ("drop", "y", (7, 8))]
    for crisp in (True, False):
        together = grid.step(StateBatch.of(states), steps, crisp=crisp)
        for before, step, after in zip(states, steps, together, strict=True):
            assert_close(grid.step(before, step, crisp=crisp), after)
    could = grid.applicable(StateBatch.of(states), steps, crisp=True)
    assert could.tolist() == [1, 1, 1, 1]
    assert grid.applicable(StateBatch.of(states), ("forward", "agent")).tolist() == [1, 1, 0, 1]


@few
@given(st.lists(truths, min_size=3, max_size=3), truths, st.sampled_from(sorted(MODEL)))
def test_what_is_assigned_and_how_far_give_the_new_value(gates, either, tnorm):
    engine, logic = MODEL[tnorm].engine, MODEL[tnorm].logic
    batch = StateBatch.of([state(g=gates, x=either), state(g=gates[::-1])])
    for action, name in (("two", "v"), ("all", "x"), ("some-small", "v"), ("hue", "h")):
        arguments = {"?o": torch.tensor([[0]])} if action in ("two", "hue") else {}
        run = engine.open(batch).ground(arguments, 1)
        program = engine.program(action, logic)
        found = program.assigned(run)[name]
        gate, value = found.gate, found.value
        before = batch[name]
        if name == "h":
            before = torch.nn.functional.one_hot(before, 3).float()
            gate = gate.unsqueeze(-1)
        assert torch.allclose(torch.lerp(before, value, gate), program.written(run)[name], atol=1e-4)


def test_only_conditional_assignments_are_choices():
    run = model.engine.open(StateBatch.of([state()])).ground({"?o": torch.tensor([[0]])}, 1)
    for action in ("literals", "between", "chain", "numbers", "up"):
        assert model.engine.program(action, model.logic).assigned(run) == {}


CHANGES = parse_domain("""
(define (domain changes)
  (:types item - object pose - vector[float32, 2])
  (:predicates (at [return_type=pose] ?o - item) (b ?o - item)
    (n [return_type=int64]) (x [return_type=float32]))
  (:action shift :parameters () :effect (forall (?o - item) (increase (at ?o) 1)))
  (:action nudge :parameters (?o - item) :effect (increase (at ?o) 1))
  (:action twice :parameters (?o - item) :effect (and
    (increase (at ?o) 1) (when (b ?o) (decrease (at ?o) [3, 4]))))
  (:action stretch :parameters (?o - item) :effect (when (b ?o) (scale-up (at ?o) 3)))
  (:action double :parameters () :effect
    (forall (?o - item) (when (b ?o) (and (scale-up (n) 2) (scale-down (x) 2))))))
""")


@pytest.mark.parametrize("crisp", [True, False])
@pytest.mark.parametrize("items", [1, 2, 3])
def test_one_number_changes_every_element_of_a_vector(items, crisp):
    names = [f"o{i}" for i in range(items)]
    at = [[float(i), 10.0 * i] for i in range(items)]
    values = {"at": at, "n": 1, "x": 1.0, "b": [True] * items}
    state, model = State(CHANGES, {"item": names}, values), Model(CHANGES)
    assert model.step(state, ("shift",), crisp=crisp)["at"].tolist() == [[x + 1, y + 1] for x, y in at]
    (x, y), rest = at[-1], at[:-1]
    assert model.step(state, ("nudge", names[-1]), crisp=crisp)["at"].tolist() == [*rest, [x + 1, y + 1]]
    assert model.step(state, ("twice", names[-1]), crisp=crisp)["at"].tolist() == [*rest, [x - 2, y - 3]]
    assert model.step(state, ("stretch", names[-1]), crisp=crisp)["at"].tolist() == [*rest, [3 * x, 3 * y]]


@pytest.mark.parametrize("crisp", [True, False])
def test_several_scalings_of_one_variable_multiply(crisp):
    values = {"at": [[0.0, 0.0]] * 4, "n": 3, "x": 1.0, "b": [True, False, True, True]}
    state = State(CHANGES, {"item": ["a", "b", "c", "d"]}, values)
    after = Model(CHANGES).step(state, ("double",), crisp=crisp)
    assert (after["n"].item(), after["x"].item()) == (24, 0.125)
