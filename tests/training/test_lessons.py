"""What a fit learns from and what it does not, and what each example weighs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.training.models import Learned

import pdsketch as pds
from pdsketch.training.sampler import Sampler

LINE = """
(define (domain line)
  (:types robot - object place - vector[float32, 1])
  (:predicates (at [return_type=place] ?r - robot))
  (:derived (home ?r - robot) (??f (at ?r)))
  (:action out :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
  (:action back :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r)))))
"""


def walk(*places: float, actions=("out", "back"), success=None, executable=None) -> pds.Episode:
    """A robot seen at these places."""
    domain = pds.parse_domain(LINE)
    states = [pds.State(domain, {"robot": ["r"]}, {"at": [[x]]}) for x in places]
    return pds.Episode(states, [(a, "r") for a in actions], "(home r)", success, executable)


def fitted(episodes, functions=None, **options) -> pds.Report:
    """The report of a fit of one step, in which nothing has been learned yet."""
    domain = episodes[0].states[0].domain
    modules = {name: Learned(function) for name, function in (functions or {}).items()}
    settings = {"steps": 1, "forms": False, "validation": 0.0, **options}
    return pds.fit(pds.Model(domain, modules, seed=0), episodes, **settings)


def trained(report: pds.Report) -> set[str]:
    return {name for name, blank in report.blanks.items() if blank.trained}


GOALS_AHEAD = {"goal": 0.0, "transition": 0.0, "lookahead": 1.0}


def test_a_lookahead_sees_what_the_step_before_a_judged_state_did():
    """Nobody said whether the robot was home before it had gone out and back."""
    episode = walk(0.0, 1.0, 0.0, success=[None, None, 1])
    home = {"derived::home::f": lambda at: torch.sigmoid(1 - at)}
    assert trained(fitted([episode], home, **GOALS_AHEAD)) == {"action::back::f"}


@pytest.mark.parametrize("executable", [[False, False], [False, True]])
def test_steps_that_were_not_executed_teach_nothing(executable):
    """The robot was told to go, and its controller did not: that it stayed is no effect of going."""
    episode = walk(0.0, 0.0, 0.0 if not executable[1] else 3.0, executable=executable)
    report = fitted([episode] * 2)
    assert trained(report) == ({"action::back::f"} if executable[1] else set())
    assert report.train.steps == 2 * sum(executable)


GUARDED = LINE.replace(
    "(:action out :parameters (?r - robot)", "(:action out :parameters (?r - robot) :precondition (free)"
)
GUARDED = GUARDED.replace("(at [", "(free) (at [")


def test_steps_whose_written_precondition_did_not_hold_were_not_executed():
    domain = pds.parse_domain(GUARDED)
    episodes = []
    for free, place in ((True, 1.0), (False, 0.0)):
        states = [pds.State(domain, {"robot": ["r"]}, {"at": [[x]], "free": free}) for x in (0.0, place)]
        episodes.append(pds.Episode(states, [("out", "r")]))
    report = fitted(episodes)
    assert report.train.steps == 1
    assert trained(report) == {"action::out::f"}


LATENT = """
(define (domain latent)
  (:types thing - object)
  (:predicates (picture [return_type=vector[float32, 3]] ?t - thing) (knob [return_type=float32] ?t - thing))
  (:derived (look [return_type=vector[float32, 2]] ?t - thing) (??f (picture ?t)))
  (:action set :parameters (?t - thing) :effect (look::assign ?t (??g (knob ?t)))))
"""


def test_the_encoding_of_what_came_about_is_not_learned_from():
    domain = pds.parse_domain(LATENT)
    values = {"picture": [[0.1, 0.2, 0.3]], "knob": [0.5]}
    states = [pds.State(domain, {"thing": ["t"]}, values) for _ in range(2)]
    report = fitted([pds.Episode(states, [("set", "t")])] * 2)
    assert "action::set::g" in trained(report)
    assert "derived::look::f" not in trained(report)


BOXES = """
(define (domain boxes)
  (:types box - object)
  (:predicates (load [return_type=float32] ?b - box) (slot [return_type=int64[choices=3]] ?b - box))
  (:derived (full ?b - box) (??f (load ?b)))
  (:action fill :parameters () :effect (forall (?b - box) (load::assign ?b (??g (load ?b)))))
  (:action shift :parameters () :effect (forall (?b - box) (slot::assign ?b (??g (slot ?b))))))
