"""What latent search promises: cheapest plans, honest answers where there is none, limits, its company."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.search import Memory
from pdsketch.tensor.states.codes import Codes, note_codes

TOLL = """
(define (domain toll)
  (:types car - object)
  (:functions (total-cost) - number)
  (:predicates (here ?c - car) (half ?c - car) (there ?c - car))
  (:action motorway :parameters (?c - car) :precondition (here ?c)
    :effect (and (not (here ?c)) (there ?c) (increase (total-cost) 10)))
  (:action lane :parameters (?c - car) :precondition (here ?c)
    :effect (and (not (here ?c)) (half ?c) (increase (total-cost) 1)))
  (:action path :parameters (?c - car) :precondition (half ?c)
    :effect (and (not (half ?c)) (there ?c) (increase (total-cost) 2))))
"""


def drive() -> tuple[pds.Model, pds.State]:
    domain = pds.parse_domain(TOLL)
    values = {"here": [True], "half": [False], "there": [False]}
    return pds.Model(domain), pds.State(domain, {"car": ["c"]}, values)


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("search", ["astar", "wastar"])
def test_however_many_nodes_are_expanded_together_the_cheapest_plan_is_found(k, search):
    """The dear way is one step and is seen first."""
    model, state = drive()
    found = pds.plan(model, state, "(there c)", search=search, heuristic="blind", k=k)
    assert (found.plan, found.cost) == ([("lane", "c"), ("path", "c")], 3)


def test_without_costs_the_shortest_plan_is_the_cheapest():
    model, state = drive()
    found = pds.plan(model, state, "(there c)", heuristic="blind", costs=False)
    assert (found.plan, found.cost) == ([("motorway", "c")], 1)


SWITCHES = """
(define (domain switches)
  (:types lamp - object level - int64[choices=4])
  (:predicates (level [return_type=level] ?l - lamp) (dark))
  (:action up :parameters (?l - lamp) :effect (increase (level ?l) 1))
  (:action all-up :parameters () :effect (forall (?l - lamp) (increase (level ?l) 1)))
  (:action down :parameters (?l - lamp) :effect (assign (level ?l) 0)))
"""


def lamps(*levels: int) -> pds.State:
    domain = pds.parse_domain(SWITCHES)
    names = [f"l{i}" for i in range(len(levels))]
    return pds.State(domain, {"lamp": names}, {"level": levels, "dark": False})


def switches(state: pds.State) -> pds.Model:
    return pds.Model(state.domain)


def test_a_search_that_was_cut_at_a_depth_proves_nothing():
    state = lamps(0)
    model = switches(state)
    for depth, status in ((1, "gave-up"), (2, "gave-up"), (3, "solved"), (None, "solved")):
        found = pds.plan(model, state, "(= (level l0) 3)", heuristic="blind", max_depth=depth)
        assert found.status == status
    (reason, *_) = pds.plan(model, state, "(= (level l0) 3)", heuristic="blind", max_depth=1).reasons
    assert "max_depth=1" in reason
    # All four levels of the lamp were seen, and it does not get dark.
    assert pds.plan(model, state, "(dark)", heuristic="blind").status == "unsolvable"


def test_the_limit_of_expansions_holds_and_is_told():
    state = lamps(0, 0, 0)
    found = pds.plan(switches(state), state, "(dark)", heuristic="blind", k=4, max_expansions=6)
    assert (found.status, found.expanded) == ("gave-up", 6)
    assert "max_expansions" in found.reasons[0]


def test_the_memory_limit_holds_and_is_told():
    state = lamps(0, 0, 0, 0)
    found = pds.plan(switches(state), state, "(dark)", heuristic="blind", memory_limit=0.01)
    assert found.status == "out-of-memory"
    assert pds.plan(switches(state), state, "(dark)", heuristic="blind").status == "unsolvable"


def test_a_step_that_was_refused_is_not_planned_and_its_failure_proves_nothing():
    state = lamps(0)
    model, goal = switches(state), "(= (level l0) 1)"
    assert pds.plan(model, state, goal, heuristic="blind").plan == [("up", "l0")]
    memory = Memory(model)
    memory.failed(("up", "l0"), state, refused=True)
    found = pds.plan(model, state, goal, heuristic="blind", memories=[memory])
    assert found.plan == [("all-up",)]
    memory.failed(("all-up",), state, refused=True)
    memory.failed(("down", "l0"), state, refused=True)
    # What a controller refuses now it may accept later: that there is no other way proves nothing.
    found = pds.plan(model, state, goal, heuristic="blind", memories=[memory])
    assert found.status == "gave-up"


AIM = """
(define (domain archery)
  (:types bow - object aim - vector[float32, 1])
  (:predicates (hit ?b - bow))
  (:derived (close ?a - aim) (??f ?a))
  (:action shoot :parameters (?b - bow ?a - aim) :precondition (close ?a) :effect (hit ?b)))
