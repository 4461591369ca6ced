"""Goal counting: literals that are false, for the objects that come nearest to the goal."""

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.search.heuristics import MODEL_HEURISTICS
from pdsketch.search.latent.goal_count import reasonable_orders
from pdsketch.search.latent.heuristics import Searched
from pdsketch.search.latent.margin import Margin

DOMAIN = pds.parse_domain("""
(define (domain lamps)
  (:types lamp shelf)
  (:predicates (lit ?l - lamp) (red ?l - lamp) (by ?a - lamp ?b - lamp) (full ?s - shelf))
  (:action light :parameters (?l - lamp) :effect (lit ?l))
  (:action paint :parameters (?l - lamp) :effect (and (red ?l) (not (lit ?l)))))
""")
MODEL = pds.Model(DOMAIN)


def state_of(lit, red, by=(), shelves=0):
    lamps = [f"l{i}" for i in range(len(lit))]
    beside = np.zeros((len(lit), len(lit)), dtype=bool)
    for a, b in by:
        beside[a, b] = True
    values = {"lit": np.array(lit, bool), "red": np.array(red, bool), "by": beside}
    values["full"] = np.zeros(shelves, bool)
    return pds.State(DOMAIN, {"lamp": lamps, "shelf": [f"s{i}" for i in range(shelves)]}, values)


def count(states, goals, name="goalcount"):
    batch = pds.StateBatch.of(states)
    universes = [batch.universe(i) for i in range(len(states))]
    terms = [universe.formula(goal) for universe, goal in zip(universes, goals, strict=True)]
    heuristic = MODEL_HEURISTICS[name](Searched(MODEL, terms, batch, universes, costs=False))
    assert not heuristic.infinity_is_proof
    assert (heuristic.explain(batch, 0), heuristic.rests_on(batch, 0)) == ((), ())
    return heuristic.values(batch, torch.arange(len(states)), np.zeros(len(states), bool)).tolist()


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("(and (lit l0) (red l0))", 2),
        ("(and (lit l1) (red l0))", 1),
        ("(or (and (lit l0) (red l0)) (red l2))", 1),
        ("(not (lit l1))", 1),
        ("(not (or (lit l1) (lit l2)))", 2),
        ("(implies (lit l1) (red l1))", 1),
        ("(not (implies (lit l1) (lit l2)))", 1),
        ("(forall (?l - lamp) (lit ?l))", 1),
        ("(forall (?l - lamp) (and (lit ?l) (red ?l)))", 4),
        ("(not (forall (?l - lamp) (lit ?l)))", 1),
        ("(not (exists (?l - lamp) (lit ?l)))", 2),
        ("(exists (?a - lamp ?b - lamp) (and (lit ?a) (red ?a) (by ?a ?b) (red ?b)))", 3),
        ("(exists (?s - shelf) (full ?s))", pytest.approx(1e12)),
        ("(forall (?s - shelf) (full ?s))", 1),
    ],
)
def test_what_is_false_counts(goal, wanted):
    assert count([state_of([0, 1, 1], [0, 0, 0], by=[(0, 1)])], [goal]) == [wanted]


def test_padding_does_not_count_and_each_problem_has_its_goal():
    states = [state_of([0], [0]), state_of([0, 1, 0], [0, 0, 0])]
    every = "(forall (?l - lamp) (lit ?l))"
    assert count(states, [every, every]) == [1, 2]
    assert count(states, [every, "(exists (?l - lamp) (and (lit ?l) (red ?l)))"]) == [1, 1]


@pytest.mark.parametrize("name", ["goalcount", "goalorder"])
def test_what_is_said_of_all_values_is_one_literal(name):
    domain = pds.parse_domain("""
        (define (domain dials) (:types dial - object n - int64[choices=3])
          (:predicates (n [return_type=n] ?d - dial) (up ?d - dial))
          (:action turn :parameters (?d - dial) :effect (n::assign ?d (+ (n ?d) 1)))
          (:action lift :parameters (?d - dial) :effect (up ?d)))
    """)
    state = pds.State(domain, {"dial": ["a", "b"]}, {"n": [0, 2], "up": [False, False]})
    goal = "(and (exists (?v - n) (and (= (n a) ?v) (= (n b) ?v))) (up a))"
    assert pds.plan(pds.Model(domain), state, goal, heuristic=name).cost == 3


def test_plans_are_found_with_it():
    state, goal = state_of([0, 0, 0], [0, 0, 0]), "(forall (?l - lamp) (and (lit ?l) (red ?l)))"
    counted, blind = (
        pds.plan(MODEL, state, goal, search="gbfs", heuristic=h) for h in ("goalcount", "blind")
    )
    assert counted.solved
    assert counted.expanded < blind.expanded


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("(and (red l0) (lit l0))", 2),  # as it was
        ("(and (red l1) (lit l1))", 2),  # painting l1 puts it out
        ("(and (red l0) (lit l1))", 1),  # painting l0 does not
        ("(and (not (red l1)) (lit l1))", 1),  # nothing makes a lamp less red
        ("(and (lit l1) (and (by l0 l1) (red l1)))", 2),
        ("(or (red l1) (lit l1))", 1),
        ("(exists (?l - lamp) (and (red ?l) (lit ?l)))", 2),
        ("(forall (?l - lamp) (and (red ?l) (lit ?l)))", 6),
    ],
)
def test_what_another_literal_will_undo_counts(goal, wanted):
    assert count([state_of([0, 1, 1], [0, 0, 0], by=[(0, 1)])], [goal], "goalorder") == [wanted]


