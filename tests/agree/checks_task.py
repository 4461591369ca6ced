"""The grounded task, its kernels, and heuristics over it, against the reference semantics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

import numpy as np
from tests.agree.case import Case, DifferError, near
from tests.task import interpreter
from tests.task.tidy import untidy

from pdsketch.abstract.abstraction import Abstraction
from pdsketch.abstract.optimistic.compile import compile_optimistic
from pdsketch.core import States, Task
from pdsketch.heuristics.evaluator import EngineEvaluator
from pdsketch.heuristics.registry import HEURISTICS
from pdsketch.lang.semantics import bind
from pdsketch.task.grounding import ground

Bits = frozenset[int]
Successors = Callable[[Bits], Iterator[tuple[int, Bits]]]
"""The operators that can be applied in a state, and the states they lead to, derived facts included."""


def check_ground(case: Case) -> None:
    """The arrays of the grounded task, run slowly: they are tidy, and mean what the problem means."""
    task = ground(case.sample.problem)
    fault = untidy(task)
    if fault is not None:
        raise DifferError("grounding", "whether the task is tidy", "it is", fault)
    seen = _Seen(case, task)
    seen.compare("grounded task", lambda state: interpreter.derived(task, state), _slow_successors(task))


def check_packed(case: Case) -> None:
    """The engine: axioms, applicable operators and successors over packed states."""
    task = ground(case.sample.problem)
    engine = _Engine(task)
    _Seen(case, task, 25).compare("engine", engine.derived, engine.successors)


def _slow_successors(task: Task) -> Successors:
    def successors(state: Bits) -> Iterator[tuple[int, Bits]]:
        for operator in range(len(task.operators)):
            if interpreter.holds(task.preconditions[operator], state):
                yield operator, interpreter.successor(task, state, operator)

    return successors


class _Engine:
    """The engine's axioms and successor generator, asked one state at a time."""

    def __init__(self, task: Task) -> None:
        self.task, self.states = task, States(task)

    def _facts(self, state: Bits) -> np.ndarray:
        basic = np.zeros(self.task.n_basic, np.bool_)
        basic[[f for f in state if f < self.task.n_basic]] = True
        return self.states.derived(basic)

    def derived(self, state: Bits) -> Bits:
        return _bits(self._facts(state))

    def successors(self, state: Bits) -> Iterator[tuple[int, Bits]]:
        facts = self._facts(state)
        for operator in self.states.applicable(facts).tolist():
            yield operator, _bits(self.states.successor(facts, operator))


def _bits(facts: np.ndarray) -> Bits:
    return frozenset(np.flatnonzero(facts).tolist())


