"""A user's script, for type checkers: `tests/test_front.py` runs it, and `mypy --strict` on it.

Where a line ends in ``type: ignore``, the type checker must refuse it: an unused one is an error of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import pdsketch as pds

SKETCH = """
(define (domain lamps)
  (:types lamp - object)
  (:predicates (level [return_type=vector[float32, 1]] ?l - lamp))
  (:derived (lit ?l - lamp) (??bright (level ?l)))
  (:action press :parameters (?l - lamp) :effect (assign (level ?l) (??pressed (level ?l)))))
"""

BLOCKS = """
(define (domain blocks)
  (:predicates (on ?x ?y) (table ?x) (clear ?x))
  (:action put :parameters (?x ?y)
    :precondition (and (table ?x) (clear ?x) (clear ?y))
    :effect (and (not (table ?x)) (not (clear ?y)) (on ?x ?y))))
"""

PROBLEM = """
(define (problem two) (:domain blocks) (:objects a b)
  (:init (table a) (table b) (clear a) (clear b)) (:goal (on a b)))
"""

Step = tuple[Any, ...]


class Lamps:
    """A world of one lamp."""

    def __init__(self, domain: pds.Domain) -> None:
        self.domain = domain
        self.goal = "(lit a)"
        self.executed = True
        self._level = 0.0

    @property
    def success(self) -> bool:
        return self._level > 0.5

    def reset(self, seed: int | None = None) -> pds.State:
        self._level = 0.0
        return self._seen()

    def step(self, action: Step) -> pds.State:
        self._level = 1.0 - self._level
        return self._seen()

    def render(self) -> NDArray[np.uint8]:
        return np.zeros((1, 1, 3), np.uint8)

    def _seen(self) -> pds.State:
        return pds.State(self.domain, objects={"lamp": ["a"]}, values={"level": [[self._level]]})


def classical() -> list[Step] | None:
    """Plan for an ordinary problem."""
    domain: pds.Domain = pds.parse_domain(BLOCKS)
    problem: pds.Problem = pds.parse_problem(PROBLEM, domain)
    result: pds.Result = pds.plan(problem, search="gbfs", heuristic="ff", time_limit=60)
    verdict: pds.Verdict = pds.validate(problem, result.plan or "")
    return result.plan if verdict.valid and verdict.step is None else None


def searches(problem: pds.Problem, model: pds.Model, state: pds.State) -> list[pds.Verdict]:
    """The searches that a problem may name, whether it needs a model or not; plans as steps and as text."""
    pds.plan(problem, search="abstract")
    pds.plan(problem, search="lazy-gbfs", heuristic_costs="plus-one")
    pds.plan(problem, search=None, k=4, confidence=0.9)
    return [pds.validate(problem, "(put a b)", goal="(table a)"), pds.validate(model, [], state, "(lit a)")]


def demonstrations(world: Lamps) -> list[pds.Episode]:
    """Episodes of two presses."""
    states = [world.reset(), world.step(("press", "a")), world.step(("press", "a"))]
    press = ("press", "a")
    return [pds.Episode(states=states, actions=[press, press], goal=world.goal, success=[0, 1, 0])]


def learned() -> tuple[str, float, int]:
    """Build a model, fit it, plan and act with it."""
    domain = pds.parse_domain(SKETCH)
    world = Lamps(domain)
    model = pds.Model(domain)
    report: pds.Report = pds.fit(model, demonstrations(world), steps=2, seed=0, batch=8, learning_rate=1e-3)
    measured: pds.Evaluation = pds.evaluate(model, demonstrations(world))
    state = world.reset()
    one: pds.Result = pds.plan(model, state, "(lit a)", search="astar", heuristic="opt", max_expansions=4)
    many: list[pds.Result] = pds.plan_many(model, [state, state], "(lit a)", max_expansions=4, k=2)
    policy = pds.Policy(model, search="gbfs", heuristic="blind", options={"max_expansions": 4, "snap": False})
    agent: pds.Agent = policy
    rollouts: pds.Rollouts = pds.rollout(agent, world, seeds=range(2), max_steps=3)
    alone: pds.Rollouts = pds.rollout(agent, world, max_steps=3)
    cost: float | None = many[0].cost
    counted = report.steps + len(measured.warnings) + one.expanded + len(rollouts) + len(alone)
    return one.status, 0.0 if cost is None else cost, counted


def acted(domain: pds.Domain) -> pds.Model:
    """Learn by acting."""
    found: pds.Learned = pds.learn(
        lambda: Lamps(domain), domain, episodes=4, fit={"batch": 8}, evaluate=[1, 2]
    )
    pds.learn(Lamps(domain), domain, episode=4)  # type: ignore[call-arg]
    pds.learn(Lamps(domain), domain, growth="fast")  # type: ignore[arg-type]
    return found.model


def refused(model: pds.Model, state: pds.State) -> None:
    """What the type checker refuses."""
    pds.plann(model)  # type: ignore[attr-defined]
    pds.parse_domain(3)  # type: ignore[arg-type]
    pds.fit(model, [state])  # type: ignore[list-item]
    pds.Policy(model, heuristics="opt")  # type: ignore[call-arg]
    pds.Policy(model, loop="opened")  # type: ignore[arg-type]
    pds.rollout(state, [], seeds=[0])  # type: ignore[arg-type]
    print(pds.Result("solved").length)  # type: ignore[attr-defined]


def refused_options(model: pds.Model, state: pds.State, problem: pds.Problem) -> None:
    """Options that there are not, and values that they do not take."""
    pds.plan(model, state)  # type: ignore[call-overload]
    pds.plan(model, state, "(lit a)", serch="astar")  # type: ignore[call-overload]
    pds.plan(model, state, "(lit a)", search="lazy-gbfs")  # type: ignore[call-overload]
    pds.plan(model, state, "(lit a)", costs="own")  # type: ignore[call-overload]
    pds.plan(problem, search="dfs")  # type: ignore[call-overload]
    pds.plan(problem, time_limit="long")  # type: ignore[call-overload]
    pds.plan(problem, heuristic_costs="own+1")  # type: ignore[call-overload]
    pds.validate(model, [("press", "a")])  # type: ignore[call-overload]
    pds.validate(problem, None)  # type: ignore[call-overload]
    pds.plan(problem, state)  # type: ignore[call-overload]
    pds.plan_many(model, [state], "(lit a)", width=3)  # type: ignore[call-arg]
    pds.plan_many(model, [state], "(lit a)", k="many")  # type: ignore[arg-type]
    pds.fit(model, [], lr=0.1)  # type: ignore[call-arg]
    pds.fit(model, [], forms="no")  # type: ignore[arg-type]
    pds.evaluate(model, [], devices="cpu")  # type: ignore[call-arg]
    pds.Policy(model, options={"expansions": 3})  # type: ignore[typeddict-unknown-key]
    pds.Policy(model, search="lazy-gbfs")  # type: ignore[arg-type]
