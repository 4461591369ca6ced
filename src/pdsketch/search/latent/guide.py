"""Heuristics for latent states: blind, and hFF, hadd and hmax over the optimistic compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.abstract.facts import Form
from pdsketch.abstract.opt import Optimistic, compile_optimistic
from pdsketch.budget import current
from pdsketch.heuristics.evaluator import Evaluator
from pdsketch.lang.diagnostics import did_you_mean, error
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType
from pdsketch.search.latent.judge import open_node
from pdsketch.search.latent.portions import Portions
from pdsketch.search.latent.undecided import HIGH, LOW, blanks_read, known_blanks
from pdsketch.tensor.model import Model
from pdsketch.tensor.node import Node
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import Universe

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OPTIMISTIC = {"opt": "ff", "ff": "ff", "add": "add", "max": "max"}
"""The heuristics over the optimistic compilation, and what each evaluates there."""

HEURISTICS = ("blind", *OPTIMISTIC)

Prices = Callable[[int, Sequence[tuple[str, ...]]], Sequence[float]]
"""What ground actions cost in a problem, by its place."""

_FIRST_ROWS: Final = 4096
"""Facts of one form that are asked for together before it is known what they take."""


class Guide(Protocol):
    """What is left to do, by estimate."""

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state; infinity only where there is no plan. ``goals``: its goal holds."""


