"""A policy does not repeat for ever what changes nothing."""

from __future__ import annotations

import pytest

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain door)
  (:types robot - object)
  (:predicates (in ?r - robot) (near ?r - robot))
  (:action jump :parameters (?r - robot) :effect (in ?r))
  (:action walk :parameters (?r - robot) :effect (near ?r))
  (:action enter :parameters (?r - robot) :precondition (near ?r) :effect (in ?r)))
""")


class House:
    """Whoever jumps stays where it is, until it has jumped so often as ``jumps`` says; so says no model."""

    domain, goal, executed = DOMAIN, "(in r)", True

    def __init__(self, jumps: int, door: bool = True) -> None:
        self.jumps, self.door = jumps, door

    def reset(self, seed: int | None = None) -> pds.State:
        self.near, self.success, self.jumped = False, False, 0
        return self.see()

    def step(self, action: tuple[str, ...]) -> pds.State:
        self.jumped += action[0] == "jump"
        self.near |= action[0] == "walk"
        self.success = self.jumped >= self.jumps or (action[0] == "enter" and self.near and self.door)
        return self.see()

    def see(self) -> pds.State:
        return pds.State(DOMAIN, {"robot": ["r"]}, {"in": [self.success], "near": [self.near]})


def names(house: House, **options: object) -> list[str]:
    (episode,) = pds.rollout(
        pds.Policy(pds.Model(DOMAIN), heuristic="blind", **options),  # type: ignore[arg-type]
        house,
        seeds=[0],
        max_steps=20,
    )
    return [action[0] for action in episode.actions]


def test_after_two_tries_something_else_is_tried() -> None:
    done = names(House(jumps=99))
    assert done == ["jump", "jump", "walk", "enter"]


def test_what_works_at_the_second_try_is_not_given_up() -> None:
    assert names(House(jumps=2)) == ["jump"] * 2


def test_where_nothing_else_leads_to_the_goal_it_goes_on() -> None:
    assert names(House(jumps=9, door=False)).count("jump") == 9


def test_how_often_it_is_tried_can_be_said() -> None:
    assert names(House(jumps=99), tries=1)[:2] == ["jump", "walk"]


@pytest.mark.parametrize("tries", [0, -1, 1.5, True, "often"])
def test_what_is_no_number_of_tries_is_refused(tries: object) -> None:
    with pytest.raises(pds.Error, match="`tries` is a whole number above 0"):
        pds.Policy(pds.Model(DOMAIN), tries=tries)  # type: ignore[arg-type]
