"""Searches against Dijkstra and brute force: who solves what, plans that replay, costs that are optimal."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import torch
from tests.agree.case import Case, DifferError, near
from tests.agree.plain import Plain
from tests.tensor.agreement import modules_of

import pdsketch as pds
from pdsketch.heuristics.registry import HEURISTICS
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType
from pdsketch.lang.validator import validate
from pdsketch.search import UntrainedWarning
from pdsketch.search.options import SEARCHES, problem_options
from pdsketch.search.packed.engine import search
from pdsketch.search.result import Outcome
from pdsketch.task.explanation import explain
from pdsketch.task.grounding import Grounding, ground
from pdsketch.tensor import facts_of

MOST_EXPANSIONS = 3000
OTHERS = [
    (s, h) for s in SEARCHES for h in HEURISTICS if (s, h) not in (("astar", "blind"), ("astar", "max"))
]
WEIGHT = 3.0


def check_search(case: Case) -> None:
    """Packed searches: admissible A* is optimal, and all searches agree on what can be solved."""
    sample, graph = case.sample, case.graph
    _brute_force(case)
    task = ground(sample.problem)
    for name, heuristic in [("astar", "blind"), ("astar", "max"), *case.chance.sample(OTHERS, 3)]:
        costs = case.chance.choice(["own", "own", "plus-one"])
        options = problem_options(
            search=name,
            heuristic=heuristic,
            weight=WEIGHT,
            heuristic_costs=costs,
            max_expansions=MOST_EXPANSIONS,
        )
        found = search(task, options)
        engine = f"{name} {heuristic}{' plus-one' * (costs == 'plus-one')}"
        plan = None if found.plan is None else [task.operators[operator] for operator in found.plan]
        best = graph.optimum
        _status(case, engine, found, best)
        if plan is None:
            continue
        _replayed(case, engine, plan, found.cost)
        admissible = HEURISTICS[heuristic].admissible and costs == "own" and best is not None
        bound = {"astar": 1.0, "wastar": WEIGHT}.get(name, math.inf)
        if admissible and found.cost is not None and found.cost > best * bound * (1 + 1e-9) + 1e-9:
            raise DifferError(engine, "the cost of the plan", f"at most {best * bound}", found.cost)
    whole = pds.plan(sample.problem, max_expansions=MOST_EXPANSIONS)
    _status(case, "pds.plan", whole, graph.optimum)
    if whole.status != "solved" and not whole.reasons:
        raise DifferError("pds.plan", "why there is no plan", "some reason", "none")
    if (
        case.chance.random() < 0.3
        and graph.optimum is not None
        and (blamed := explain(Grounding(sample.problem)))
    ):
        raise DifferError("explanation", "why there is no plan", "there is one", blamed)


def _brute_force(case: Case) -> None:
    """All states, read plainly from the text: the optimum is Dijkstra's."""
    if case.graph.complete:
        plain = Plain(case.sample.domain_text, case.sample.problem_text)
        best = plain.optimum(len(case.graph.states))
        if not near(best, case.graph.optimum):
            raise DifferError("brute force", "the cost of a cheapest plan", case.graph.optimum, best)


def _status(case: Case, engine: str, found: Outcome | pds.Result, best: float | None) -> None:
    """What is solved is solvable, and what is proven unsolvable is not; a small problem is decided."""
    graph = case.graph
    if found.status == "solved" and graph.complete and best is None:
        raise DifferError(engine, "whether there is a plan", "there is none", found.plan)
    if found.status == "unsolvable" and best is not None:
        raise DifferError(engine, "whether there is a plan", graph.plan, "there is none")
    small = graph.complete and graph.expanded < MOST_EXPANSIONS // 10
    if small and found.status not in ("solved", "unsolvable"):
        raise DifferError(engine, f"a problem of {graph.expanded} states", "decided", found.status)


def _replayed(case: Case, engine: str, plan: list[Step], cost: float | None) -> None:
    verdict = validate(case.sample.problem, plan, case.sample.functions)
    if not verdict.valid:
        why = verdict.reason.message if verdict.reason is not None else "no reason"
        raise DifferError(engine, f"the plan {plan}", f"not valid: {why}", "valid")
    if cost is not None and not near(verdict.cost, cost):
        raise DifferError(engine, f"the cost of {plan}", verdict.cost, cost)


LATENT = [
    *[("astar", h) for h in ("blind", "blind", "max", "max", "opt", "add")],
    *[("wastar", h) for h in ("max", "opt")],
    *[("gbfs", h) for h in ("opt", "blind", "add")],
]

ABSTRACTED = [("astar", "ao"), ("gbfs", "ao-add"), ("abstract", "opt"), ("abstract", "blind")]
"""Searches that compile a model's rules, which takes longer than all else here."""


def check_latent(case: Case) -> None:
    """Latent searches through a model: several states of a problem at once, and the k best nodes together."""
    _through_model(case, case.chance.sample(LATENT, 2))


def check_abstract(case: Case) -> None:
    """Searches by the rules of a model over codes, AO, in the same way."""
    _through_model(case, [case.chance.choice(ABSTRACTED)])