@final
class Blind:
    """0 where the goal holds, else the cost of the cheapest action."""

    def __init__(self, cheapest: float) -> None:
        self._cheapest = cheapest

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state."""
        del batch, problems
        return np.where(goals, 0.0, self._cheapest)


@final
class _Question:
    """One form of facts for all problems that ask it: where their objects stand, and which facts they are."""

    def __init__(self, node: Node, problems: int) -> None:
        self.node = node
        self.rows: list[list[tuple[int, ...]]] = [[] for _ in range(problems)]
        self.facts: list[list[int]] = [[] for _ in range(problems)]
        self.names: tuple[str, ...] = ()
        self.portions = Portions(_FIRST_ROWS)

    def seal(self, nowhere: int, device: torch.device) -> None:
        """Make the tables: ``places`` ``[problem, n]`` for each variable, ``into`` ``[problem, n]``."""
        most = max(map(len, self.rows))
        blank = (0,) * len(self.names)
        rows = torch.tensor([row + [blank] * (most - len(row)) for row in self.rows], dtype=torch.int64)
        rows = rows.reshape(len(self.rows), most, len(self.names)).to(device)
        self.places = {name: rows[..., i].contiguous() for i, name in enumerate(self.names)}
        into = [facts + [nowhere] * (most - len(facts)) for facts in self.facts]
        self.into = torch.tensor(into, dtype=torch.int64, device=device)
        self.asked = torch.tensor([bool(row) for row in self.rows], device=device)
        self.count = most

    def rows_of(self, states: int) -> Iterable[slice]:
        """All rows at once of several states, which are no more than fit; of one alone, in portions."""
        return [slice(0, self.count)] if states > 1 else self.portions.of(self.count)


@final
class Optimism:
    """A heuristic over the optimistic compilation of each problem's goal (OPT).

    Compiled once for each goal and set of objects. To evaluate a batch, each
    form of facts is computed once for all states that need it; then one kernel
    call for each compiled task evaluates its states.
    """

    def __init__(
        self,
        model: Model,
        goals: Sequence[Expr],
        universes: Sequence[Universe],
        name: str,
        prices: Prices | None = None,
    ) -> None:
        self._engine = model.engine
        self._portions = Portions()
        compiled: dict[tuple[int, Expr], Optimistic] = {}
        numbers: dict[tuple[int, int], int] = {}
        self.tasks: list[Optimistic] = []
        self.task_of = np.empty(len(goals), dtype=np.int64)
        for problem, (goal, universe) in enumerate(zip(goals, universes, strict=True)):
            key = (id(universe), goal)
            if key not in compiled:
                compiled[key] = compile_optimistic(model.domain, universe.types, goal)
            found = compiled[key]
            if prices is not None:
                found = found.priced(prices(problem, compiled[key].steps))
            same = (id(compiled[key]), id(found.task))
            if same not in numbers:
                numbers[same] = len(self.tasks)
                self.tasks.append(found)
            self.task_of[problem] = numbers[same]
        # Problems that differ in the names of their objects alone share a task, and its evaluator.
        shared = {id(o.task): o for o in self.tasks}
        places = {task: i for i, task in enumerate(shared)}
        self._shape_of = np.array([places[id(o.task)] for o in self.tasks], dtype=np.int64)
        self._shapes = [(o, Evaluator(o.task, OPTIMISTIC[name])) for o in shared.values()]
        self._width = max((o.n_given for o in self.tasks), default=0)
        self._questions = self._ask(model, universes)

    def _ask(self, model: Model, universes: Sequence[Universe]) -> list[_Question]:
        questions: dict[tuple[Expr, tuple[str, ...]], _Question] = {}
        budget = current()
        for problem, universe in enumerate(universes):
            budget.check()
            for form in self.tasks[self.task_of[problem]].forms:
                names = tuple(variable.name for variable in form.variables)
                key = (form.expr, (*names, *(str(v.type) for v in form.variables)))
                if key not in questions:
                    questions[key] = _Question(open_node(form, model), len(universes))
                    questions[key].names = names
                questions[key].rows[problem] += _placed(form, universe)
                questions[key].facts[problem] += form.places
        for question in questions.values():
            question.seal(self._width, model.device)
        return list(questions.values())

    def facts(self, batch: StateBatch, problems: Tensor) -> Bools:
        """The truth of every fact of each state's task, ``[state, fact]``."""
        found = np.zeros((batch.size, self._width), dtype=np.bool_)
        for some in self._portions.of(batch.size):
            found[some] = self._facts(batch.span(some), problems[some])
        return found

    def _facts(self, batch: StateBatch, problems: Tensor) -> Bools:
        """The same for states that are few enough; what is too much of one state is asked in rows."""
        facts = torch.zeros(batch.size, self._width + 1, dtype=torch.bool, device=batch.device)
        run = self._engine.open(batch)
        most = 0
        for question in self._questions:
            everyone = bool(question.asked.all())
            here = None if everyone else question.asked[problems].nonzero().squeeze(1)
            if here is not None and not here.shape[0]:
                continue
            owners = problems if here is None else problems[here]
            some = run if here is None else self._engine.open(batch.select(here))
            for rows in question.rows_of(batch.size):
                count = rows.stop - rows.start
                places = {name: table[owners, rows] for name, table in question.places.items()}
                into = question.into[owners, rows]
                ground = some.ground(places, count)
                truth = question.node(ground)
                truth = truth.reshape(truth.shape[0], -1).expand(owners.shape[0], count)
                if here is None:
                    facts.scatter_(1, into, truth)
                else:
                    facts[here] |= torch.zeros_like(facts[here]).scatter_(1, into, truth)
                if self._portions.wants(batch.size):
                    question.portions.learn(count, ground.nbytes / batch.size)
                    most = max(most, ground.nbytes * question.count // count)
        if self._portions.wants(batch.size):
            self._portions.learn(batch.size, most + 4 * facts.numel())
        found: Bools = facts[:, : self._width].cpu().numpy()
        return found

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state; 0 where the goal holds."""
        values = np.empty(batch.size)
        for some in self._portions.of(batch.size):
            values[some] = self._values(batch.span(some), problems[some])
        values[goals] = 0.0
        return values

    def _values(self, batch: StateBatch, problems: Tensor) -> Floats:
        facts = self._facts(batch, problems)
        shapes = self._shape_of[self.task_of[problems.cpu().numpy()]]
        values = np.empty(batch.size)
        for number in np.unique(shapes):
            rows = np.flatnonzero(shapes == number)
            optimistic, evaluator = self._shapes[number]
            states = np.zeros((len(rows), optimistic.task.n_basic), dtype=np.bool_)
            states[:, : optimistic.n_given] = facts[rows, : optimistic.n_given]
            values[rows] = evaluator.values(states)
        return values

    def unreachable(self, batch: StateBatch, problem: int) -> list[Expr]:
        """The parts of a problem's goal that no actions from its state, the batch, can bring about."""
        optimistic = self.tasks[self.task_of[problem]]
        states = np.zeros((1, optimistic.task.n_basic), dtype=np.bool_)
        given = len(optimistic.expressions)
        states[:, :given] = self.facts(batch, torch.tensor([problem], device=batch.device))[:, :given]
        found = []
        for part, literals in optimistic.goal_parts:
            if literals is not None:
                task = replace(optimistic.task, goal=np.array(literals, dtype=np.int32))
                if np.isfinite(Evaluator(task, "max").values(states)[0]):
                    continue
            found.append(part)
        return found

    def rests_on(self, model: Model, batch: StateBatch, problem: int) -> tuple[str, ...]:
        """The blanks that cannot decide, and but for which a goal out of reach would be within it."""
        optimistic = self.tasks[self.task_of[problem]]
        doubted = _doubted(model, optimistic, batch)
        facts = self.facts(batch, torch.tensor([problem], device=batch.device))[:, : optimistic.n_given]
        evaluator = Evaluator(optimistic.task, "max")

        def reachable(blanks: Sequence[str]) -> bool:
            places = sorted({place for blank in blanks for place in doubted[blank]})
            for truth in (True, False):
                states = np.zeros((1, optimistic.task.n_basic), dtype=np.bool_)
                states[:, : optimistic.n_given] = facts
                states[:, places] = truth
                if np.isfinite(evaluator.values(states)[0]):
                    return True
            return False

        alone = tuple(blank for blank in doubted if reachable([blank]))
        return alone or (tuple(doubted) if reachable([*doubted]) else ())


def _doubted(model: Model, optimistic: Optimistic, batch: StateBatch) -> dict[str, list[int]]:
    """The facts of a state that read a blank which was never trained, or whose truth is in between."""
    known = known_blanks(model)
    run = model.engine.open(batch, checked=False)
    found: dict[str, list[int]] = {}
    for form in optimistic.forms:
        blanks = blanks_read(model, form.expr)
        if not blanks:
            continue
        rows = torch.tensor(_placed(form, batch.universe(0)), dtype=torch.int64, device=batch.device)
        rows = rows.reshape(len(form.rows), len(form.variables))
        places = {v.name: rows[None, :, i] for i, v in enumerate(form.variables)}
        truth = open_node(form, model, model.logic)(run.ground(places, len(form.rows)))
        truths = truth.float().reshape(1, -1).expand(1, len(form.rows))[0].tolist()
        for place, value in zip(form.places, truths, strict=True):
            if LOW < value < HIGH or not known.issuperset(blanks):
                for blank in blanks:
                    found.setdefault(blank, []).append(place)
    return found


def _placed(form: Form, universe: Universe) -> list[tuple[int, ...]]:
    types = [v.type for v in form.variables if isinstance(v.type, ObjectType)]
    return [tuple(universe.at(n, t) for n, t in zip(row, types, strict=True)) for row in form.rows]


def find_guide(name: str) -> str:
    """The name of a heuristic, or an error that offers one."""
    if name == "ao":
        raise error("not-yet", "the heuristic `ao` is not built yet", help="use `opt`")
    if name not in HEURISTICS:
        raise error(
            "unknown-heuristic",
            f"there is no heuristic `{name}` for models",
            help=did_you_mean(str(name), HEURISTICS) or f"choose one of {', '.join(HEURISTICS)}",
        )
    return name