"""


def shelf(before, after, action, slots=None, success=None) -> pds.Episode:
    domain = pds.parse_domain(BOXES)
    slots = slots or [[0] * len(before)] * 2
    states = [
        pds.State(domain, {"box": [f"b{i}" for i in range(len(x))]}, {"load": x, "slot": s})
        for x, s in zip((before, after), slots, strict=True)
    ]
    goal = None if success is None else "(exists (?b - box) (full ?b))"
    return pds.Episode(states, [(action,)], goal, success)


@pytest.mark.parametrize("options", [{"paper": True}, {}], ids=str)
def test_objects_that_only_other_states_have_weigh_nothing(options):
    """A state of one box beside one of three: one of four boxes is predicted wrong, not three of six."""
    wrong = {"action::fill::g": lambda load: load + 1 + (load > 4.5)}
    apart = [shelf([5.0], [6.0], "fill"), shelf([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "fill")]
    one = [shelf([5.0, 1.0, 2.0, 3.0], [6.0, 2.0, 3.0, 4.0], "fill")]
    losses = [fitted(e, wrong, goal=0.0, **options).losses["transition"] for e in (apart, one)]
    assert losses[0] > 0.01
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("unit", [1000.0, 0.001])
def test_the_unit_of_measurement_does_not_matter(unit):
    losses = []
    for times in (1.0, unit):
        episode = shelf([1.0 * times, 3.0 * times], [2.0 * times, 4.0 * times], "fill")
        grown = {"action::fill::g": lambda load, t=times: load + 1.5 * t}
        losses.append(fitted([episode], grown, goal=0.0).losses["transition"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0] > 0.1


def test_many_failures_weigh_as_much_as_one_success():
    says = {"derived::full::f": lambda load: torch.full_like(load, 0.9)}
    success = shelf([1.0], [1.0], "fill", success=[1, 1])
    failure = shelf([1.0], [1.0], "fill", success=[0, 0])
    few = fitted([success, failure], says, transition=0.0, lookahead=0.0)
    many = fitted([success, *[failure] * 7], says, transition=0.0, lookahead=0.0)
    wanted = -0.5 * (np.log(0.9) + np.log(0.1))
    assert few.losses["goal"] == pytest.approx(wanted, rel=1e-3)
    assert many.losses["goal"] == pytest.approx(wanted, rel=1e-3)


def test_one_change_weighs_as_much_as_all_that_stays():
    """Of four boxes one moves on: to say that none does is half wrong, not a quarter."""
    stays = {"action::shift::g": lambda slot: 20.0 * slot}
    one = shelf([0.0] * 4, [0.0] * 4, "shift", slots=[[0, 0, 0, 0], [1, 0, 0, 0]])
    all_ = shelf([0.0] * 4, [0.0] * 4, "shift", slots=[[0, 0, 0, 0], [1, 1, 1, 1]])
    losses = [fitted([e], stays, goal=0.0).losses["transition"] for e in (one, all_)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    plain = [fitted([e], stays, goal=0.0, paper=True).losses["transition"] for e in (one, all_)]
    assert plain[0] == pytest.approx(plain[1] / 4, rel=1e-3)


def test_an_action_seen_once_weighs_as_much_as_one_seen_often():
    wrong = {"action::out::f": lambda at: at + 1, "action::back::f": lambda at: at}
    rare = [walk(0.0, 1.0, 0.0)]
    often = [*rare, *[walk(1.0, 0.0, actions=("back",))] * 9]
    losses = [fitted(e, wrong, goal=0.0).losses["transition"] for e in (rare, often)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def test_all_states_are_seen_before_one_comes_again_and_then_in_another_order():
    strata, index = np.zeros(40, dtype=np.int64), np.arange(40)
    sampler = Sampler(strata, index, 10, seed=0)
    rounds = [np.concatenate([sampler.draw(4 * r + step) for step in range(4)]) for r in range(3)]
    assert all(sorted(order.tolist()) == index.tolist() for order in rounds)
    assert len({tuple(order.tolist()) for order in rounds}) == 3
    again = Sampler(strata, index, 10, seed=0)
    assert again.draw(9).tolist() == sampler.draw(9).tolist()
    assert Sampler(strata, index, 10, seed=1).draw(0).tolist() != sampler.draw(0).tolist()


def test_a_rare_kind_of_state_is_in_every_batch():
    strata = np.array([0] * 990 + [1] * 10)
    sampler = Sampler(strata, np.arange(1000), 32, seed=0)
    seen = [set(sampler.draw(step).tolist()) & set(range(990, 1000)) for step in range(5)]
    assert all(seen)
    assert set().union(*seen) == set(range(990, 1000))
