"""Controllers that refuse, and how far the world may differ from what was predicted."""

from __future__ import annotations

import pytest

import pdsketch as pds

DOORS = """
(define (domain doors)
  (:types robot door - object)
  (:predicates (at [return_type=float32[tolerance=0.1]] ?r - robot) (through ?r - robot) (open ?d - door))
  (:action pass :parameters (?r - robot ?d - door) :precondition (open ?d) :effect (through ?r))
  (:action push :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1))))
"""


class House:
    """Doors, some of which stick, whatever they look like."""

    def __init__(self, *stuck: str) -> None:
        self.domain = pds.parse_domain(DOORS)
        self.stuck = set(stuck)
        self.tried: list[str] = []
        self.through = False
        self.place = 0.0
        self.length = 1.0
        self.open = [True, True, True]

    def observe(self) -> pds.State:
        values = {"at": [self.place], "through": [self.through], "open": self.open}
        return pds.State(self.domain, {"robot": ["r"], "door": ["a", "b", "c"]}, values)

    def passes(self, _robot: str, door: str) -> bool:
        self.tried.append(door)
        self.through |= door not in self.stuck
        return door not in self.stuck

    def pushes(self, _robot: str) -> bool:
        self.place += self.length
        return True


def policy(house: House, **options) -> pds.Policy:
    controllers = {"pass": House.passes, "push": House.pushes}
    return pds.Policy(pds.Model(house.domain), controllers=controllers, heuristic="blind", **options)


NEAR = {"options": {"max_expansions": 30}}


def test_what_was_refused_is_not_tried_again_in_that_state():
    house = House("a", "b")
    episode = policy(house).run(house, "(through r)", observe=House.observe)
    assert house.through
    assert sorted(house.tried[:2]) == ["a", "b"]
    assert house.tried[2:] == ["c"]
    assert episode.executable == [False, False, True]


def test_where_everything_is_refused_it_is_tried_again_until_the_steps_are_spent():
    """What a controller refuses once it may accept later."""
    house = House("a", "b", "c")
    chosen = policy(house, **NEAR)
    chosen.controllers = {"pass": House.passes, "push": lambda *_: False}
    episode = chosen.run(house, "(through r)", observe=House.observe, max_steps=7)
    assert len(episode.actions) == 7
    assert len(set(episode.actions[:4])) == 4
    assert not any(episode.executable)


def test_a_refusal_is_no_deviation():
    """That nothing moved is what a refusal means; the model is not blamed for it."""
    house = House("a", "b")
    chosen = policy(house)
    chosen.run(house, "(through r)", observe=House.observe)
    assert [moment.deviations for moment in chosen.trace] == [(), (), ()]
    assert [moment.replanned for moment in chosen.trace] == [True, True, True]


def test_what_was_refused_may_be_done_in_another_state():
    house = House("a")
    house.open = [True, False, False]

    def pushes(house: House, robot: str) -> bool:
        house.stuck = set()
        return House.pushes(house, robot)

    chosen = pds.Policy(
        pds.Model(house.domain), controllers={"pass": House.passes, "push": pushes}, heuristic="blind"
    )
    chosen.run(house, "(through r)", observe=House.observe, max_steps=6)
    assert house.tried == ["a", "a"]
    assert (house.through, house.place) == (True, 1.0)


@pytest.mark.parametrize(
    ("length", "tolerance", "replans"),
    [
        (1.2, None, True),  # the type's own tolerance is 0.1
        (1.07, None, False),
        (1.2, 0.4, False),
        (1.07, 0.05, True),
        (1.2, {"at": 0.4}, False),
        (1.07, {"at": 0.05}, True),
    ],
    ids=str,
)
def test_a_plan_is_kept_as_long_as_the_world_is_as_predicted_up_to_the_tolerance(length, tolerance, replans):
    house = House()
    house.length = length
    chosen = policy(house, tolerance=tolerance)
    chosen.run(house, "(>= (at r) 2.5)", observe=House.observe, max_steps=2)
    assert chosen.trace[1].replanned is replans
    assert bool(chosen.trace[1].deviations) is replans


def test_a_plan_is_not_followed_towards_another_goal():
    house = House()
    chosen = policy(house)
    assert chosen.act(house.observe(), "(= (at r) 2)") == ("push", "r")
    house.pushes("r")
    assert chosen.act(house.observe(), "(through r)")[0] == "pass"


def test_a_run_begins_with_a_plan_of_its_own():
    house = House()
    chosen = policy(house)
    house.pushes(*chosen.act(house.observe(), "(= (at r) 3)")[1:])
    chosen.run(house, "(= (at r) 3)", observe=House.observe)
    assert house.place == 3.0
    assert [moment.replanned for moment in chosen.trace] == [True, False]


def test_what_was_not_observed_as_predicted_is_named():
    house = House()
    chosen = policy(house)
    goal = "(and (through r) (>= (at r) 2))"

    def forgets(house: House, _robot: str, _door: str) -> bool:
        house.open[1] = False
        return True

    chosen.controllers = {"pass": forgets, "push": House.pushes}
    chosen.run(house, goal, observe=House.observe, max_steps=4)
    seen = {(d.predicate, d.objects, d.count) for moment in chosen.trace for d in moment.deviations}
    assert seen == {("through", ("r",), 1), ("open", ("b",), 1)}


def test_an_episode_that_ended_is_not_gone_on_with():
    class Ending(House):
        def step(self, action):
            self.pushes("r")
            return None, 0.0, False, True, {}

    house = Ending()
    episode = pds.Policy(pds.Model(house.domain), heuristic="blind").run(
        house, "(= (at r) 3)", observe=House.observe
    )
    assert len(episode.actions) == 1


def test_a_run_ends_where_the_environment_says_success_whatever_the_model_believes():
    house = House()
    episode = policy(house).run(
        house, "(>= (at r) 3)", observe=House.observe, success=lambda house: house.place >= 1
    )
    assert episode.success == [0, 1]


def test_an_episode_that_ended_without_a_reward_is_no_success():
    class Ending(House):
        def step(self, action):
            self.pushes("r")
            return None, 0.0, True, False, {}

    house = Ending()
    chosen = pds.Policy(pds.Model(house.domain), heuristic="blind")
    assert chosen.run(house, "(= (at r) 3)", observe=House.observe).success is None