class _Seen:
    """The states of a problem through the facts of its grounded task."""

    def __init__(self, case: Case, task: Task, most: int = 1000) -> None:
        self.case, self.task, self.graph = case, task, case.graph
        self.shown = min(self.graph.expanded, most)
        self.reachable = task.facts != (("unreachable-goal",),)
        self.states = [self._view(facts) for facts in self.graph.states]

    def _view(self, facts: dict) -> Bits:
        """The basic facts of the task that hold in a state."""
        return frozenset(i for i in range(self.task.n_basic) if facts.get(self.task.facts[i], False))

    def compare(self, engine: str, derived: Callable[[Bits], Bits], successors: Successors) -> None:
        """Derived facts, steps and distances."""
        if not self.reachable:
            if self.graph.optimum is not None:
                raise DifferError(engine, "the goal", "it can be reached", "it is out of reach")
            return
        for i in range(self.shown):
            state = derived(self.states[i])
            self._compare_derived(engine, i, state)
            self._compare_steps(engine, i, list(successors(state)))
        if self.graph.complete:
            self._compare_distances(engine, derived, successors)

    def _compare_derived(self, engine: str, i: int, state: Bits) -> None:
        moment = self.case.moments[i]
        for number in range(self.task.n_basic, self.task.n_facts):
            fact = self.task.facts[number]
            if fact[0] in self.case.sample.domain.predicates and bool(moment.atom(fact)) != (number in state):
                raise DifferError(engine, f"{fact} in state {i}", moment.atom(fact), number in state)
        goal = interpreter.holds(self.task.goal, state)
        if goal != self.graph.goals[i]:
            raise DifferError(engine, f"the goal in state {i}", self.graph.goals[i], goal)

    def _compare_steps(self, engine: str, i: int, found: list[tuple[int, Bits]]) -> None:
        """What the task can do in a state, the problem can; grounding leaves out only what helps nothing."""
        edges = {step: (cost, j) for step, cost, j in self.graph.edges[i]}
        for operator, after in found:
            step = self.task.operators[operator]
            if step not in edges:
                raise DifferError(engine, f"{step} in state {i}", "it cannot be taken", "it can")
            cost, j = edges[step]
            if not near(cost, float(self.task.costs[operator])):
                raise DifferError(engine, f"the cost of {step}", cost, float(self.task.costs[operator]))
            basic = frozenset(fact for fact in after if fact < self.task.n_basic)
            if basic != self.states[j]:
                changed = [self.task.facts[fact] for fact in basic ^ self.states[j]]
                raise DifferError(engine, f"{step} in state {i}", "otherwise", f"about {changed}")

    def _compare_distances(
        self, engine: str, derived: Callable[[Bits], Bits], successors: Successors
    ) -> None:
        """The cost of a cheapest plan from every state is that of the reference."""
        wanted = self.graph.distances()
        roots = [derived(state) for state in self.states[: self.shown]]
        found = _distances(self.task, roots, successors)
        for i, root in enumerate(roots):
            if not near(wanted[i], found[root]):
                raise DifferError(engine, f"the cheapest plan from state {i}", wanted[i], found[root])


def _distances(task: Task, roots: list[Bits], successors: Successors) -> dict[Bits, float]:
    into: dict[Bits, list[tuple[float, Bits]]] = {root: [] for root in roots}
    agenda = list(into)
    for state in agenda:
        for operator, after in successors(state):
            if after not in into:
                into[after] = []
                agenda.append(after)
            into[after].append((float(task.costs[operator]), state))
    far = dict.fromkeys(into, math.inf)
    queue = [(0.0, i, state) for i, state in enumerate(into) if interpreter.holds(task.goal, state)]
    ties = len(queue)
    while queue:
        paid, _, state = heappop(queue)
        if paid >= far[state]:
            continue
        far[state] = paid
        for cost, before in into[state]:
            if paid + cost < far[before]:
                ties += 1
                heappush(queue, (paid + cost, ties, before))
    return far


def check_relaxed(case: Case) -> None:
    """Heuristics keep their promises in every state, those of the grounded task and those of OPT."""
    graph = case.graph
    if not (graph.complete and not graph.refused):
        return
    if not case.sample.functions and not case.has_model_values:
        _relaxed_task(case)
    _optimistic(case)


def _relaxed_task(case: Case) -> None:
    task = ground(case.sample.problem)
    seen = _Seen(case, task)
    rows = np.zeros((len(seen.states), task.n_basic), np.bool_)
    for row, state in zip(rows, seen.states, strict=True):
        row[list(state)] = True
    true = case.graph.distances()
    values = {name: EngineEvaluator(task, name).values(rows).tolist() for name in HEURISTICS}
    for name, heuristic in HEURISTICS.items():
        _promises(name, values[name], true, case.graph.goals, admissible=heuristic.admissible)
    for i, (highest, added, plan) in enumerate(zip(values["max"], values["add"], values["ff"], strict=True)):
        if math.isinf(highest) != math.isinf(added) or math.isinf(highest) != math.isinf(plan):
            raise DifferError("heuristics", f"whether state {i} is a dead end", highest, (added, plan))
        # hFF counts an operator once, however many of its conditional effects it needs one after the other.
        least = min(added, plan) if not len(task.conditions.items) else added
        if math.isfinite(highest) and least < highest * (1 - 1e-9) - 1e-9:
            raise DifferError("heuristics", f"hmax <= hadd, hFF in state {i}", highest, (added, plan))
    for name in ("add", "ff"):
        _preferred(case, task, seen, name, rows)