ROOM = pds.parse_domain("""
(define (domain room)
  (:types thing cup - object place - vector[float32, 2])
  (:predicates (at [return_type=place] ?t - thing) (wet ?t - thing) (of [return_type=place] ?c - cup))
  (:derived (near ?a - thing ?b - thing) (??f (at ?a) (at ?b)))
  (:derived (in ?a - thing ?c - cup) (??f (at ?a) (of ?c)))
  (:action dip :parameters (?t - thing ?c - cup)
    :effect (and (at::assign ?t (of ?c)) (wet ?t)))
  (:action move :parameters (?t - thing ?p - place) :effect (at::assign ?t ?p)))
""")


def waits(*literals):
    model = pds.Model(ROOM, modules={"near": pds.nets.Offset(2), "in": pds.nets.Offset(2)})
    values = {"at": np.zeros((3, 2)), "wet": np.zeros(3, bool), "of": np.ones((1, 2))}
    state = pds.State(ROOM, {"thing": ["a", "b", "c"], "cup": ["u"]}, values)
    terms = [(state.batch.universe(0).formula(text), True) for text in literals]
    return {(literals[i], literals[j]) for i, j in reasonable_orders(model)(terms)}


def test_orders_follow_from_what_actions_write_and_relations_propose():
    wet, inside, near, next_ = "(wet a)", "(in a u)", "(near b a)", "(near c b)"
    # To dip a thing is to move it, and then what stood near it does no longer; and so on along the chain.
    assert waits(near, wet, inside, next_) == {
        (wet, inside),
        (wet, near),
        (wet, next_),
        (inside, near),
        (inside, next_),
        (near, next_),
    }
    assert waits("(wet a)", "(near b c)") == set()
    assert waits("(wet a)", "(wet b)") == set()


def test_problems_of_one_form_are_counted_together_whatever_their_predicates():
    states = [state_of([0, 1], [1, 1]), state_of([0, 1, 0], [0, 0, 0]), state_of([1], [0])]
    one, other = (
        "(exists (?l - lamp) (and (lit ?l) (red ?l)))",
        "(exists (?x - lamp) (and (red ?x) (lit ?x)))",
    )
    both = "(and (lit l0) (red l0))"
    assert count(states, [one, other, both]) == [1, 1, 1]
    assert count(states, [both, "(and (red l2) (lit l1))", one]) == [1, 1, 1]
    assert count(states, [other, one, "(and (not (lit l0)) (not (red l0)))"]) == [1, 1, 1]


def test_literals_count_until_they_hold_by_the_margin():
    model = pds.Model(ROOM, modules={"near": lambda a, b: a[..., 0], "in": lambda a, b: b[..., 1]})
    values = {"at": np.array([[0.7, 0], [0.95, 0], [0.2, 0]]), "wet": np.ones(3, bool), "of": np.ones((1, 2))}
    state = pds.State(ROOM, {"thing": ["a", "b", "c"], "cup": ["u"]}, values)
    universe = state.batch.universe(0)
    goal = universe.formula("(and (near a b) (near b a) (not (near c a)) (wet a))")
    for confidence, wanted in ((0.5, 1), (0.75, 1), (0.9, 2)):
        searched = Searched(model, [goal], state.batch, [universe], costs=False, margin=Margin(confidence))
        heuristic = MODEL_HEURISTICS["goalcount"](searched)
        assert heuristic.values(state.batch, torch.zeros(1, dtype=torch.int64), np.zeros(1, bool)) == [wanted]


def test_what_is_wanted_of_all_objects_has_an_order_for_each_of_them():
    """Being wet is for nothing where the thing must then leave the cup: that waits, thing by thing."""
    model = pds.Model(ROOM, modules={"near": pds.nets.Offset(2), "in": lambda a, b: (a == b).all(-1).float()})
    values = {"at": np.array([[0, 0], [0, 0], [1, 1]]), "wet": [False, True, True], "of": np.ones((1, 2))}
    state = pds.State(ROOM, {"thing": ["a", "b", "c"], "cup": ["u"]}, values)
    parts = "(forall (?t - thing) (wet ?t))", "(forall (?x - thing ?c - cup) (not (in ?x ?c)))"
    goal = state.batch.universe(0).formula(f"(and {' '.join(parts)})")
    searched = Searched(model, [goal], state.batch, [state.batch.universe(0)], costs=False)
    heuristic = MODEL_HEURISTICS["goalorder"](searched)
    assert heuristic.values(state.batch, torch.zeros(1, dtype=torch.int64), np.zeros(1, bool)) == [3]
