"""What must not change the cost of a plan: the order of objects, of actions, and its company."""

import random

import pytest

import pdsketch as pds

TYPES = """(:types robot lamp - object place - vector[float32, 2])
  (:predicates (robot-at [return_type=place] ?r - robot) (lamp-at [return_type=place] ?l - lamp)
    (lit ?l - lamp))
  (:derived (near ?r - robot ?l - lamp) (??f (robot-at ?r) (lamp-at ?l)))"""

ACTIONS = [
    "(:action east :parameters (?r - robot) :effect (assign (robot-at ?r) (+ (robot-at ?r) [1, 0])))",
    "(:action north :parameters (?r - robot) :effect (assign (robot-at ?r) (+ (robot-at ?r) [0, 1])))",
    "(:action back :parameters (?r - robot) :effect (assign (robot-at ?r) [0, 0]))",
    "(:action switch :parameters (?r - robot ?l - lamp) :precondition (near ?r ?l) :effect (lit ?l))",
]

GOALS = ["(forall (?l - lamp) (lit ?l))", "(and (lit l0) (not (lit l1)))", "(exists (?l - lamp) (near r ?l))"]


def model_with(actions):
    domain = pds.parse_domain(f"(define (domain lamps) {TYPES} {' '.join(actions)})")
    return pds.Model(domain, {"derived::near::f": lambda a, b: ((a - b).abs().amax(-1) < 0.5).float()})


def state_with(domain, places, order):
    return pds.State(
        domain,
        objects={"robot": ["r"], "lamp": [f"l{i}" for i in order]},
        values={
            "robot-at": [[0, 0]],
            "lamp-at": [places[i] for i in order],
            "lit": [False] * len(order),
        },
    )


@pytest.mark.parametrize("heuristic", ["blind", "opt"])
@pytest.mark.parametrize("goal", GOALS)
def test_the_order_of_objects_and_actions_does_not_change_costs(goal, heuristic):
    rng = random.Random(0)
    places = [(1, 1), (2, 0), (0, 1)]
    costs = set()
    for _ in range(3):
        model = model_with(rng.sample(ACTIONS, len(ACTIONS)))
        state = state_with(model.domain, places, rng.sample(range(3), 3))
        result = pds.plan(model, state, goal, heuristic=heuristic, k=32, time_limit=None)
        costs.add(result.cost)
        assert result.solved
    assert len(costs) == 1 or heuristic == "opt"  # an inadmissible estimate may lead to dearer plans
    if heuristic == "opt":
        assert max(costs) <= min(costs) + 2


def test_problems_with_different_objects_share_batches_and_keep_their_costs():
    model = model_with(ACTIONS)
    states = [
        state_with(model.domain, [(1, 1)], [0]),
        state_with(model.domain, [(1, 1), (2, 0), (0, 1)], [2, 0, 1]),
        state_with(model.domain, [(3, 0), (0, 1)], [1, 0]),
    ]
    goal = "(forall (?l - lamp) (lit ?l))"
    for heuristic in ("blind", "opt"):
        together = pds.plan_many(model, states, goal, heuristic=heuristic, k=16, time_limit=None)
        alone = [pds.plan(model, state, goal, heuristic=heuristic, k=16, time_limit=None) for state in states]
        assert [r.cost for r in together] == [r.cost for r in alone]
        assert [r.expanded for r in together] == [r.expanded for r in alone]
