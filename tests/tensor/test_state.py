"""States take arrays in, and say clearly what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.tensor.worlds import GRID, grid_state, values

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.source import Source
from pdsketch.lang.steps import read_plan, write_plan
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.states.state import State, StateBatch, concat

OBJECTS = {"robot": ["agent"], "key": ["key#1"], "ball": ["ball#2"]}
ITEM = ObjectType(("item",))


def refuses(code: str, *words: str, objects=OBJECTS, drop=(), **changes):
    given = {k: v for k, v in {**values(), **changes}.items() if k not in drop}
    with pytest.raises(Error) as caught:
        State(GRID, objects, {k.replace("_", "-"): v for k, v in given.items()})
    found = caught.value.diagnostics
    assert code in [d.code for d in found], found
    text = "\n".join(f"{d.message} {d.help}" for d in found)
    for word in words:
        assert word in text, text


def test_the_axis_of_a_type_has_constants_first_and_subtypes_included():
    state = grid_state(keys=("K1", "k2"), balls=("b1",))
    assert state.members("item") == ("home", "k1", "k2", "b1")
    assert state.members("ball") == ("b1",)
    assert state.objects == {"robot": ("agent",), "key": ("k1", "k2"), "ball": ("b1",)}
    assert list(state.universe) == ["home", "agent", "k1", "k2", "b1"]


def test_the_axis_of_a_supertype_follows_the_order_in_which_objects_lists_them():
    objects = {"ball": ["b"], "robot": ["agent"], "item": ["i"], "key": ["k"]}
    state = State(GRID, objects, values(4))
    assert state.members("item") == ("home", "b", "i", "k")


def test_values_get_the_dtype_of_their_predicate():
    state = grid_state(**{"item-pose": np.arange(6).reshape(3, 2), "locked": [1, 0.0, True], "night": 0})
    assert state["item-pose"].dtype == torch.float32
    assert state["locked"].dtype == torch.bool
    assert state["robot-direction"].dtype == torch.int64
    assert state["robot-direction"].shape == (1,)
    assert state["night"].shape == ()
    assert state["LOCKED"].tolist() == [True, False, True]


def test_wrong_shapes_name_the_predicate_and_both_shapes():
    refuses("shape-mismatch", "`item-pose`", "(2, 2)", "(3, 2)", "3 of type item", item_pose=[[1, 1], [5, 2]])
    refuses("shape-mismatch", "(3, 3)", item_pose=torch.zeros(3, 3))
    refuses("shape-mismatch", "`night`", night=[True])


def test_bad_numbers_name_the_object():
    refuses("not-finite", "(item-pose key#1)", "NaN", item_pose=[[0, 0], [float("nan"), 0], [1, 1]])
    refuses("not-finite", "(item-pose ball#2)", "infinite", item_pose=[[0, 0], [0, 0], [1, float("inf")]])
    refuses("not-finite", "too large", item_pose=np.array([[0, 0], [0, 0], [1, 1e300]]))
    refuses("value-out-of-range", "(robot-direction agent)", "0 to 3", robot_direction=[4])
    refuses("value-out-of-range", "(robot-direction agent)", robot_direction=[-1])
    refuses("value-out-of-range", "an int", robot_direction=[1.5])
    refuses("value-out-of-range", "(locked key#1)", "true or false", locked=[True, 0.5, False])


def test_what_is_no_array_is_refused():
    refuses("bad-value", "differ in length", item_pose=[[1, 2], [3], [4, 5]])
    refuses("bad-value", item_pose="here")
    refuses("bad-value", item_pose=None)
    refuses("bad-value", "complex", item_pose=torch.zeros(3, 2, dtype=torch.complex64))


def test_unknown_missing_and_derived_predicates_are_named():
    refuses("unknown-predicate", "did you mean `item-pose`", item_poses=0)
    refuses("missing-predicate", "`item-pose`", drop=["item-pose"])
    refuses("missing-predicate", "`locked`", drop=["locked"])
    refuses("missing-predicate", "`item-image`", drop=["item-image"])
    refuses("derived-value", "`is-red` is derived", is_red=[True] * 3)
    refuses("derived-value", "`facing` is an external", facing=0)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(Error) as caught:
        State(GRID, OBJECTS, {"locked": [1, 0]})
    assert len(caught.value.diagnostics) == 7


def test_objects_are_checked():
    refuses("unknown-type", "did you mean `ball`", objects={"bal": ["x"]})
    refuses("duplicate-object", "`x`", objects={"key": ["x"], "ball": ["x"]})
    refuses("duplicate-object", "`home`", objects={"key": ["home"]})
    refuses("bad-objects", objects={"key": "x"})
    refuses("bad-objects", objects=["x"])
    refuses("bad-objects", objects={"key": {"x", "y"}})
    refuses("bad-objects", objects={"key": 3})
    refuses("bad-objects", objects={"key": [3]})
    with pytest.raises(Error, match="takes a Domain"):
        State("grid", OBJECTS, values())


def test_a_constant_may_be_listed_again():
    state = State(GRID, {"item": ["home", "x"], "robot": ["agent"]}, values(2))
    assert state.members("item") == ("home", "x")


def test_an_encoded_value_stands_for_what_it_is_computed_from():
    given = values()
    del given["item-image"]
    state = State(GRID, OBJECTS, {**given, "item-feature": torch.rand(3, 4)})
    assert "item-feature" in state
    with pytest.raises(Error, match="absent"):
        state["item-image"]


def test_reading_what_a_state_does_not_hold_says_why():
    state = grid_state()
    for name, words in {
        "item-feature": "not encoded yet",
        "is-red": "is derived",
        "itempose": "did you mean",
        "facing": "external",
    }.items():
        with pytest.raises(Error, match=words):
            state[name]


def test_states_are_equal_by_their_values_and_objects():
    assert grid_state() == grid_state()
    assert grid_state() != grid_state(night=True)
    assert grid_state() != grid_state(keys=("other",))
    assert grid_state() != 3
    assert "agent" in repr(grid_state())


def test_types_without_objects_have_empty_axes():
    state = State(GRID, {}, {**values(1), "robot-pose": [], "robot-direction": []})
    assert state["robot-pose"].shape == (0, 2)
    assert state["robot-direction"].shape == (0,)


def test_a_batch_gives_back_its_states():
    states = [grid_state(), grid_state(keys=()), grid_state(keys=("a", "b", "c")), grid_state()]
    batch = StateBatch.of(states)
    assert len(batch) == 4
    assert batch["item-pose"].shape == (4, 5, 2)
    assert list(batch) == states
    assert batch[-1] == states[3]
    assert list(batch[1:3]) == states[1:3]
    mask = batch.mask(ITEM)
    assert mask.sum(1).tolist() == [3, 2, 5, 3]
    with pytest.raises(IndexError):
        batch[4]


def test_batches_of_one_set_of_objects_need_no_mask():
    batch = StateBatch.of([grid_state(), grid_state(night=True)])
    assert batch.mask(ITEM) is None
    assert batch.rows is None
    assert batch["night"].tolist() == [False, True]


def test_rows_can_be_chosen_and_joined():
    batch = StateBatch.of([grid_state(), grid_state(keys=())])
    chosen = batch.select(torch.tensor([1, 0, 1]))
    assert chosen[0] == grid_state(keys=())
    joined = concat([chosen, StateBatch.of([grid_state(balls=("x", "y", "z"))])])
    assert joined[3] == grid_state(balls=("x", "y", "z"))
    assert joined[1] == grid_state()


def test_a_batch_needs_states_of_one_domain():
    with pytest.raises(Error, match="none was given"):
        StateBatch.of([])
    with pytest.raises(Error, match="a str was given"):
        StateBatch.of(["x"])
    other = parse_domain("(define (domain other) (:predicates (p)))")
    with pytest.raises(Error, match="cannot be in one batch"):
        StateBatch.of([grid_state(), State(other, {}, {"p": True})])


OPEN = parse_domain("""
(define (domain open) (:types item - object)
  (:predicates (image [return_type=vector[float32]] ?o - item))
  (:derived (red ?o - item) (??f (image ?o))))
