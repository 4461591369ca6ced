"""What acting has shown: failures weigh on like states, skills have rates, and the world's word counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.search import Memory

SHELF = pds.parse_domain("""
(define (domain shelf)
  (:types block - object pose - vector[float32, 2, tolerance=0.02])
  (:predicates (at [return_type=pose] ?b - block) (held ?b - block))
  (:derived (good ?b - block) (??f (at ?b)))
  (:action pick :parameters (?b - block) :precondition (not (held ?b)) :effect (held ?b))
  (:action put :parameters (?b - block ?p - pose) :precondition (held ?b)
    :effect (and (not (held ?b)) (at::assign ?b ?p))))
""")
MODEL = pds.Model(SHELF, modules={"good": lambda p: torch.sigmoid(50 * (p[..., 1:] - 0.5))})
PLACES = [[0.3, 0.9], [0.305, 0.905], [0.8, 0.9]]


class Shelf:
    """Only what is put to the right stays; a block that is put elsewhere is dropped about where it was."""

    domain, goal = SHELF, "(good a)"

    def __init__(self, dropped: float = 0.0) -> None:
        self.dropped = dropped

    def reset(self, seed: int | None = None) -> pds.State:
        self.random = np.random.default_rng(seed)
        self.place, self.held, self.executed = np.array([0.2, 0.2]), False, True
        return self.see()

    @property
    def success(self) -> bool:
        return bool(self.place[1] > 0.5)

    def see(self) -> pds.State:
        return pds.State(SHELF, {"block": ["a"]}, {"at": [self.place], "held": [self.held]})

    def step(self, action: tuple) -> pds.State:
        self.executed, self.held = True, action[0] == "pick"
        if action[0] == "put":
            self.executed = action[2][0] > 0.5
            self.place = np.array(action[2]) if self.executed else self.place + self._drift()
        return self.see()

    def _drift(self) -> np.ndarray:
        return self.random.uniform(-self.dropped, self.dropped, 2)


def act(world: Shelf, **options: object) -> pds.Rollouts:
    generators = {"pose": lambda model, state, number: PLACES}
    policy = pds.Policy(MODEL, generators=generators, options={"candidates": "generators"}, **options)
    return pds.rollout(policy, world, seeds=[0, 1], max_steps=20)


@pytest.mark.parametrize("dropped", [0.0, 0.05])
def test_a_second_step_that_is_refused_is_not_planned_again(dropped: float) -> None:
    """Nor are others that are nearly the same; also where a dropped block lies a little elsewhere."""
    done = act(Shelf(dropped))
    assert done.summary["success"] == 1.0
    for episode in done:
        put = [action[2][0] for action in episode.actions if action[0] == "put"]
        assert put[-1] == pytest.approx(0.8)
        assert len(put) == 2


def memory() -> tuple[Memory, pds.State]:
    world = Shelf()
    world.reset(0)
    world.held = True
    return Memory(MODEL), MODEL.encode(world.see())


def price(kept: Memory, state: pds.State, place: tuple[float, float]) -> float:
    arguments = {"?b": torch.zeros(1, 1, dtype=torch.int64), "?p": torch.tensor([[place]])}
    return float(kept.prices("put", state.batch, arguments))


def test_failures_weigh_on_what_is_alike_and_fade() -> None:
    kept, state = memory()
    kept.failed(("put", "a", (0.3, 0.9)), state)
    once = price(kept, state, (0.3, 0.9))
    assert once > price(kept, state, (0.31, 0.9)) > price(kept, state, (0.8, 0.9)) > 0
    kept.failed(("put", "a", (0.3, 0.9)), state)
    assert math.isinf(price(kept, state, (0.3, 0.9)))
    assert math.isinf(price(kept, state, (0.302, 0.9)))
    assert math.isfinite(price(kept, state, (0.8, 0.9)))
    assert math.isfinite(price(kept.unbarred(), state, (0.3, 0.9)))
    for _ in range(30):
        kept.succeeded(("pick", "a"), state)
    assert math.isfinite(price(kept, state, (0.3, 0.9)))


def test_failures_in_states_that_differ_are_paid_for_and_bar_nothing() -> None:
    kept, state = memory()
    step = ("put", "a", (0.3, 0.9))
    for place in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        kept.failed(step, pds.State(state.domain, {"block": ["a"]}, {"at": [[place, 0.2]], "held": [True]}))
    assert 1.0 < price(kept, state, (0.3, 0.9)) < math.inf


def test_success_in_like_states_speaks_for_a_step() -> None:
    kept, state = memory()
    for _ in range(2):
        kept.failed(("put", "a", (0.3, 0.9)), state)
        kept.succeeded(("put", "a", (0.3, 0.9)), state)
    assert math.isfinite(price(kept, state, (0.3, 0.9)))


TWO_WAYS = pds.parse_domain("""
(define (domain ways)
  (:types robot - object)
  (:predicates (tired ?r - robot) (at [return_type=int64[choices=30]] ?r - robot))
  (:action leap :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 2)))
  (:action walk :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1))))
