"""Which parts of a goal are tried, and how the explorer goes about it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.act.onpolicy.lamps import SKETCH, Lamps

import pdsketch as pds
from pdsketch.act.onpolicy.explorer import Explorer, Subgoal, _Course, subgoals

DOMAIN = pds.parse_domain(SKETCH)


def state() -> pds.State:
    return pds.State(DOMAIN, {"lamp": ["a", "b"]}, {"colour": [0, 1], "level": [2, 1]})


def of(goal: str) -> dict[str, list[tuple[str, ...]]]:
    one = state()
    found = subgoals(one.batch.universe(0).formula(goal), one)
    return {name: [s.objects for s in every] for name, every in found.items()}


def test_the_atoms_of_a_goal_and_the_variables_below_them_of_every_object_that_is_meant():
    both = [("a",), ("b",)]
    assert of("(exists (?l - lamp) (and (is-lit ?l) (is-red ?l)))") == {"is-lit": both, "level": both}
    assert of("(is-lit b)") == {"is-lit": [("b",)], "level": [("b",)]}
    assert of("(is-red a)") == {}  # no action writes colours


def test_a_truth_is_to_come_about_and_a_variable_to_get_another_value():
    assert Subgoal("is-lit", ("b",)).formula(state()) == "(is-lit b)"
    assert Subgoal("level", ("a",)).formula(state()) == "(not (= (level a) 2))"
    model = pds.Model(DOMAIN, seed=0)
    assert float(model.holds(state(), "(not (= (level a) 2))", crisp=True)) == 0.0
    assert float(model.holds(state(), "(not (= (level a) 1))", crisp=True)) == 1.0


def test_a_vector_is_asked_to_change_and_a_picture_is_not():
    sizes = {"small": 2, "large": 17}
    predicates = " ".join(f"({n} [return_type=vector[float32, {d}]] ?o - box)" for n, d in sizes.items())
    domain = pds.parse_domain(
        f"(define (domain d) (:types box) (:predicates {predicates} (on ?o - box))"
        " (:action a :parameters (?o - box) :effect (and (not (on ?o))"
        " (small::assign ?o (??f (small ?o))) (large::assign ?o (??g (large ?o))))))"
    )
    values = {"small": [[0.1, 2.0]], "large": [[0.0] * 17], "on": [True]}
    one = pds.State(domain, {"box": ["b"]}, values)
    assert Subgoal("small", ("b",)).formula(one) == "(not (= (small b) [0.1, 2.0]))"
    assert Subgoal("large", ("b",)).formula(one) is None
    assert Subgoal("on", ("b",)).formula(one) == "(not (on b))"


def exact() -> pds.Model:
    """A model that knows everything but colours."""
    import torch

    def pressed(level):
        return torch.roll(level, 1, dims=-1) * 20.0

    def shaken(level):
        return torch.tensor([20.0, 0.0, 0.0]).expand(level.shape)

    modules = {
        "action::press::f": pressed,
        "action::shake::f": shaken,
        "derived::is-lit::f": lambda level: level[..., 2],
        "derived::is-red::f": lambda colour: torch.zeros(colour.shape[:-1]),
        "derived::is-blue::f": lambda colour: torch.zeros(colour.shape[:-1]),
    }
    return pds.Model(DOMAIN, modules, seed=0)


def test_who_cannot_recognise_the_goal_reaches_it_by_trying_its_parts():
    policy = pds.Policy(
        exact(), search="astar", heuristic="blind", options={"max_expansions": 60, "time_limit": None}
    )
    worlds = [Lamps(DOMAIN) for _ in range(8)]
    alone = pds.rollout(policy, worlds, range(24), max_steps=16)
    assert alone.summary["success"] == 0.0
    assert sum(alone.steps) == 0
    explorer = Explorer(policy, seed=0, stray=0.0)
    found = pds.rollout(explorer, worlds, range(24), max_steps=16)
    assert found.summary["success"] > 0.9
    again = pds.rollout(Explorer(policy, seed=0, stray=0.0), worlds, range(24), max_steps=16)
    assert [e.actions for e in again] == [e.actions for e in found]


def test_without_subgoals_the_rest_is_a_random_walk():
    policy = pds.Policy(
        exact(), search="astar", heuristic="blind", options={"max_expansions": 60, "time_limit": None}
    )
    explorer = Explorer(policy, seed=0, stray=0.0, subgoals=False)
    done = pds.rollout(explorer, [Lamps(DOMAIN) for _ in range(4)], range(12), max_steps=20)
    lengths = [len(e.actions) for e in done]
    assert all(n == 20 or success for n, success in zip(lengths, done.success, strict=True))
    assert {action[0] for e in done for action in e.actions} == {"press", "shake"}


def test_stray_actions_are_random_and_all_of_them_may_be():
    policy = pds.Policy(
        exact(), search="astar", heuristic="blind", options={"max_expansions": 60, "time_limit": None}
    )
    done = pds.rollout(Explorer(policy, seed=3, stray=1.0), [Lamps(DOMAIN)], range(6), max_steps=30)
    taken = [action[0] for episode in done for action in episode.actions]
    assert {"press", "shake"} == set(taken)
    assert 0.25 < taken.count("press") / len(taken) < 0.75


class Planless:
    """A policy that has no plan for anything, and keeps what it is asked."""

    def __init__(self) -> None:
        self.model = exact()
        self.asked: list[str] = []

    def act_some(self, states, goals):
        self.asked += goals.values()
        return dict.fromkeys(states)

    def reset(self) -> None:
        pass


def test_no_subgoal_is_tried_twice_before_all_others():
    policy = Planless()
    explorer = Explorer(policy, seed=0, stray=0.0)
    goal = "(exists (?l - lamp) (is-lit ?l))"
    for _ in range(3):
        assert explorer.act(state(), goal) is not None
    tried = [aim for aim in policy.asked if aim != goal]
    every = {"(is-lit a)", "(is-lit b)", "(not (= (level a) 2))", "(not (= (level b) 1))"}
    first = list(dict.fromkeys(tried))[:4]
    assert set(first) == every
    # What is pursued is asked about again after a random action, before the next is tried.
    runs = [aim for at, aim in enumerate(tried) if at == 0 or tried[at - 1] != aim]
    assert runs[:4] == first


def test_predicates_for_which_there_were_plans_are_drawn_more_often():
    one, goal = state(), "(exists (?l - lamp) (and (is-lit ?l) (is-red ?l)))"
    policy: Any = SimpleNamespace(model=SimpleNamespace(domain=DOMAIN))

    def drawn(seed: int, planned: dict[str, int]) -> str:
        explorer = Explorer(policy, seed, 0.0)
        explorer._tried.update({"is-lit": 100, "level": 100})
        explorer._planned.update(planned)
        course = _Course(stray=False)
        assert explorer._next(course, one, goal)
        return course.subgoal.predicate

    # What the goal names has eight times the weight of what it depends on, where both were as successful.
    assert sum(drawn(seed, {"is-lit": 50, "level": 50}) == "level" for seed in range(40)) < 12
    assert sum(drawn(seed, {"is-lit": 0, "level": 98}) == "level" for seed in range(40)) > 28