def _through_model(case: Case, asked: list[tuple[str, str]]) -> None:
    sample, graph = case.sample, case.graph
    model = pds.Model(sample.domain)
    roots = [0, case.chance.randrange(graph.expanded)]
    states = [case.state(graph.states[i]) for i in roots]
    far = graph.distances() if graph.complete else [math.nan] * len(graph.states)
    for name, heuristic in asked:
        k = case.chance.choice([1, 1, 3])
        options: dict[str, Any] = {
            "search": name,
            "heuristic": heuristic,
            "k": k,
            "weight": WEIGHT,
            "max_expansions": 4 * case.limit,
            "costs": sample.problem.metric == "cost",
        }
        engine = f"latent {name} {heuristic} k={k}"
        if case.chance.random() < 0.5:
            found = pds.plan_many(model, states, sample.problem.goal, **options)
        else:
            found = [pds.plan(model, states[0], sample.problem.goal, **options)]
        for i, result in zip(roots, found, strict=False):
            _latent(case, engine, i, result, far[i], _bound(name, heuristic))


NOISY = [("portfolio", None), ("portfolio", None), *ABSTRACTED, ("gbfs", "blind"), ("astar", "opt")]
MOST_WALKED = 40
"""Expansions of a walk through a model, one state at a time."""


def check_noisy(case: Case) -> None:
    """Plans with networks as they are made, whose truths mean nothing: a plan is one that the model says is
    valid, and what a plain walk through the model reaches is not proven to be out of reach."""
    sample = case.sample
    external = {name: fn for name, fn in modules_of(sample).items() if name not in sample.domain.blanks}
    model = pds.Model(sample.domain, external, seed=case.chance.randrange(1000))
    state, goal = sample.problem.state, sample.problem.goal
    name, heuristic = case.chance.choice(NOISY)
    options: dict[str, Any] = {"search": name, "max_expansions": 300, "costs": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        found = pds.plan(model, state, goal, **options, **({"heuristic": heuristic} if heuristic else {}))
    engine = f"noisy {name} {heuristic}"
    if found.plan is not None:
        verdict = pds.validate(model, found.plan, state, goal)
        if not verdict.valid:
            raise DifferError(engine, f"the plan {found.plan}", f"not valid: {verdict.reason}", "valid")
    elif found.status == "unsolvable" and (plan := _walked(model, state, goal)) is not None:
        raise DifferError(engine, "whether there is a plan", plan, "there is none")


def _walked(model: pds.Model, state: pds.State, goal: Expr) -> list[Step] | None:
    """A plan that a walk in breadth through the model finds; of actions over objects alone."""
    actions = [a for a in model.domain.actions.values() if all(_is_object(p.type) for p in a.parameters)]
    steps = [
        (action.name, *names)
        for action in actions
        for names in product(*(state.members(p.type) for p in action.parameters))
    ]
    with torch.inference_mode():
        waiting, seen = [(model.encode(state, crisp=True), list[Step]())], set[Any]()
        for _ in range(MOST_WALKED):
            if not waiting:
                return None
            at, plan = waiting.pop(0)
            if float(model.holds(at, goal, crisp=True)) > 0.5:
                return plan
            for step in steps:
                if float(model.applicable(at, step, crisp=True)) > 0.5:
                    after = model.step(at, step, crisp=True)
                    key = repr(facts_of(after.crisp()))
                    if key not in seen:
                        seen.add(key)
                        waiting.append((after, [*plan, step]))
    return None


def _is_object(type_: Any) -> bool:
    return isinstance(type_, ObjectType)


def _bound(search: str, heuristic: str) -> float:
    """How far from the optimum a plan may be."""
    if heuristic not in ("blind", "max"):
        return math.inf
    return {"astar": 1.0, "wastar": WEIGHT}.get(search, math.inf)


def _latent(case: Case, engine: str, root: int, result: pds.Result, far: float, bound: float) -> None:
    """One result, beside what a complete graph says of its root; nan: nothing is known."""
    from dataclasses import replace

    graph = case.graph
    if math.isnan(far) and root == 0 and graph.optimum is not None:
        far = graph.optimum
    if result.plan is not None:
        from_here = replace(case.sample.problem, init=graph.states[root])
        verdict = validate(from_here, result.plan)
        if not verdict.valid:
            if graph.refused:
                return
            why = verdict.reason.message if verdict.reason is not None else "no reason"
            raise DifferError(
                engine, f"the plan {result.plan} from state {root}", f"not valid: {why}", "valid"
            )
        if result.cost is None or not near_float32(verdict.cost, result.cost):
            raise DifferError(engine, f"the cost of {result.plan}", verdict.cost, result.cost)
        if math.isinf(far) and not graph.refused:
            raise DifferError(engine, f"whether there is a plan from state {root}", "no", result.plan)
        if result.cost > far * bound * (1 + 1e-5) + 1e-5:
            raise DifferError(engine, f"the cost from state {root}", f"at most {far * bound}", result.cost)
    elif result.status == "unsolvable" and math.isfinite(far):
        raise DifferError(engine, f"whether there is a plan from state {root}", f"one of cost {far}", "no")
    elif graph.complete and math.isfinite(far):
        raise DifferError(engine, f"state {root}", f"a plan of cost {far}", result.status)
    elif graph.complete and result.status not in ("unsolvable", "gave-up"):
        raise DifferError(engine, f"state {root}", "no plan", result.status)


def near_float32(a: float, b: float) -> bool:
    """Whether two costs are one in float32, in which models count."""
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-5)
