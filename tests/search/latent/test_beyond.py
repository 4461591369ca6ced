"""Search beyond the data: past the seen range, off constants, and past predictions that are not finite."""

import torch

import pdsketch as pds
from pdsketch.tensor.states.codes import Codes, note_codes

CORRIDOR = """
(define (domain corridor)
  (:types robot - object place - vector[float32, 1, tolerance=0.3])
  (:predicates (at [return_type=place] ?r - robot))
  (:action left  :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
  (:action right :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r)))))
"""

GRID = """
(define (domain grid)
  (:types robot key - object place - vector[float32, 2, tolerance=0.1])
  (:predicates (at [return_type=place] ?r - robot) (lies [return_type=place] ?k - key)
               (z [return_type=float32] ?r - robot))
  (:derived (on ?r - robot ?k - key) (??f (at ?r) (lies ?k)))
  (:action east :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
  (:action north :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
  (:action up :parameters (?r - robot) :effect (increase (z ?r) 1)))
"""

RUNAWAY = """
(define (domain runaway)
  (:types thing - object)
  (:predicates (look [return_type=float32] ?t - thing) (done ?t - thing))
  (:derived (bright ?t - thing) (??f (look ?t)))
  (:action rub :parameters (?t - thing) :effect (look::assign ?t (??g (look ?t))))
  (:action end :parameters (?t - thing) :precondition (bright ?t) :effect (done ?t)))
"""


def corridor():
    domain = pds.parse_domain(CORRIDOR)

    def robot_at(x):
        return pds.State(domain, objects={"robot": ["r"]}, values={"at": [[x]]})

    steps = [(x, action, x + move) for x in range(1, 6) for action, move in (("left", -1), ("right", 1))]
    episodes = [
        pds.Episode([robot_at(x), robot_at(y)], [(action, "r")], "(= (at r) [6])", [x == 6, y == 6])
        for x, action, y in steps
    ]
    return domain, robot_at, episodes


def grid():
    """An exact model of a grid that was seen from 0 to 6, with z always 0."""
    domain = pds.parse_domain(GRID)
    modules = {
        "derived::on::f": lambda a, b: ((a - b).abs().amax(-1) < 0.5).float(),
        "action::east::f": lambda x: x + torch.tensor([1.0, 0.0]),
        "action::north::f": lambda x: x + torch.tensor([0.0, 1.0]),
    }
    model = pds.Model(domain, modules=modules)
    cells = torch.cartesian_prod(torch.arange(7.0), torch.arange(7.0))
    note_codes(model.notes, {"at": Codes.of(cells, 0.1), "z": Codes.of(torch.zeros(9))})
    state = pds.State(
        domain,
        objects={"robot": ["r"], "key": ["k"]},
        values={"at": [[3, 3]], "lies": [[8, 3]], "z": [0.0]},
    )
    return model, state


def test_a_goal_one_cell_beyond_the_data_is_reached_and_what_it_rests_on_is_said():
    domain, robot_at, episodes = corridor()
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=300, seed=0)
    inside = pds.plan(model, robot_at(3), "(= (at r) [6])")
    assert (inside.plan, inside.warnings) == ([("right", "r")] * 3, ())
    result = pds.plan(model, robot_at(3), "(= (at r) [7])")
    assert result.plan == [("right", "r")] * 4
    assert any("`action::right::f` was never trained on" in warning for warning in result.warnings)


def test_a_key_past_the_seen_range_is_reached_snapped_or_not():
    model, state = grid()
    for snap in (False, True):
        result = pds.plan(model, state, "(on r k)", snap=snap, max_expansions=300)
        assert result.plan == [("east", "r")] * 5


def test_what_never_varied_in_the_data_can_be_planned_with():
    model, state = grid()
    for snap in (False, True):
        result = pds.plan(model, state, "(= (z r) 3)", snap=snap, max_expansions=300)
        assert result.plan == [("up", "r")] * 3


def runaway(growth, bright):
    domain = pds.parse_domain(RUNAWAY)
    modules = {"action::rub::g": growth, "derived::bright::f": bright}
    state = pds.State(domain, {"thing": ["a", "b"]}, {"look": [1.0, 1.0], "done": [False, False]})
    return pds.Model(domain, modules=modules), state


def test_predictions_that_are_not_finite_are_dropped_and_told_once():
    model, state = runaway(lambda x: x * 1e30, lambda x: (x > 1e25).float())
    result = pds.plan(model, state, "(forall (?t - thing) (done ?t))", heuristic="blind")
    assert len(result.plan) == 4
    told = [w for w in result.warnings if "not finite" in w]
    assert len(told) == 1
    assert "`look` after `rub`" in told[0]


def test_what_lies_behind_a_number_that_is_not_finite_is_not_searched():
    """Whatever is rubbed is infinitely bright, which is no state: there is none but the first."""
    model, state = runaway(lambda x: x * torch.inf, lambda x: x * 0)
    result = pds.plan(model, state, "(done a)", heuristic="blind", max_expansions=50)
    assert (result.status, result.expanded) == ("gave-up", 1)


def test_a_longer_way_through_finite_numbers_is_found_where_a_shorter_one_runs_away():
    domain = pds.parse_domain(
        """(define (domain heat) (:types pan - object)
        (:predicates (heat [return_type=float32] ?p - pan))
        (:action boil :parameters (?p - pan) :effect (assign (heat ?p) (??f (heat ?p))))
        (:action warm :parameters (?p - pan) :effect (assign (heat ?p) (+ (heat ?p) 10))))"""
    )
    model = pds.Model(domain, {"action::boil::f": lambda heat: heat * torch.inf})
    state = pds.State(domain, {"pan": ["p"]}, {"heat": [1.0]})
    result = pds.plan(model, state, "(> (heat p) 25)", heuristic="blind", max_expansions=50)
    assert result.plan == [("warm", "p")] * 3


def test_a_search_where_everything_runs_away_ends_without_a_plan_and_without_an_error():
    model, state = runaway(lambda x: x * 1e15 - x * 1e15 * (x > 1e20), lambda x: x * 0)
    result = pds.plan(model, state, "(done a)", heuristic="blind", max_expansions=50)
    assert result.status == "gave-up"


def test_a_truth_that_is_nan_during_search_is_false():
    model, state = runaway(lambda x: x * 1e20, lambda x: x * torch.where(x > 1e10, float("nan"), 0.0))
    result = pds.plan(model, state, "(done a)", heuristic="blind", max_expansions=50)
    assert result.status == "gave-up"


def test_no_goal_is_reached_by_a_number_that_is_not_finite():
    model, state = runaway(lambda x: x * 1e30, lambda x: x * 0)
    result = pds.plan(model, state, "(> (look a) 1e35)", heuristic="blind", max_expansions=50)
    assert (result.status, result.plan) == ("gave-up", None)


def test_values_far_beyond_the_step_are_different_states():
    domain = pds.parse_domain("""
    (define (domain growth)
      (:types thing - object)
      (:predicates (size [return_type=float32] ?t - thing))
      (:action grow :parameters (?t - thing) :effect (assign (size ?t) (* (size ?t) 1000000))))
    """)
    state = pds.State(domain, objects={"thing": ["x"]}, values={"size": [1.0]})
    found = pds.plan(pds.Model(domain), state, "(> (size x) 1e27)")
    assert found.plan == [("grow", "x")] * 5