def _preferred(case: Case, task: Task, seen: _Seen, name: str, rows: np.ndarray) -> None:
    for i in range(min(4, len(rows))):
        _, operators = EngineEvaluator(task, name).preferred(rows[i])
        state = interpreter.derived(task, seen.states[i])
        for operator in operators.tolist():
            if not interpreter.holds(task.preconditions[operator], state):
                raise DifferError(
                    name, f"{task.operators[operator]}, preferred in state {i}", "not applicable", "is"
                )


def _promises(
    name: str, values: list[float], true: list[float], goals: list[bool], *, admissible: bool
) -> None:
    for i, (value, distance) in enumerate(zip(values, true, strict=True)):
        if math.isinf(value) and math.isfinite(distance):
            raise DifferError(name, f"state {i}", f"a plan of cost {distance}", "no plan")
        if admissible and value > distance * (1 + 1e-9) + 1e-9:
            raise DifferError(name, f"state {i}", f"at most {distance}", value)
        if goals[i] and value != 0:
            raise DifferError(name, f"state {i}, a goal", 0, value)


def _optimistic(case: Case) -> None:
    """OPT: its infinity is a proof, its hmax admissible; over tensors it says the same."""
    sample, graph = case.sample, case.graph
    opt = compile_optimistic(sample.domain, sample.problem.universe, sample.problem.goal)
    rows = _read(case, opt, graph.expanded)
    steps = graph.distances(lambda cost: 1.0)
    for name in ("max", "ff"):
        values = EngineEvaluator(opt.task, name).values(rows).tolist()
        _promises(f"OPT {name}", values, steps, graph.goals, admissible=name == "max")
    if sample.problem.metric == "cost":
        priced = opt.priced([_price(case, step) for step in opt.steps])
        values = EngineEvaluator(priced.task, "max").values(rows).tolist()
        _promises("OPT max with costs", values, graph.distances(), graph.goals, admissible=True)
    _optimism(case)


def _read(case: Case, opt: Abstraction, n: int) -> np.ndarray:
    """The facts of OPT in the first states."""
    rows = np.zeros((n, opt.task.n_basic), np.bool_)
    for row, moment in zip(rows, case.moments, strict=False):
        row[: len(opt.expressions)] = [moment.value(e, {}) for e in opt.expressions]
    return rows


def _price(case: Case, step: tuple[str, ...]) -> float:
    """What a ground action costs: no cost of ours changes with the state or with a value."""
    cost = case.sample.domain.actions[step[0]].cost
    return 0.0 if cost is None else float(case.moments[0].value(cost, bind(case.sample.world, step)))


def _optimism(case: Case) -> None:
    """OPT over tensors; its objects stand in the order of `State`, on which ties of hFF depend."""
    import torch
    from tests.tensor.agreement import model_of

    from pdsketch.search.heuristics import MODEL_HEURISTICS
    from pdsketch.search.latent.heuristics import Searched
    from pdsketch.tensor.states.state import StateBatch

    graph = case.graph
    model = model_of(case.sample)
    few = min(graph.expanded, 12)
    with torch.inference_mode():
        batch = StateBatch.of([case.state(facts) for facts in graph.states[:few]])
        goal, universe = case.sample.problem.goal, batch.universe(0)
        opt = MODEL_HEURISTICS["opt"](Searched(model, [goal], batch, [universe], costs=False))
        zeros = torch.zeros(few, dtype=torch.int64)
        values = opt.values(batch, zeros, np.array(graph.goals[:few]))
    own = compile_optimistic(case.sample.domain, universe.types, goal)
    wanted = EngineEvaluator(own.task, "ff").values(_read(case, own, few))
    expected = np.where(graph.goals[:few], 0.0, wanted)
    for i in range(few):
        if values[i] != expected[i]:
            raise DifferError("OPT over tensors", f"state {i}", expected[i], values[i])