""")


class Path:
    """One leap of three leads further."""

    domain, goal, executed = TWO_WAYS, "(= (at r) 20)", True

    def reset(self, seed: int | None = None) -> pds.State:
        self.at, self.leaps = 0, 0
        return self.see()

    def step(self, action: tuple) -> pds.State:
        self.leaps += action[0] == "leap"
        self.at += 1 if action[0] == "walk" else 2 * (self.leaps % 3 == 1)
        return self.see()

    def see(self) -> pds.State:
        self.success = self.at == 20
        return pds.State(TWO_WAYS, {"robot": ["r"]}, {"at": [self.at], "tired": [False]})


def test_how_often_a_skill_succeeds_becomes_its_cost() -> None:
    """A leap saves a step, and two of three are in vain: before long, walking is cheaper."""
    policy = pds.Policy(pds.Model(TWO_WAYS), heuristic="blind")
    done = pds.rollout(policy, Path(), seeds=[0], max_steps=40)
    assert done.success == (True,)
    names = [action[0] for action in done[0].actions]
    assert names[0] == "leap"
    assert names[-4:] == ["walk"] * 4
    policy.reset()
    assert policy.rates.tried["leap"] == names.count("leap")
    assert policy.rates.of("leap") < 0.6 < policy.rates.of("walk") == 1.0


LINE = pds.parse_domain("""
(define (domain line)
  (:types robot - object)
  (:predicates (at [return_type=float32[tolerance=0.1]] ?r - robot) (lit ?r - robot))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1)))
  (:action shine :parameters (?r - robot) :effect (lit ?r)))
""")


class Line:
    """A robot starts at the seed; the goal is reached one step after the model believes so."""

    domain, goal, executed = LINE, "(>= (at r) 1)", True

    def reset(self, seed: int | None = None) -> pds.State:
        self.x, self.lit = seed or 0, False
        return self.see()

    def step(self, action: tuple) -> pds.State:
        self.x += action[0] == "right"
        self.lit |= action[0] == "shine"
        return self.see()

    def see(self) -> pds.State:
        self.success = self.x >= 2
        return pds.State(LINE, {"robot": ["r"]}, {"at": [float(self.x)], "lit": [self.lit]})


@pytest.mark.parametrize("seed", [0, 1])
def test_where_the_world_denies_the_goal_the_policy_goes_on(seed: int) -> None:
    """Also in the first state; and what the goal does not read makes no other state of it."""
    policy = pds.Policy(pds.Model(LINE), heuristic="blind")
    done = pds.rollout(policy, Line(), seeds=[seed], max_steps=20)
    assert done.success == (True,)
    assert [action[0] for action in done[0].actions] == ["right"] * (2 - seed)


def test_without_the_worlds_word_it_stops_where_it_believes_the_goal() -> None:
    policy, world = pds.Policy(pds.Model(LINE), heuristic="blind"), Line()
    assert policy.act(world.reset(1), Line.goal) is None
    policy.told(False, True)
    assert policy.act(world.see(), Line.goal) == ("right", "r")


LOCK = pds.parse_domain("""
(define (domain lock)
  (:types key - object)
  (:predicates (weight [return_type=float32] ?k - key) (open))
  (:action turn :parameters (?k - key) :precondition (??f (weight ?k)) :effect (open)))
""")


class Lock:
    """The heaviest key is the right one, which the model thinks unlikely."""

    domain, goal = LOCK, "(open)"

    def reset(self, seed: int | None = None) -> pds.State:
        self.success, self.executed = False, True
        return self.see()

    def step(self, action: tuple) -> pds.State:
        self.success = self.executed = action[1] == "heavy"
        return self.see()

    def see(self) -> pds.State:
        return pds.State(
            LOCK,
            {"key": ["light", "middle", "heavy"]},
            {"weight": [0.1, 0.45, 0.3], "open": self.success},
        )


def test_it_takes_risks_where_that_is_allowed_and_says_so() -> None:
    model = pds.Model(LOCK, modules={"action::turn::f": lambda weight: weight})
    careful, bold = pds.Policy(model), pds.Policy(model, explore=0.2)
    assert pds.rollout(careful, Lock(), seeds=[0]).steps == (0,)
    done = pds.rollout(bold, Lock(), seeds=[0])
    assert done[0].actions == (("turn", "middle"), ("turn", "heavy"))
    assert [moment.explored for moment in bold.trace] == [True, True]
    assert any("(turn heavy) is tried, whose precondition has truth 0.30" in w for w in bold.result.warnings)


@pytest.mark.parametrize("explore", [0.7, -0.1, True, "much"])
def test_what_is_no_truth_to_explore_from_is_refused(explore: object) -> None:
    with pytest.raises(pds.Error, match=r"`explore` is a truth from 0 to 0\.5"):
        pds.Policy(MODEL, explore=explore)  # type: ignore[arg-type]


def test_rollouts_say_how_many_failures_were_out_of_time() -> None:
    policy = pds.Policy(pds.Model(LINE), heuristic="blind", options={"time_limit": 0.0})
    done = pds.rollout(policy, [Line(), Line(), Line()], seeds=[0, 0, 2])
    assert done.success == (False, False, True)
    assert done.out_of_time == 2
    assert "2 of them out of time" in str(done)