"""


def archery() -> tuple[pds.Model, pds.State]:
    domain = pds.parse_domain(AIM)
    model = pds.Model(domain, {"derived::close::f": lambda a: ((a - 3.0).abs().amax(-1) < 0.5).float()})
    return model, pds.State(domain, {"bow": ["b"]}, {"hit": [False]})


def test_values_that_were_sampled_prove_nothing():
    model, state = archery()
    for heuristic in ("blind", "opt"):
        found = pds.plan(
            model, state, "(hit b)", heuristic=heuristic, generators={"aim": lambda m, s, r: [[0.0], [9.0]]}
        )
        assert found.status == "gave-up"
        assert "proves nothing" in found.reasons[0]


def test_a_generator_is_asked_again_until_it_helps():
    model, state = archery()
    rounds = []

    def aim(_, __, number):
        rounds.append(number)
        return [[float(number)]]

    found = pds.plan(model, state, "(hit b)", heuristic="blind", generators={"aim": aim})
    assert found.plan == [("shoot", "b", (3.0,))]
    assert rounds == [0, 1, 2, 3]


WALK = """
(define (domain walk)
  (:types robot - object place - vector[float32, 1, tolerance=0.3])
  (:predicates (at [return_type=place] ?r - robot))
  (:action right :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r)))))
"""


def robot(step: float) -> tuple[pds.Model, pds.State]:
    """A robot that was seen at whole places; its model predicts steps of another length."""
    domain = pds.parse_domain(WALK)
    model = pds.Model(domain, {"action::right::f": lambda x: x + step})
    note_codes(model.notes, {"at": Codes.of(torch.arange(9.0).unsqueeze(-1), 0.3)})
    return model, pds.State(domain, {"robot": ["r"]}, {"at": [[0.0]]})


def test_snapped_plans_are_replayed_snapped():
    """Each step is predicted a little short: rounded to places that were seen, they add up all the same."""
    model, state = robot(0.8)
    found = pds.plan(model, state, "(= (at r) [4])", snap=True, heuristic="blind", max_expansions=40)
    assert (found.status, found.plan) == ("solved", [("right", "r")] * 4)
    unsnapped = pds.plan(model, state, "(= (at r) [4])", heuristic="blind", resolution=0.1, max_expansions=40)
    assert (unsnapped.status, unsnapped.plan) == ("solved", [("right", "r")] * 5)


def test_states_that_agree_in_their_codes_are_one():
    model, state = robot(0.2)
    found = pds.plan(model, state, "(= (at r) [4])", heuristic="blind", max_expansions=40)
    assert (found.status, found.expanded) == ("gave-up", 1)
    finer = pds.plan(model, state, "(= (at r) [4])", heuristic="blind", resolution=0.1, max_expansions=40)
    assert finer.plan == [("right", "r")] * 19
    coarser = pds.plan(*robot(1.0), "(= (at r) [4])", heuristic="blind", resolution=10.0, max_expansions=40)
    assert (coarser.status, coarser.expanded) == ("gave-up", 1)


def test_objects_of_other_problems_do_not_tell_states_apart():
    """One lamp beside three: raised with all others and put out again, it is as it was."""
    alone, many = lamps(0), lamps(0, 0, 0)
    model = switches(alone)
    together = pds.plan_many(model, [alone, many], "(dark)", heuristic="blind", time_limit=None)
    by_itself = [
        pds.plan(model, state, "(dark)", heuristic="blind", time_limit=None) for state in (alone, many)
    ]
    assert [r.status for r in together] == ["unsolvable", "unsolvable"]
    assert [r.expanded for r in together] == [r.expanded for r in by_itself] == [4, 4**3]


def test_problems_planned_together_do_not_share_their_states():
    """What one problem has met is new to another."""
    first, second = lamps(0), lamps(1)
    found = pds.plan_many(switches(first), [first, second], "(= (level l0) 3)", heuristic="blind")
    assert [r.cost for r in found] == [3, 2]


def test_problems_planned_together_name_their_own_objects():
    first = lamps(0)
    other = pds.State(first.domain, {"lamp": ["x", "y"]}, {"level": [3, 0], "dark": False})
    goals = ["(= (level l0) 1)", "(and (= (level x) 0) (= (level y) 0))"]
    found = pds.plan_many(switches(first), [first, other], goals, heuristic="blind")
    assert [r.plan for r in found] == [[("up", "l0")], [("down", "x")]]


def test_weighted_search_follows_its_weight():
    """With no weight on h it is Dijkstra's search; with much it hardly looks aside."""
    state = lamps(0, 0, 0)
    goal = "(and (= (level l0) 3) (= (level l1) 2))"
    options = {"search": "wastar", "heuristic": "add"}
    model = switches(state)
    wide, narrow = (pds.plan(model, state, goal, weight=w, **options) for w in (0.0, 50.0))
    assert (wide.status, wide.cost) == ("solved", 3)
    assert narrow.solved
    assert narrow.expanded < wide.expanded