""")


def test_open_dimensions_take_any_vector_but_one():
    state = State(OPEN, {"item": ["a", "b"]}, {"image": torch.zeros(2, 7)})
    assert state["image"].shape == (2, 7)
    with pytest.raises(Error, match="was wanted"):
        State(OPEN, {"item": ["a", "b"]}, {"image": torch.zeros(2)})
    other = State(OPEN, {"item": ["a"]}, {"image": torch.zeros(1, 5)})
    with pytest.raises(Error, match="one state and"):
        StateBatch.of([state, other])


def test_problems_have_states():
    domain = parse_domain("""
    (define (domain d) (:types item - object pose - vector[float32, 2])
      (:constants c - item)
      (:predicates (pose-of [return_type=pose] ?o - item) (red ?o - item))
      (:action a :parameters (?o - item) :effect (red ?o)))
    """)
    text = """(define (problem p) (:domain d) (:objects x - item)
      (:init (red x) (= (pose-of x) [1, 2]) %s) (:goal (red c)))"""
    state = parse_problem(text % "(= (pose-of c) [0, 0])", domain).state
    assert state["red"].tolist() == [False, True]
    assert state["pose-of"].tolist() == [[0, 0], [1, 2]]
    with pytest.raises(Error, match=r"`\(pose-of c\)` has no value"):
        parse_problem(text % "", domain).state  # noqa: B018


def test_either_typed_objects_are_on_the_axes_of_common_supertypes():
    state = State(GRID, {"robot": ["agent"], "(either key ball)": ["x"]}, values(2))
    assert state.members("item") == ("home", "x")
    assert state.members("key") == ()


@pytest.mark.parametrize("make", [torch.zeros, np.zeros])
def test_a_state_keeps_its_values_when_the_arrays_it_was_made_from_change(make):
    domain = parse_domain("(define (domain d) (:predicates (at [return_type=vector[float32, 2]])))")
    array = make(2, dtype=torch.float32 if make is torch.zeros else np.float32)
    state = State(domain, {}, {"at": array})
    array[0] = 7
    assert state["at"].tolist() == [0, 0]


def test_a_state_made_from_a_tensor_passes_gradients_on():
    domain = parse_domain("(define (domain d) (:predicates (at [return_type=vector[float32, 2]])))")
    at = torch.zeros(2, requires_grad=True)
    State(domain, {}, {"at": at})["at"].sum().backward()
    assert at.grad is not None


def test_sparse_tensors_are_taken_and_too_large_ints_refused():
    domain = parse_domain("(define (domain d) (:predicates (n [return_type=vector[int64, 2]])))")
    assert State(domain, {}, {"n": torch.tensor([0, 3]).to_sparse()})["n"].tolist() == [0, 3]
    with pytest.raises(Error, match="beyond the ints of 64 bits"):
        State(domain, {}, {"n": [1e30, 0]})


@pytest.mark.parametrize(
    "name", ["a b", "", "(a", "a)", "[1]", "a,b", "a;b", 'a"b', "?x", "-", "a$b", "a\0b"]
)
def test_a_name_that_could_not_be_read_back_is_refused(name):
    refuses("bad-objects", "cannot name an object", objects={"robot": ["agent"], "key": [name]})


@pytest.mark.parametrize("name", ["a-b", "item#1", "x::y", "é", "1", "1.5", "true"])
def test_every_other_name_is_read_back_from_a_plan(name):
    domain = parse_domain("""
    (define (domain d) (:types item) (:predicates (done ?x - item))
      (:action do :parameters (?x - item) :effect (done ?x)))
    """)
    state = State(domain, {"item": [name]}, {"done": [False]})
    result = pds.plan(pds.Model(domain), state, "(forall (?x - item) (done ?x))")
    assert (
        read_plan(Source("plan", write_plan(result.plan, result.cost)), state.universe)
        == result.plan
        == [("do", name)]
    )


def test_objects_that_a_problem_writes_in_any_order_have_the_axes_of_a_state():
    domain = pds.parse_domain("""(define (domain d) (:types a b - thing thing - object)
        (:predicates (p ?x - thing)) (:action go :parameters (?x - thing) :effect (p ?x)))""")
    text = "(define (problem q) (:domain d) (:objects x1 - a x2 - b x3 - a) (:init (p x2)) (:goal (and)))"
    state = pds.parse_problem(text, domain).state
    again = pds.State(domain, state.objects, state.values)
    model = pds.Model(domain)
    for one in (state, again):
        assert [model.holds(one, f"(p {name})").item() for name in ("x1", "x2", "x3")] == [0, 1, 0]
